//! The outbox of a backend's process: unwritten bytes, and notifications that may still be answered. Must not
//! know the messages themselves.

#[derive(Debug, Default)]
pub(crate) struct BackendOutbox {
    queued_bytes: usize,
    /// Set while a message without an id may be about a notification: one was written, and no request with
    /// this id or a later one has been answered since.
    doubtful_from: Option<u64>,
}

impl BackendOutbox {
    /// Whether so many more bytes may be queued. An empty outbox accepts a message of any size.
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

    /// Records a notification; the next request has this id. Some servers wrongly answer notifications.
    pub(crate) fn record_notice(&mut self, next_id: u64) {
        self.doubtful_from = Some(next_id);
    }

    /// Records an answer: the notifications before that request are settled too.
    pub(crate) fn record_answer(&mut self, id: u64) {
        self.doubtful_from = self.doubtful_from.filter(|from| id < *from);
    }

    /// Whether a message without an id may be about a notification.
    pub(crate) fn may_answer_notice(&self) -> bool {
        self.doubtful_from.is_some()
    }
}
