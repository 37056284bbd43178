//! Timeouts: requests expire, a silent backend is probed, a backend in backoff is restarted. Must not know
//! how time is measured.
//!
//! There is no queue of deadlines. `Clock::wake` is a lower bound of all of them: a new deadline can only
//! lower it, and a tick that comes too early costs one scan of what is open. Deadlines move with progress and
//! most requests end long before theirs, so a sorted queue would cost every request something.

use crate::answers::Cause;
use crate::backends::{AfterStop, Backend, HandshakeFailure};
use crate::core::{Core, Followup};
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::BackendId;
use crate::moment::Moment;
use crate::pending::{Asker, Pending, RequestState};
use crate::record::FramingChoice;
use crate::servers::{LastStart, LastWords};
use crate::settings::OnTimeout;
use serde_json::json;
use std::time::Duration;
use switchboard_protocol::{Dialect, Framing, Method, Outgoing, dialect};

/// Time limit for a sign of life.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

impl Core {
    pub(crate) fn tick(&mut self) {
        let now = self.clock.now();
        for minted in self.pending.ids(|pending| pending.deadline() <= now) {
            self.expire(minted);
        }
        for minted in self.questions.ids(|asked| asked.deadline().is_some_and(|deadline| deadline <= now)) {
            let Some(asked) = self.questions.remove(minted) else { continue };
            let error = self.client_silent();
            self.refuse_question(&asked, &error);
        }
        let backends: Vec<BackendId> = self.backends.ids();
        for backend in backends {
            self.tick_backend(backend);
            self.tick_health(backend);
            self.tick_idle(backend);
        }
        self.tick_paused();
        self.tick_ended();
        self.tick_listens();
        self.tick_merging();
        self.tick_aggregates();
        self.tick_unused();
        // The grace period of a shutdown may be over.
        self.check_drained();
    }

    /// The exact next deadline, by a scan of everything.
    pub fn next_deadline(&self) -> Option<Moment> {
        let pending = self.pending.iter().map(|(_, pending)| pending.deadline());
        let asked = self.questions.iter().filter_map(|(_, question)| question.deadline());
        let backends = self.backends.values().flat_map(|b| {
            let probe = b.health().probe_deadline();
            b.backoff_end()
                .into_iter()
                .chain(probe)
                .chain(b.spawn_deadline())
                .chain(b.health().next_check())
                .chain(self.idle_at(b))
                .chain(b.translator_deadline())
                .chain(b.listen_deadline())
        });
        pending
            .chain(asked)
            .chain(backends)
            .chain(self.ending.deadline())
            .chain(self.merging.next_end())
            .chain(self.next_in_line())
            .chain(self.next_of_aggregates())
            .chain(self.unused_at())
            .chain(self.next_standby_start())
            .chain(self.era_waits.next_deadline())
            .chain(self.listen_waits.next_deadline())
            .chain(self.paused.next_deadline())
            .chain(self.ended_calls.next_deadline())
            .min()
    }

