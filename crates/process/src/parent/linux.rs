//! A process as a pollable descriptor.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// Becomes readable when the process has ended.
pub(super) fn watch(process: Pid) -> rustix::io::Result<OwnedFd> {
    // Without flags: Linux before 5.10 supports none, and the descriptor is never read.
    pidfd_open(process, PidfdFlags::empty())
}
