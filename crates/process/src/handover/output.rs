//! Output: written first into the file, and from there to the client, so that the next holder can go on at the very byte.
//! The system itself records how much was sent, in the call that sends it: nobody can be killed between the two.
//!
//! To a pipe with `splice`, which moves the offset on that it is given; to a socket with `sendmmsg`, which writes down
//! the count. Both numbers lie in the file. `splice` puts the file's pages themselves into the pipe: so what was
//! given out is never written over.
//!
//! Whoever gave us the file can write to it while we do. What is sent, and from where, is therefore kept here; the file's
//! numbers are read once, by the one who takes over, and are then within what was committed.

use super::store::{Mapping, OUTPUT, PAGE_BYTES, Store};
use crate::lock::{Lock, LockGuard};
use crate::pipe::{Descriptor, Kind};
use rustix::io::Errno;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Part of the file that is mapped at a time, to be sent to a socket.
const WINDOW_BYTES: u64 = 1 << 20;
/// Shorter appends are copied into mapped memory, without a system call.
const MAX_MAPPED_APPEND_BYTES: usize = 16 << 10;
/// Sent output is given back to the system in pieces of about this size.
const FREED_PIECE_BYTES: u64 = 256 << 10;

/// The outbound half of a client's streams.
pub struct Output {
    store: Arc<Store>,
    fd: AsyncFd<Descriptor>,
    state: Lock<OutputState>,
}

struct OutputState {
    /// End of the appended output.
    end: u64,
    /// End of the output that may be sent.
    committed: u64,
    /// End of the output that was sent. The file records it too, for the next holder.
    sent: u64,
    /// End of the output that was given back to the system.
    freed: u64,
    /// Mapping that output was sent from last.
    window: Option<(u64, Mapping)>,
    /// Mapping that output was appended to last.
    tail: Option<(u64, Mapping)>,
}

impl Output {
    /// Goes on behind what was committed.
    pub(super) fn at(store: &Arc<Store>, fd: AsyncFd<Descriptor>, committed: u64) -> Self {
        let sent = recorded_sent(store, fd.get_ref().kind()).min(committed);
        let state = OutputState { end: committed, committed, sent, freed: sent, window: None, tail: None };
        Self { store: store.clone(), fd, state: Lock::new(state) }
    }

    /// Puts bytes behind the others; they stay here until they are committed. Says where they end.
    pub fn append(&self, bufs: &[IoSlice<'_>]) -> io::Result<u64> {
        let mut state = self.state();
        let length: usize = bufs.iter().map(|buf| buf.len()).sum();
        let base = state.end / WINDOW_BYTES * WINDOW_BYTES;
        if length < MAX_MAPPED_APPEND_BYTES && state.end + length as u64 <= base + WINDOW_BYTES {
            if state.tail.as_ref().is_none_or(|(at, _)| *at != base) {
                state.tail = Some((base, self.store.map(OUTPUT + base, WINDOW_BYTES as usize)?));
            }
            for buf in bufs {
                let at = (state.end - base) as usize;
                state.tail.iter().for_each(|(_, tail)| tail.put(at, buf));
                state.end += buf.len() as u64;
            }
            return Ok(state.end);
        }
        let mut rest: Vec<IoSlice<'_>> = bufs.to_vec();
        let mut bufs = &mut rest[..];
        while !bufs.is_empty() {
            let some = &bufs[..bufs.len().min(1024)];
            let at = OUTPUT + state.end;
            let written = rustix::io::retry_on_intr(|| rustix::io::pwritev(&self.store.file, some, at))?;
            state.end += written as u64;
            IoSlice::advance_slices(&mut bufs, written);
            // What is empty at the front is not advanced over by nothing.
            while bufs.first().is_some_and(|buf| buf.is_empty()) {
                bufs = &mut bufs[1..];
            }
        }
        Ok(state.end)
    }

    /// What was appended may go. Whoever is killed before this has appended nothing.
    pub fn commit(&self) {
        let mut state = self.state();
        state.committed = state.end;
    }

    /// What is committed and has not gone.
    pub fn unsent(&self) -> u64 {
        let state = self.state();
        state.committed - state.sent
    }

    /// Sends what goes without waiting; `WouldBlock` if nothing does.
    pub fn send(&self) -> io::Result<usize> {
        let mut state = self.state();
        if state.committed == state.sent {
            return Ok(0);
        }
        let sent = match self.send_now(&mut state) {
            // See `PolledWriter`: the cached readiness may only be cleared against a tick from before the call.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.fd.try_io(Interest::WRITABLE, |_| self.send_now(&mut state))
            }
            result => result,
        }?;
        state.sent += sent as u64;
        self.free(&mut state);
        Ok(sent)
    }

    pub async fn writable(&self) -> io::Result<()> {
        self.fd.writable().await?.retain_ready();
        Ok(())
    }

