//! Numbers for backends, and for clients of our own making (delegates and stand-ins). None is used twice.

use crate::ids::{BackendId, ClientId};

#[derive(Debug)]
pub(crate) struct Numbers {
    next_backend: u32,
    next_delegate: u32,
}

impl Numbers {
    const FIRST_BACKEND: u32 = 1;

    pub(crate) fn new() -> Self {
        Self { next_backend: Self::FIRST_BACKEND, next_delegate: ClientId::FIRST_DELEGATE }
    }

    pub(crate) fn new_backend(&mut self) -> BackendId {
        let id = BackendId(self.next_backend);
        self.next_backend += 1;
        id
    }

    pub(crate) fn new_delegate(&mut self) -> ClientId {
        let id = ClientId(self.next_delegate);
        self.next_delegate += 1;
        id
    }

    /// Whether no backend has been created yet.
    pub(crate) fn is_before_first_backend(&self) -> bool {
        self.next_backend == Self::FIRST_BACKEND
    }
}
