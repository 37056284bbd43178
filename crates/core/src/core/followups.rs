//! Follow-ups: work that a transition defers to the end of its event, because the state is inconsistent
//! before. They wait in one queue; [`Core::run_followups`](crate::Core) takes out one kind after the other, in
//! the order of [`Followup`]. Must not know how they are carried out.

use crate::ids::{BackendId, ClientId};

/// Work for the end of an event, in the order of execution. A follow-up that arises while a later kind is
/// being handled waits for the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// The pending follow-ups, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Followups {
    queue: Vec<Followup>,
}

impl Followups {
    /// Adds a follow-up; most kinds wait only once.
    pub(crate) fn push(&mut self, followup: Followup) {
        let may_repeat = match followup {
            Followup::GreetNext { .. } | Followup::StartAgain { .. } | Followup::EndDeserted { .. } => true,
            Followup::GoOnWithout { .. }
            | Followup::Move { .. }
            | Followup::CheckStandbys
            | Followup::GiveTurn { .. }
            | Followup::ForgetLost => false,
        };
        if may_repeat || !self.queue.contains(&followup) {
            self.queue.push(followup);
        }
    }

    /// Removes the newest follow-up of a kind.
    pub(crate) fn pop(&mut self, is_of_kind: fn(&Followup) -> bool) -> Option<Followup> {
        let newest = self.queue.iter().rposition(is_of_kind)?;
        Some(self.queue.remove(newest))
    }

    /// Removes all follow-ups of a kind; returns them oldest first.
    pub(crate) fn take(&mut self, is_of_kind: fn(&Followup) -> bool) -> Vec<Followup> {
        self.queue.extract_if(.., |followup| is_of_kind(followup)).collect()
    }

    /// Sorts the follow-ups of a kind and removes duplicates.
    pub(crate) fn tidy(&mut self, is_of_kind: fn(&Followup) -> bool) {
        let mut left = self.take(is_of_kind);
        left.sort();
        left.dedup();
        self.queue.extend(left);
    }
}
