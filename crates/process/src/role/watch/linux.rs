//! Wake-ups of a guard on Linux: signals through a descriptor, and a pidfd of the main process.

use super::Woken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
use std::cell::Cell;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

pub(in crate::role) struct WakeSource {
    signals: OwnedFd,
    /// `None` if unavailable; the end of the pipe then has to suffice.
    us: Option<OwnedFd>,
    /// The end was reported. A dead process stays readable, and would wake us forever.
    has_told: Cell<bool>,
}

impl WakeSource {
    /// `us` must be our parent; if it no longer is, it is gone.
    pub(in crate::role) fn on_parent(us: Pid) -> io::Result<Self> {
        let process = pidfd_open(us, PidfdFlags::empty()).ok();
        // After the descriptor was opened: a parent that is still ours then was ours all along.
        if getppid() != Some(us) {
            return Err(io::Error::other("our parent is gone"));
        }
        Ok(Self { signals: signals()?, us: process, has_told: Cell::new(false) })
    }

    /// A copy for a forked process.
    pub(in crate::role) fn again(&self) -> io::Result<Self> {
        let us = self.us.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Self { signals: signals()?, us, has_told: Cell::new(false) })
    }

    /// Waits for a signal, for the end of the main process, or until one of the descriptors is readable.
    pub(in crate::role) fn wait(
        &self,
        fds: &[Option<BorrowedFd<'_>>; 2],
        time: Option<Duration>,
    ) -> io::Result<Woken> {
        let time =
            time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let us = self.us.as_ref().filter(|_| !self.has_told.get());
        let slots = [Some(self.signals.as_fd()), us.map(AsFd::as_fd), fds[0], fds[1]];
        let mut polled: Vec<PollFd<'_>> =
            slots.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut polled, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut answers = polled.iter().map(|fd| !fd.revents().is_empty());
        let [_, us_gone, first, second] =
            slots.map(|slot| slot.is_some() && answers.next().unwrap_or_default());
        self.has_told.set(self.has_told.get() || us_gone);
        let asked_to_end = self.take_signals();
        Ok(Woken { us_gone, readable: [first, second], asked_to_end })
    }

    /// Reads all pending signals and returns whether one asks us to end; SIGCHLD only reports a changed child.
    fn take_signals(&self) -> bool {
        let mut asked = false;
        loop {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            // SAFETY: any bytes are a valid value of this structure of integers; the length limits what is written.
            let buffer = unsafe {
                std::slice::from_raw_parts_mut(info.as_mut_ptr().cast::<u8>(), mem::size_of_val(&info))
            };
            match rustix::io::read(&self.signals, buffer) {
                Ok(length) if length == mem::size_of::<libc::signalfd_siginfo>() => {
                    // SAFETY: the read filled all of it.
                    let signal = unsafe { info.assume_init() }.ssi_signo;
                    asked |= signal != libc::SIGCHLD.cast_unsigned();
                }
                _ => return asked,
            }
        }
    }
}

/// Blocks the signals that would end us or be missed, and makes them readable. Programs started later get an
/// empty mask.
fn signals() -> io::Result<OwnedFd> {
    // SAFETY: sigemptyset makes the zeroed set valid; the later calls only read it.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&mut set, signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}
