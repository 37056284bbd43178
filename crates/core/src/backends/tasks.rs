//! Requests that run on after their answer, each owned by the client that began it.

use crate::ids::ClientId;
use crate::messages::same_spelling;
use crate::moment::Moment;
use std::time::Duration;

/// Tasks of one backend that are remembered.
const MAX_TASKS: usize = 1024;

/// A task of which nothing was heard for so long is over.
const MAX_TASK_TIME: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
struct Task {
    id: Vec<u8>,
    client: ClientId,
    /// Taken for dead by then.
    until: Moment,
}

/// The tasks of a backend's process.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Task>);

impl Tasks {
    /// Remembers a task that a client has begun.
    pub(crate) fn begin(&mut self, id: &[u8], client: ClientId, now: Moment) {
        let is_full = self.0.len() >= MAX_TASKS;
        // A server that gives two clients the same id cannot take a task away from its owner.
        if self.0.iter().any(|known| known.id == id && known.client != client && known.until > now) {
            return;
        }
        self.0.retain(|known| known.id != id && (known.until > now || !is_full));
        if self.0.len() < MAX_TASKS {
            self.0.push(Task { id: id.to_vec(), client, until: now + MAX_TASK_TIME });
        }
    }

    /// The task has ended. Its result may still be asked for, and only here; but nothing is lost any more.
    pub(crate) fn end(&mut self, id: &[u8], now: Moment) {
        for known in self.0.iter_mut().filter(|known| known.id == id) {
            known.until = now;
        }
    }

    pub(crate) fn owner_of(&self, id: &[u8]) -> Option<ClientId> {
        self.0.iter().find(|known| known.id == id).map(|known| known.client)
    }

    pub(crate) fn is_owned(&self, id: &[u8], client: ClientId) -> bool {
        self.0.iter().any(|known| known.client == client && known.id == id)
    }

    /// The same for an id in any spelling of JSON.
    pub(crate) fn is_owned_spelled(&self, id: &[u8], client: ClientId) -> bool {
        let id = same_spelling(id);
        self.0.iter().any(|known| known.client == client && same_spelling(&known.id) == id)
    }

    pub(crate) fn has_client(&self, client: ClientId) -> bool {
        self.0.iter().any(|known| known.client == client)
    }

    pub(crate) fn is_any_running(&self, now: Moment) -> bool {
        self.0.iter().any(|known| known.until > now)
    }

    /// When the last of those that run is taken for dead.
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
