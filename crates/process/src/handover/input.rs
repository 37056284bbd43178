//! Input: read directly into the file, so that the bytes are there for the next holder whatever happens to us
//! after the read. Unread parts of the file are zero, and a client's text contains no zeros.

use super::store::{INPUT, Mapping, PAGE_BYTES, Store};
use crate::pipe::{Descriptor, PollRead};
use bytes::BytesMut;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

/// Size of the part of the file that is mapped at a time.
const WINDOW_BYTES: u64 = 1 << 20;
/// Upper limit of one read: the capacity of a pipe.
const MAX_READ_BYTES: u64 = 64 << 10;
/// Size of a read until one fills it: pages are allocated before a read, and most messages are short.
const FIRST_READ_BYTES: u64 = 8 << 10;
/// Bytes to reserve when the caller's buffer is full.
const RESERVED_BYTES: usize = 16 << 10;
/// Chunk size in which processed input is returned to the system.
const FREED_PIECE_BYTES: u64 = 256 << 10;
/// Size of the beginning and end of an oversized message that are kept: its id is in one of them.
const OVERSIZED_REST_BYTES: u64 = 64 << 10;

pub(crate) struct Input {
    fd: AsyncFd<Descriptor>,
    file: InputFile,
    /// End of the processed input, set by the reader's owner.
    taken: Arc<AtomicU64>,
    /// Limit on stored unprocessed input.
    limit: u64,
    /// End of the input delivered to the reader.
    given: u64,
    /// End of the input returned to the system.
    freed: u64,
}

/// The part of the file that receives input.
struct InputFile {
    store: Arc<Store>,
    /// End of the input read so far.
    end: u64,
    /// Size limit of the next read.
    read_bytes: u64,
    /// End of the allocated pages.
    touched: u64,
    window: Option<(u64, Mapping)>,
}

impl Input {
    pub(super) fn at(
        store: &Arc<Store>,
        fd: AsyncFd<Descriptor>,
        taken: Arc<AtomicU64>,
        limit: usize,
    ) -> io::Result<Self> {
        // Input that the previous holder read but did not process is delivered again.
        let given = taken.load(Ordering::Acquire);
        let file = InputFile {
            store: store.clone(),
            end: end_of(store, given)?,
            read_bytes: FIRST_READ_BYTES,
            touched: 0,
            window: None,
        };
        Ok(Self { fd, file, taken, limit: limit as u64 + MAX_READ_BYTES, given, freed: given })
    }

