//! Tells when a peer has said nothing for a while. Must not know what is done then.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;

/// How long a peer says nothing before its buffers are given back.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// One timer for a whole stretch of messages: it is set again only when it goes off.
#[derive(Default)]
pub(super) struct Quiet {
    alarm: Option<Pin<Box<Sleep>>>,
    is_interrupted: bool,
}

impl Quiet {
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
        self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(QUIET_TIME)));
    }

    /// Returns once for each stretch of messages, after its end. Cancel-safe.
    pub(super) async fn begins(&mut self) {
        loop {
            let Some(alarm) = &mut self.alarm else { return std::future::pending().await };
            alarm.as_mut().await;
            if !std::mem::take(&mut self.is_interrupted) {
                self.alarm = None;
                return;
            }
            alarm.as_mut().reset(tokio::time::Instant::now() + QUIET_TIME);
        }
    }
}
