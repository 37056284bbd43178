//! What wakes a guard on Linux: signals as something to read, and a descriptor of the process it works for.

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
    /// Without it the end of the pipe has to do.
    us: Option<OwnedFd>,
    /// It is told once. A dead process stays ready, and would wake us for ever.
    has_told: Cell<bool>,
}

impl WakeSource {
    /// `us` is our parent now; if it is not any more, it is gone.
    pub(in crate::role) fn on_parent(us: Pid) -> io::Result<Self> {
        let process = pidfd_open(us, PidfdFlags::empty()).ok();
        if getppid() != Some(us) {
            return Err(io::Error::other("our parent is gone"));
        }
        Ok(Self { signals: signals()?, us: process, has_told: Cell::new(false) })
    }

    /// The same for another process, after a fork.
    pub(in crate::role) fn again(&self) -> io::Result<Self> {
        let us = self.us.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Self { signals: signals()?, us, has_told: Cell::new(false) })
    }

    /// Waits for a signal, for the end of us, or until one of these can be read.
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

    /// Says whether one of them asks to end; the others only say that a child has changed.
    fn take_signals(&self) -> bool {
        let mut asked = false;
        loop {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            // SAFETY: any bytes are a valid value of this structure of integers; so much of it is written as is said.
            let buffer = unsafe {
                std::slice::from_raw_parts_mut(info.as_mut_ptr().cast::<u8>(), mem::size_of_val(&info))
            };
            match rustix::io::read(&self.signals, buffer) {
                Ok(length) if length == mem::size_of::<libc::signalfd_siginfo>() => {
                    // SAFETY: it was filled as a whole.
                    let signal = unsafe { info.assume_init() }.ssi_signo;
                    asked |= signal != libc::SIGCHLD.cast_unsigned();
                }
                _ => return asked,
            }
        }
    }
}

/// Blocks the signals that would end us, or that would come unnoticed, and makes them readable. What is started
/// later gets an empty mask.
fn signals() -> io::Result<OwnedFd> {
    // SAFETY: a zeroed set is made a valid one by sigemptyset; the calls only read it afterwards.
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
