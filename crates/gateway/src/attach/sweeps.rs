//! What an attachment does for a daemon that was killed together with all that watched over its servers: it ends what is
//! left, at once, and not only when the next daemon starts.

use crate::io::task;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::warden::Witness;
use tokio::sync::Mutex;

/// How long an attachment that ends waits for a sweep that has begun.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Sweeps {
    runs: PathBuf,
    /// Held while one is under way.
    busy: Arc<Mutex<()>>,
}

impl Sweeps {
    /// `runs` is the folder of run files.
    pub(crate) fn new(runs: PathBuf) -> Self {
        Self { runs, busy: Arc::default() }
    }

    /// Of a daemon that is connected now.
    pub(crate) fn witness(&self, daemon: u32) -> Witness {
        Witness::of(daemon, self.runs.clone())
    }

    /// The connection has ended. A daemon that ends in order takes its time, and leaves nothing.
    pub(crate) fn clear_up_after(&self, mut witness: Witness) {
        let busy = self.busy.clone();
        task::spawn("sweeping", async move {
            witness.ended().await;
            let _busy = busy.lock().await;
            witness.sweep().await;
        });
    }

    /// Waits for what is under way.
    pub(crate) async fn finished(&self) {
        let _ = tokio::time::timeout(SWEEP_TIMEOUT, self.busy.lock()).await;
    }
}
