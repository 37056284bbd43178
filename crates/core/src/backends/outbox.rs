//! The outbox of a backend's process: bytes that are not written yet, and notifications that may still be answered.

#[derive(Debug, Default)]
pub(crate) struct BackendOutbox {
    queued_bytes: usize,
    /// A notification was written, and no request has been answered whose id is this or a later one: a word without an id
    /// may be about the notification.
    doubtful_from: Option<u64>,
}

impl BackendOutbox {
    /// Whether so many bytes more may be queued. An empty outbox takes any message.
    pub(crate) fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.queued_bytes == 0 || self.queued_bytes + bytes <= limit
    }

    pub(crate) fn has_more_than(&self, limit: usize) -> bool {
        self.queued_bytes > limit
    }

    pub(crate) fn charge(&mut self, bytes: usize) {
        self.queued_bytes += bytes;
    }

    pub(crate) fn flushed(&mut self, bytes: usize) {
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
    }

    /// A notification is written; the next request has this id. Some servers answer notifications all the same.
    pub(crate) fn record_notice(&mut self, next_id: u64) {
        self.doubtful_from = Some(next_id);
    }

    /// A request is answered: so are the notifications before it, if they are at all.
    pub(crate) fn record_answer(&mut self, id: u64) {
        self.doubtful_from = self.doubtful_from.filter(|from| id < *from);
    }

    /// A word without an id may be about a notification.
    pub(crate) fn may_answer_notice(&self) -> bool {
        self.doubtful_from.is_some()
    }
}
