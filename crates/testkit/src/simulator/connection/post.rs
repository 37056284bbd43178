//! Written messages, to be compared with arrivals, and unread ones.

use super::draft::Draft;
use crate::simulator::engine::Check;
use std::collections::VecDeque;
use switchboard_core::{ClientId, Launch};

/// A message written by a party of the simulation.
#[derive(Debug)]
pub(super) struct WrittenMessage {
    pub(super) draft: Draft,
    pub(super) role: Role,
    pub(super) arrivals: usize,
}

/// Kinds of written messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    Request(usize),
    ClientNotification {
        client: ClientId,
        is_initialized: bool,
    },
    /// A client's cancellation of the request with the id `wanted`.
    ClientCancel {
        client: ClientId,
        wanted: String,
    },
    /// A message with another client's token, which must be dropped.
    Forged,
    ClientProgress {
        ask: usize,
    },
    /// `None` for an unsolicited answer.
    ClientAnswer {
        client: ClientId,
        ask: Option<usize>,
    },
    /// `None` for an answer that must be dropped.
    ServerAnswer {
        launch: Launch,
        request: Option<usize>,
    },
    /// An error with a null id: for the only open request, if there is only one.
    ServerNullError {
        launch: Launch,
    },
    ServerNotification {
        launch: Launch,
    },
    ServerProgress {
        launch: Launch,
        request: Option<usize>,
    },
    ServerCancel {
        ask: usize,
    },
    Ask(usize),
}

/// A server's request to its client, with an id that is unique within its launch.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) launch: Launch,
    pub(super) id: String,
    pub(super) token: Option<String>,
    /// The client's id for it, once it was passed on.
    pub(super) minted: Option<String>,
    pub(super) answers: usize,
    pub(super) is_cancelled: bool,
    /// Withdrawn at the client: its launch is gone.
    pub(super) is_withdrawn: bool,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) client: ClientId,
    /// Number of owed answers.
    pub(super) owed: usize,
    pub(super) is_answered: bool,
}

#[derive(Debug, Default)]
pub(super) struct Post {
    pub(super) written: Vec<WrittenMessage>,
    pub(super) asks: Vec<Asked>,
    pub(super) batches: Vec<Batch>,
    /// Requests that may still be open, in the order in which they were sent.
    pub(super) watched: Vec<usize>,
    /// Number of messages handed to clients.
    pub(super) deliveries: u64,
}

impl Post {
    /// Number of the next written message, which it contains.
    pub(super) fn next_number(&self) -> usize {
        self.written.len()
    }

    pub(super) fn post(&mut self, draft: Draft, role: Role) -> usize {
        self.written.push(WrittenMessage { draft, role, arrivals: 0 });
        self.written.len() - 1
    }

    pub(super) fn written_message(&self, number: usize) -> Check<&WrittenMessage> {
        self.written.get(number).ok_or_else(|| format!("no message has the number {number}"))
    }

    /// Fails unless a launch gets an answer to its own request.
    pub(super) fn answer_ask(&mut self, launch: Launch, id: &str) -> Check {
        let ask = self.asks.iter_mut().rev().find(|ask| ask.launch == launch && ask.id == id);
        let Some(ask) = ask else {
            return Err(format!("{launch} got an answer with id {id}, which it never asked"));
        };
        ask.answers += 1;
        match ask.answers {
            1 => Ok(()),
            _ => Err(format!("{launch} got a second answer to its request {id}")),
        }
    }
}

/// Messages handed over and not yet read.
#[derive(Debug)]
pub(super) struct Unread<T> {
    messages: VecDeque<(T, usize, usize)>,
    pub(super) bytes: usize,
    /// Bytes of our own errors, which are always sent.
    pub(super) small_bytes: usize,
    /// Largest single message: an empty queue takes any.
    pub(super) largest: usize,
}

impl<T> Default for Unread<T> {
    fn default() -> Self {
        Self { messages: VecDeque::new(), bytes: 0, small_bytes: 0, largest: 0 }
    }
}

impl<T> Unread<T> {
    pub(super) fn put(&mut self, message: T, bytes: usize, small: usize) {
        self.messages.push_back((message, bytes, small));
        self.bytes += bytes;
        self.small_bytes += small;
    }

    /// Takes out up to `most` messages; returns them and their bytes.
    pub(super) fn take(&mut self, most: usize) -> (Vec<T>, usize) {
        let taken: Vec<_> = self.messages.drain(..most.min(self.messages.len())).collect();
        let bytes = taken.iter().map(|(_, bytes, _)| bytes).sum();
        self.bytes -= bytes;
        self.small_bytes -= taken.iter().map(|(_, _, small)| small).sum::<usize>();
        (taken.into_iter().map(|(message, _, _)| message).collect(), bytes)
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        (self.bytes, self.small_bytes) = (0, 0);
    }

    pub(super) fn saw(&mut self, bytes: usize) {
        self.largest = self.largest.max(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }
}