    /// Delivers bytes read earlier, up to a limit per call.
    fn give_known(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        let length = (self.file.end - self.given).min(MAX_READ_BYTES) as usize;
        let bytes = self.file.store.read_at(length, INPUT + self.given)?;
        buf.extend_from_slice(&bytes);
        self.given += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn free(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        let InputFile { store, end, .. } = &self.file;
        if taken > self.freed + FREED_PIECE_BYTES {
            let end_of_pages = taken / PAGE_BYTES * PAGE_BYTES;
            store.give_back(INPUT + self.freed / PAGE_BYTES * PAGE_BYTES, INPUT + end_of_pages);
            self.freed = end_of_pages;
        }
        // The middle of an oversized message is not stored; its length still counts.
        if end - taken > self.limit {
            store.give_back(INPUT + taken + OVERSIZED_REST_BYTES, INPUT + end - OVERSIZED_REST_BYTES);
        }
    }
}

impl InputFile {
    /// Maps and allocates the pages for the next read. Returns their start and how many bytes may be read there.
    fn prepare_pages(&mut self) -> io::Result<(*mut u8, usize)> {
        let room = self.read_bytes.min(WINDOW_BYTES - self.end % WINDOW_BYTES) as usize;
        let base = self.end / WINDOW_BYTES * WINDOW_BYTES;
        if self.window.as_ref().is_none_or(|(at, _)| *at != base) {
            self.window = Some((base, self.store.map(INPUT + base, WINDOW_BYTES as usize)?));
            // A new mapping has no page in memory yet.
            self.touched = self.end;
        }
        // Set just above; the error only satisfies the type.
        let Some((_, window)) = &self.window else { return Err(Errno::NOMEM.into()) };
        // Allocate pages before the read, not during it: if we are killed while the kernel allocates, bytes
        // may be in the file and in the pipe at once.
        while self.touched < self.end + room as u64 {
            let at = self.touched.max(self.end);
            // SAFETY: within the window, and beyond all input read so far.
            unsafe { window.at((at - base) as usize).write_volatile(0) };
            self.touched = (at / PAGE_BYTES + 1) * PAGE_BYTES;
        }
        Ok((window.at((self.end - base) as usize), room))
    }
}

impl PollRead for Input {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<usize>> {
        // Input that an earlier holder read but did not process comes first.
        if self.given < self.file.end {
            return Poll::Ready(self.give_known(buf));
        }
        self.free();
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(cx))?;
            let (start, room) = self.file.prepare_pages()?;
            // SAFETY: within the window. No other reference to it exists, and it holds plain bytes.
            let spare = unsafe { std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room) };
            match self.fd.get_ref().read_now(spare) {
                Ok(count) => {
                    // A short read has emptied the pipe; the next poll must wait for new readiness. A count
                    // of 0 is the end.
                    if 0 < count && count < room {
                        ready.clear_ready();
                    }
                    // Reads grow only while they are filled: pages allocated for a short message are wasted.
                    let longer = (2 * self.file.read_bytes).min(MAX_READ_BYTES);
                    self.file.read_bytes = if count < room { FIRST_READ_BYTES } else { longer };
                    if buf.capacity() - buf.len() < count {
                        buf.reserve(count.max(RESERVED_BYTES));
                    }
                    // SAFETY: the read has filled these bytes.
                    buf.extend_from_slice(unsafe { std::slice::from_raw_parts(start, count) });
                    self.file.end += count as u64;
                    self.given = self.file.end;
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Returns all processed pages and the pages allocated ahead of a read.
    fn trim(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        let end_of_pages = taken / PAGE_BYTES * PAGE_BYTES;
        let InputFile { store, end, touched, window, .. } = &mut self.file;
        store.give_back(INPUT + self.freed / PAGE_BYTES * PAGE_BYTES, INPUT + end_of_pages);
        self.freed = self.freed.max(end_of_pages);
        store.give_back(INPUT + *end, INPUT + (*touched).max(*end));
        // Only a new window makes the next read allocate its pages again.
        *window = None;
    }
}

/// The offset behind the last non-zero byte after `from`.
fn end_of(store: &Store, from: u64) -> io::Result<u64> {
    let last = INPUT * 2;
    let (mut end, mut at) = (from, INPUT + from);
    // `SEEK_DATA` and `SEEK_HOLE` skip unallocated parts of a file that is mostly holes.
    while let Ok(data) = seek(&store.file, SeekFrom::Data(at)) {
        if data >= last {
            break;
        }
        let hole = seek(&store.file, SeekFrom::Hole(data))?.min(last);
        at = data;
        while at < hole {
            let bytes = store.read_at((hole - at).min(WINDOW_BYTES) as usize, at)?;
            if bytes.is_empty() {
                return Ok(end);
            }
            if let Some(found) = bytes.iter().rposition(|&byte| byte != 0) {
                end = at - INPUT + found as u64 + 1;
            }
            at += bytes.len() as u64;
        }
    }
    Ok(end)
}

/// Whether anything but white space was read after `from`.
pub(super) fn holds_more(store: &Store, from: u64) -> io::Result<bool> {
    let end = end_of(store, from)?;
    let mut at = from;
    while at < end {
        let bytes = store.read_at((end - at).min(WINDOW_BYTES) as usize, INPUT + at)?;
        if bytes.is_empty() || bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Ok(true);
        }
        at += bytes.len() as u64;
    }
    Ok(false)
}
