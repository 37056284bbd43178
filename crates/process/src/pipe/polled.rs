//! Pipes and sockets, read and written directly; the runtime's poller (epoll, kqueue) tells when. Must not
//! know how a descriptor became non-blocking.
//!
//! The poller is edge-triggered: it reports that something arrived, not that something is there. The runtime
//! caches readiness until we clear it, and we may clear it only after the system has reported `EAGAIN` or a
//! short read; every later event increments the cache's tick, and clearing an older tick has no effect.

use super::LARGE_MESSAGE_BYTES;
use super::Sealed;
use super::descriptor::{Descriptor, Direction};
use bytes::BytesMut;
use rustix::io::Errno;
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    runtime::Handle,
};

/// Registers the descriptor with the poller, or returns it if it cannot be polled.
pub(crate) fn register(
    descriptor: Descriptor,
    direction: Direction,
) -> io::Result<Result<AsyncFd<Descriptor>, Descriptor>> {
    register_for(
        descriptor,
        match direction {
            Direction::Read => Interest::READABLE,
            Direction::Write => Interest::WRITABLE,
        },
    )
}

/// A private socket, registered once for both directions.
pub(super) fn both_ways(descriptor: Descriptor) -> io::Result<(PolledReader, PolledWriter)> {
    let Ok(fd) = register_for(descriptor, Interest::READABLE | Interest::WRITABLE)? else {
        return Err(Errno::NOTSOCK.into());
    };
    let fd = Arc::new(fd);
    let half = |direction| Fd { fd: fd.clone(), half: Some(direction) };
    Ok((
        PolledReader { fd: half(Direction::Read), widened: false },
        PolledWriter { fd: half(Direction::Write), widened: AtomicBool::new(false) },
    ))
}

fn register_for(
    descriptor: Descriptor,
    interest: Interest,
) -> io::Result<Result<AsyncFd<Descriptor>, Descriptor>> {
    if !descriptor.can_be_polled() {
        return Ok(Err(descriptor));
    }
    // The registration would panic outside a runtime.
    Handle::try_current().map_err(io::Error::other)?;
    // SAFETY: a `Descriptor` owns its file descriptor, never exchanges it, and closes it on drop, which the
    // `AsyncFd` does after it has deregistered.
    match unsafe { AsyncFd::register_with_interest(descriptor, interest) } {
        Ok(registered) => Ok(Ok(registered)),
        Err(error) => match error.into_parts() {
            // The poller's way to refuse a regular file.
            (descriptor, cause) if cause.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                Ok(Err(descriptor))
            }
            (_, cause) => Err(cause),
        },
    }
}

/// A registered descriptor, or one direction of a socket. Dropping a direction shuts it down; the descriptor
/// stays open for the other.
struct Fd {
    fd: Arc<AsyncFd<Descriptor>>,
    half: Option<Direction>,
}

impl Fd {
    fn whole(fd: AsyncFd<Descriptor>) -> Self {
        Self { fd: Arc::new(fd), half: None }
    }
}

impl Deref for Fd {
    type Target = AsyncFd<Descriptor>;

    fn deref(&self) -> &Self::Target {
        &self.fd
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        if let Some(direction) = self.half {
            self.fd.get_ref().shut(direction);
        }
    }
}

pub(super) struct PolledReader {
    fd: Fd,
    widened: bool,
}

impl PolledReader {
    pub(super) fn new(fd: AsyncFd<Descriptor>) -> Self {
        Self { fd: Fd::whole(fd), widened: false }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn descriptor(&self) -> &Descriptor {
        self.fd.get_ref()
    }

    /// Waits for readability. Cancel-safe.
    #[cfg(target_os = "linux")]
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.fd.readable().await?.retain_ready();
        Ok(())
    }

    /// Clears a readiness that turned out to be false.
    #[cfg(target_os = "linux")]
    pub(super) fn wait_anew(&self) {
        let _ = self
            .fd
            .try_io(Interest::READABLE, |_| -> io::Result<()> { Err(io::ErrorKind::WouldBlock.into()) });
    }

    pub(super) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        // Tried once per stream: a limit that refuses it will refuse it again.
        if buf.len() > LARGE_MESSAGE_BYTES && !self.widened {
            self.widened = true;
            self.fd.get_ref().widen();
        }
        loop {
            // Polled instead of `readable().await`, because this counts against the task's budget: a peer
            // that never stops sending cannot starve the other tasks of the thread.
            let mut ready = poll_fn(|cx| self.fd.poll_read_ready(cx)).await?;
            let spare = buf.spare_capacity_mut();
            let room = spare.len();
            match self.fd.get_ref().read_now(spare) {
                Ok(count) => {
                    // A short read has emptied the pipe; a second read just to get `EAGAIN` would cost a
                    // system call per message. The end cannot be missed: `clear_ready` preserves a hang-up
                    // that came along with the data, and a later one is an event of its own. A read of 0
                    // bytes is the end, which stays ready.
                    if 0 < count && count < room && self.fd.get_ref().short_read_means_empty() {
                        ready.clear_ready();
                    }
                    // SAFETY: the read has initialised the first `count` bytes of the spare capacity.
                    unsafe { buf.set_len(buf.len() + count) };
                    return Ok(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

pub(super) struct PolledWriter {
    fd: Fd,
    widened: AtomicBool,
}

impl PolledWriter {
    pub(super) fn new(fd: AsyncFd<Descriptor>) -> Self {
        Self { fd: Fd::whole(fd), widened: AtomicBool::new(false) }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn descriptor(&self) -> &Descriptor {
        self.fd.get_ref()
    }

    pub(super) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.widen_for(bufs.iter().map(|buf| buf.len()).max().unwrap_or_default());
        self.try_now(|descriptor| descriptor.write_now(bufs))
    }

    pub(super) fn try_give(&self, sealed: &Sealed, at: usize, length: usize) -> io::Result<usize> {
        if !self.is_pipe() {
            return sealed.copied_only(at, length);
        }
        self.widen_for(length);
        self.try_now(|descriptor| sealed.give(at, length, descriptor))
    }

    pub(super) fn is_pipe(&self) -> bool {
        self.fd.get_ref().is_pipe()
    }

    fn widen_for(&self, length: usize) {
        // Relaxed, because a second attempt by another thread does no harm.
        if length > LARGE_MESSAGE_BYTES && !self.widened.swap(true, Ordering::Relaxed) {
            self.fd.get_ref().widen();
        }
    }

    fn try_now(&self, write: impl Fn(&Descriptor) -> io::Result<usize>) -> io::Result<usize> {
        match write(self.fd.get_ref()) {
            // The cached readiness is now known to be stale, but it may only be cleared against a tick read
            // before the write: otherwise an event between the write and the clear would be lost, and
            // `writable` would wait forever. Hence a second write inside `try_io`; it happens only if the
            // cache says ready, so once each time the pipe fills up.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.fd.try_io(Interest::WRITABLE, write)
            }
            result => result,
        }
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.fd.writable().await?.retain_ready();
        Ok(())
    }
}
