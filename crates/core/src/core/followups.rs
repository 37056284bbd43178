//! Follow-ups: work that a transition defers to the end of its event, because the state is inconsistent
//! before. Stored by kind; [`Core::run_followups`](crate::Core) handles one kind after the other, in the
//! order of [`Followup`]. Must not know how they are carried out.

use crate::ids::{BackendId, ClientId};

/// Work for the end of an event, in the order of execution. A follow-up that arises while a later kind is
/// being handled waits for the next event.
#[derive(Debug)]
pub(crate) enum Followup {
    /// A client's handshake failed: the next client that waits for this backend makes its own.
    GreetNext { backend: BackendId, client: ClientId },
    /// A server could not be started: its client continues without it.
    GoOnWithout { client: ClientId },
    /// A client moves to other backends. Before turns are given, since its queued requests move with it.
    Move { client: ClientId },
    /// Servers that run without a client may have to be started or stopped.
    CheckStandbys,
    /// A backend can accept one more of the queued requests.
    GiveTurn { backend: BackendId },
    /// A backend is restarted once its last process is gone.
    StartAgain { backend: BackendId },
    /// A backend without clients ends once it has finished its work.
    EndDeserted { backend: BackendId, why: &'static str },
    /// Lost clients that nothing refers to any more are removed.
    ForgetLost,
}

/// The pending follow-ups, by kind.
#[derive(Debug, Default)]
pub(crate) struct Followups {
    greetings: Vec<(BackendId, ClientId)>,
    without: Vec<ClientId>,
    moves: Vec<ClientId>,
    checks_standbys: bool,
    turns: Vec<BackendId>,
    starts: Vec<BackendId>,
    deserted: Vec<(BackendId, &'static str)>,
    forgets_lost: bool,
}

impl Followups {
    pub(crate) fn push(&mut self, followup: Followup) {
        match followup {
            Followup::GreetNext { backend, client } => self.greetings.push((backend, client)),
            Followup::GoOnWithout { client } => push_once(&mut self.without, client),
            Followup::Move { client } => push_once(&mut self.moves, client),
            Followup::CheckStandbys => self.checks_standbys = true,
            Followup::GiveTurn { backend } => push_once(&mut self.turns, backend),
            Followup::StartAgain { backend } => self.starts.push(backend),
            Followup::EndDeserted { backend, why } => self.deserted.push((backend, why)),
            Followup::ForgetLost => self.forgets_lost = true,
        }
    }

    /// The most recent failed handshake.
    pub(crate) fn next_greeting(&mut self) -> Option<(BackendId, ClientId)> {
        self.greetings.pop()
    }

    /// The client most recently affected by a server that could not be started.
    pub(crate) fn next_without(&mut self) -> Option<ClientId> {
        self.without.pop()
    }

    pub(crate) fn take_moves(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.moves)
    }

    pub(crate) fn take_standby_check(&mut self) -> bool {
        std::mem::take(&mut self.checks_standbys)
    }

    /// The backend that most recently finished a request.
    pub(crate) fn next_turn(&mut self) -> Option<BackendId> {
        self.turns.pop()
    }

    pub(crate) fn take_starts(&mut self) -> Vec<BackendId> {
        std::mem::take(&mut self.starts)
    }

    /// Sorts the remaining starts and removes duplicates.
    pub(crate) fn tidy_starts(&mut self) {
        self.starts.sort();
        self.starts.dedup();
    }

    pub(crate) fn take_deserted(&mut self) -> Vec<(BackendId, &'static str)> {
        std::mem::take(&mut self.deserted)
    }

    pub(crate) fn take_forget_lost(&mut self) -> bool {
        std::mem::take(&mut self.forgets_lost)
    }
}

fn push_once<T: PartialEq>(queue: &mut Vec<T>, item: T) {
    if !queue.contains(&item) {
        queue.push(item);
    }
}
