//! Wake-ups of a guard on macOS and the BSDs: one kernel queue for signals, the end of the main process, and
//! readable descriptors.

use super::Woken;
use rustix::buffer::spare_capacity;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::process::{Pid, Signal, getppid};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::time::Duration;

const WATCHED_SIGNALS: [Signal; 5] = [Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];

pub(in crate::role) struct WakeSource {
    queue: OwnedFd,
    us: Pid,
}

impl WakeSource {
    /// `us` must be our parent; if it no longer is, it is gone.
    pub(in crate::role) fn on_parent(us: Pid) -> io::Result<Self> {
        let watch = Self::on(us)?;
        // After the queue was set up: a parent that is still ours then was ours all along.
        if getppid() != Some(us) {
            return Err(io::Error::other("our parent is gone"));
        }
        Ok(watch)
    }

    /// A new queue for a forked process: a queue does not survive a fork.
    pub(in crate::role) fn again(&self) -> io::Result<Self> {
        Self::on(self.us)
    }

    fn on(us: Pid) -> io::Result<Self> {
        block_signals()?;
        let queue = kqueue()?;
        let mut wanted: Vec<Event> = WATCHED_SIGNALS
            .iter()
            .map(|signal| {
                let filter = EventFilter::Signal { signal: *signal, times: 0 };
                Event::new(filter, EventFlags::ADD, ptr::null_mut())
            })
            .collect();
        let filter = EventFilter::Proc { pid: us, flags: ProcessEvents::EXIT };
        wanted.push(Event::new(filter, EventFlags::ADD, ptr::null_mut()));
        let mut none: Vec<Event> = Vec::new();
        // SAFETY: these filters name no descriptor.
        unsafe { kevent(&queue, &wanted, &mut none, Some(Duration::ZERO)) }?;
        Ok(Self { queue, us })
    }

    /// Waits for a signal, for the end of the main process, or until one of the descriptors is readable.
    pub(in crate::role) fn wait(
        &self,
        fds: &[Option<BorrowedFd<'_>>; 2],
        time: Option<Duration>,
    ) -> io::Result<Woken> {
        let wanted: Vec<Event> = fds
            .iter()
            .flatten()
            .map(|fd| {
                let filter = EventFilter::Read(fd.as_raw_fd());
                Event::new(filter, EventFlags::ADD | EventFlags::ONESHOT, ptr::null_mut())
            })
            .collect();
        // One place per source. The spare capacity is what `kevent` may fill: an empty vector has room for nothing.
        let mut found: Vec<Event> = Vec::with_capacity(WATCHED_SIGNALS.len() + 1 + fds.len());
        // SAFETY: the descriptors are borrowed during the call; closed ones leave the queue by themselves.
        match unsafe { kevent(&self.queue, &wanted, spare_capacity(&mut found), time) } {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut woken = Woken { us_gone: false, readable: [false; 2], asked_to_end: false };
        for event in &found {
            match event.filter() {
                EventFilter::Signal { signal, .. } => woken.asked_to_end |= signal != Signal::CHILD,
                EventFilter::Proc { .. } => woken.us_gone = true,
                EventFilter::Read(number) => {
                    for (at, fd) in fds.iter().enumerate() {
                        woken.readable[at] |= fd.is_some_and(|fd| fd.as_raw_fd() == number);
                    }
                }
                _ => {}
            }
        }
        Ok(woken)
    }
}

/// Blocks the signals: the queue reports them even when blocked, and blocked signals do not end us.
fn block_signals() -> io::Result<()> {
    // SAFETY: sigemptyset makes the zeroed set valid; the later calls only read it.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in WATCHED_SIGNALS {
            libc::sigaddset(&mut set, signal.as_raw());
        }
        match libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
