//! Tasks that a client runs for a server, in place of an answer to its request (2025-11-25). The server polls them at
//! the client. A task belongs to the process that asked: no other server of the client, and no other client, may
//! name it.

use super::tasks::{is_final, names_task, screen_tasks};
use crate::backends::{Backend, TaskOwner};
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::pending::MAX_TOKEN_BYTES;
use switchboard_protocol::{ErrorAnswer, Message, Outgoing, Part};

impl Core {
    /// Records a task that a client begins with its answer to a server's request; `Err` if the server could not tell
    /// it from another client's.
    pub(crate) fn record_held_task(
        &mut self,
        backend: BackendId,
        client: ClientId,
        answer: &Message,
    ) -> Result<(), ErrorAnswer> {
        let Some(task) = answer.part(Part::ResultTaskId) else { return Ok(()) };
        let now = self.clock.now();
        let is_recorded = self.backends.get_mut(&backend).is_none_or(|b| {
            task.len() <= MAX_TOKEN_BYTES && b.held_tasks_mut().begin(task, TaskOwner::Client(client), now)
        });
        match is_recorded {
            true => Ok(()),
            false => Err(self.unusable_task(backend)),
        }
    }

    /// The client that runs the task which a server's request names.
    pub(super) fn holder(&self, b: &Backend, message: &Message) -> Option<ClientId> {
        let task = message.part(Part::TaskId).filter(|_| names_task(message.method()))?;
        b.held_tasks().client_of(task)
    }

    /// The refusal of a server's request for a task that its client runs for another server, or not at all. Only a
    /// client of several servers can have such tasks; a client of one answers itself.
    pub(crate) fn foreign_task(
        &self,
        backend: BackendId,
        client: ClientId,
        message: &Message,
    ) -> Option<ErrorAnswer> {
        let (b, c) = (self.backends.get(&backend)?, self.clients.get(&client)?);
        let is_foreign = names_task(message.method()) && c.is_delegate() && self.holder(b, message).is_none();
        is_foreign.then(|| self.unknown_task(&message.text(Part::TaskId).unwrap_or_default()))
    }

    /// Leaves the tasks for other servers out of a client's answer to `tasks/list`.
    pub(crate) fn held_tasks_only(
        &self,
        backend: BackendId,
        client: ClientId,
        answer: &Message,
        out: &mut Outgoing,
    ) {
        let (Some(b), Some(c)) = (self.backends.get(&backend), self.clients.get(&client)) else { return };
        if c.is_delegate() {
            screen_tasks(answer, Some(&|id| b.held_tasks().is_owned(id, TaskOwner::Client(client))), "", out);
        }
    }

    /// Records the end of a task, from a client's answer about it or its notification of the status.
    pub(crate) fn record_held_end(&mut self, backend: BackendId, message: &Message) {
        let parts = [Part::ResultOwnTaskId, Part::ResultRelatedTaskId, Part::TaskId];
        let Some(task) = parts.into_iter().find_map(|part| message.part(part)) else { return };
        // A delivered result ends the task, whatever it says.
        let is_over = message.has(Part::ResultRelatedTaskId)
            || is_final(message.part(Part::Result).or(message.part(Part::Params)));
        if let Some(b) = self.backends.get_mut(&backend).filter(|_| is_over) {
            b.held_tasks_mut().end(task, self.clock.now());
        }
    }

    /// Whether another client runs the task that a client's notification names, for the same process.
    pub(crate) fn is_anothers_held_task(&self, client: ClientId, notice: &Message) -> bool {
        let home = self.clients.get(&client).and_then(|c| self.backends.get(&c.home()?));
        let task = notice.part(Part::TaskId).unwrap_or_default();
        home.and_then(|b| b.held_tasks().client_of(task)).is_some_and(|owner| owner != client)
    }

    /// The backends for which a client runs the task that its notification names.
    pub(crate) fn backends_of_held_task(&self, connection: ClientId, notice: &Message) -> Vec<BackendId> {
        let Some(task) = notice.part(Part::TaskId) else { return Vec::new() };
        let is_for = |b: &&Backend| {
            let owner = b.held_tasks().client_of(task);
            owner.is_some_and(|owner| self.connection_of(owner) == connection)
        };
        self.backends.values().filter(is_for).map(|b| b.id()).collect()
    }
}
