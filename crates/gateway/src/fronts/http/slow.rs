//! Calls that take long. All have the same timeout, so they expire in order of arrival: one timer serves all,
//! and a call that is answered in time costs none.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// A client with calls that may take long.
pub(super) trait Streams {
    /// Turns a call into a stream, if it is still open and not one yet.
    fn begin_stream(&self, call: u64);
}

pub(super) struct Slow<C> {
    /// Time after which a call is answered by a stream.
    after: Duration,
    calls: Lock<VecDeque<Waiting<C>>>,
    some: Notify,
}

struct Waiting<C> {
    until: Instant,
    client: Weak<C>,
    call: u64,
}

impl<C: Streams> Slow<C> {
    pub(super) fn after(after: Duration) -> Self {
        Self { after, calls: Lock::default(), some: Notify::new() }
    }

    fn lock(&self) -> LockGuard<'_, VecDeque<Waiting<C>>> {
        self.calls.lock()
    }

    pub(super) fn may_be(&self, client: &Arc<C>, call: u64) {
        let mut calls = self.lock();
        calls.push_back(Waiting {
            until: Instant::now() + self.after,
            // Weak: a call that waits here must not keep an ended client in memory.
            client: Arc::downgrade(client),
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
            // Collected under the lock and handled outside it: starting a stream takes the client's lock.
            let due: Vec<Waiting<C>> = {
                let mut calls = self.lock();
                let count = calls.partition_point(|call| call.until <= now);
                calls.drain(..count).collect()
            };
            for Waiting { client, call, .. } in due {
                if let Some(client) = client.upgrade() {
                    client.begin_stream(call);
                }
            }
        }
    }
}
