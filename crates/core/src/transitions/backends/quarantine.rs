//! Output of a backend that is not a message. Counted and logged, never forwarded; a request whose answer it
//! was meant to be fails at once.

use crate::core::Core;
use crate::fact::Fact;
use crate::ids::Launch;
use crate::pending::Pending;
use bytes::Bytes;
use switchboard_protocol::hunt::{self, Glimpse};
use switchboard_protocol::{Broken, Dialect, ErrorAnswer, Method, Parsed, RawId, parse};

/// Limit on stored bytes of a quarantined line.
const MAX_QUARANTINED_BYTES: usize = 200;

impl Core {
    pub(crate) fn backend_noise(&mut self, launch: Launch, text: &Bytes, broken: Vec<Broken>) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let is_current = b.is_current(launch);
        let shown = self.settings.secrets.redact_cut(text, MAX_QUARANTINED_BYTES);
        b.quarantine_mut().add(shown.clone());
        let total = b.quarantine().total();
        self.report(Fact::Quarantined { backend: launch.backend, text: shown, bytes: text.len(), total });
        // An id from an earlier process may be in use by the current one.
        for broken in broken.into_iter().filter(|_| is_current) {
            if broken.is_meant_as_answer() {
                self.broken_answer(launch, &broken);
            } else if let (true, Some(id)) = (broken.has_method && is_meant_as_request(text), &broken.id) {
                let error = ErrorAnswer::of_fault(broken.fault);
                self.refuse_backend(launch, id, &error);
            }
        }
    }

    fn broken_answer(&mut self, launch: Launch, broken: &Broken) {
        let error = self.bad_answer(launch.backend, &broken.fault.explain());
        match &broken.id {
            Some(id) => self.fail_minted(launch, id, &error),
            None if broken.is_answer && broken.is_envelope => self.fail_only_open(launch, false, &error),
            None => {}
        }
    }

    pub(crate) fn backend_too_long(&mut self, launch: Launch, length: u64, glimpses: &[Glimpse]) {
        if !self.backends.get(&launch.backend).is_some_and(|b| b.is_current(launch)) {
            return;
        }
        self.report(Fact::TooLong {
            from: self.server_name(launch.backend).to_owned().into(),
            bytes: length,
        });
        let error = self.too_large("answer", length);
        for glimpse in glimpses {
            match &glimpse.id {
                Some(id) if glimpse.method.is_some() => self.refuse_backend(launch, id, &error),
                Some(id) => {
                    // Even an answer that is too long shows that the server understands our framing.
                    self.backend_spoke(launch, true);
                    self.fail_minted(launch, id, &error);
                }
                // A notification would not get an answer of this size.
                None if glimpse.is_answer && glimpse.has_version => self.fail_only_open(launch, true, &error),
                None => {}
            }
        }
    }

    /// The request that a message without an id must be about: the only open one. Some servers answer
    /// notifications in this way; `answers_request` excludes that.
    pub(crate) fn only_open(&self, launch: Launch, answers_request: bool) -> Option<u64> {
        // The message may be a complaint about headers: then the other framing has yet to be tried.
        let b = self.backends.get(&launch.backend)?;
        if b.framing().may_misread_headers() {
            return None;
        }
        if b.outbox().may_answer_notice() && !answers_request {
            return None;
        }
        // A cancelled request is still open for the server.
        let &[only] = self.pending.ids(|p| p.was_sent_to(launch.backend)).as_slice() else { return None };
        if self.pending.get(only).is_some_and(Pending::is_cancelled) {
            return None;
        }
        // With other users it may be about a request that is closed for us, but not for the server.
        let client = self.pending.get(only).and_then(Pending::client);
        let is_certain = client.is_none_or(|client| !b.users().has_others(self.connection_of(client)));
        is_certain.then_some(only)
    }

    /// Records an answered request: the notifications before it are settled too.
    pub(crate) fn record_answered(&mut self, launch: Launch, minted: u64) {
        if let Some(b) = self.backends.get_mut(&launch.backend) {
            b.outbox_mut().record_answer(minted);
        }
    }

    fn fail_only_open(&mut self, launch: Launch, answers_request: bool, error: &ErrorAnswer) {
        match self.only_open(launch, answers_request) {
            Some(minted) => self.fail_open(launch, minted, error),
            None => self.late_answer(launch),
        }
    }

    /// Ends the request to which a useless answer belongs.
    fn fail_minted(&mut self, launch: Launch, id: &RawId, error: &ErrorAnswer) {
        let minted = RawId::minted(id.as_bytes());
        // A line of output must not end a request to another backend.
        let is_open = |minted: &u64| self.pending.get(*minted).is_some_and(|p| p.was_sent_to(launch.backend));
        if let Some(minted) = minted.filter(is_open) {
            self.record_answered(launch, minted);
            self.fail_open(launch, minted, error);
        }
    }

    /// Ends an open request as if the server had refused it.
    pub(crate) fn fail_open(&mut self, launch: Launch, minted: u64, error: &ErrorAnswer) {
        if self.pending.get(minted).is_some_and(|pending| pending.client().is_some()) {
            let Some(pending) = self.close(minted) else { return };
            self.fail(&pending, error);
            return self.check_drained();
        }
        // Our own requests need their usual handling, so they get a refusal as an answer.
        let refusal = error.to_bytes(&RawId::from_number(minted), Dialect::Standard);
        if let Ok(Parsed::One(refusal)) = parse(refusal) {
            self.backend_response(launch, refusal, true);
        }
    }
}

/// Whether a broken line was meant as a request to the client. A text *about* a request is not: refusing it
/// would answer whatever the server itself has asked under that id.
fn is_meant_as_request(text: &[u8]) -> bool {
    let is_object = text.trim_ascii_start().starts_with(b"{");
    is_object && hunt::look(text).method.is_some_and(|name| Method::from_name(&name).comes_from_servers())
}
