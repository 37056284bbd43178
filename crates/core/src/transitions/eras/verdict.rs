//! The era of a server. A process gets `initialize` first, since some exit on any other first request; one that answers
//! is then asked `server/discover`. A remote server is asked `server/discover` first. Nothing is asked before a modern
//! client needs to know. The verdict is stored with the launch, for a while.

use crate::backends::{AfterStop, Backend, HandshakeFailure};
use crate::clients::{Client, Greeting};
use crate::core::Core;
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::messages::{initialized_notice, own_message};
use crate::pending::{Asker, Pending};
use crate::record::SeenEra;
use crate::transitions::Route;
use serde::Deserialize;
use std::time::Duration;
use switchboard_protocol::modern::{Declaration, MODERN_VERSIONS};
use switchboard_protocol::{Era, ErrorAnswer, Message, Method, Outgoing, Part, RawId};

/// Time for the answer of a running process. Some legacy servers ignore requests that they do not know, while a client
/// waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

impl Core {
    /// The era of a server, if it is known.
    pub(crate) fn era_of(&self, server: ServerId) -> Option<Era> {
        self.servers.get(server)?.era(self.clock.now())
    }

    pub(crate) fn is_modern(&self, backend: BackendId) -> bool {
        self.backends.get(&backend).is_some_and(|b| b.handshake().era() == Era::Modern)
    }

    /// The declaration for requests of our own to a modern backend.
    pub(crate) fn declaration_at(&self, backend: BackendId) -> Option<Declaration> {
        let b = self.backends.get(&backend)?;
        let initialize =
            b.handshake().greeting().filter(|greeting| greeting.era() == Era::Modern)?.initialize();
        let declared = b.settings().asks.declared(initialize);
        Declaration::of(declared.as_ref().unwrap_or(initialize)).ok()
    }

