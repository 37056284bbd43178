//! Input: read straight into the file, so that bytes that were read are there for the next holder, whatever happens to us
//! after the read. The file is zero where nothing was read, and the text of a client has no zeros.

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

/// Part of the file that is mapped at a time.
const WINDOW_BYTES: u64 = 1 << 20;
/// Length of one read at most: the capacity of a pipe.
const MAX_READ_BYTES: u64 = 64 << 10;
/// Length of one read until a read has filled it: pages are made ahead of a read, and most messages are short.
const FIRST_READ_BYTES: u64 = 8 << 10;
/// Bytes reserved when the caller's buffer is full.
const RESERVED_BYTES: usize = 16 << 10;
/// Processed input is given back to the system in pieces of this size.
const FREED_PIECE_BYTES: u64 = 256 << 10;
/// Beginning and end of an oversized message that stay: its id stands in one of them.
const OVERSIZED_REST_BYTES: u64 = 64 << 10;

pub(crate) struct Input {
    fd: AsyncFd<Descriptor>,
    file: InputFile,
    /// End of the processed input, as its reader says.
    taken: Arc<AtomicU64>,
    /// Unprocessed input that may be stored.
    limit: u64,
    /// End of the input that the reader was given.
    given: u64,
    /// End of the input that was given back to the system.
    freed: u64,
}

/// The part of the file that input is read into.
struct InputFile {
    store: Arc<Store>,
    /// End of the input that was read.
    end: u64,
    /// Length of the next read at most.
    read_bytes: u64,
    /// End of the pages that are present.
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

    /// Gives out bytes that were read before, up to a limit.
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
        // An oversized message is not stored; its length still counts.
        if end - taken > self.limit {
            store.give_back(INPUT + taken + OVERSIZED_REST_BYTES, INPUT + end - OVERSIZED_REST_BYTES);
        }
    }
}

impl InputFile {
    /// Maps the pages that the next read goes to and makes them present. Says where they start, and how many bytes may
    /// be read there.
    fn prepare_pages(&mut self) -> io::Result<(*mut u8, usize)> {
        let room = self.read_bytes.min(WINDOW_BYTES - self.end % WINDOW_BYTES) as usize;
        let base = self.end / WINDOW_BYTES * WINDOW_BYTES;
        if self.window.as_ref().is_none_or(|(at, _)| *at != base) {
            self.window = Some((base, self.store.map(INPUT + base, WINDOW_BYTES as usize)?));
            self.touched = self.end;
        }
        let Some((_, window)) = &self.window else { return Err(Errno::NOMEM.into()) };
        // A page that is made in the midst of a read may fail to be, if we are killed at that moment: then bytes
        // are here, and still in the pipe.
        while self.touched < self.end + room as u64 {
            let at = self.touched.max(self.end);
            // SAFETY: within the window, and nothing was read to there yet.
            unsafe { window.at((at - base) as usize).write_volatile(0) };
            self.touched = (at / PAGE_BYTES + 1) * PAGE_BYTES;
        }
        Ok((window.at((self.end - base) as usize), room))
    }
}

impl PollRead for Input {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<usize>> {
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
                    if 0 < count && count < room {
                        ready.clear_ready();
                    }
                    let longer = (2 * self.file.read_bytes).min(MAX_READ_BYTES);
                    self.file.read_bytes = if count < room { FIRST_READ_BYTES } else { longer };
                    if buf.capacity() - buf.len() < count {
                        buf.reserve(count.max(RESERVED_BYTES));
                    }
                    // SAFETY: the read has filled these.
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

    /// Gives back all processed pages, and those that were made ahead of a read.
    fn trim(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        let end_of_pages = taken / PAGE_BYTES * PAGE_BYTES;
        let InputFile { store, end, touched, window, .. } = &mut self.file;
        store.give_back(INPUT + self.freed / PAGE_BYTES * PAGE_BYTES, INPUT + end_of_pages);
        self.freed = self.freed.max(end_of_pages);
        store.give_back(INPUT + *end, INPUT + (*touched).max(*end));
        *window = None;
    }
}

/// Behind the last byte from there on that is not zero.
fn end_of(store: &Store, from: u64) -> io::Result<u64> {
    let last = INPUT * 2;
    let (mut end, mut at) = (from, INPUT + from);
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

/// Whether anything but white space was read from there on.
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
