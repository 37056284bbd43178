//! A thread that does blocking I/O for streams that cannot be polled. Must not know what the stream is: it
//! gets a `Read` or a `Write`.
//!
//! The threads are detached: a thread blocked in a terminal's read cannot be woken, and ends with the
//! process. Queued bytes are therefore only certain to be written after `drained`.

use crate::lock::{Condition, Lock, LockGuard};
use bytes::{Buf, Bytes, BytesMut};
use std::{
    io::{self, IoSlice, Read, Write},
    pin::pin,
    sync::Arc,
    thread,
};
use tokio::sync::{Notify, mpsc};

/// The size of one blocking read or write.
const CHUNK_BYTES: usize = 64 * 1024;
/// Limit on chunks read ahead of the caller.
const MAX_CHUNKS_AHEAD: usize = 2;
/// Queue limit of a writer, beyond which it returns `WouldBlock`.
const MAX_QUEUE_BYTES: usize = 256 * 1024;

pub(super) struct ThreadedReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    /// Bytes that did not fit into the caller's buffer.
    rest: Bytes,
}

impl ThreadedReader {
    pub(super) fn start(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(MAX_CHUNKS_AHEAD);
        thread::Builder::new().name("switchboard-read".into()).spawn(move || read_all(source, &sender))?;
        Ok(Self { chunks, rest: Bytes::new() })
    }

    pub(super) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.chunks.recv().await {
                Some(chunk) => self.rest = chunk?,
                None => return Ok(0),
            }
        }
        let count = self.rest.len().min(buf.capacity() - buf.len());
        buf.extend_from_slice(&self.rest[..count]);
        self.rest.advance(count);
        Ok(count)
    }
}

/// Reads until the end, an error, or the reader is dropped.
fn read_all(mut source: impl Read, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut buf = vec![0; CHUNK_BYTES];
    loop {
        let chunk = match source.read(&mut buf) {
            // The dropped sender tells the reader that this is the end.
            Ok(0) => return,
            // A copy, since the next read reuses the buffer while the caller still holds this chunk.
            Ok(count) => Ok(Bytes::copy_from_slice(&buf[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let last = chunk.is_err();
        if chunks.blocking_send(chunk).is_err() || last {
            return;
        }
    }
}

pub(super) struct ThreadedWriter(Arc<Shared>);

struct Shared {
    queue: Lock<Queue>,
    /// Wakes the thread: bytes were queued, or the writer was dropped.
    filled: Condition,
    /// Wakes the tasks: a write finished or failed.
    moved: Notify,
}

struct Queue {
    bytes: BytesMut,
    /// Number of bytes that the thread is writing.
    in_flight: usize,
    state: QueueState,
}

enum QueueState {
    Open,
    /// The writer was dropped: write the queue, then close.
    Closing,
    /// A write failed; every later one returns the same error.
    Failed {
        kind: io::ErrorKind,
        code: Option<i32>,
    },
}

impl Shared {
    fn lock(&self) -> LockGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Waits on the thread for bytes to write; `None` when there will be no more.
    fn next_chunk(&self) -> Option<BytesMut> {
        let mut queue = self.lock();
        while queue.bytes.is_empty() {
            match queue.state {
                QueueState::Open => queue = self.filled.wait(queue),
                QueueState::Closing | QueueState::Failed { .. } => return None,
            }
        }
        let size = queue.bytes.len().min(CHUNK_BYTES);
        let chunk = queue.bytes.split_to(size);
        // Counted until written: `drained` must not report bytes that are only in our hands.
        queue.in_flight = chunk.len();
        Some(chunk)
    }

    /// Waits until `fact` holds. The notification is registered before the check, so none is missed.
    async fn until(&self, fact: impl Fn(&Queue) -> bool) {
        loop {
            let mut moved = pin!(self.moved.notified());
            moved.as_mut().enable();
            if fact(&self.lock()) {
                return;
            }
            moved.await;
        }
    }
}

impl Queue {
    fn pending(&self) -> usize {
        self.bytes.len() + self.in_flight
    }

    fn failed(&self) -> bool {
        matches!(self.state, QueueState::Failed { .. })
    }
}

impl ThreadedWriter {
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Lock::new(Queue { bytes: BytesMut::new(), in_flight: 0, state: QueueState::Open }),
            filled: Condition::new(),
            moved: Notify::new(),
        });
        let theirs = shared.clone();
        thread::Builder::new().name("switchboard-write".into()).spawn(move || write_all(sink, &theirs))?;
        Ok(Self(shared))
    }

    pub(super) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut queue = self.0.lock();
        if let QueueState::Failed { kind, code } = queue.state {
            return Err(code.map_or_else(|| kind.into(), io::Error::from_raw_os_error));
        }
        let room = MAX_QUEUE_BYTES - queue.pending();
        let mut taken = 0;
        for buf in bufs {
            let count = buf.len().min(room - taken);
            queue.bytes.extend_from_slice(&buf[..count]);
            taken += count;
        }
        // A call without bytes succeeds even if the queue is full.
        if taken > 0 {
            self.0.filled.notify_one();
        } else if bufs.iter().any(|buf| !buf.is_empty()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(taken)
    }

    pub(super) async fn writable(&self) {
        self.0.until(|queue| queue.failed() || queue.pending() < MAX_QUEUE_BYTES).await;
    }

    pub(super) async fn drained(&self) {
        self.0.until(|queue| queue.failed() || queue.pending() == 0).await;
    }
}

impl Drop for ThreadedWriter {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        if !queue.failed() {
            queue.state = QueueState::Closing;
        }
        self.0.filled.notify_one();
    }
}

