//! What comes in: read straight into the file, so that what was read is there for the next, whatever happens to us
//! behind the read. The file is zero where nothing was read, and what people say to each other here has no zeros.

use super::store::{INPUT, Mapping, PAGE, Store};
use crate::pipe::Descriptor;
use bytes::BytesMut;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::unix::AsyncFd;

/// So much of the file is seen at a time.
const WINDOW: u64 = 1 << 20;
/// So much is read at a time: what a pipe holds.
const ROOM: u64 = 64 << 10;
/// So much is read at a time until a read has filled it: pages are made ahead of a read, and most messages are short.
const FIRST_ROOM: u64 = 8 << 10;
/// So much is reserved when the caller's buffer is full.
const BUFFER: usize = 16 << 10;
/// What was dealt with is given back in pieces of this size.
const PIECE: u64 = 256 << 10;
/// Of something too long to be kept, so much is: whose it is stands at its beginning.
const KEPT: u64 = 64 << 10;

pub(crate) struct Input {
    store: Arc<Store>,
    fd: AsyncFd<Descriptor>,
    /// Up to here it has been dealt with, as the one who does so says.
    taken: Arc<AtomicU64>,
    /// So much may be kept of what was not.
    limit: u64,
    /// What was given to the reader.
    given: u64,
    /// What was read.
    end: u64,
    /// How much the next read may read.
    room: u64,
    /// So far the pages are there.
    touched: u64,
    freed: u64,
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
        let end = end_of(store, given)?;
        let (store, limit) = (store.clone(), limit as u64 + ROOM);
        Ok(Self {
            store,
            fd,
            taken,
            limit,
            given,
            end,
            room: FIRST_ROOM,
            touched: 0,
            freed: given,
            window: None,
        })
    }

    pub(crate) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        if self.given < self.end {
            let length = (self.end - self.given).min(ROOM) as usize;
            let bytes = self.store.read_at(length, INPUT + self.given)?;
            buf.extend_from_slice(&bytes);
            self.given += bytes.len() as u64;
            return Ok(bytes.len());
        }
        self.free();
        loop {
            let mut ready = poll_fn(|cx| self.fd.poll_read_ready(cx)).await?;
            let room = self.room.min(WINDOW - self.end % WINDOW) as usize;
            let base = self.end / WINDOW * WINDOW;
            if self.window.as_ref().is_none_or(|(at, _)| *at != base) {
                self.window = Some((base, self.store.map(INPUT + base, WINDOW as usize)?));
                self.touched = self.end;
            }
            let Some((_, window)) = &self.window else { return Err(Errno::NOMEM.into()) };
            let start = window.at((self.end - base) as usize);
            // A page that is made in the midst of a read may fail to be, if we are killed at that moment: then bytes
            // are here, and still in the pipe.
            while self.touched < self.end + room as u64 {
                let at = self.touched.max(self.end);
                // SAFETY: within the window, and nothing was read to there yet.
                unsafe { window.at((at - base) as usize).write_volatile(0) };
                self.touched = (at / PAGE + 1) * PAGE;
            }
            // SAFETY: within the window. No other reference to it exists, and it holds plain bytes.
            let spare = unsafe { std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room) };
            match self.fd.get_ref().read_now(spare) {
                Ok(count) => {
                    if 0 < count && count < room {
                        ready.clear_ready();
                    }
                    self.room = if count < room { FIRST_ROOM } else { (2 * self.room).min(ROOM) };
                    if buf.capacity() - buf.len() < count {
                        buf.reserve(count.max(BUFFER));
                    }
                    // SAFETY: the read has filled these.
                    buf.extend_from_slice(unsafe { std::slice::from_raw_parts(start, count) });
                    self.end += count as u64;
                    self.given = self.end;
                    return Ok(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Gives back all pages that were dealt with, and those that were made ahead.
    pub(crate) fn trim(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        self.store.give_back(INPUT + self.freed / PAGE * PAGE, INPUT + taken / PAGE * PAGE);
        self.freed = self.freed.max(taken / PAGE * PAGE);
        self.store.give_back(INPUT + self.end, INPUT + self.touched.max(self.end));
        self.window = None;
    }

    fn free(&mut self) {
        let taken = self.taken.load(Ordering::Acquire);
        if taken > self.freed + PIECE {
            self.store.give_back(INPUT + self.freed / PAGE * PAGE, INPUT + taken / PAGE * PAGE);
            self.freed = taken / PAGE * PAGE;
        }
        // Nobody keeps what is too long; its length still counts.
        if self.end - taken > self.limit {
            self.store.give_back(INPUT + taken + KEPT, INPUT + self.end - KEPT);
        }
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
            let bytes = store.read_at((hole - at).min(WINDOW) as usize, at)?;
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
        let bytes = store.read_at((end - at).min(WINDOW) as usize, INPUT + at)?;
        if bytes.is_empty() || bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Ok(true);
        }
        at += bytes.len() as u64;
    }
    Ok(false)
}
