//! The era of a server. A server whose era is unknown is started as a modern one, with `server/discover` first. If it
//! refuses, ends, or answers only `initialize`, it is a legacy one: another process is started for the legacy era. So
//! servers that end on an unknown first request work, and those that stay with the era of the first request are not
//! taken for legacy ones. Nothing is asked before a modern client needs to know. The verdict is stored with the launch,
//! for a while.

use crate::answers::Cause;
use crate::backends::{AfterStop, HandshakeFailure};
use crate::clients::{Client, Greeting};
use crate::core::Core;
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::messages::{initialized_notice, own_message};
use crate::pending::Asker;
use crate::record::SeenEra;
use crate::settings::EraChoice;
use crate::transitions::Route;
use serde::Deserialize;
use std::time::Duration;
use switchboard_protocol::modern::{self, Declaration, MODERN_VERSIONS};
use switchboard_protocol::{Era, ErrorAnswer, Message, Method, Outgoing, Part, RawId};

/// Time after which a process that has not answered `server/discover` gets `initialize`, too. Some legacy servers ignore
/// requests that they do not know, while a client waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Time for which a server counts as legacy that refused `server/discover`, or ended on it. Then it is asked again, unless
/// it has answered `initialize`.
const DOUBT: Duration = Duration::from_secs(60);

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

    /// Records the era of a server. `is_only`: it has refused the other one.
    fn learn_era(&mut self, backend: BackendId, era: Era, is_only: bool) {
        let Some(server) = self.backends.get(&backend).map(|b| b.server()) else { return };
        let Some(server) = self.servers.get(server) else { return };
        let now = self.clock.now();
        if server.is_seen(era, now) && (!is_only || server.is_modern_only(now)) {
            return;
        }
        let until = self.clock.now() + SeenEra::GOOD_FOR;
        if let Some(origin) = self.origin(backend) {
            origin.set_era(era, is_only, until);
        }
        let good_for = SeenEra::GOOD_FOR;
        self.learn(backend, |record| record.era = Some(SeenEra { era, is_only, good_for }));
    }

    /// Whether the era of a server is being found out for clients of several servers.
    pub(super) fn is_probed(&self, server: ServerId) -> bool {
        let is_started = |c: &Client| c.is_prefetch() && !c.is_lost() && c.server() == server;
        self.clients.values().any(is_started)
    }

    /// Finds out how a server of a client speaks, by a start in the name of the client.
    pub(super) fn probe_era(
        &mut self,
        client: ClientId,
        server: ServerId,
        declaration: &Declaration,
    ) -> Result<(), ErrorAnswer> {
        let Some(settings) = self.servers.get(server).map(|server| server.settings().clone()) else {
            return Ok(());
        };
        if self.is_probed(server) {
            return Ok(());
        }
        let Some(initialize) = own_message(declaration.initialize().into()) else { return Ok(()) };
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

    /// Greets a modern process.
    pub(crate) fn discover(&mut self, launch: Launch) {
        let backend = launch.backend;
        let minted = self.pending.mint();
        let within = self.settings_of(backend).start_timeout;
        self.ask_ourselves(backend, minted, Asker::Replay, Method::Discover, within);
        let out = self.own_request(backend, minted, Method::Discover, "");
        self.send_to_backend(launch, out);
        if self.is_tentative(backend) {
            self.clock.wake_at(self.clock.now() + PATIENCE);
        }
    }

    /// Whether a process is asked for its era and may turn out to be a legacy one.
    fn is_tentative(&self, backend: BackendId) -> bool {
        self.backends.get(&backend).is_some_and(|b| {
            b.is_starting() && b.handshake().era() == Era::Modern && self.era_of(b.server()).is_none()
        })
    }

    /// Sends `initialize` to a process that does not answer `server/discover`: its answer tells a legacy server from a
    /// slow one.
    pub(crate) fn tick_discovery(&mut self, backend: BackendId) {
        let now = self.clock.now();
        let Some(b) = self.backends.get(&backend) else { return };
        let is_late = b.starting_since().is_some_and(|since| since + PATIENCE <= now);
        let Some(launch) = b.launch().filter(|_| is_late && !b.settings().is_remote) else { return };
        let is_open = |asker: fn(&Asker) -> bool| {
            self.pending.iter().any(|(_, p)| p.backend() == backend && asker(p.asker()))
        };
        let is_asked_once =
            is_open(|asker| matches!(asker, Asker::Replay)) && !is_open(|asker| matches!(asker, Asker::Era));
        if !self.is_tentative(backend) || !is_asked_once {
            return;
        }
        let Some(declaration) = self.declaration_at(backend) else { return };
        let minted = self.pending.mint();
        let within = self.settings_of(backend).start_timeout;
        self.ask_ourselves(backend, minted, Asker::Era, Method::Initialize, within);
        let out = Outgoing::request(
            Method::Initialize,
            RawId::from_number(minted),
            declaration.legacy_initialize(minted).into(),
        );
        self.send_to_backend(launch, out);
    }

    /// Handles the answer to that `initialize`.
    pub(crate) fn era_answered(&mut self, launch: Launch, is_refused: bool) {
        if !is_refused && self.is_tentative(launch.backend) {
            self.give_way(launch);
        }
    }

    /// Handles the answer to the `server/discover` with which a modern process is greeted. Returns whether the
    /// process can be used.
    pub(crate) fn discovered(&mut self, launch: Launch, answer: &Message) -> bool {
        let backend = launch.backend;
        match Discovery::of(answer) {
            Discovery::Speaks => {
                self.learn_era(backend, Era::Modern, false);
                return true;
            }
            // The version that we have named, or another one of ours.
            Discovery::WantsOurs
                if self.backends.get_mut(&backend).is_some_and(|b| b.handshake_mut().ask_again()) =>
            {
                self.discover(launch);
            }
            Discovery::WantsOurs | Discovery::Refuses if self.settings_of(backend).era == EraChoice::Auto => {
                self.give_way(launch);
            }
            Discovery::WantsOurs | Discovery::Refuses => {
                self.give_up(launch, HandshakeFailure::refused(answer, &self.settings.secrets));
            }
        }
        false
    }

    /// Stops a process that does not speak the modern era. Its clients hear of that when it has ended: it may hold what a
    /// process of the legacy era needs.
    fn give_way(&mut self, launch: Launch) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if b.is_starting() {
            b.begin_stop(AfterStop::GiveWay);
            self.report(Fact::Stopping { backend: launch.backend, why: "it does not speak the modern era" });
        }
        self.stop(launch, StopHow::Kill);
    }

    /// Handles the end of a process that gave way.
    pub(crate) fn gave_way(&mut self, backend: BackendId) {
        self.suppose_legacy(backend);
        self.leave_to_legacy(backend);
    }

    /// Lets a server count as legacy for a while. Only its answer to `initialize` proves it: a refusal may come from a broken
    /// start, or from a proxy in front of a remote server.
    fn suppose_legacy(&mut self, backend: BackendId) {
        let now = self.clock.now();
        if let Some(origin) = self.origin(backend) {
            // Another process may have answered `initialize` while this one was on its way out.
            if origin.is_seen(Era::Legacy, now) {
                return;
            }
            origin.suppose_legacy(now + DOUBT);
        }
    }

    /// Handles the end of a process, if it was asked for its era: it may have ended on the question. Returns whether that
    /// is so.
    pub(crate) fn ended_on_discovery(&mut self, launch: Launch, how: &str) -> bool {
        let backend = launch.backend;
        if !self.is_tentative(backend) {
            return false;
        }
        self.report(Fact::Stopped { backend, how: how.to_owned() });
        if let Some(b) = self.backends.get_mut(&backend) {
            b.mark_stopped();
        }
        self.suppose_legacy(backend);
        self.leave_to_legacy(backend);
        true
    }

    fn leave_to_legacy(&mut self, backend: BackendId) {
        self.translate_clients_of(backend);
        self.conclude_sent(backend, &Cause::Stopped);
        self.end_prefetches(backend);
    }

    /// Records that a server has answered `initialize`.
    pub(crate) fn welcomed(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        if b.is_translated() {
            // Only a modern server has answered a translator for legacy clients.
            if b.settings().era == EraChoice::Auto {
                self.learn_era(backend, Era::Modern, true);
            }
            return;
        }
        let is_supposed = self.origin(backend).is_some_and(|origin| origin.is_supposed_legacy());
        if is_supposed && !self.is_modern(backend) {
            self.learn_era(backend, Era::Legacy, false);
        }
    }

    /// Has the messages of modern clients translated, since their server turned out to be a legacy one.
    fn translate_clients_of(&mut self, backend: BackendId) {
        let is_its = |c: &&Client| {
            let has_own = c.is_plain() || c.is_delegate();
            has_own && c.is_modern() && !c.is_lost() && c.holds_lease_on(backend)
        };
        let found: Vec<ClientId> = self.clients.values().filter(is_its).map(|c| c.id()).collect();
        for client in found {
            self.turn_legacy(client, backend);
        }
    }
}