    /// A request of our own, which declares what a modern backend wants to know. `params` are its members.
    pub(crate) fn own_request(
        &self,
        backend: BackendId,
        minted: u64,
        method: Method,
        params: &str,
    ) -> Outgoing {
        let name = method.name().unwrap_or("?");
        let text = match self.declaration_at(backend) {
            Some(declaration) if params.is_empty() => declaration.request(minted, method, ""),
            Some(declaration) => declaration.request(minted, method, &format!(",{params}")),
            None if params.is_empty() => format!(r#"{{"jsonrpc":"2.0","id":{minted},"method":"{name}"}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","id":{minted},"method":"{name}","params":{{{params}}}}}"#),
        };
        Outgoing::request(method, RawId::from_number(minted), text.into())
    }

    fn learn_era(&mut self, backend: BackendId, era: Era) {
        let Some(server) = self.backends.get(&backend).map(|b| b.server()) else { return };
        if self.era_of(server) == Some(era) {
            return;
        }
        let until = self.clock.now() + SeenEra::GOOD_FOR;
        if let Some(origin) = self.origin(backend) {
            origin.set_era(era, until);
        }
        self.learn(backend, |record| record.era = Some(SeenEra { era, good_for: SeenEra::GOOD_FOR }));
    }

    /// Whether the era of a server is being found out.
    pub(super) fn is_probed(&self, server: ServerId) -> bool {
        let is_asked = |p: &Pending| {
            matches!(p.asker(), Asker::Era)
                && self.backends.get(&p.backend()).is_some_and(|b| b.server() == server)
        };
        let is_started = |c: &Client| c.is_prefetch() && !c.is_lost() && c.server() == server;
        self.pending.iter().any(|(_, pending)| is_asked(pending)) || self.clients.values().any(is_started)
    }

    /// Whether a server has answered a handshake of the legacy era.
    pub(super) fn has_welcomed(&self, server: ServerId) -> bool {
        self.servers.get(server).is_some_and(|server| server.has_welcomed())
    }

    /// Whether a process has been asked for its era, and has not answered.
    pub(crate) fn is_asked_for_era(&self, backend: BackendId) -> bool {
        let is_asked = |p: &Pending| matches!(p.asker(), Asker::Era) && p.backend() == backend;
        self.pending.iter().any(|(_, pending)| is_asked(pending))
    }

    /// Finds out how a client's server speaks, by a process that runs already or by a start.
    pub(super) fn probe_era(
        &mut self,
        client: ClientId,
        server: ServerId,
        declaration: &Declaration,
    ) -> Result<(), ErrorAnswer> {
        let is_asked = |p: &Pending| {
            matches!(p.asker(), Asker::Era)
                && self.backends.get(&p.backend()).is_some_and(|b| b.server() == server)
        };
        if self.pending.iter().any(|(_, pending)| is_asked(pending)) {
            return Ok(());
        }
        let Some(settings) = self.servers.get(server).map(|server| server.settings().clone()) else {
            return Ok(());
        };
        let can_tell = |b: &&Backend| {
            b.server() == server
                && !b.is_retired()
                && b.handshake().has_welcome()
                && b.handshake().is_initialized()
        };
        let running = self.backends.values().filter(can_tell).find_map(|b| b.ready_launch());
        if let Some(launch) = running {
            self.ask_era(launch);
            return Ok(());
        }
        if self.is_probed(server) {
            return Ok(());
        }
        let initialize = match settings.is_remote {
            true => declaration.initialize(),
            false => declaration.legacy_initialize(),
        };
        let Some(initialize) = own_message(initialize.into()) else { return Ok(()) };
        let until = self.clock.now() + settings.start_timeout * 2;
        let id = self.numbers.new_delegate();
        let new = self.newcomer(id, server, settings);
        let greeting = Greeting::new(initialize, initialized_notice());
        let Some(probe) = self.clients.get(&client).map(|c| c.era_probe(new, greeting, until)) else {
            return Ok(());
        };
        self.clients.insert(id, probe);
        self.clock.wake_at(until);
        match self.find_home(id) {
            Route::To(home) => {
                self.ensure_started(home);
                // The backend may have been started for a client that had not said anything.
                if self.backends.get(&home).is_some_and(|b| b.is_ready() && b.handshake().is_ungreeted()) {
                    self.greet_anew(home);
                }
                Ok(())
            }
            Route::Wait => {
                self.lose(id);
                Ok(())
            }
            Route::Refused(error) => {
                self.lose(id);
                Err(error)
            }
        }
    }

    /// Asks a server that speaks the legacy era whether it speaks the modern one too, if a client waits for that.
    pub(crate) fn ask_era_if_wanted(&mut self, launch: Launch) {
        let Some(b) = self.backends.get(&launch.backend) else { return };
        let server = b.server();
        if self.era_waits.wants(server) && self.era_of(server).is_none() && !self.is_modern(launch.backend) {
            self.ask_era(launch);
        }
    }

    fn ask_era(&mut self, launch: Launch) {
        let backend = launch.backend;
        if self.is_modern(backend) {
            return self.learn_era(backend, Era::Modern);
        }
        let minted = self.pending.mint();
        let request = Declaration::for_probe().request(minted, Method::Discover, "");
        self.ask_ourselves(backend, minted, Asker::Era, Method::Discover, ANSWER_TIMEOUT);
        self.send_to_backend(
            launch,
            Outgoing::request(Method::Discover, RawId::from_number(minted), request.into()),
        );
    }

    /// Handles the answer of a legacy process to `server/discover`; no answer in time is an answer, too.
    pub(crate) fn era_answered(&mut self, backend: BackendId, answer: Option<&Message>) {
        let is_modern = answer.is_some_and(discovers);
        self.learn_era(backend, if is_modern { Era::Modern } else { Era::Legacy });
        self.end_prefetches(backend);
    }

    /// Handles the answer to the `server/discover` with which a modern process is greeted. Returns whether the
    /// process can be used.
    pub(crate) fn discovered(&mut self, launch: Launch, answer: &Message) -> bool {
        if discovers(answer) {
            self.learn_era(launch.backend, Era::Modern);
            return true;
        }
        self.learn_era(launch.backend, Era::Legacy);
        self.refuse_modern(launch.backend);
        self.give_up(launch, HandshakeFailure::refused(answer, &self.settings.secrets));
        false
    }

    /// Handles a refused `initialize`, if the era of the server was unknown: one that speaks only the modern era
    /// refuses it. Returns whether that is so.
    pub(crate) fn handshake_shows_era(&mut self, launch: Launch) -> bool {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return false };
        let server = b.server();
        if !self.era_waits.wants(server)
            || self.servers.get(server).is_none_or(|it| it.era(self.clock.now()).is_some())
        {
            return false;
        }
        let grace = b.settings().shutdown_grace;
        b.begin_stop(AfterStop::Rest);
        self.learn_era(launch.backend, Era::Modern);
        self.end_prefetches(launch.backend);
        self.report(Fact::Stopping { backend: launch.backend, why: "it speaks only the modern era" });
        self.stop(launch, StopHow::Gently { grace });
        true
    }

    /// Answers what modern clients have sent to a server that turned out to be legacy. Their next requests decide
    /// anew.
    fn refuse_modern(&mut self, backend: BackendId) {
        let waiting = self.pending.ids(|p| p.backend() == backend && p.is_wanted() && p.waiting().is_some());
        for minted in waiting {
            let Some(message) = self.pending.get(minted).and_then(|p| p.waiting().cloned()) else { continue };
            self.unqueue(backend, minted);
            let error = self.not_modern(&message);
            self.fail_one(minted, &error);
        }
        let is_its = |c: &&Client| c.is_plain() && c.is_modern() && c.home() == Some(backend);
        for client in self.clients.values().filter(is_its).map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.leave_era(client);
        }
    }
}

/// Whether an answer to `server/discover` names a version that we speak.
fn discovers(answer: &Message) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
    }
    let result = answer.part(Part::Result).unwrap_or_default();
    let read = serde_json::from_slice::<Discovered>(result);
    read.is_ok_and(|it| {
        it.supported_versions.iter().any(|version| MODERN_VERSIONS.contains(&version.as_str()))
    })
}
