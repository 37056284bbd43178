//! The life of a backend's process: start, readiness, crash, restart. See `backends/LIFECYCLE.md`. Must not
//! know who needs the process: `pool` and `routing` do.

use crate::answers::Cause;
use crate::backends::{AfterStop, BackendState, HandshakeFailure};
use crate::core::{Core, Followup};
use crate::event::{Action, StopHow};
use crate::fact::{Fact, Outcome};
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::{Asker, Pending, RequestState};
use crate::servers::LastStart;
use crate::settings::RetryAfterCrash;
use serde_json::json;
use std::time::Duration;
use switchboard_protocol::{Dialect, Era, Message, Method, Outgoing, Part, Patch, RawId, dialect, modern};

/// Grace period after SIGTERM for a process that no longer answers: others wait for the next one.
const HUNG_GRACE: Duration = Duration::from_secs(1);

impl Core {
    /// Starts a process if the backend has none and nothing prevents it.
    pub(crate) fn ensure_started(&mut self, backend: BackendId) {
        // All processes have been told to stop: a new one would not be.
        if self.ending.is_stopping() {
            return;
        }
        let Some(b) = self.backends.get_mut(&backend) else { return };
        match b.state() {
            BackendState::Stopped => self.admit(backend),
            BackendState::Failed { until, .. } if self.clock.now() >= *until => {
                b.breaker_mut().begin_trial();
                self.admit(backend);
            }
            BackendState::Failed { .. }
            | BackendState::Starting { .. }
            | BackendState::Ready { .. }
            | BackendState::Stopping { .. }
            | BackendState::Backoff { .. } => {}
        }
    }

    pub(crate) fn start(&mut self, backend: BackendId) {
        let now = self.clock.now();
        self.record_return(backend);
        let is_used = self.is_waited_for_by_use(backend);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let (launch, framing) = b.begin_start(now, is_used);
        let spawn_by = now + b.settings().start_timeout;
        let (server, root, in_home) = (b.server(), b.key().root.clone(), b.key().in_home);
        let name = b.settings().name.clone();
        self.report(Fact::Starting { backend, server: name, framing, root: root.clone() });
        self.clock.wake_at(spawn_by);
        // After `begin_start`, whose count tells a restart from the first start.
        let environment = self.environment_to_start(backend);
        self.actions.push(Action::Start { launch, server, framing, root, in_home, environment });
    }

    /// Whether a queued request counts as use: the request that causes a start is use too, not only the next one.
    fn is_waited_for_by_use(&self, backend: BackendId) -> bool {
        let is_use = |minted: u64| {
            let method = self.pending.get(minted).map(|pending| pending.method());
            method.is_some_and(|method| !matches!(method, Method::Initialize | Method::Ping))
        };
        self.backends.get(&backend).is_some_and(|b| b.queue().requests().any(is_use))
    }

