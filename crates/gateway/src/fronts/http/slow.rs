//! Calls that take long. All have the same timeout, so they expire in order of arrival: one timer serves all,
//! and a call that is answered in time costs none.

use super::session::Session;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Time after which a call is answered by a stream, so that its client can reconnect to it.
const STREAM_AFTER: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Slow {
    calls: Lock<VecDeque<Waiting>>,
    some: Notify,
}

struct Waiting {
    until: Instant,
    session: Weak<Session>,
    call: u64,
}

impl Slow {
    fn lock(&self) -> LockGuard<'_, VecDeque<Waiting>> {
        self.calls.lock()
    }

    pub(super) fn may_be(&self, session: &Arc<Session>, call: u64) {
        let mut calls = self.lock();
        calls.push_back(Waiting {
            until: Instant::now() + STREAM_AFTER,
            // Weak: a call that waits here must not keep an ended session in memory.
            session: Arc::downgrade(session),
            call,
        });
        // A watcher that has calls to wait for sleeps until the first one is due, and needs no notice.
        if calls.len() == 1 {
            self.some.notify_one();
        }
    }

    /// Starts the streams of calls that are not answered in time.
    pub(super) async fn watch(&self) {
        loop {
            let next = self.lock().front().map(|call| call.until);
            match next {
                Some(until) => sleep_until(until).await,
                None => self.some.notified().await,
            }
            let now = Instant::now();
            // Collected under the lock and handled outside it: starting a stream takes the session's lock.
            let due: Vec<Waiting> = {
                let mut calls = self.lock();
                let count = calls.partition_point(|call| call.until <= now);
                calls.drain(..count).collect()
            };
            for Waiting { session, call, .. } in due {
                if let Some(session) = session.upgrade() {
                    session.begin_stream(call);
                }
            }
        }
    }
}
