//! Messages waiting for one peer. While the peer keeps up, the task that brought a message writes it
//! directly; the rest is left to the outbox's own task. Must not know what a message means.

use crate::io::output::{Output, StoredOutput};
use crate::io::{prepared, spare};
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use switchboard_process::pipe::Sealed;
use switchboard_protocol::outgoing::Piece;
use switchboard_protocol::{Framing, Outgoing};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Messages below this size are copied together, so that many go out in one system call.
const SMALL_MESSAGE_BYTES: usize = 16 << 10;
/// Pieces per system call.
const MAX_PIECES: usize = 64;
/// A larger buffer is freed after a burst.
const MAX_IDLE_BUFFER_BYTES: usize = 64 << 10;

/// Result of a flush.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// The peer accepts no more at the moment.
    Something,
    /// The peer is gone.
    Broken,
}

pub(crate) struct Outbox {
    output: Arc<Output>,
    framing: Framing,
    /// Pieces in order; `small` follows them.
    queue: VecDeque<Part>,
    /// Small messages, copied together.
    small: Vec<u8>,
    /// Wakes the outbox's task when something is left.
    left: Arc<Notify>,
    task: Option<AbortHandle>,
    broken: bool,
    /// Bytes of messages that were put in but are not sent; they count as sent.
    swallowed: usize,
    /// Messages put in since the last write.
    gathered: usize,
}

/// A waiting piece.
struct Part {
    bytes: Bytes,
    /// The same bytes in a sealed copy from which the system can send, and the position in it.
    source: Option<(Arc<Sealed>, usize)>,
}

impl Part {
    fn copied(bytes: Bytes) -> Self {
        Self { bytes, source: None }
    }

    fn advance(&mut self, by: usize) {
        self.bytes.advance(by);
        if let Some((_, at)) = &mut self.source {
            *at += by;
        }
    }
}

impl Outbox {
    pub(crate) fn new(output: Output, framing: Framing) -> Self {
        Self {
            output: Arc::new(output),
            framing,
            queue: VecDeque::new(),
            small: Vec::new(),
            left: Arc::new(Notify::new()),
            task: None,
            broken: false,
            swallowed: 0,
            gathered: 0,
        }
    }

    pub(crate) fn output(&self) -> Arc<Output> {
        self.output.clone()
    }

    pub(crate) fn left(&self) -> Arc<Notify> {
        self.left.clone()
    }

