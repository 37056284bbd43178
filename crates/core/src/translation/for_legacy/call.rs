//! A request that the core waits for, until it is answered. Must not know what is made of the answer.

use super::kept::TaskWish;
use super::rounds::Asking;
use super::tasks::CallTask;
use crate::moment::Moment;
use switchboard_protocol::{Message, Method, prune};

/// A request that the core waits for.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Message,
    /// The level of log messages that its client has set, as JSON.
    pub(super) level: Option<Vec<u8>>,
    pub(super) rounds: u32,
    /// Its client wants it to run as a task.
    pub(super) wish: Option<TaskWish>,
    pub(super) task: Option<CallTask>,
    /// Its client has cancelled it. The server may still answer.
    pub(super) is_cancelled: bool,
    pub(super) state: CallState,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// The server works on it, under this id.
    Sent(u64),
    /// Its client is asked.
    Asking(Asking),
    /// The server works on its task, and is asked for it at this time.
    Polling(Moment),
    /// The server is asked for its task, under this id.
    Polled(u64),
    /// The server is told the client's answers for its task, under this id.
    Updating(u64),
}

impl Call {
    pub(super) fn new(request: Message, level: Option<&[u8]>, sent_as: u64) -> Self {
        let (level, state) = (level.map(<[u8]>::to_vec), CallState::Sent(sent_as));
        Self { request, level, rounds: 0, wish: None, task: None, is_cancelled: false, state }
    }

    /// Number of bytes that are kept for it: the request, to be sent again, and its client's answers.
    pub(super) fn bytes_kept(&self) -> usize {
        let answers = match &self.state {
            CallState::Asking(asking) => asking.answer_bytes(),
            CallState::Sent(_) | CallState::Polling(_) | CallState::Polled(_) | CallState::Updating(_) => 0,
        };
        self.request.bytes().len() + answers
    }

    /// Drops the parameters of a call that is not sent again.
    pub(super) fn forget_params(&mut self) {
        if let Some(request) = prune::without(&self.request, &[&["params"]]) {
            self.request = request;
        }
    }

    pub(super) fn is_handshake(&self) -> bool {
        self.request.method() == Method::Initialize
    }
}
