//! Changes of the tokens while a process runs: the files, the clock, and the rights of profiles.

use super::store::{Refreshed, TokenStore};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use switchboard_process::aside;
use switchboard_process::file_watch::FileWatch;

/// Interval of checks where the system does not report every change: a revocation takes effect within a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of checks where the system reports changes: a parent folder may still be replaced unnoticed.
const REPORTED_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Delay of reports from a busy folder: the state folder contains other files too.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// Delay after an expiry, since its time is in whole seconds.
const EXPIRY_DELAY: Duration = Duration::from_millis(10);

/// Reads the tokens again whenever they may have changed.
pub(crate) async fn watch(store: Arc<TokenStore>, on_refresh: impl Fn(Refreshed)) {
    let mut reports = FileWatch::with_pause(BUSY_PAUSE);
    loop {
        // Aimed before the files are read: a change in between is then reported.
        reports.aim_all(store.files().into()).await;
        let reader = store.clone();
        on_refresh(aside::run(move || reader.refresh()).await);
        let interval = if reports.reports_all() { REPORTED_CHECK_INTERVAL } else { CHECK_INTERVAL };
        let expiry = store.next_expiry().map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        tokio::select! {
            () = reports.changed() => {}
            () = store.changed() => {}
            () = tokio::time::sleep(expiry.map_or(interval, |expiry| interval.min(expiry + EXPIRY_DELAY))) => {}
        }
    }
}
