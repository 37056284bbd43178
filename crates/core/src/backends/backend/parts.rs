//! Access to the parts of a backend that have methods of their own and do not affect each other.

use super::Backend;
use crate::backends::{
    BackendFraming, BackendHandshake, BackendLists, BackendOutbox, BackendQueue, BackendRoots, Breaker,
    Counters, Health, LateLogs, OwnListen, Quarantine, Subscriptions, Tasks,
};

impl Backend {
    pub(crate) fn handshake(&self) -> &BackendHandshake {
        &self.handshake
    }

    pub(crate) fn handshake_mut(&mut self) -> &mut BackendHandshake {
        &mut self.handshake
    }

    pub(crate) fn queue(&self) -> &BackendQueue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut BackendQueue {
        &mut self.queue
    }

    pub(crate) fn outbox(&self) -> &BackendOutbox {
        &self.outbox
    }

    pub(crate) fn outbox_mut(&mut self) -> &mut BackendOutbox {
        &mut self.outbox
    }

    pub(crate) fn lists(&self) -> &BackendLists {
        &self.lists
    }

    pub(crate) fn lists_mut(&mut self) -> &mut BackendLists {
        &mut self.lists
    }

    pub(crate) fn roots(&self) -> &BackendRoots {
        &self.roots
    }

    pub(crate) fn roots_mut(&mut self) -> &mut BackendRoots {
        &mut self.roots
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    pub(crate) fn subscriptions_mut(&mut self) -> &mut Subscriptions {
        &mut self.subscriptions
    }

    pub(crate) fn own_listen(&self) -> &OwnListen {
        &self.own_listen
    }

    pub(crate) fn own_listen_mut(&mut self) -> &mut OwnListen {
        &mut self.own_listen
    }

    pub(crate) fn late_logs(&self) -> &LateLogs {
        &self.late_logs
    }

    pub(crate) fn late_logs_mut(&mut self) -> &mut LateLogs {
        &mut self.late_logs
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(crate) fn tasks_mut(&mut self) -> &mut Tasks {
        &mut self.tasks
    }

    /// Tasks that clients run for its process.
    pub(crate) fn held_tasks(&self) -> &Tasks {
        &self.held_tasks
    }

    pub(crate) fn held_tasks_mut(&mut self) -> &mut Tasks {
        &mut self.held_tasks
    }

    pub(crate) fn framing(&self) -> &BackendFraming {
        &self.framing
    }

    pub(crate) fn framing_mut(&mut self) -> &mut BackendFraming {
        &mut self.framing
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn health_mut(&mut self) -> &mut Health {
        &mut self.health
    }

    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    pub(crate) fn breaker_mut(&mut self) -> &mut Breaker {
        &mut self.breaker
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    pub(crate) fn quarantine_mut(&mut self) -> &mut Quarantine {
        &mut self.quarantine
    }
}
