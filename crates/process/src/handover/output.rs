//! Output: written to the file first and sent to the client from there, so that the next holder can continue
//! at the exact byte. The kernel itself records how much was sent, within the call that sends, so that a kill
//! cannot separate the two.
//!
//! A pipe uses `splice`, which advances the offset it is given; a socket uses `sendmmsg`, which writes the
//! count. Both numbers lie in the file. `splice` puts the file's pages themselves into the pipe, so sent
//! bytes are never overwritten.
//!
//! The giver of the file can write to it at any time. The current state is therefore kept in this process;
//! the numbers in the file are read only once, at a takeover, and clamped to the committed length.

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

/// Size of the part of the file that is mapped at a time for sending to a socket.
const WINDOW_BYTES: u64 = 1 << 20;
/// Appends shorter than this are copied into mapped memory, without a system call.
const MAX_MAPPED_APPEND_BYTES: usize = 16 << 10;
/// Approximate chunk size in which sent output is returned to the system.
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
    /// End of the sent output. The file records it too, for the next holder.
    sent: u64,
    /// End of the output returned to the system.
    freed: u64,
    /// The mapping used by the last send.
    window: Option<(u64, Mapping)>,
    /// The mapping used by the last append.
    tail: Option<(u64, Mapping)>,
}

impl Output {
    /// Continues behind the committed bytes.
    pub(super) fn at(store: &Arc<Store>, fd: AsyncFd<Descriptor>, committed: u64) -> Self {
        // Clamped, because the giver of the file can write any number there.
        let sent = recorded_sent(store, fd.get_ref().kind()).min(committed);
        let state = OutputState { end: committed, committed, sent, freed: sent, window: None, tail: None };
        Self { store: store.clone(), fd, state: Lock::new(state) }
    }

    /// Appends bytes, to be sent after [`commit`](Self::commit). Returns the new end.
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
            // `pwritev` takes at most 1024 slices.
            let some = &bufs[..bufs.len().min(1024)];
            let at = OUTPUT + state.end;
            let written = rustix::io::retry_on_intr(|| rustix::io::pwritev(&self.store.file, some, at))?;
            state.end += written as u64;
            IoSlice::advance_slices(&mut bufs, written);
            // `advance_slices` does not skip empty slices at the front when it advances by 0.
            while bufs.first().is_some_and(|buf| buf.is_empty()) {
                bufs = &mut bufs[1..];
            }
        }
        Ok(state.end)
    }

    /// Releases the appended bytes for sending. After a kill before this call, they do not exist.
    pub fn commit(&self) {
        let mut state = self.state();
        state.committed = state.end;
    }

    /// Length of the output that is committed but not sent.
    pub fn unsent(&self) -> u64 {
        let state = self.state();
        state.committed - state.sent
    }

    /// Sends as much as possible without blocking; `WouldBlock` if nothing can be sent.
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
                // The last two are never handed over (`Streams::of`, `Streams::receive`).
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
        // SAFETY: the offset lies in the control page, which is mapped. The kernel reads it, and writes it
        // back after a call that has moved bytes. Any value in it leads into this file.
        let moved = unsafe {
            let offset = &raw mut (*control).sent;
            // Our own count goes in first: the giver of the file may have changed the number there.
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
        // SAFETY: both are mapped; the header is in a private page that only this thread uses, under the
        // lock. The next turn is prepared in the unused slot, then made current with nothing sent yet. `data`
        // and the window live until the call returns.
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
        // The giver of the file can overwrite the count between the call and our reading of it.
        Ok((count as usize).min(length))
    }

    /// Returns all pages that were sent and read by the client. For a stream that has been idle for a while.
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

    /// Returns sent pages to the system, except as many as the pipe can hold: the client has read the rest.
    fn free(&self, state: &mut OutputState) {
        let done = state.sent;
        if done < state.freed + 2 * FREED_PIECE_BYTES {
            return;
        }
        let under_way = match self.fd.get_ref().kind() {
            // The fallback is the largest pipe that the kernel grants an ordinary user by default.
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

/// Number of bytes sent, as the kernel recorded it for the previous holder.
fn recorded_sent(store: &Store, kind: Kind) -> u64 {
    let control = store.control();
    // SAFETY: the control page is mapped. These are plain numbers, and any value is acceptable.
    unsafe {
        match kind {
            // Zero before the first send, and arbitrary if the giver tampers with it.
            Kind::Pipe => ptr::read_volatile(&raw const (*control).sent).max(OUTPUT) - OUTPUT,
            Kind::StreamSocket | Kind::PacketSocket | Kind::Unpollable => {
                let LastSend { count, turn } = LastSend::of(&(*control).last);
                // The mask keeps any number within the array.
                let before = ptr::read_volatile(&raw const (*control).before[turn as usize & 1]);
                before.saturating_add(count.into())
            }
        }
    }
}

/// The last send to a socket: the kernel writes only the first half (`count`); we write both halves at once.
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
