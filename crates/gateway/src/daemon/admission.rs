//! Room for one more client. A daemon that let everybody in would have no descriptors left to start a server for any of
//! them; a window that is turned away serves itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_process::room;

/// Descriptors for a client's streams, beside its connection: both, the file that goes along, and a copy of each that is
/// waited for.
const DESCRIPTORS_PER_CLIENT: usize = 5;

/// Admission of one client. It is held until the client's streams are here, so that clients that come meanwhile do not take
/// the descriptors that it needs.
pub(crate) struct Admission<'a>(&'a AtomicUsize);

impl<'a> Admission<'a> {
    /// `arriving` counts those who are on their way. An error says why there is no room.
    pub(crate) fn take(arriving: &'a AtomicUsize, offers_streams: bool) -> Result<Self, String> {
        let expected = arriving.load(Ordering::Relaxed) + usize::from(offers_streams);
        if room::beside_the_reserve(expected * DESCRIPTORS_PER_CLIENT) {
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