    /// Task that writes leftovers; it ends with the outbox.
    pub(crate) fn set_task(&mut self, task: AbortHandle) {
        self.task = Some(task);
    }

    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.holds_nothing()
            && match &*self.output {
                Output::Direct(_) | Output::Buffered(_) => true,
                Output::Stored(stored) => stored.unsent() == 0,
            }
    }

    /// Frees memory of an idle peer.
    pub(crate) fn trim(&mut self) {
        if self.holds_nothing() {
            (self.queue, self.small) = (VecDeque::new(), Vec::new());
        }
        match &*self.output {
            Output::Direct(_) | Output::Buffered(_) => {}
            Output::Stored(stored) => stored.trim(),
        }
    }

    fn holds_nothing(&self) -> bool {
        self.queue.is_empty() && self.small.is_empty()
    }

    pub(crate) fn gathered(&self) -> usize {
        self.gathered
    }

    /// Puts a message in, framed as the peer expects.
    pub(crate) fn put(&mut self, out: Outgoing) {
        self.gathered += 1;
        if let Output::Stored(stored) = &*self.output
            && !stored.admit(&out)
        {
            // The core counts these bytes as waiting, so they are reported with the next flush.
            self.swallowed += out.len();
            return;
        }
        let out = match self.framing {
            // A line break inside a message would end it early on a newline-delimited stream.
            Framing::Newline => out.on_one_line(),
            Framing::ContentLength => out,
        };
        let length = out.len();
        if let Some(head) = self.framing.head(length) {
            self.small.extend_from_slice(head.as_bytes());
        }
        if length < SMALL_MESSAGE_BYTES {
            out.write_to(&mut self.small);
        } else {
            self.put_pieces(&out);
        }
        self.small.extend_from_slice(self.framing.tail());
    }

    /// Queues a large message without copying it: its large pieces by reference, only the small ones into the buffer.
    fn put_pieces(&mut self, out: &Outgoing) {
        for piece in out.pieces() {
            match piece {
                Piece::Original(range) if range.len() < SMALL_MESSAGE_BYTES => {
                    self.small.extend_from_slice(&out.original()[range]);
                }
                Piece::Original(range) => {
                    // Order is kept: whatever was copied before this piece goes into the queue before it.
                    self.close_small();
                    // A sealed copy pays off only for a list that many clients get.
                    let is_prepared = out.is_prepared()
                        && range.len() >= prepared::MIN_SHARED_BYTES
                        && self.output.is_pipe();
                    let source = is_prepared.then(|| prepared::source(out.original())).flatten();
                    let source = source.map(|sealed| (sealed, range.start));
                    self.queue.push_back(Part { bytes: out.original().slice(range), source });
                }
                Piece::Replaced(bytes) => self.small.extend_from_slice(bytes),
            }
        }
    }

    fn close_small(&mut self) {
        if !self.small.is_empty() {
            self.queue.push_back(Part::copied(std::mem::take(&mut self.small).into()));
        }
    }

    /// Writes without waiting. Returns the number of bytes written, and what is left.
    pub(crate) fn flush(&mut self) -> (usize, Left) {
        let mut flushed = std::mem::take(&mut self.swallowed);
        self.gathered = 0;
        // Cloned so that `self` can be changed while the output is in use.
        if let Output::Stored(stored) = &*self.output.clone() {
            let (sent, left) = self.flush_stored(&**stored);
            return (flushed + sent, left);
        }
        while !self.holds_nothing() && !self.broken {
            match self.write_some() {
                Ok(written) => flushed += written,
                // A signal arrived during the call, and the write is simply repeated.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.close_small();
                    self.left.notify_one();
                    return (flushed, Left::Something);
                }
                Err(_) => self.broken = true,
            }
        }
        if self.broken {
            // The rest will never be read, so its memory is freed at once.
            self.queue.clear();
            self.small = Vec::new();
            return (flushed, Left::Broken);
        }
        (flushed, Left::Nothing)
    }

    /// Stores everything where it outlives this process, then sends from there.
    fn flush_stored(&mut self, stored: &dyn StoredOutput) -> (usize, Left) {
        let mut flushed = 0;
        let mut outcome = match self.holds_nothing() || self.broken {
            true => Ok(()),
            false => self.store(stored),
        };
        while outcome.is_ok() && !self.broken && stored.unsent() > 0 {
            outcome = stored.send().map(|sent| flushed += sent);
        }
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.left.notify_one();
                return (flushed, Left::Something);
            }
            Err(_) => {
                self.broken = true;
                // No other process must try to send to a peer that is gone.
                stored.lost();
            }
            Ok(()) => {}
        }
        (flushed, if self.broken { Left::Broken } else { Left::Nothing })
    }

    fn store(&mut self, stored: &dyn StoredOutput) -> io::Result<()> {
        let pieces = self.queue.iter().map(|part| &part.bytes[..]).chain([&self.small[..]]);
        let slices: Vec<IoSlice<'_>> = pieces.filter(|piece| !piece.is_empty()).map(IoSlice::new).collect();
        stored.store(&slices)?;
        drop(slices);
        // Large buffers are kept for the next large message.
        self.queue.drain(..).for_each(|part| spare::give(part.bytes));
        if self.small.capacity() <= MAX_IDLE_BUFFER_BYTES {
            self.small.clear();
        } else {
            self.small = Vec::new();
        }
        Ok(())
    }

    fn write_some(&mut self) -> io::Result<usize> {
        if self.queue.is_empty() {
            let written = self.output.try_write(&[IoSlice::new(&self.small)])?;
            // The usual case: everything fits into the pipe, and the buffer is reused without
            // an allocation.
            if written == self.small.len() && self.small.capacity() <= MAX_IDLE_BUFFER_BYTES {
                self.small.clear();
            } else {
                let mut rest = Bytes::from(std::mem::take(&mut self.small));
                rest.advance(written);
                self.queue.extend((!rest.is_empty()).then_some(rest).map(Part::copied));
            }
            return Ok(written);
        }
        if let Some(Part { bytes, source: Some((sealed, at)) }) = self.queue.front() {
            match self.output.try_give(sealed, *at, bytes.len()) {
                Ok(given) => {
                    self.forget(given);
                    return Ok(given);
                }
                Err(error) if is_about_the_peer(&error) => return Err(error),
                // Some systems have the call but do not support it for every file; copying always works.
                Err(_) => self.queue.iter_mut().for_each(|part| part.source = None),
            }
        }
        let mut slices = [IoSlice::new(&[]); MAX_PIECES];
        let mut count = 0;
        let copied = self.queue.iter().take_while(|part| part.source.is_none());
        // `small` follows the queue, so it is written only together with all of it.
        let ends_with_small = copied.clone().count() == self.queue.len();
        let small = ends_with_small.then_some(&self.small[..]);
        // `zip` stops at the number of slices; the rest follows with the next call.
        for (slice, piece) in slices.iter_mut().zip(copied.map(|part| &part.bytes[..]).chain(small)) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        let written = self.output.try_write(&slices[..count])?;
        self.forget(written);
        Ok(written)
    }

    fn forget(&mut self, mut written: usize) {
        while let Some(first) = self.queue.front_mut() {
            if written < first.bytes.len() {
                first.advance(written);
                return;
            }
            written -= first.bytes.len();
            self.queue.pop_front().into_iter().for_each(|part| spare::give(part.bytes));
        }
        self.small.drain(..written);
    }
}

fn is_about_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, Interrupted, WouldBlock};
    matches!(error.kind(), BrokenPipe | Interrupted | WouldBlock)
}

impl Drop for Outbox {
    fn drop(&mut self) {
        // The task holds the writer too, and the peer sees the end only when both are gone.
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