    pub(crate) fn spawned(&mut self, launch: Launch, pid: u32) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let pid = (pid != 0).then_some(pid);
        if !b.record_spawn(launch, pid) {
            return;
        }
        self.report(Fact::Spawned { backend: launch.backend, pid });
        self.adopt_greeting(launch.backend);
        self.make_ready(launch);
    }

    /// Replays the stored handshake; without one, the first client makes it.
    pub(crate) fn make_ready(&mut self, launch: Launch) {
        let greeting = self.backends.get(&launch.backend).and_then(|b| b.handshake().greeting());
        let Some(initialize) = greeting.map(|greeting| greeting.initialize().clone()) else {
            return self.open(launch);
        };
        let initialize = self.settings_of(launch.backend).asks.declared(&initialize).unwrap_or(initialize);
        if self.is_modern(launch.backend) {
            return self.discover(launch);
        }
        let minted = self.pending.mint();
        let within = self.settings_of(launch.backend).start_timeout;
        let mut out = Outgoing::of(&initialize);
        out.replace(initialize.span(Part::Id), Patch::Id(RawId::from_number(minted)));
        // Progress on the replay must not be taken for progress on the client's own request.
        if initialize.has(Part::MetaProgressToken) {
            out.replace(initialize.span(Part::MetaProgressToken), Patch::Id(RawId::from_number(minted)));
        }
        dialect::translate(&initialize, Dialect::Standard, &mut out);
        self.ask_ourselves(launch.backend, minted, Asker::Replay, Method::Initialize, within);
        self.send_to_backend(launch, out);
    }

    /// Records a request of our own as pending.
    pub(crate) fn ask_ourselves(
        &mut self,
        backend: BackendId,
        minted: u64,
        asker: Asker,
        method: Method,
        within: Duration,
    ) {
        let deadline = self.clock.now() + within;
        let pending = Pending::of_ours(asker, backend, method, self.clock.now(), deadline);
        self.pending.insert(minted, pending);
        self.clock.wake_at(deadline);
    }

    /// Marks the process as ready and sends the queued messages, in order.
    fn open(&mut self, launch: Launch) {
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        b.become_ready(launch, now);
        // Its last client may have left while it started: then the linger time counts from now.
        if let Some(idle_at) = self.backends.get(&launch.backend).and_then(|b| self.idle_at(b)) {
            self.clock.wake_at(idle_at);
        }
        self.let_go(launch.backend);
    }

    /// Handles the answer to a replayed handshake.
    pub(crate) fn replayed(&mut self, launch: Launch, answer: &Message, failed: bool) {
        if self.is_modern(launch.backend) && !self.discovered(launch, answer) {
            return;
        }
        if failed {
            // The server accepted this client before and now refuses it: as bad as a crash.
            return self.give_up(launch, HandshakeFailure::refused(answer, &self.settings.secrets));
        }
        self.record_start(launch.backend, LastStart::Well);
        self.welcomed(launch.backend);
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let Some(since) = b.starting_since() else { return };
        let is_first = b.launches() == 1;
        b.record_answer(false);
        b.handshake_mut().set_welcome(answer.clone());
        let after = self.clock.now().since(since);
        self.learn_offer(launch.backend, Method::Initialize, answer);
        self.welcome_waiting(launch.backend);
        self.complete_greeting(launch.backend);
        let Some(b) = self.backends.get(&launch.backend) else { return };
        let has_confirmed = |client: &ClientId| {
            let greeting = self.clients.get(client).and_then(|c| c.greeting());
            greeting.is_some_and(|greeting| greeting.initialized().is_some())
        };
        let greeted_by = b.handshake().greeted_by().filter(has_confirmed);
        let initialized = b.handshake().confirmation().cloned();
        if let Some(message) = initialized {
            self.confirm_to(launch, greeted_by, &message);
            self.restore(launch);
        }
        self.report(Fact::Ready { backend: launch.backend, after, restarted: !is_first });
        // Last: queued requests must find the handshake done and the state restored.
        self.open(launch);
    }

    /// Forwards `initialized` to the server.
    pub(crate) fn confirm_to(&mut self, launch: Launch, by: Option<ClientId>, initialized: &Message) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let is_repeated = b.handshake().is_initialized();
        b.handshake_mut().confirm(by);
        // The modern era has no second half.
        if b.handshake().era() == Era::Modern {
            return;
        }
        let mut out = Outgoing::of(initialized);
        dialect::translate(initialized, Dialect::Standard, &mut out);
        // A process needs the first one in any case. Further ones are limited like other notifications.
        if is_repeated { self.tell_backend(launch, out) } else { self.send_notice(launch, out) }
    }

    /// Handles a start without a process or connection.
    pub(crate) fn start_failed(&mut self, launch: Launch, fact: Fact, cause: &Cause) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if !b.is_current(launch) {
            return;
        }
        // No retry by itself: a missing command will not appear within a second.
        b.mark_stopped();
        b.roots_mut().forget_questions();
        self.record_start(launch.backend, LastStart::Failed);
        self.record_failure(launch.backend, cause);
        self.report(fact);
        self.fail_all(launch.backend, cause);
        self.check_drained();
        self.check_finished();
    }

    /// Handles a start that took too long. The machine may be overloaded, or a disk not responding.
    pub(crate) fn spawn_expired(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let within = b.settings().start_timeout;
        b.record_crash(self.clock.now());
        let Some(launch) = b.begin_stop(AfterStop::Restart) else { return };
        let cause = Cause::SpawnTimeout { within };
        self.record_start(backend, LastStart::Failed);
        self.record_failure(backend, &cause);
        self.report(Fact::Stopping { backend, why: "the process did not start in time" });
        self.fail_all(backend, &cause);
        self.stop(launch, StopHow::Kill);
    }

    pub(crate) fn stop(&mut self, launch: Launch, how: StopHow) {
        // What its end leads to may be the end of us, which stops everything.
        if self.backends.get(&launch.backend).is_some_and(|b| b.has_ended(launch)) {
            return;
        }
        self.actions.push(Action::Stop { launch, how });
    }

    /// Stops a process that no longer answers, and starts another.
    pub(crate) fn replace_hung(&mut self, backend: BackendId, why: &'static str) {
        let how = self.stop_hung(backend);
        self.restart(backend, why, how);
    }

    /// Stop method for a process that no longer answers: no time is spent waiting for it to notice the end of
    /// its input.
    pub(crate) fn stop_hung(&self, backend: BackendId) -> StopHow {
        StopHow::Terminate { grace: self.settings_of(backend).shutdown_grace.min(HUNG_GRACE) }
    }

    /// Stops a process that uses too much memory, and starts another.
    pub(crate) fn replace_heavy(&mut self, backend: BackendId, why: &'static str) {
        let grace = self.settings_of(backend).shutdown_grace;
        self.restart(backend, why, StopHow::Gently { grace });
    }

    fn restart(&mut self, backend: BackendId, why: &'static str, how: StopHow) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(launch) = b.ready_launch() else { return };
        // Counted like a crash, or a server that keeps hanging would be restarted forever.
        b.record_crash(self.clock.now());
        b.begin_stop(AfterStop::Restart);
        self.report(Fact::Stopping { backend, why });
        self.tell_of_loss(backend, why);
        // Answer the sent requests now: the process will not answer them any more.
        self.conclude_sent(backend, &Cause::Restarted { why });
        self.stop(launch, how);
    }

    pub(crate) fn backend_ended(&mut self, launch: Launch, how: &str, stderr: &str, hint: Option<String>) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        if !b.is_current(launch) {
            return;
        }
        b.note_end(launch);
        if b.lists_mut().end_process() {
            self.plan_retry_of(launch.backend);
        }
        let begins_again = self.ended_in_handshake(launch);
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let was_wanted = b.wanted_launch().is_some();
        let then = b.end_stop();
        if then.is_some() {
            self.report(Fact::Stopped { backend: launch.backend, how: how.to_owned() });
        }
        match then {
            Some(AfterStop::Restart) => {
                self.conclude_sent(launch.backend, &Cause::Stopped);
                self.recover(launch.backend, how);
            }
            Some(AfterStop::Rest) => {
                self.conclude_sent(launch.backend, &Cause::Stopped);
                self.wake_up(launch.backend);
            }
            Some(AfterStop::Fail(failure)) => self.handshake_failed(launch.backend, failure, stderr),
            Some(AfterStop::GiveWay) => self.gave_way(launch.backend),
            None if begins_again => self.begin_anew(launch.backend, how),
            None if was_wanted && self.ended_on_discovery(launch, how) => {}
            None if was_wanted => self.crashed(launch, how, stderr, hint),
            None => {}
        }
        // A stand-in may have lost its process.
        self.followups.push(Followup::CheckStandbys);
        self.merging.forget_backend(launch.backend);
        self.forget_unused();
        self.check_drained();
        self.check_finished();
    }

    /// Starts another process at once, for a handshake that waits for it.
    fn begin_anew(&mut self, backend: BackendId, how: &str) {
        self.report(Fact::Stopped { backend, how: how.to_owned() });
        if let Some(b) = self.backends.get_mut(&backend) {
            b.mark_stopped();
        }
        self.conclude_sent(backend, &Cause::Stopped);
        self.ensure_started(backend);
    }

    /// Restarts a resting backend whose process has ended, if a request came meanwhile.
    fn wake_up(&mut self, backend: BackendId) {
        let b = self.backends.get(&backend);
        if b.is_some_and(|b| b.queue().requests().next().is_some()) {
            self.ensure_started(backend);
        } else if let Some(b) = self.backends.get_mut(&backend) {
            // Notifications were for the ended process.
            b.queue_mut().clear();
        }
    }

    fn crashed(&mut self, launch: Launch, how: &str, stderr: &str, hint: Option<String>) {
        let backend = launch.backend;
        let pending = self.pending.ids(|p| p.backend() == backend).len();
        let said = self.last_words(backend, stderr);
        self.report(Fact::Crashed {
            backend,
            how: how.to_owned(),
            pending,
            stderr: said.stderr().to_owned(),
        });
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let was_starting = !b.has_answered() || b.is_starting();
        // Before `mark_stopped`: the breaker must know since when the process was ready.
        b.record_crash(now);
        b.mark_stopped();
        let how = how.to_owned();
        // Behind a relay, it was not the server that ended.
        let cause = match b.has_answered() || b.settings().relays {
            true => Cause::Died { how: how.clone(), said },
            false => Cause::DiedAtStart { how: how.clone(), said, hint },
        };
        if was_starting {
            self.record_start(backend, LastStart::Failed);
        }
        self.fail_with(backend, &cause, "it ended by itself");
        self.recover(backend, &how);
    }

    /// Records a failure, and answers what the ended process owes.
    pub(crate) fn fail_with(&mut self, backend: BackendId, cause: &Cause, why: &'static str) {
        self.record_failure(backend, cause);
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.roots_mut().forget_questions();
        if b.has_answered() || b.settings().relays {
            self.tell_of_loss(backend, why);
            self.conclude_sent(backend, cause);
        } else {
            // The server never worked: tell waiting clients at once, rather than after five more attempts.
            self.fail_all(backend, cause);
        }
    }

    /// Decides after the end of a process: restart now, later, or not at all.
    pub(crate) fn recover(&mut self, backend: BackendId, how: &str) {
        // Another Switchboard is started on demand.
        let relays = self.settings_of(backend).relays;
        let is_wanted = self.is_running() && !relays && self.lessees(backend).next().is_some();
        if !is_wanted && self.nothing_waits(backend) {
            return;
        }
        let roll = self.random.roll();
        let limit = self.settings.limits.restarts_per_minute;
        let now = self.clock.now();
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let crashes = b.breaker().crashes();
        // Stopped on purpose, so the next start need not wait.
        if crashes == 0 {
            return self.admit(backend);
        }
        if let Some(cooldown) = b.breaker_mut().open_if_due(limit) {
            b.fail_fast(now + cooldown, how.to_owned());
            self.report(Fact::BreakerOpened { backend, cooldown, crashes });
            return self.fail_all(backend, &Cause::BreakerOpen { why: how.to_owned(), wait: cooldown });
        }
        if !b.has_answered() && b.queue().is_empty() {
            // No client waits, and it has never worked: the next request tries again.
            return;
        }
        let delay = b.breaker().backoff(roll);
        b.back_off(now + delay);
        self.clock.wake_at(now + delay);
        self.report(Fact::RestartIn { backend, delay, crashes });
    }

    fn nothing_waits(&self, backend: BackendId) -> bool {
        self.backends.get(&backend).is_none_or(|b| b.queue().is_empty())
    }

    /// Settles everything sent to an ended process: repeated once if that is safe, otherwise answered with an error.
    pub(crate) fn conclude_sent(&mut self, backend: BackendId, cause: &Cause) {
        let error = self.cause(Some(backend), cause);
        let settings = self.settings_of(backend);
        let may_retry = settings.retry_after_crash == RetryAfterCrash::Safe && self.is_running();
        let ids = self.pending.ids(|p| p.was_sent_to(backend));
        let mut again = Vec::new();
        let (mut room, most) = (self.settings.limits.backend_bytes, settings.max_queue);
        for minted in ids {
            let Some(mut pending) = self.withdraw(minted) else { continue };
            match pending.mark_sent() {
                RequestState::Sent(Some(message))
                    if may_retry
                        && !pending.is_retried()
                        && (modern::is_repeatable(&message)
                            || (settings.relays && pending.method() == Method::Initialize))
                        // A reload may have hidden what it names since it was sent.
                        && pending.client().is_none_or(|client| self.still_passes(client, &message))
                        // The first message always fits, as in an empty outbox.
                        && (again.is_empty() || (again.len() < most && message.bytes().len() <= room)) =>
                {
                    room = room.saturating_sub(message.bytes().len());
                    self.report(Fact::Retried { backend, method: pending.name().clone() });
                    pending.retry(message);
                    // The same time as for any request that waits for a start.
                    pending.go_on_until(self.clock.now() + settings.start_timeout * 2);
                    self.pending.insert(minted, pending);
                    again.push(minted);
                }
                // The client waits for nothing, so there is nothing to answer or repeat.
                RequestState::Cancelled => {
                    self.end_permit(pending.take_permit());
                    self.no_answer_follows(&pending);
                }
                RequestState::Sent(_) | RequestState::Waiting(_) => {
                    self.end_permit(pending.take_permit());
                    self.fail(&pending, &error);
                }
            }
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.health_mut().end_probe();
            // Repeated requests go before those that came later.
            b.queue_mut().push_front(again);
        }
        self.forget_asked(backend);
    }

    /// Answers everything sent or queued with an error.
    pub(crate) fn fail_all(&mut self, backend: BackendId, cause: &Cause) {
        let error = self.cause(Some(backend), cause);
        if let Some(b) = self.backends.get_mut(&backend) {
            // First, so that no queued client makes the next handshake when one fails.
            b.handshake_mut().fail_all();
        }
        for minted in self.pending.ids(|p| p.backend() == backend) {
            if let Some(pending) = self.close(minted) {
                self.fail(&pending, &error);
            }
        }
        if let Some(b) = self.backends.get_mut(&backend) {
            b.health_mut().end_probe();
            b.queue_mut().clear();
        }
        self.forget_asked(backend);
        self.refuse_open_subscriptions(backend);
        self.missed(backend);
    }

    /// Cancels the requests of an ended process at its clients, which need not keep showing a dialog, for example.
    pub(crate) fn forget_asked(&mut self, backend: BackendId) {
        for minted in self.questions.ids(|asked| asked.is_of(backend)) {
            let Some(asked) = self.questions.remove(minted) else { continue };
            self.report_asked(&asked, Outcome::Cancelled);
            let notice = json!({
                "method": "notifications/cancelled",
                "params": { "requestId": minted, "reason": "the server that asked has stopped" },
            });
            self.notify_client(asked.client(), notice);
        }
        self.pending.forget_closed_at(backend);
        self.questions.forget_tokens_of(backend);
    }
}