/// Whether an answer refuses the version of its request, and names a modern one of ours instead.
pub(super) fn names_ours(answer: &Message) -> bool {
    Discovery::of(answer) == Discovery::WantsOurs
}

/// Meaning of the answer to `server/discover`.
#[derive(Debug, PartialEq, Eq)]
enum Discovery {
    /// It speaks a modern version of ours.
    Speaks,
    /// It refuses the version of the request, and names one of ours as supported.
    WantsOurs,
    Refuses,
}

impl Discovery {
    fn of(answer: &Message) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Discovered {
            supported_versions: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Refusal {
            code: i64,
            data: Supported,
        }
        #[derive(Deserialize)]
        struct Supported {
            supported: Vec<String>,
        }
        let names_ours =
            |versions: &[String]| versions.iter().any(|version| MODERN_VERSIONS.contains(&version.as_str()));
        let part = |part: Part| answer.part(part).unwrap_or_default();
        let found = serde_json::from_slice::<Discovered>(part(Part::Result));
        if found.is_ok_and(|it| names_ours(&it.supported_versions)) {
            return Self::Speaks;
        }
        let refusal = serde_json::from_slice::<Refusal>(part(Part::Error));
        let wants_ours = refusal.is_ok_and(|it| {
            it.code == i64::from(modern::UNSUPPORTED_VERSION) && names_ours(&it.data.supported)
        });
        if wants_ours { Self::WantsOurs } else { Self::Refuses }
    }
}
