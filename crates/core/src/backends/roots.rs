//! The roots reported to a backend's process, and its open `roots/list` requests. Must not know what a root is.

use crate::ids::ClientId;
use std::sync::Arc;
use switchboard_protocol::RawId;

#[derive(Debug, Default)]
pub(crate) struct BackendRoots {
    /// The answer to `roots/list` that the process got, or that its users would give. Clients with other
    /// roots do not share it.
    told: Option<Arc<str>>,
    /// The connection that named them. It may have left since.
    told_by: Option<ClientId>,
    /// Requests that wait for the clients' answers.
    questions: Vec<RawId>,
}

impl BackendRoots {
    /// Whether the process has asked for its roots, or is bound to some.
    pub(crate) fn matter(&self) -> bool {
        self.told.is_some() || !self.questions.is_empty()
    }

    pub(crate) fn told(&self) -> Option<&Arc<str>> {
        self.told.as_ref()
    }

    /// The connection whose roots the process was told.
    pub(crate) fn told_by(&self) -> Option<ClientId> {
        self.told_by
    }

    /// Binds the process to these roots of a connection.
    pub(crate) fn bind(&mut self, roots: Option<Arc<str>>, connection: ClientId) {
        self.told_by = roots.is_some().then_some(connection);
        self.told = roots;
    }

    pub(crate) fn ask(&mut self, id: RawId) {
        self.questions.push(id);
    }

    pub(crate) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    pub(crate) fn take_questions(&mut self) -> Vec<RawId> {
        std::mem::take(&mut self.questions)
    }

    /// Forgets the requests of a process that is gone.
    pub(crate) fn forget_questions(&mut self) {
        self.questions.clear();
    }
}
