//! Whether there is room for one more client. A daemon that let everybody in would have no descriptors left to start a server
//! for any of them; whoever is turned away serves himself.

use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_process::room;

/// What a client's streams need, beside its connection: both, the file that goes along, and a copy of each that is
/// waited for.
const STREAMS: usize = 5;

/// A place for a client that was let in. It is held until its streams are here, so that those who come meanwhile do not
/// take what it needs.
pub(crate) struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    /// `arriving` counts those who are on their way. An error says why there is no place.
    pub(crate) fn take(arriving: &'a AtomicUsize, offers_streams: bool) -> Result<Self, String> {
        let expected = arriving.load(Ordering::Relaxed) + usize::from(offers_streams);
        if room::beside_the_reserve(expected * STREAMS) {
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

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
