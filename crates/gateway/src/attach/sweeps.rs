//! Cleanup after a daemon that was killed together with its guards: an attachment ends the remaining server
//! processes at once, without waiting for the next daemon's start.

use crate::io::task;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::warden::Witness;
use tokio::sync::Mutex;

/// Time limit for a running sweep at this attachment's end.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Sweeps {
    runs: PathBuf,
    /// Held during a sweep.
    busy: Arc<Mutex<()>>,
}

impl Sweeps {
    /// `runs` is the folder of run files.
    pub(crate) fn new(runs: PathBuf) -> Self {
        Self { runs, busy: Arc::default() }
    }

    /// Witness of a connected daemon, for a later sweep.
    pub(crate) fn witness(&self, daemon: u32) -> Witness {
        Witness::of(daemon, self.runs.clone())
    }

    /// Sweeps once the daemon has ended. A daemon that ends in order needs some time,
    /// and leaves nothing to sweep.
    pub(crate) fn clear_up_after(&self, mut witness: Witness) {
        let busy = self.busy.clone();
        task::spawn("sweeping", async move {
            // Outside the lock: `finished` must not wait for a daemon that still runs.
            witness.ended().await;
            let _busy = busy.lock().await;
            witness.sweep().await;
        });
    }

    /// Waits for a running sweep.
    pub(crate) async fn finished(&self) {
        let _ = tokio::time::timeout(SWEEP_TIMEOUT, self.busy.lock()).await;
    }
}
