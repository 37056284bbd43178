//! Tasks: requests that continue after their answer, each with the client that started it, or that runs it for a
//! server. Ids are compared by their meaning, however they are spelled. Must not know what a task does.

use crate::ids::ClientId;
use crate::messages::same_spelling;
use crate::moment::Moment;
use std::time::Duration;

/// Limit on stored tasks per backend.
const MAX_TASKS: usize = 1024;

/// Time after which a task without any news is considered ended.
const MAX_TASK_TIME: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
struct Task {
    id: Vec<u8>,
    client: ClientId,
    /// Time at which the task is considered ended.
    until: Moment,
}

/// The tasks of a backend's process.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Task>);

impl Tasks {
    /// Records a task of a client; `false` if another client has a task with this id, or there are too many.
    pub(crate) fn begin(&mut self, id: &[u8], client: ClientId, now: Moment) -> bool {
        let id = same_spelling(id);
        let is_full = self.0.len() >= MAX_TASKS;
        // The same id for two clients must not take a task away from its owner.
        if self.0.iter().any(|known| known.id == *id && known.client != client && known.until > now) {
            return false;
        }
        // Ended tasks go only when room is needed: their results may still be requested.
        self.0.retain(|known| known.id != *id && (known.until > now || !is_full));
        let has_room = self.0.len() < MAX_TASKS;
        if has_room {
            self.0.push(Task { id: id.into_owned(), client, until: now + MAX_TASK_TIME });
        }
        has_room
    }

    /// Records the end of a task. The entry stays, since the result may still be requested, and only here;
    /// but stopping the process loses nothing any more.
    pub(crate) fn end(&mut self, id: &[u8], now: Moment) {
        let id = same_spelling(id);
        for known in self.0.iter_mut().filter(|known| known.id == *id) {
            known.until = now;
        }
    }

    pub(crate) fn owner_of(&self, id: &[u8]) -> Option<ClientId> {
        let id = same_spelling(id);
        self.0.iter().find(|known| known.id == *id).map(|known| known.client)
    }

    pub(crate) fn is_owned(&self, id: &[u8], client: ClientId) -> bool {
        let id = same_spelling(id);
        self.0.iter().any(|known| known.client == client && known.id == *id)
    }

    pub(crate) fn has_client(&self, client: ClientId) -> bool {
        self.0.iter().any(|known| known.client == client)
    }

    pub(crate) fn is_any_running(&self, now: Moment) -> bool {
        self.0.iter().any(|known| known.until > now)
    }

    /// Time at which the last running task is considered ended.
    pub(crate) fn last_end(&self, now: Moment) -> Option<Moment> {
        self.0.iter().map(|known| known.until).filter(|until| *until > now).max()
    }

    pub(crate) fn forget_client(&mut self, client: ClientId) {
        self.0.retain(|known| known.client != client);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
