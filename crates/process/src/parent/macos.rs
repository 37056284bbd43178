//! A process as a pollable descriptor.

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A kernel queue that becomes readable when the process has ended.
pub(super) fn watch(process: Pid) -> rustix::io::Result<OwnedFd> {
    let queue = kqueue()?;
    let filter = EventFilter::Proc { pid: process, flags: ProcessEvents::EXIT };
    let wanted = [Event::new(filter, EventFlags::ADD, std::ptr::null_mut())];
    let mut none: Vec<Event> = Vec::new();
    // SAFETY: this filter names no descriptor.
    unsafe { kevent(&queue, &wanted, &mut none, Some(Duration::ZERO)) }?;
    Ok(queue)
}
