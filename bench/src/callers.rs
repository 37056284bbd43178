//! Many callers, each with a connection of its own, driven by one thread.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use switchboard_testkit::http::KeepAlive;

use crate::caller::Caller;

/// Small calls, sequential on each connection, up to this number.
pub(crate) fn call(callers: &mut [Caller<KeepAlive>], count: usize) -> io::Result<Duration> {
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, caller) in callers.iter().enumerate() {
        epoll::add(&queue, caller.connection.stream(), EventData::new_u64(number as u64), EventFlags::IN)?;
    }
    let mut asked = vec![0; callers.len()];
    let mut ready = Vec::with_capacity(callers.len());
    let (mut unsent, mut left) = (count, count);
    let started = Instant::now();
    for (caller, asked) in callers.iter_mut().zip(&mut asked).take(count) {
        *asked = caller.begin_tiny()?;
        unsent -= 1;
    }
    while left > 0 {
        match epoll::wait(&queue, spare_capacity(&mut ready), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in ready.drain(..) {
            let number = event.data.u64() as usize;
            let caller = &mut callers[number];
            // The connection is readable: this does not block.
            if !caller.is_answered(asked[number])? {
                continue;
            }
            left -= 1;
            if unsent > 0 {
                asked[number] = caller.begin_tiny()?;
                unsent -= 1;
            }
        }
    }
    Ok(started.elapsed())
}
