//! The end of clients and of the program: no new requests, a grace time for those in flight, then the backends are stopped.

use crate::answers::Cause;
use crate::core::{Core, Ending, Followup};
use crate::event::{Action, StopHow};
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId};
use crate::messages::own_result;
use std::time::Duration;
use switchboard_protocol::Method;

/// The grace of a backend when we have been told to end for the second time: it must fit into the two seconds after
/// which clients kill.
const SECOND_SIGNAL_GRACE: Duration = Duration::from_millis(800);

impl Core {
    /// A client of the usual kind closes its end, sends a signal when we are still there two seconds later,
    /// and kills us after another two: by then the backends must be gone.
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

    /// `shutdown`: the program stays until the client's `exit`.
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
        self.check_drained();
        self.check_finished();
    }

    /// If nothing is in flight any more, or the grace is over: answer what is left, and stop the backends.
    pub(crate) fn check_drained(&mut self) {
        let Ending::Draining { deadline, leave, is_told } = self.ending else { return };
        let in_flight: usize = self.clients.values().map(|c| c.unanswered()).sum();
        if in_flight > 0 && self.clock.now() < deadline {
            return;
        }
        self.ending = Ending::Stopping { leave };
        self.stop_all(|grace| match is_told {
            true => StopHow::Terminate { grace },
            false => StopHow::Gently { grace },
        });
    }

    /// `how` says what becomes of a backend with this grace.
    fn stop_all(&mut self, how: impl Fn(Duration) -> StopHow) {
        let backends: Vec<BackendId> = self.backends.ids();
        for backend in backends {
            self.fail_all(backend, &Cause::Stopped);
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            let Some(launch) = b.stop_for_good() else { continue };
            let how = how(b.settings().shutdown_grace);
            self.report(Fact::Stopping { backend, why: "switchboard ends" });
            self.stop(launch, how);
        }
        self.fail_parked(&Cause::Stopped);
        self.questions.drop_our_own(None);
        self.backends.clear_start_queue();
        self.merging.clear();
        self.answer_farewells();
        self.check_finished();
    }

    /// `shutdown` is answered when everything before it is, also to one who says it only then.
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

    /// At once: what is open is answered, what runs is killed.
    pub(crate) fn kill(&mut self) {
        if self.ending != Ending::Finished {
            self.ending = Ending::Stopping { leave: true };
            self.stop_all(|_| StopHow::Kill);
        }
    }

    /// `exit`: the client does not wait for anything any more.
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
            self.refuse_asked(delegate);
        }
        self.report(Fact::ClientInputEnded { client });
        self.refuse_asked(client);
        self.drain_if_alone("the client closed its end");
    }

    pub(crate) fn client_lost(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.is_lost() {
            return;
        }
        self.keep_starts(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.mark_lost();
        self.followups.push(Followup::ForgetLost);
        c.forgive_debts();
        // Also those that it has no use for any more.
        let own = self.clients.values().filter(|c| c.is_delegate() && c.connection() == client);
        for delegate in own.map(|c| c.id()).collect::<Vec<ClientId>>() {
            self.lose(delegate);
        }
        self.report(Fact::ClientLost { client });
        self.lose(client);
        self.drain_if_alone("the client is gone");
        self.check_drained();
    }

    /// Nothing more is owed to a client, or to a delegate of one.
    pub(crate) fn lose(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.mark_lost();
        self.followups.push(Followup::ForgetLost);
        let are_others = self.lives_on() || self.clients.values().any(|c| c.is_here());
        // Nobody reads the answers: they need not be waited for.
        for minted in self.pending.ids(|p| p.is_of(client)) {
            self.drop_request(client, minted, are_others);
            self.give_up_turn(minted);
        }
        self.refuse_asked(client);
        if are_others {
            self.leave_all(client);
        }
    }

    /// Takes back a request of a lost client, or tells its backend to cancel it.
    fn drop_request(&mut self, client: ClientId, minted: u64, are_others: bool) {
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let (backend, method) = (pending.backend(), pending.method());
        if pending.waiting().is_none() {
            pending.cancel();
            if are_others && method != Method::Initialize {
                self.cancel_at_backend(backend, minted, "the client is gone");
            }
            return;
        }
        self.unqueue(backend, minted);
        self.close(minted);
        if method == Method::Initialize {
            let early = self.clients.get(&client).and_then(|c| c.confirmed_early().cloned());
            self.forget_early(backend, client, early);
            // It was to be the backend's first: another takes its place.
            self.followups.push(Followup::GreetNext { backend, client });
        }
    }

    /// The client can no longer answer what servers asked of it.
    pub(crate) fn refuse_asked(&mut self, client: ClientId) {
        for minted in self.questions.ids(|asked| asked.client() == client) {
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
