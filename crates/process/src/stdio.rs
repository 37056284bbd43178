//! Our own standard streams: the first half of the firewall that keeps the protocol's stdout clean. Must not
//! know what is written to them.

use crate::pipe::{ByteReader, ByteWriter};
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

#[cfg(unix)]
#[path = "stdio/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "stdio/windows.rs"]
mod os;

/// The original stdin and stdout of the process, out of reach of all other code.
pub struct OwnStdio {
    pub input: ByteReader,
    pub output: ByteWriter,
}

/// Moves the real stdin and stdout away from descriptors 0 and 1.
///
/// Afterwards a stray print of any dependency goes to stderr instead of the client, a stray read finds
/// nothing, and no child inherits either stream. Streams that were closed at start count as `/dev/null`.
///
/// Must be called once, inside the runtime's context, before there are threads that might print or start
/// processes. A second call is an error.
pub fn take() -> io::Result<OwnStdio> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::Error::other("the standard streams were taken already"));
    }
    os::take()
}
