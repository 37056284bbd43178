//! The use of a backend: by whom, and when last.

use crate::backends::Users;
use crate::moment::Moment;

#[derive(Debug)]
pub(crate) struct Usage {
    last_used: Moment,
    /// Whether the current process was sent a request of a client. Others were started only to list their offers.
    is_used: bool,
    /// The clients that have used the current process.
    users: Users,
}

impl Usage {
    pub(super) fn new(now: Moment) -> Self {
        Self { last_used: now, is_used: false, users: Users::default() }
    }

    /// Resets for a new process. `is_used`: the start is for a client's request.
    pub(super) fn begin_process(&mut self, now: Moment, is_used: bool) {
        *self = Self { is_used, ..Self::new(now) };
    }

    pub(super) fn touch(&mut self, now: Moment) {
        self.last_used = now;
    }

    pub(super) fn last_used(&self) -> Moment {
        self.last_used
    }

    pub(super) fn mark_used(&mut self) {
        self.is_used = true;
    }

    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) fn users(&self) -> &Users {
        &self.users
    }

    pub(super) fn users_mut(&mut self) -> &mut Users {
        &mut self.users
    }
}