    fn send_now(&self, state: &mut OutputState) -> io::Result<usize> {
        loop {
            let result = match self.fd.get_ref().kind() {
                Kind::Pipe => self.splice(state),
                Kind::StreamSocket | Kind::PacketSocket | Kind::Unpollable => self.send_message(state),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn splice(&self, state: &OutputState) -> io::Result<usize> {
        let control = self.store.control();
        // SAFETY: the offset lies in the control page, which is mapped. The system reads it, and writes it on its way
        // back from a call that has moved something. Whatever it is made to be, it leads into this file.
        let moved = unsafe {
            let offset = &raw mut (*control).sent;
            ptr::write_volatile(offset, OUTPUT + state.sent);
            libc::splice(
                self.store.file.as_raw_fd(),
                offset.cast(),
                self.fd.get_ref().as_raw_fd(),
                ptr::null_mut(),
                (state.committed - state.sent) as usize,
                libc::SPLICE_F_NONBLOCK,
            )
        };
        usize::try_from(moved).map_err(|_| io::Error::last_os_error())
    }

    fn send_message(&self, state: &mut OutputState) -> io::Result<usize> {
        let sent = state.sent;
        let base = sent / WINDOW_BYTES * WINDOW_BYTES;
        if state.window.as_ref().is_none_or(|(at, _)| *at != base) {
            state.window = Some((base, self.store.map(OUTPUT + base, WINDOW_BYTES as usize)?));
        }
        let Some((_, window)) = &state.window else { return Err(Errno::NOMEM.into()) };
        let length = (state.committed.min(base + WINDOW_BYTES) - sent) as usize;
        let mut data = libc::iovec { iov_base: window.at((sent - base) as usize).cast(), iov_len: length };
        let (control, header) = (self.store.control(), self.store.header());
        // SAFETY: both are mapped; the header is in a page of our own, which only this thread uses, under the lock. The
        // next turn is prepared where nobody looks, then made the one that counts, with nothing sent yet. `data` and the
        // window live until the call has returned.
        let count = unsafe {
            let next = 1 - (LastSend::of(&(*control).last).turn & 1);
            ptr::write_volatile(&raw mut (*control).before[next as usize], sent);
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut data;
            message.msg_iovlen = 1;
            ptr::write_volatile(&raw mut (*header).msg_hdr, message);
            LastSend { count: 0, turn: next }.put(&(*control).last);
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            let done = libc::sendmmsg(self.fd.get_ref().as_raw_fd(), header, 1, flags);
            if done < 1 {
                return Err(io::Error::last_os_error());
            }
            LastSend::of(&(*control).last).count
        };
        Ok((count as usize).min(length))
    }

    /// Gives back all pages that have gone and were read. For a stream that has been quiet for a while.
    pub fn trim(&self) {
        let mut state = self.state();
        let fd = self.fd.get_ref();
        let in_pipe = match fd.kind() {
            Kind::Pipe => rustix::io::ioctl_fionread(fd),
            Kind::StreamSocket | Kind::PacketSocket | Kind::Unpollable => Ok(0),
        };
        let Ok(in_pipe) = in_pipe else { return };
        let to = state.sent.saturating_sub(in_pipe) / PAGE_BYTES * PAGE_BYTES;
        if to > state.freed {
            self.store.give_back(OUTPUT + state.freed / PAGE_BYTES * PAGE_BYTES, OUTPUT + to);
            state.freed = to;
        }
        (state.window, state.tail) = (None, None);
    }

    /// What lies in the pipe is left alone: it holds no more than this, and the rest was read.
    fn free(&self, state: &mut OutputState) {
        let done = state.sent;
        if done < state.freed + 2 * FREED_PIECE_BYTES {
            return;
        }
        let under_way = match self.fd.get_ref().kind() {
            Kind::Pipe => rustix::pipe::fcntl_getpipe_size(self.fd.get_ref()).unwrap_or(1 << 20) as u64,
            Kind::StreamSocket | Kind::PacketSocket | Kind::Unpollable => 0,
        };
        let to = done.saturating_sub(under_way) / PAGE_BYTES * PAGE_BYTES;
        if to > state.freed {
            self.store.give_back(OUTPUT + state.freed / PAGE_BYTES * PAGE_BYTES, OUTPUT + to);
            state.freed = to;
        }
    }

    fn state(&self) -> LockGuard<'_, OutputState> {
        self.state.lock()
    }
}

/// How much was sent, as the system has recorded it for the holder before us.
fn recorded_sent(store: &Store, kind: Kind) -> u64 {
    let control = store.control();
    // SAFETY: the control page is mapped. These are plain numbers, and any of them will do.
    unsafe {
        match kind {
            Kind::Pipe => ptr::read_volatile(&raw const (*control).sent).max(OUTPUT) - OUTPUT,
            Kind::StreamSocket | Kind::PacketSocket | Kind::Unpollable => {
                let LastSend { count, turn } = LastSend::of(&(*control).last);
                let before = ptr::read_volatile(&raw const (*control).before[turn as usize & 1]);
                before.saturating_add(count.into())
            }
        }
    }
}

/// The last call that sent to a socket: the system writes the first half alone, and we both at once.
struct LastSend {
    count: u32,
    turn: u32,
}

impl LastSend {
    fn of(last: &AtomicU64) -> Self {
        let [a, b, c, d, turn @ ..] = last.load(Ordering::Acquire).to_ne_bytes();
        Self { count: u32::from_ne_bytes([a, b, c, d]), turn: u32::from_ne_bytes(turn) }
    }

    fn put(&self, last: &AtomicU64) {
        let ([a, b, c, d], [e, f, g, h]) = (self.count.to_ne_bytes(), self.turn.to_ne_bytes());
        last.store(u64::from_ne_bytes([a, b, c, d, e, f, g, h]), Ordering::Release);
    }
}
