//! Tasks of every mode: the timer, signals, the end of our parent process.

use crate::hub::Hub;
use crate::io::task;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{ClientId, Event, Fact};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use tokio::task::AbortHandle;

/// Time limit for the last answers to be read, and the last log lines to be written.
pub(super) const LAST_WRITES_TIMEOUT: Duration = Duration::from_secs(1);

/// Tasks that end together, at the latest when this is dropped.
#[derive(Default)]
pub(super) struct Tasks(Vec<AbortHandle>);

impl Tasks {
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        work: impl Future<Output: Send + 'static> + Send + 'static,
    ) {
        self.0.push(task::spawn(name, work).abort_handle());
    }

    /// The hub's timer.
    pub(super) fn of(hub: &Arc<Hub>) -> Self {
        let mut tasks = Self::default();
        tasks.spawn("time", hub.clone().keep_time());
        tasks
    }

    /// Ends the hub on a signal. The first one drains (in haste, if the client had closed its end
    /// before); the second one kills.
    pub(super) fn obey(&mut self, hub: &Arc<Hub>, mut signals: Signals) {
        let hub = hub.clone();
        self.spawn("ending", async move {
            // Waits in one task for both signals, so that the second one is known to be the second.
            let why = signals.next().await;
            hub.handle(Event::Drain { why });
            signals.next().await;
            hub.handle(Event::Kill);
        });
    }

    /// Ends the client with our parent process: a client that has ended reads nothing, even if another
    /// process holds our input open.
    pub(super) fn follow(&mut self, hub: &Arc<Hub>, client: ClientId, mut parent: Parent) {
        let hub = hub.clone();
        self.spawn("following", async move {
            parent.gone().await;
            hub.telemetry().desk().take(Fact::ParentGone);
            // Input that it wrote before its end is still handled.
            hub.handle(Event::ClientInputEnded { client });
            hub.handle(Event::ClientLost { client });
        });
    }

    pub(super) fn end(self) {
        drop(self);
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}
