//! Detection of an idle peer. Must not know what happens then.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;

/// Idle time after which a peer's buffers are freed.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// One timer for a whole burst of messages, reset only when it fires.
#[derive(Default)]
pub(super) struct Quiet {
    alarm: Option<Pin<Box<Sleep>>>,
    is_interrupted: bool,
}

impl Quiet {
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
        // A running timer is not reset for each message, which would cost more than one late wake-up.
        self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(QUIET_TIME)));
    }

    /// Returns once after each burst of messages. Cancel-safe.
    pub(super) async fn begins(&mut self) {
        loop {
            let Some(alarm) = &mut self.alarm else { return std::future::pending().await };
            alarm.as_mut().await;
            if !std::mem::take(&mut self.is_interrupted) {
                self.alarm = None;
                return;
            }
            // Messages came meanwhile, so the time starts over.
            alarm.as_mut().reset(tokio::time::Instant::now() + QUIET_TIME);
        }
    }
}
