//! Timer that wakes the core.

use super::Hub;
use std::sync::Arc;
use switchboard_core::Event;

impl Hub {
    /// Wakes the core whenever it asks to be woken.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            // Registered before the core is asked: a change in between then ends the wait at once.
            let alarm = self.alarm.notified();
            let wake = {
                let mut turn = self.turn();
                let wake = turn.inside.core.wake();
                // Under the same lock as the question, so that every later turn compares with this time.
                turn.inside.armed = wake;
                wake
            };
            match wake {
                None => alarm.await,
                Some(moment) => {
                    let instant = self.started + moment.since_start();
                    // Err: the time is up before the core wants to be woken at another one.
                    if tokio::time::timeout_at(instant.into(), alarm).await.is_err() {
                        self.handle(Event::Tick);
                    }
                }
            }
        }
    }
}
