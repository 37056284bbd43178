//! Writing to a stream of an embedding program: a bounded buffer that a task writes out. The outbox never
//! waits, and such a stream cannot tell whether a write would.

use super::task;
use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::sync::Arc;
use switchboard_process::lock::{Lock, LockGuard};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// Capacity of the buffer.
const MAX_BUFFERED_BYTES: usize = 64 << 10;

/// Writing end of the buffer. Dropping it shuts the stream down once the buffer is empty.
pub(crate) struct StreamWriter(Arc<Shared>);

struct Shared {
    state: Lock<Buffered>,
    /// Bytes were added, or the writer was dropped.
    filled: Notify,
    /// Bytes were written, or the stream is broken.
    emptied: Notify,
}

#[derive(Default)]
struct Buffered {
    bytes: BytesMut,
    /// The task has taken bytes that are not written yet.
    is_writing: bool,
    is_closed: bool,
    is_broken: bool,
}

impl StreamWriter {
    pub(crate) fn new(stream: impl AsyncWrite + Send + 'static) -> Self {
        let shared =
            Arc::new(Shared { state: Lock::default(), filled: Notify::new(), emptied: Notify::new() });
        let theirs = shared.clone();
        task::spawn("output", async move { theirs.write_all(stream).await });
        Self(shared)
    }

    /// Accepts as many bytes as there is room for; `WouldBlock` if none.
    pub(crate) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.0.lock();
        if state.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut taken = 0;
        for buf in bufs {
            let room = MAX_BUFFERED_BYTES - state.bytes.len();
            let part = &buf[..buf.len().min(room)];
            state.bytes.extend_from_slice(part);
            taken += part.len();
        }
        if taken == 0 && bufs.iter().any(|buf| !buf.is_empty()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        drop(state);
        self.0.filled.notify_one();
        Ok(taken)
    }

    /// Waits until there is room, or the stream is broken.
    pub(crate) async fn writable(&self) {
        self.0.until(|state| state.bytes.len() < MAX_BUFFERED_BYTES).await;
    }

    /// Waits until all bytes are written, or the stream is broken.
    pub(crate) async fn drained(&self) {
        self.0.until(|state| state.bytes.is_empty() && !state.is_writing).await;
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.filled.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> LockGuard<'_, Buffered> {
        self.state.lock()
    }

    async fn until(&self, is_reached: impl Fn(&Buffered) -> bool) {
        loop {
            // Registered before the check, so a notice between check and wait is not missed.
            let emptied = self.emptied.notified();
            {
                let state = self.lock();
                if state.is_broken || is_reached(&state) {
                    return;
                }
            }
            emptied.await;
        }
    }

    async fn write_all(&self, stream: impl AsyncWrite) {
        tokio::pin!(stream);
        loop {
            let (bytes, is_closed) = {
                let mut state = self.lock();
                // Set under the same lock that takes the bytes, so that `drained` cannot miss them.
                state.is_writing = !state.bytes.is_empty();
                (state.bytes.split(), state.is_closed)
            };
            if bytes.is_empty() {
                // `is_writing` has just become false, which `drained` waits for.
                self.emptied.notify_waiters();
                if is_closed {
                    let _ = stream.shutdown().await;
                    return;
                }
                self.filled.notified().await;
                continue;
            }
            // The buffer has room again while these bytes are written.
            self.emptied.notify_waiters();
            let mut written = stream.write_all(&bytes).await;
            if written.is_ok() {
                // The stream of an embedding program may buffer on its own.
                written = stream.flush().await;
            }
            if written.is_err() {
                self.lock().is_broken = true;
                self.emptied.notify_waiters();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn bytes_arrive_in_order_and_end() {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let writer = StreamWriter::new(ours);
        let text: Vec<u8> = (0..3 * MAX_BUFFERED_BYTES).map(|at| at as u8).collect();
        let expected = text.clone();
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).await.expect("a duplex does not fail");
            read
        });
        let mut rest = &text[..];
        while !rest.is_empty() {
            match writer.try_write(&[IoSlice::new(rest)]) {
                Ok(taken) => rest = &rest[taken..],
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    writer.writable().await;
                }
            }
        }
        writer.drained().await;
        drop(writer);
        assert!(reading.await.expect("it reads to the end") == expected);
    }

    #[tokio::test]
    async fn broken_stream_is_reported() {
        let (ours, theirs) = tokio::io::duplex(10);
        drop(theirs);
        let writer = StreamWriter::new(ours);
        writer.try_write(&[IoSlice::new(b"x")]).expect("it has room");
        writer.drained().await;
        let error = writer.try_write(&[IoSlice::new(b"x")]).expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
