//! The end of clients and of the program: no new requests, a grace period for those in progress, then the
//! backends are stopped.

use crate::answers::Cause;
use crate::core::{Core, Ending, Followup};
use crate::event::{Action, StopHow};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId};
use crate::messages::own_result;
use crate::pending::Listens;
use crate::transitions::CallEnd;
use std::time::Duration;
use switchboard_protocol::Method;

/// Grace period of a backend after a second request to end: it must fit into the two seconds after which
/// clients kill us.
const SECOND_SIGNAL_GRACE: Duration = Duration::from_millis(800);

impl Core {
    /// Handles a request to end. A typical client closes its end, sends a signal if we still exist two
    /// seconds later, and kills us after another two: by then the backends must be gone.
    pub(crate) fn told_to_end(&mut self, why: &'static str) {
        if self.ending.is_leaving() {
            self.ending = Ending::Stopping { leave: true };
            return self.stop_all(|_| StopHow::Terminate { grace: SECOND_SIGNAL_GRACE });
        }
        self.begin_drain(why, true, true);
    }

    pub(crate) fn drain(&mut self, why: &'static str) {
        self.begin_drain(why, true, false);
    }

    /// Handles `shutdown`: the program stays until the client's `exit`.
    pub(crate) fn drain_and_stay(&mut self, why: &'static str) {
        self.begin_drain(why, false, false);
    }

    fn begin_drain(&mut self, why: &'static str, leave: bool, is_told: bool) {
        let deadline = self.clock.now() + self.settings.shutdown_grace;
        if self.ending.begin(deadline, leave, is_told) {
            self.clock.wake_at(deadline);
            let pending = self.clients.values().map(|c| c.unanswered()).sum();
            self.report(Fact::Draining { why, pending });
        }
        // A subscription is never finished; without it there may be nothing to wait for.
        self.end_listens(Listens::All);
        self.check_drained();
        self.check_finished();
    }

    /// Once nothing is in progress, or the grace period is over: answers the rest and stops the backends.
    pub(crate) fn check_drained(&mut self) {
        let Ending::Draining { deadline, leave, is_told } = self.ending else { return };
        let in_flight: usize = self.clients.values().map(|c| c.unanswered()).sum();
        if in_flight > 0 && self.clock.now() < deadline {
            return;
        }
        // Before anything fails: no failure may start or route something again.
        self.ending = Ending::Stopping { leave };
        self.stop_all(|grace| match is_told {
            true => StopHow::Terminate { grace },
            false => StopHow::Gently { grace },
        });
    }

    /// Stops all backends; `how` maps a backend's grace period to the way of stopping.
    fn stop_all(&mut self, how: impl Fn(Duration) -> StopHow) {
        let backends: Vec<BackendId> = self.backends.ids();
        for backend in backends {
            // Clients get their answers before the processes end.
            self.fail_all(backend, &Cause::Stopped);
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            let Some(launch) = b.stop_for_good() else { continue };
            let how = how(b.settings().shutdown_grace);
            self.report(Fact::Stopping { backend, why: "switchboard is shutting down" });
            self.stop(launch, how);
        }
        self.fail_parked(&Cause::Stopped);
        // Roots are of no use any more.
        self.questions.drop_our_own(None);
        self.backends.clear_start_queue();
        self.merging.clear();
        self.answer_farewells();
        self.check_finished();
    }

    /// Answers `shutdown` once everything before it is answered, including late ones.
    pub(crate) fn answer_farewells(&mut self) {
        if !self.ending.is_stopping() {
            return;
        }
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for client in clients {
            let Some(c) = self.clients.get_mut(&client) else { continue };
            let Some((id, batch)) = c.answer_farewell() else { continue };
            let answer = own_result(&id, c.dialect(), "null");
            self.answer(client, &id, batch, answer);
        }
    }

    pub(crate) fn check_finished(&mut self) {
        let Ending::Stopping { leave: true } = self.ending else { return };
        if self.backends.values().all(|b| b.is_stopped()) {
            self.ending = Ending::Finished;
            self.report(Fact::Finished);
            self.actions.push(Action::Finished);
        }
    }

