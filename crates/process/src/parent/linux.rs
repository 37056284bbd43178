//! A process as something that can be polled.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// Readable when the process has ended.
pub(super) fn watch(process: Pid) -> rustix::io::Result<OwnedFd> {
    // Without flags: Linux before 5.10 knows none, and nothing is read from it.
    pidfd_open(process, PidfdFlags::empty())
}
