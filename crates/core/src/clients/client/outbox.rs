//! A client's outbox: unwritten bytes, incomplete batches, and the count of dropped messages. Must not know who sends.

use crate::clients::Client;
use crate::clients::batch::Batches;
use switchboard_protocol::{Outgoing, RawId};

#[derive(Debug, Default)]
pub(super) struct ClientOutbox {
    batches: Batches,
    queued_bytes: usize,
    /// Number of notifications and requests that did not fit.
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
    /// Opens a batch with this many members; returns its number.
    pub(crate) fn open_batch(&mut self, members: usize) -> u32 {
        self.outbox.batches.open(members)
    }

    /// Charges an answer to the outbox. Returns what to write now: the answer, the batch that it completes,
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

    /// Closes a batch member without an answer. Returns the batch if it is complete and the client still reads.
    pub(crate) fn charge_no_answer(&mut self, batch: u32) -> Option<Outgoing> {
        let array = self.outbox.batches.done(batch, None)?;
        (!self.is_lost()).then(|| self.outbox.charged(whole_batch(array)))
    }

    /// Charges a message to the outbox.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.outbox.queued_bytes += bytes;
    }

    /// Records that these bytes were written.
    pub(crate) fn discharge(&mut self, bytes: usize) {
        self.outbox.queued_bytes = self.outbox.queued_bytes.saturating_sub(bytes);
    }

    /// Whether an answer fits. An empty outbox accepts any answer: the limit is for what piles up.
    pub(crate) fn has_room_for_answer(&self, bytes: usize, limit: usize) -> bool {
        // Answers of an open batch occupy memory too, although none is queued yet.
        let waits = self.outbox.queued_bytes + self.outbox.batches.bytes();
        waits == 0 || waits + bytes <= limit
    }

    /// Whether a notification or request fits.
    pub(crate) fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.outbox.queued_bytes == 0 || self.outbox.queued_bytes + bytes <= limit
    }

    pub(crate) fn has_more_queued_than(&self, bytes: usize) -> bool {
        self.outbox.queued_bytes > bytes
    }

    /// Counts a message that did not fit; returns the total.
    pub(crate) fn count_dropped(&mut self) -> u64 {
        self.outbox.dropped += 1;
        self.outbox.dropped
    }
}

fn whole_batch((first, array): (RawId, Vec<u8>)) -> Outgoing {
    Outgoing::batch_response(first, array.into())
}
