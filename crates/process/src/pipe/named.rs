//! Named pipes of Windows, opened for overlapped I/O: read and written directly, without a thread. Must not
//! know who is at the other end.
//!
//! The pipe between two processes of ours is bidirectional and cannot be closed in one direction. So it carries
//! messages, read as bytes, and an empty message marks the end, which a byte pipe could not express. Closing
//! the whole pipe ends it too. The pipes of a child have one direction each, and carry bytes.

use crate::aside;
use bytes::BytesMut;
use std::{
    io::{self, ErrorKind, IoSlice},
    os::windows::io::AsRawHandle,
    ptr,
    sync::Arc,
};
use tokio::{
    net::windows::named_pipe::{NamedPipeClient, NamedPipeServer},
    runtime::Handle,
};
use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

/// Maximum length of one message, and of one copy by the runtime.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

pub(crate) enum NamedPipe {
    Server(NamedPipeServer),
    Client(NamedPipeClient),
}

/// Applies an expression to either end.
macro_rules! of_either {
    ($pipe:expr, $end:ident => $what:expr) => {
        match &*$pipe {
            NamedPipe::Server($end) => $what,
            NamedPipe::Client($end) => $what,
        }
    };
}

pub(super) fn both_ways(pipe: NamedPipe) -> (NamedReader, NamedWriter) {
    let pipe = Arc::new(pipe);
    let reader =
        NamedReader { pipe: pipe.clone(), has_ended: false, was_broken: false, carries_bytes: false };
    (reader, NamedWriter { pipe, carries_bytes: false })
}

/// The only direction of a byte pipe.
pub(super) fn reader(pipe: NamedPipeServer) -> NamedReader {
    let pipe = Arc::new(NamedPipe::Server(pipe));
    NamedReader { pipe, has_ended: false, was_broken: false, carries_bytes: true }
}

/// The only direction of a byte pipe.
pub(super) fn writer(pipe: NamedPipeServer) -> NamedWriter {
    NamedWriter { pipe: Arc::new(NamedPipe::Server(pipe)), carries_bytes: true }
}

pub(super) struct NamedReader {
    pipe: Arc<NamedPipe>,
    has_ended: bool,
    /// The peer was seen to have closed the pipe. The runtime may hold a last message, which it has read ahead.
    was_broken: bool,
    /// An empty write of the peer is then no end.
    carries_bytes: bool,
}

impl NamedReader {
    pub(super) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        while !self.has_ended {
            of_either!(self.pipe, end => end.readable().await)?;
            match of_either!(self.pipe, end => end.try_read_buf(buf)) {
                Ok(0) => {
                    self.has_ended = self.was_broken || !self.carries_bytes;
                    self.was_broken = is_broken(&self.pipe);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The peer has closed the whole pipe, which ends this direction too.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.has_ended = true,
                result => return result,
            }
        }
        Ok(0)
    }
}

/// Whether the peer has closed the pipe, and the runtime has read everything. The runtime reports an empty write,
/// which is nothing special in a pipe of bytes, just like the end.
fn is_broken(pipe: &NamedPipe) -> bool {
    let handle = of_either!(pipe, end => end.as_raw_handle());
    // SAFETY: the handle is open, and nothing but the fact is asked for.
    let peeked = unsafe {
        PeekNamedPipe(handle, ptr::null_mut(), 0, ptr::null_mut(), ptr::null_mut(), ptr::null_mut())
    };
    peeked == 0
}

pub(super) struct NamedWriter {
    pipe: Arc<NamedPipe>,
    carries_bytes: bool,
}

impl NamedWriter {
    pub(super) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut filled = bufs.iter().filter(|buf| !buf.is_empty());
        match (filled.next(), filled.next()) {
            // An empty message would mark the end.
            (None, _) => Ok(0),
            (Some(only), None) => write(&self.pipe, &only[..only.len().min(MAX_MESSAGE_BYTES)]),
            (Some(_), Some(_)) => {
                // The runtime accepts one buffer at a time, and the next only after the write has completed.
                let mut joined = Vec::with_capacity(
                    bufs.iter().map(|buf| buf.len()).sum::<usize>().min(MAX_MESSAGE_BYTES),
                );
                for buf in bufs {
                    joined.extend_from_slice(&buf[..buf.len().min(MAX_MESSAGE_BYTES - joined.len())]);
                }
                write(&self.pipe, &joined)
            }
        }
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        of_either!(self.pipe, end => end.writable().await)
    }

    /// Waits until the peer has read everything. Only then is no write in progress. A child need not read: the
    /// runtime completes the last write to it, and only then closes the pipe.
    pub(super) async fn drained(&self) {
        if self.carries_bytes {
            return;
        }
        let pipe = self.pipe.clone();
        aside::run(move || {
            let handle = of_either!(pipe, end => end.as_raw_handle());
            // SAFETY: the handle is open as long as `pipe` exists. A failure means that the peer is gone.
            unsafe { FlushFileBuffers(handle) };
        })
        .await;
    }
}

impl Drop for NamedWriter {
    fn drop(&mut self) {
        // Last holder: the pipe is closed now, after pending writes are done.
        if Arc::strong_count(&self.pipe) == 1 {
            return;
        }
        // The last write may still be in progress, and the marker must follow it.
        if matches!(write(&self.pipe, &[]), Err(error) if error.kind() == ErrorKind::WouldBlock)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(end(self.pipe.clone()));
        }
    }
}

/// Sends the end marker, after pending writes.
async fn end(pipe: Arc<NamedPipe>) {
    while of_either!(pipe, end => end.writable().await).is_ok() {
        match write(&pipe, &[]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}

fn write(pipe: &NamedPipe, bytes: &[u8]) -> io::Result<usize> {
    of_either!(pipe, end => end.try_write(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::child_end::from_child;
    use bytes::BytesMut;
    use std::fs::File;
    use std::io::Write;

    /// The runtime reads ahead: when it reports the empty write, it may hold the rest, and the pipe is broken.
    #[tokio::test]
    async fn message_behind_an_empty_write_arrives() {
        for empty in 1..=3 {
            let (mut reader, theirs) = from_child().unwrap();
            let mut child = File::from(theirs);
            for _ in 0..empty {
                assert_eq!(child.write(&[]).unwrap(), 0);
            }
            child.write_all(b"last").unwrap();
            drop(child);
            let mut read = BytesMut::new();
            while reader.read(&mut read).await.unwrap() > 0 {}
            assert_eq!(read, "last", "behind {empty}");
        }
    }
}
