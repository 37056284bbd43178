//! Tasks: requests that continue after their answer, each with the client that started it, or that runs it for a
//! server. Ids are compared by their meaning, however they are spelled. Must not know what a task does.

use crate::ids::{ClientId, Principal};
use crate::messages::same_spelling;
use crate::moment::Moment;
use std::time::Duration;

/// Limit on stored tasks per backend.
const MAX_TASKS: usize = 1024;

/// Time after which a task without any news is considered ended.
const MAX_TASK_TIME: Duration = Duration::from_secs(60 * 60);

/// Who may use a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskOwner {
    Client(ClientId),
    /// All clients of one identity, since the requests of a stateless client do not tell which client it is.
    Principal(Principal),
    /// A client that has left.
    Nobody,
}

#[derive(Debug)]
struct Task {
    id: Vec<u8>,
    owner: TaskOwner,
    /// Time at which the task is considered ended.
    until: Moment,
    /// Whether it was a task of an earlier process. The next one may use its id again.
    is_past: bool,
}

/// The tasks of a backend.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: Vec<Task>,
    /// Whether there were too many, so that an unknown task may be another client's.
    is_incomplete: bool,
}

impl Tasks {
    /// Records a task; `false` if another owner has a task with this id, or there are too many.
    pub(crate) fn begin(&mut self, id: &[u8], owner: TaskOwner, now: Moment) -> bool {
        let id = same_spelling(id);
        let is_full = self.known.len() >= MAX_TASKS;
        // The same id for two clients must not take a task away from its owner.
        if self.known.iter().any(|known| known.id == *id && known.owner != owner && known.until > now) {
            return false;
        }
        // Ended tasks go only when room is needed: their results may still be requested.
        self.known.retain(|known| known.id != *id && (known.until > now || !is_full));
        self.is_incomplete |= is_full;
        let has_room = self.known.len() < MAX_TASKS;
        if has_room {
            self.known.push(Task { id: id.into_owned(), owner, until: now + MAX_TASK_TIME, is_past: false });
        }
        has_room
    }

    /// Records the end of a task. The entry stays, since the result may still be requested, and only here;
    /// but stopping the process loses nothing any more.
    pub(crate) fn end(&mut self, id: &[u8], now: Moment) {
        let id = same_spelling(id);
        for known in self.known.iter_mut().filter(|known| known.id == *id) {
            known.until = now;
        }
    }

    /// The client that a task belongs to.
    pub(crate) fn client_of(&self, id: &[u8]) -> Option<ClientId> {
        let id = same_spelling(id);
        self.known.iter().find(|known| known.id == *id && !known.is_past).and_then(|known| {
            match known.owner {
                TaskOwner::Client(client) => Some(client),
                TaskOwner::Principal(_) | TaskOwner::Nobody => None,
            }
        })
    }

    pub(crate) fn is_owned(&self, id: &[u8], owner: TaskOwner) -> bool {
        let id = same_spelling(id);
        self.known.iter().any(|known| known.owner == owner && known.id == *id)
    }

    /// The owner of a task. An unknown task belongs to nobody, if some have been forgotten.
    pub(crate) fn owner_of(&self, id: &[u8]) -> Option<TaskOwner> {
        let id = same_spelling(id);
        let found = self.known.iter().find(|known| known.id == *id).map(|known| known.owner);
        found.or_else(|| self.is_incomplete.then_some(TaskOwner::Nobody))
    }

    pub(crate) fn has_client(&self, client: ClientId) -> bool {
        self.known.iter().any(|known| known.owner == TaskOwner::Client(client))
    }

    pub(crate) fn is_any_running(&self, now: Moment) -> bool {
        self.known.iter().any(|known| known.until > now)
    }

    /// Time at which the last running task is considered ended.
    pub(crate) fn last_end(&self, now: Moment) -> Option<Moment> {
        self.known.iter().map(|known| known.until).filter(|until| *until > now).max()
    }

    /// Leaves a client's tasks without an owner. They stay known, so that no other client can take them.
    pub(crate) fn forget_client(&mut self, client: ClientId, now: Moment) {
        for known in self.known.iter_mut().filter(|known| known.owner == TaskOwner::Client(client)) {
            (known.owner, known.until) = (TaskOwner::Nobody, now);
        }
    }

    /// Records that the process has ended, and its tasks with it. Some servers store them, so the owners stay known.
    pub(crate) fn end_all(&mut self, now: Moment) {
        for known in &mut self.known {
            (known.until, known.is_past) = (known.until.min(now), true);
        }
    }
}
