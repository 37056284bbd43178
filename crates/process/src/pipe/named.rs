//! Named pipes of Windows, opened for overlapped I/O at both ends: read and written directly, without a
//! thread. Must not know who is at the other end.
//!
//! Such a pipe is bidirectional and cannot be closed in one direction. So it carries messages, read as bytes,
//! and an empty message marks the end, which a byte pipe could not express. Closing the whole pipe ends it too.

use crate::aside;
use bytes::BytesMut;
use std::{
    io::{self, ErrorKind, IoSlice},
    os::windows::io::AsRawHandle,
    sync::Arc,
};
use tokio::{
    net::windows::named_pipe::{NamedPipeClient, NamedPipeServer},
    runtime::Handle,
};
use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;

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
    (NamedReader { pipe: pipe.clone(), has_ended: false }, NamedWriter(pipe))
}

pub(super) struct NamedReader {
    pipe: Arc<NamedPipe>,
    has_ended: bool,
}

impl NamedReader {
    pub(super) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        while !self.has_ended {
            of_either!(self.pipe, end => end.readable().await)?;
            match of_either!(self.pipe, end => end.try_read_buf(buf)) {
                Ok(0) => self.has_ended = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The peer has closed the whole pipe, which ends this direction too.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.has_ended = true,
                result => return result,
            }
        }
        Ok(0)
    }
}

pub(super) struct NamedWriter(Arc<NamedPipe>);

impl NamedWriter {
    pub(super) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut filled = bufs.iter().filter(|buf| !buf.is_empty());
        match (filled.next(), filled.next()) {
            // An empty message would mark the end.
            (None, _) => Ok(0),
            (Some(only), None) => write(&self.0, &only[..only.len().min(MAX_MESSAGE_BYTES)]),
            (Some(_), Some(_)) => {
                // The runtime accepts one buffer at a time, and the next only after the write has completed.
                let mut joined = Vec::with_capacity(
                    bufs.iter().map(|buf| buf.len()).sum::<usize>().min(MAX_MESSAGE_BYTES),
                );
                for buf in bufs {
                    joined.extend_from_slice(&buf[..buf.len().min(MAX_MESSAGE_BYTES - joined.len())]);
                }
                write(&self.0, &joined)
            }
        }
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        of_either!(self.0, end => end.writable().await)
    }

    /// Waits until the peer has read everything. Only then is no write in progress.
    pub(super) async fn drained(&self) {
        let pipe = self.0.clone();
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
        if Arc::strong_count(&self.0) == 1 {
            return;
        }
        // The last write may still be in progress, and the marker must follow it.
        if matches!(write(&self.0, &[]), Err(error) if error.kind() == ErrorKind::WouldBlock)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(end(self.0.clone()));
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