/// Writes until the writer is dropped and its queue is empty, or a write fails. Closes the sink at the end.
fn write_all(mut sink: impl Write, shared: &Shared) {
    loop {
        let Some(chunk) = shared.next_chunk() else { return };
        let result = sink.write_all(&chunk).and_then(|()| sink.flush());
        let mut queue = shared.lock();
        queue.in_flight = 0;
        if let Err(error) = result {
            // The rest could not be written either.
            queue.bytes.clear();
            queue.state = QueueState::Failed { kind: error.kind(), code: error.raw_os_error() };
        }
        // Released first, or a woken task would run into the lock.
        drop(queue);
        shared.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::Future,
        sync::mpsc::{Receiver, SyncSender, sync_channel},
        task::{Context, Poll, Waker},
    };

    /// A sink that accepts one piece per permission.
    struct Slow {
        permissions: Receiver<()>,
        written: SyncSender<usize>,
    }

    impl Write for Slow {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.permissions.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            self.written.send(buf.len()).unwrap();
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (ThreadedWriter, SyncSender<()>, Receiver<usize>) {
        let (permit, permissions) = sync_channel(16);
        let (written, pieces) = sync_channel(16);
        (ThreadedWriter::start(Slow { permissions, written }).unwrap(), permit, pieces)
    }

    fn is_pending(future: impl Future) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    #[tokio::test]
    async fn slow_sink_makes_the_writer_wait() {
        let (writer, permit, pieces) = slow();
        assert!(!is_pending(writer.drained()));
        let much = vec![7; MAX_QUEUE_BYTES + 1];
        assert_eq!(
            writer.try_write(&[IoSlice::new(&much[..10]), IoSlice::new(&much[10..])]).unwrap(),
            MAX_QUEUE_BYTES
        );
        assert_eq!(writer.try_write(&[IoSlice::new(b"x")]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(writer.try_write(&[IoSlice::new(b"")]).unwrap(), 0);
        assert!(is_pending(writer.writable()));

        permit.send(()).unwrap();
        writer.writable().await;
        assert!(is_pending(writer.drained()));
        (1..MAX_QUEUE_BYTES / CHUNK_BYTES).for_each(|_| permit.send(()).unwrap());
        writer.drained().await;
        assert_eq!(pieces.try_iter().sum::<usize>(), MAX_QUEUE_BYTES);
    }

    #[tokio::test]
    async fn dropped_writer_still_writes_its_queue() {
        let (writer, permit, pieces) = slow();
        writer.try_write(&[IoSlice::new(b"last words")]).unwrap();
        drop(writer);
        permit.send(()).unwrap();
        assert_eq!(pieces.recv(), Ok(10));
        assert!(pieces.recv().is_err(), "the sink is closed afterwards");
    }

    #[tokio::test]
    async fn failed_write_fails_all_later_ones() {
        let (writer, permit, _pieces) = slow();
        writer.try_write(&[IoSlice::new(&[0; MAX_QUEUE_BYTES])]).unwrap();
        drop(permit);
        writer.drained().await;
        writer.writable().await;
        for _ in 0..2 {
            assert_eq!(
                writer.try_write(&[IoSlice::new(b"x")]).unwrap_err().kind(),
                io::ErrorKind::BrokenPipe
            );
        }
    }

    #[tokio::test]
    async fn reader_fits_buffer_and_is_cancel_safe() {
        let source = io::Cursor::new((0..CHUNK_BYTES * 3).map(|i| i as u8).collect::<Vec<_>>());
        let expect = source.get_ref().clone();
        let mut reader = ThreadedReader::start(source).unwrap();
        let mut all = Vec::new();
        loop {
            // Cancelled at its first wait, or completed with the available bytes.
            let mut buf = BytesMut::with_capacity(1000);
            let _ = pin!(reader.read(&mut buf)).poll(&mut Context::from_waker(Waker::noop()));
            let mut count = buf.len();
            if count == 0 {
                count = reader.read(&mut buf).await.unwrap();
            }
            if count == 0 {
                break;
            }
            assert!(buf.len() <= buf.capacity() && count == buf.len());
            all.extend_from_slice(&buf);
        }
        assert!(all == expect);
        assert!(matches!(
            pin!(reader.read(&mut BytesMut::with_capacity(1))).poll(&mut Context::from_waker(Waker::noop())),
            Poll::Ready(Ok(0))
        ));
    }
}
