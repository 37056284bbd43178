//! Admission of clients by free descriptors. A daemon without a limit would run out of descriptors for
//! servers; a window that is refused serves itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_process::room;

/// Descriptors for a client's streams, beside its connection: both streams, the file that comes with them, and a
/// copy of each stream for polling.
const DESCRIPTORS_PER_CLIENT: usize = 5;

/// Admission of one client, held until its streams have arrived, so that other arrivals
/// do not take their descriptors.
pub(crate) struct Admission<'a>(&'a AtomicUsize);

impl<'a> Admission<'a> {
    /// Admits a client if there is room. `arriving` counts clients whose streams are on their
    /// way. The error gives the reason.
    pub(crate) fn take(arriving: &'a AtomicUsize, offers_streams: bool) -> Result<Self, String> {
        // Clients on their way will need their descriptors too.
        let expected = arriving.load(Ordering::Relaxed) + usize::from(offers_streams);
        if room::beside_the_reserve(expected * DESCRIPTORS_PER_CLIENT) {
            // Counted even without streams, since `Drop` subtracts in any case.
            arriving.fetch_add(1, Ordering::Relaxed);
            return Ok(Self(arriving));
        }
        let limit = room::limit().map(|limit| format!(" of {limit}")).unwrap_or_default();
        Err(format!(
            "the daemon (pid {}) has no file descriptors{limit} to spare for another window; raise the limit, `ulimit -n`",
            std::process::id()
        ))
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