    /// Ends at once: open requests are answered, processes killed.
    pub(crate) fn kill(&mut self) {
        if self.ending != Ending::Finished {
            self.ending = Ending::Stopping { leave: true };
            self.stop_all(|_| StopHow::Kill);
        }
    }

    /// Handles `exit`: the client waits for nothing more.
    pub(crate) fn leave_now(&mut self) {
        self.kill();
    }

    pub(crate) fn client_input_ended(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if !c.is_here() {
            return;
        }
        c.end_input();
        for delegate in self.delegates(client) {
            if let Some(c) = self.clients.get_mut(&delegate) {
                c.end_input();
            }
            // A client that sends nothing more cannot answer either.
            self.end_paused_of(delegate);
            self.refuse_asked(delegate);
        }
        self.report(Fact::ClientInputEnded { client });
        self.end_paused_of(client);
        self.refuse_asked(client);
        self.end_listens(Listens::Of(client));
        self.drain_if_alone("the client closed its input");
    }

    pub(crate) fn client_lost(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.is_lost() {
            return;
        }
        // Before the client is marked as lost: its starts may continue without it.
        self.keep_starts(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.mark_lost();
        self.followups.push(Followup::ForgetLost);
        c.forgive_debts();
        // Including retired delegates.
        let own = self.clients.values().filter(|c| c.is_delegate() && c.connection() == client);
        for delegate in own.map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.lose(delegate);
        }
        self.report(Fact::ClientLost { client });
        self.lose(client);
        self.drain_if_alone("the client has disconnected");
        self.check_drained();
    }

    /// Drops everything owed to a client, or to a delegate.
    pub(crate) fn lose(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.mark_lost();
        self.followups.push(Followup::ForgetLost);
        let are_others = self.lives_on() || self.clients.values().any(|c| c.is_here());
        // Its answers would not be read, so they are not waited for.
        for minted in self.pending.ids(|p| p.is_of(client)) {
            self.drop_request(client, minted, are_others);
            self.give_up_turn(minted);
        }
        self.end_paused_of(client);
        self.refuse_asked(client);
        if are_others {
            self.leave_all(client);
        }
    }

    /// Withdraws a request of a lost client, or has its backend cancel it.
    fn drop_request(&mut self, client: ClientId, minted: u64, are_others: bool) {
        self.report_open_call(minted, CallEnd::cancelled());
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let (backend, method) = (pending.backend(), pending.method());
        if pending.waiting().is_none() {
            let may_ask = pending.words().is_some();
            pending.cancel();
            // MCP forbids the cancellation of `initialize`.
            if are_others && method != Method::Initialize {
                self.cancel_at_backend(backend, minted, "the client has disconnected");
            }
            self.ended_unanswered(minted, backend, may_ask);
            // No answer follows the end of a subscription.
            if method == Method::Listen {
                self.listen_over(minted);
            }
            return;
        }
        self.unqueue(backend, minted);
        self.close(minted);
        if method == Method::Initialize {
            let early = self.clients.get(&client).and_then(|c| c.confirmed_early().cloned());
            self.forget_early(backend, client, early);
            // The backend's first handshake is gone: another client's takes its place.
            self.followups.push(Followup::GreetNext { backend, client });
        }
    }

    /// Refuses servers' requests to a client that can no longer answer.
    pub(crate) fn refuse_asked(&mut self, client: ClientId) {
        for minted in self.questions.ids(|asked| asked.client() == client) {
            if self.waits_for_continuation(minted) {
                continue;
            }
            let Some(asked) = self.questions.remove(minted) else { continue };
            let error = self.client_gone();
            self.refuse_question(&asked, &error);
        }
    }

    fn drain_if_alone(&mut self, why: &'static str) {
        if !self.lives_on() && self.clients.values().all(|c| !c.is_here()) {
            self.drain(why);
        }
    }
}
