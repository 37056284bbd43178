//! A client's outbox: the bytes that wait to be written, the batches whose answers are gathered, and the messages that did
//! not fit. Must not know who sends.

use crate::clients::Client;
use crate::clients::batch::Batches;
use switchboard_protocol::{Outgoing, RawId};

#[derive(Debug, Default)]
pub(super) struct ClientOutbox {
    batches: Batches,
    queued_bytes: usize,
    /// Notifications and questions that did not fit.
    dropped: u64,
}

impl ClientOutbox {
    pub(super) fn clear(&mut self) {
        self.queued_bytes = 0;
    }

    fn charged(&mut self, out: Outgoing) -> Outgoing {
        self.queued_bytes += out.len();
        out
    }
}

impl Client {
    /// Opens a batch with this many members, and gives its number.
    pub(crate) fn open_batch(&mut self, members: usize) -> u32 {
        self.outbox.batches.open(members)
    }

    /// Charges an answer to the outbox, and gives what is to be written now: the answer, the whole batch that it completes,
    /// or nothing yet.
    pub(crate) fn charge_answer(
        &mut self,
        id: &RawId,
        batch: Option<u32>,
        answer: Outgoing,
    ) -> Option<Outgoing> {
        let out = match batch {
            None => answer,
            Some(batch) => whole_batch(self.outbox.batches.done(batch, Some((id, answer.to_vec())))?),
        };
        Some(self.outbox.charged(out))
    }

    /// Closes a member of a batch that gets no answer, and gives the batch if it is complete and somebody reads it.
    pub(crate) fn charge_no_answer(&mut self, batch: u32) -> Option<Outgoing> {
        let array = self.outbox.batches.done(batch, None)?;
        (!self.is_lost()).then(|| self.outbox.charged(whole_batch(array)))
    }

    /// Charges a message to the outbox.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.outbox.queued_bytes += bytes;
    }

    /// These bytes were written.
    pub(crate) fn discharge(&mut self, bytes: usize) {
        self.outbox.queued_bytes = self.outbox.queued_bytes.saturating_sub(bytes);
    }

    /// Whether an answer fits. An empty outbox takes any answer: the limit is for what piles up.
    pub(crate) fn has_room_for_answer(&self, bytes: usize, limit: usize) -> bool {
        let waits = self.outbox.queued_bytes + self.outbox.batches.bytes();
        waits == 0 || waits + bytes <= limit
    }

    /// Whether a notification or question fits.
    pub(crate) fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.outbox.queued_bytes == 0 || self.outbox.queued_bytes + bytes <= limit
    }

    pub(crate) fn has_more_queued_than(&self, bytes: usize) -> bool {
        self.outbox.queued_bytes > bytes
    }

    /// Counts a message that did not fit, and gives the number of those.
    pub(crate) fn count_dropped(&mut self) -> u64 {
        self.outbox.dropped += 1;
        self.outbox.dropped
    }
}

fn whole_batch((first, array): (RawId, Vec<u8>)) -> Outgoing {
    Outgoing::batch_response(first, array.into())
}
