//! Counts for `switchboard status` and for the log.

#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: u64,
    errors: u64,
    late_answers: u64,
    dropped: u64,
    denied: u64,
}

impl Counters {
    /// Counts a finished request of a client.
    pub(crate) fn count_request(&mut self, has_failed: bool) {
        self.requests += 1;
        self.errors += u64::from(has_failed);
    }

    /// Counts an answer that came too late; returns the total.
    pub(crate) fn count_late_answer(&mut self) -> u64 {
        self.late_answers += 1;
        self.late_answers
    }

    /// Counts a notification that was dropped; returns the total.
    pub(crate) fn count_dropped(&mut self) -> u64 {
        self.dropped += 1;
        self.dropped
    }

    /// Counts a request to a client that was denied; returns the total.
    pub(crate) fn count_denied(&mut self) -> u64 {
        self.denied += 1;
        self.denied
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }
}
