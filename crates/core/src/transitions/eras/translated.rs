//! Processes with a translator: modern servers of legacy clients. A client's `initialize` becomes `server/discover`. Must
//! not know how messages are translated.

use super::verdict::{PATIENCE, names_ours};
use crate::backends::Backend;
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, Launch};
use crate::messages::own_message;
use crate::pending::{Asker, Pending};
use crate::settings::{EraChoice, ServerSettings};
use crate::translation::{Step, TranslatedProcess, Translator};
use bytes::Bytes;
use std::time::Duration;
use switchboard_protocol::{Era, Kind, Message, Method, Outgoing, Part, RawId};

/// Error codes with which a modern-only server may refuse `initialize`: unknown method, missing declaration, missing
/// headers, unsupported version.
const REFUSALS: [&[u8]; 4] = [b"-32601", b"-32602", b"-32020", b"-32022"];

impl Core {
    /// Adds a translator to a process that is about to get `initialize`, if its server may be modern only.
    pub(crate) fn choose_translator(&mut self, launch: Launch) {
        let now = self.clock.now();
        let Some(b) = self.backends.get(&launch.backend).filter(|b| b.is_current(launch)) else { return };
        if b.is_translated() || b.handshake().era() != Era::Legacy {
            return;
        }
        let settings = b.settings().clone();
        let translator = match settings.era {
            EraChoice::Fixed(Era::Legacy) => return,
            EraChoice::Fixed(Era::Modern) => Translator::for_legacy(self.translated_process(launch)),
            EraChoice::Auto => {
                let process = self.translated_process(launch);
                let Some(origin) = self.origin(launch.backend) else { return };
                if !origin.take_suspicion() && !origin.is_modern_only(now) {
                    return;
                }
                Translator::in_doubt(Self::patience_with(&settings), process)
            }
        };
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.translate(translator);
        }
    }

    fn translated_process(&self, launch: Launch) -> TranslatedProcess {
        let spent_ids = self.backends.get(&launch.backend).map(|b| b.spent_ids()).unwrap_or_default();
        TranslatedProcess { started: self.settings.started, launch, spent_ids }
    }

    pub(crate) fn is_translated(&self, backend: BackendId) -> bool {
        self.backends.get(&backend).is_some_and(|b| b.is_translated())
    }

    /// The `initialize` that a server refuses with one of `REFUSALS`.
    fn refused_handshake(&self, launch: Launch, message: &Message) -> Option<Message> {
        let b = self.backends.get(&launch.backend).filter(|b| !b.is_translated())?;
        let code = message.part(Part::ErrorCode)?;
        if b.settings().era != EraChoice::Auto || b.settings().relays || !REFUSALS.contains(&code) {
            return None;
        }
        let minted = message.part(Part::Id).and_then(RawId::minted)?;
        let pending = self.pending.get(minted).filter(|pending| pending.was_sent_to(launch.backend))?;
        let is_handshake = pending.method() == Method::Initialize && !matches!(pending.asker(), Asker::Era);
        let is_open = is_handshake && self.era_of(b.server()) != Some(Era::Legacy);
        let own = b.handshake().words_of(minted);
        let said = own.or_else(|| b.handshake().greeting().map(|greeting| greeting.initialize()));
        let initialize = said.filter(|_| is_open && b.handshake().era() == Era::Legacy)?;
        Some(b.settings().asks.declared(initialize).unwrap_or_else(|| initialize.clone()))
    }

    /// Sends `server/discover` to a server that refuses the handshake. Returns any other message.
    pub(crate) fn ask_for_modern(&mut self, launch: Launch, message: Message) -> Option<Message> {
        let Some(initialize) = self.refused_handshake(launch, &message) else { return Some(message) };
        let within = (Self::patience_with(&self.settings_of(launch.backend)), self.clock.now());
        let (translator, steps) =
            Translator::after_refusal(&initialize, message, within, self.translated_process(launch))?;
        self.backends.get_mut(&launch.backend)?.translate(translator);
        self.take_steps(launch, steps);
        None
    }

    /// Timeout for the answer to `server/discover`. Connections to remote servers have their own limits.
    fn patience_with(settings: &ServerSettings) -> Option<Duration> {
        (!settings.is_remote).then_some(PATIENCE)
    }

    /// Runs the timers of a translator.
    pub(crate) fn tick_translator(&mut self, backend: BackendId) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.translator_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        let Some(launch) = b.wanted_launch() else { return };
        let steps = b.translator_mut().map(|it| it.tick(now)).unwrap_or_default();
        self.take_steps(launch, steps);
    }

    /// Handles the end of a process during its handshake. If the process had refused `initialize`, the refusal is the
    /// answer. A server that exits on `initialize` may be modern only, so its next process gets `server/discover` first.
    /// Returns whether the handshake waits for that process.
    pub(crate) fn ended_in_handshake(&mut self, launch: Launch) -> bool {
        let wanted = |b: &&mut Backend| b.wanted_launch() == Some(launch);
        let Some(b) = self.backends.get_mut(&launch.backend).filter(wanted) else { return false };
        let is_own = b.handshake().is_under_way();
        if b.is_in_doubt() {
            if self.begin_again(launch.backend) {
                return true;
            }
            let Some(b) = self.backends.get_mut(&launch.backend) else { return false };
            if !b.has_answered() {
                // The process is gone, so queued clients fail too instead of making the next handshake.
                b.handshake_mut().fail_all();
            }
            for step in b.translator_mut().map(|it| it.give_up()).unwrap_or_default() {
                if let Step::GiveUp { refusal, .. } = step {
                    // The process gets nothing any more, and the refusal matters only to a waiting client.
                    self.translate_no_more(launch, refusal.filter(|_| is_own), Vec::new());
                }
            }
            return false;
        }
        let (server, settings) = (b.server(), b.settings().clone());
        let is_open = settings.era == EraChoice::Auto && !b.is_translated() && !b.has_answered();
        let is_local = !settings.is_remote && !settings.relays;
        let is_legacy = b.handshake().era() == Era::Legacy;
        let is_asked = |p: &Pending| p.method() == Method::Initialize && p.was_sent_to(launch.backend);
        if is_open
            && is_local
            && is_legacy
            && self.era_of(server).is_none()
            && self.pending.iter().any(|(_, pending)| is_asked(pending))
            && let Some(origin) = self.origin(launch.backend)
        {
            origin.suspect_modern();
        }
        false
    }

    /// Restarts a server once for a client's handshake, if the server refused the version, named a modern one and exited,
    /// as servers of the Rust SDK do.
    fn begin_again(&mut self, backend: BackendId) -> bool {
        let Some(b) = self.backends.get(&backend) else { return false };
        let is_certain = b.translator().and_then(Translator::refusal).is_some_and(names_ours);
        let Some(minted) = b.handshake().under_way().filter(|_| is_certain) else { return false };
        let until = self.clock.now() + b.settings().start_timeout * 2;
        let may_wait = |p: &&Pending| p.was_sent_to(backend) && !p.is_retried();
        let sent = self.pending.get(minted).filter(may_wait).and_then(Pending::sent).cloned();
        let Some((initialize, mut pending)) = sent.and_then(|it| Some((it, self.withdraw(minted)?))) else {
            return false;
        };
        self.report(Fact::Retried { backend, method: pending.name().clone() });
        pending.retry(initialize);
        pending.go_on_until(until);
        self.pending.insert(minted, pending);
        self.clock.wake_at(until);
        if let Some(b) = self.backends.get_mut(&backend) {
            b.translate_no_more();
            b.queue_mut().push_front(vec![minted]);
        }
        if let Some(origin) = self.origin(backend) {
            origin.suspect_modern();
        }
        true
    }

    /// The level of log messages that the client of a request has set, as JSON.
    fn level_for(&self, request: &Message) -> Option<Bytes> {
        let minted = request.part(Part::Id).and_then(RawId::minted)?;
        let level = self.clients.get(&self.pending.get(minted)?.client()?)?.level()?.request();
        Some(level.bytes().slice(level.span(Part::Level).range()))
    }

    /// The core's id for a request that a process knows under this one.
    pub(crate) fn translated_id(&self, launch: Launch, number: u64) -> u64 {
        let translator = self.backends.get(&launch.backend).and_then(|b| b.translator());
        translator.map_or(number, |it| it.minted_of(number))
    }

    /// Sends a message through the translator of a process.
    pub(crate) fn translate_to_backend(&mut self, launch: Launch, out: &Outgoing) {
        let Some(message) = own_message(out.to_vec().into()) else { return };
        let level = self.level_for(&message);
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) else { return };
        let mut steps =
            b.translator_mut().map(|it| it.outbound(&message, level.as_deref(), now)).unwrap_or_default();
        if message.kind() == Kind::Notification {
            steps.retain(|step| match step {
                Step::ToServer(out) if !out.is_request() => self.admits_notice(launch.backend, out),
                _ => true,
            });
        }
        self.take_steps(launch, steps);
    }

    /// Handles a message of a process through its translator.
    pub(crate) fn translate_from_backend(&mut self, launch: Launch, message: Message) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let steps = b.translator_mut().map(|it| it.inbound(message, now)).unwrap_or_default();
        self.take_steps(launch, steps);
    }

    /// Writes messages for the server at once. Messages for the core wait for the end of the event, since the sender of a
    /// request may not have recorded it yet.
    fn take_steps(&mut self, launch: Launch, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::ToServer(out) => self.write_to_backend(launch, out),
                Step::GoesOn { about } => self.request_goes_on(launch.backend, about),
                step @ (Step::ToCore(_) | Step::Ask { .. } | Step::GiveUp { .. }) => {
                    self.translated.push_back((launch, step))
                }
            }
        }
        if let Some(due) = self.backends.get(&launch.backend).and_then(|b| b.translator_deadline()) {
            self.clock.wake_at(due);
        }
    }

    /// Handles the queued messages of translators.
    pub(crate) fn run_translated(&mut self) {
        while let Some((launch, step)) = self.translated.pop_front() {
            // The process has ended meanwhile.
            if !self.backends.get(&launch.backend).is_some_and(|b| b.is_current(launch)) {
                continue;
            }
            match step {
                Step::ToServer(out) => self.write_to_backend(launch, out),
                Step::GoesOn { about } => self.request_goes_on(launch.backend, about),
                Step::ToCore(message) => self.backend_says(launch, message),
                Step::Ask { about, question } => self.backend_request(launch, &question, Some(about)),
                Step::GiveUp { refusal, handshake } => self.translate_no_more(launch, refusal, handshake),
            }
        }
    }

    /// Removes the translator, since the server turned out to be legacy.
    fn translate_no_more(&mut self, launch: Launch, refusal: Option<Message>, handshake: Vec<Outgoing>) {
        if let Some(origin) = self.origin(launch.backend) {
            origin.forget_era();
        }
        self.learn(launch.backend, |record| record.era = None);
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.translate_no_more();
        }
        for out in handshake {
            self.write_to_backend(launch, out);
        }
        if let Some(refusal) = refusal {
            self.backend_says(launch, refusal);
        }
    }
}