    fn tick_backend(&mut self, backend: BackendId) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        if b.backoff_end().is_some_and(|until| until <= now) {
            if self.lives_on() && self.is_nobodys(backend) {
                // No client is left to serve.
                if let Some(b) = self.backends.get_mut(&backend) {
                    b.mark_stopped();
                }
                return self.forget_unused();
            }
            return self.admit(backend);
        }
        if b.spawn_deadline().is_some_and(|deadline| deadline <= now) {
            return self.spawn_expired(backend);
        }
        self.tick_discovery(backend);
        self.tick_translator(backend);
        self.tick_own_listen(backend);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(probe) = b.health().overdue_probe(now) else { return };
        // A server that does one thing at a time answers nothing while it works on a call that still has
        // time. Requests sent after the probe are no excuse.
        let relays = b.settings().relays;
        // Another Switchboard answers at any time, whatever its servers work on.
        let is_before =
            |id: u64, p: &Pending| !relays && id < probe && p.backend() == backend && is_clients(p);
        if self.pending.iter().any(|(id, pending)| is_before(id, pending)) {
            b.health_mut().postpone_probe(now + PROBE_TIMEOUT);
            return;
        }
        b.health_mut().end_probe();
        self.close(probe);
        self.replace_hung(backend, "it did not answer a health check");
    }

    fn expire(&mut self, minted: u64) {
        // The expiry of another request may have closed or extended this one.
        if self.pending.get(minted).is_none_or(|pending| pending.deadline() > self.clock.now()) {
            return;
        }
        let Some(pending) = self.close(minted) else { return };
        let backend = pending.backend();
        match (pending.asker(), pending.state()) {
            // Other clients wait for this answer, or need the process that does not give it.
            (Asker::Client { .. }, RequestState::Cancelled) if self.is_first_handshake(backend, minted) => {
                self.handshake_expired(minted, pending);
            }
            // Concluded when it was cancelled; only the late answer is given up.
            (Asker::Client { .. }, RequestState::Cancelled) => {}
            (Asker::Client { .. }, RequestState::Waiting(_)) => {
                self.unqueue(backend, minted);
                let waited = self.clock.now().since(pending.accepted());
                let b = self.backends.get(&backend).filter(|b| b.is_ready());
                let error = match b.map(|b| b.queue().at_work()) {
                    Some(at_work) => self.no_turn(backend, waited, at_work),
                    None if self.backends.waits_for_room(backend) => self.no_room(backend, waited),
                    None => self.timed_out(backend, waited, false),
                };
                self.fail(&pending, &error);
            }
            (Asker::Client { .. }, RequestState::Sent(_)) if pending.method() == Method::Initialize => {
                self.handshake_expired(minted, pending);
            }
            (Asker::Client { .. }, RequestState::Sent(_)) => {
                let error = self.timed_out(backend, self.clock.now().since(pending.accepted()), true);
                self.fail(&pending, &error);
                self.cancel_at_backend(backend, minted, "timed out");
                self.ended_unanswered(minted, backend, pending.words().is_some());
                if pending.method() == Method::SetLevel {
                    self.keep_level(backend, pending.client());
                }
                self.after_timeout(backend);
            }
            (Asker::Replay, _) => self.replay_expired(backend),
            // As if the server did not offer the list.
            (&Asker::Catalogue { list, round }, _) => self.page_missed(backend, list, round),
            // Judged in `tick_backend`.
            (Asker::Probe, _) => {}
            // A log level is simply not restored.
            (Asker::Restore, _) => self.subscription_expired(&pending),
            // The greeting expires at the same time.
            (Asker::Era, _) => {}
            // Without a time limit.
            (Asker::Listen, _) => {}
            (Asker::Paused, _) => self.end_paused(minted, backend, "its client did not continue it in time"),
        }
    }

    /// Handles a process that does not answer its replayed handshake: perhaps it needs the other framing;
    /// otherwise it counts as crashed.
    fn replay_expired(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.launch() else { return };
        let within = b.settings().start_timeout * b.framing().tries();
        if b.framing().has_other_to_try() && b.is_starting() {
            b.begin_stop(AfterStop::Restart);
            let tried = b.framing_mut().try_other();
            self.record_failure(backend, &Cause::Silent { within, said: LastWords::default() });
            self.doubt_framing(backend, tried);
            self.report(Fact::Stopping { backend, why: "it did not answer; trying the other framing" });
            return self.stop(launch, StopHow::Kill);
        }
        b.begin_framing_anew();
        self.give_up(launch, HandshakeFailure::Silent { within });
    }

    /// Records that a server did not answer in this framing. Many clients give up before the second try, so
    /// the next start begins with the other framing; if that is not answered either, with the usual one.
    fn doubt_framing(&mut self, backend: BackendId, tried: Framing) {
        let begin = match tried {
            Framing::Newline => FramingChoice::Doubt,
            Framing::ContentLength => FramingChoice::Try,
        };
        self.learn(backend, |record| record.framing = begin);
        self.report(Fact::FramingDoubted { backend, framing: tried });
    }

    /// Whether a request is the handshake that a process has to answer before it can serve anyone.
    fn is_first_handshake(&self, backend: BackendId, minted: u64) -> bool {
        let handshake = self.backends.get(&backend).map(Backend::handshake);
        handshake.is_some_and(|it| it.under_way() == Some(minted) && !it.has_welcome())
    }

    /// Handles an unanswered `initialize`: the server may need the other framing. Its client may have left.
    fn handshake_expired(&mut self, minted: u64, mut pending: Pending) {
        let backend = pending.backend();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.ready_launch() else {
            let error = self.timed_out(backend, self.clock.now().since(pending.accepted()), true);
            return self.fail(&pending, &error);
        };
        // The same request goes to the next process, in the other framing.
        if b.framing().is_first_try_unheard() && pending.wait_again() {
            let tried = b.framing_mut().try_other();
            b.begin_stop(AfterStop::Restart);
            pending.set_deadline(self.clock.now() + b.settings().start_timeout * 2);
            let within = self.clock.now().since(pending.accepted());
            self.record_failure(backend, &Cause::Silent { within, said: LastWords::default() });
            self.doubt_framing(backend, tried);
            self.report(Fact::Stopping { backend, why: "it did not answer; trying the other framing" });
            self.conclude_sent(backend, &Cause::Restarted { why: "it did not answer" });
            let Some(b) = self.backends.get_mut(&backend) else { return };
            let Some(client) = pending.client() else { return };
            let early = self.clients.get(&client).and_then(|c| c.confirmed_early()).map(|message| {
                let mut out = Outgoing::of(message);
                dialect::translate(message, Dialect::Standard, &mut out);
                out
            });
            // After `conclude_sent`, so that the handshake precedes the repeated requests.
            b.queue_mut().push_handshake(minted, early);
            self.clock.wake_at(pending.deadline());
            // `expire` has closed the request, which stays open under the same id.
            self.pending.insert(minted, pending);
            return self.stop(launch, StopHow::Kill);
        }
        b.begin_framing_anew();
        b.record_crash(self.clock.now());
        // Restarts only if something is queued by then.
        b.begin_stop(AfterStop::Restart);
        let within = self.clock.now().since(pending.accepted());
        let cause = Cause::Silent { within, said: LastWords::default() };
        let error = self.cause(Some(backend), &cause);
        self.fail(&pending, &error);
        if let Some(client) = pending.client().filter(|_| pending.is_cancelled()) {
            // As after a failure, which would have an answer.
            self.followups.push(Followup::GreetNext { backend, client });
        }
        self.record_start(backend, LastStart::Failed);
        self.record_failure(backend, &cause);
        self.report(Fact::Stopping { backend, why: "it did not answer `initialize`" });
        self.conclude_sent(backend, &Cause::Restarted { why: "it did not answer `initialize`" });
        let how = self.stop_hung(backend);
        self.stop(launch, how);
    }

    pub(crate) fn cancel_at_backend(&mut self, backend: BackendId, minted: u64, why: &'static str) {
        let Some(launch) = self.backends.get(&backend).and_then(|b| b.launch()) else { return };
        let notice = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": minted, "reason": why },
        });
        self.tell_backend(launch, Outgoing::notification(Method::Cancelled, notice.to_string().into()));
    }

    fn after_timeout(&mut self, backend: BackendId) {
        match self.settings_of(backend).on_timeout {
            OnTimeout::Keep => {}
            OnTimeout::Restart => self.replace_hung(backend, "a request timed out"),
            OnTimeout::Probe => self.probe(backend, false),
        }
    }

    pub(crate) fn probe(&mut self, backend: BackendId, is_regular: bool) {
        let deadline = self.clock.now() + PROBE_TIMEOUT;
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.ready_launch().filter(|_| !b.health().is_probed()) else { return };
        let id = self.pending.mint();
        b.health_mut().begin_probe(id, deadline);
        self.clock.wake_at(deadline);
        self.report(Fact::Probing { backend, is_regular });
        // The probe's own deadline decides; this entry only recognises its answer.
        self.ask_ourselves(backend, id, Asker::Probe, Method::Ping, PROBE_TIMEOUT * 1000);
        let method = match () {
            // A daemon would forward a ping to the server.
            () if self.settings_of(backend).relays => Method::Alive,
            // The modern era has no ping.
            () if self.is_modern(backend) || self.is_translated(backend) => Method::Discover,
            () => Method::Ping,
        };
        let ping = self.own_request(backend, id, method, "");
        self.send_to_backend(launch, ping);
    }
}

fn is_clients(pending: &Pending) -> bool {
    let is_theirs = matches!(pending.asker(), Asker::Client { .. } | Asker::Paused);
    is_theirs && matches!(pending.state(), RequestState::Sent(_))
}
