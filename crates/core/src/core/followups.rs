//! Follow-ups: work that a transition leaves for the end of its event, because the state is not consistent before. They
//! are kept by kind; [`Core::run_followups`](crate::Core) takes them kind by kind, in the order of [`Followup`]. This
//! module knows nothing of how they are done.

use crate::ids::{BackendId, ClientId};

/// Work for the end of an event, in the order in which it is done. A follow-up that arises while a later kind is being
/// done waits for the next event.
#[derive(Debug)]
pub(crate) enum Followup {
    /// A client's handshake failed: the next client that waits for this backend makes its own.
    GreetNext { backend: BackendId, client: ClientId },
    /// A server could not be started: its client goes on without it.
    GoOnWithout { client: ClientId },
    /// A client leaves its backends for others. Before turns are given: its requests that wait at a backend leave with it.
    Move { client: ClientId },
    /// Servers that run without a client may need a start or an end.
    CheckStandbys,
    /// A backend can take one more of the requests that wait for their turn.
    GiveTurn { backend: BackendId },
    /// A backend is started again once its last process is gone.
    StartAgain { backend: BackendId },
    /// A backend that its last client left ends once it has finished its work.
    EndDeserted { backend: BackendId, why: &'static str },
    /// Lost clients that nothing mentions any more are forgotten.
    ForgetLost,
}

/// The follow-ups that are due, by kind.
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

    /// The latest handshake that failed.
    pub(crate) fn next_greeting(&mut self) -> Option<(BackendId, ClientId)> {
        self.greetings.pop()
    }

    /// The client that was last told of a server that could not be started.
    pub(crate) fn next_without(&mut self) -> Option<ClientId> {
        self.without.pop()
    }

    pub(crate) fn take_moves(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.moves)
    }

    pub(crate) fn take_standby_check(&mut self) -> bool {
        std::mem::take(&mut self.checks_standbys)
    }

    /// The backend that was the last to finish a request.
    pub(crate) fn next_turn(&mut self) -> Option<BackendId> {
        self.turns.pop()
    }

    pub(crate) fn take_starts(&mut self) -> Vec<BackendId> {
        std::mem::take(&mut self.starts)
    }

    /// Puts the remaining starts in order, each once.
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
