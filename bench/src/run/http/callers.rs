//! Many callers, each with a connection of its own, driven by one thread.

use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use switchboard_testkit::http::KeepAlive;
use switchboard_testkit::wire::{self, digits, wrong_answer};

use crate::run::Failure;

/// Small calls, one after the other on each connection, until there have been so many. An answer must have this length
/// without its id.
pub(super) fn call(
    clients: &mut [KeepAlive],
    tool: &str,
    count: usize,
    tiny_length: usize,
) -> Result<Duration, Failure> {
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, client) in clients.iter().enumerate() {
        epoll::add(&queue, client.stream(), EventData::new_u64(number as u64), EventFlags::IN)?;
    }
    let mut asked = vec![0; clients.len()];
    let mut ready = Vec::with_capacity(clients.len());
    let mut message = Vec::new();
    let mut ask = |client: &mut KeepAlive| -> Result<u64, Failure> {
        let id = client.mint();
        message.clear();
        wire::push_call(&mut message, id, tool, &[]);
        client.post(message.trim_ascii_end())?;
        Ok(id)
    };
    let (mut unsent, mut left) = (count, count);
    let started = Instant::now();
    for (client, asked) in clients.iter_mut().zip(&mut asked).take(count) {
        *asked = ask(client)?;
        unsent -= 1;
    }
    while left > 0 {
        match epoll::wait(&queue, spare_capacity(&mut ready), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in ready.drain(..) {
            let number = event.data.u64() as usize;
            let client = &mut clients[number];
            // The connection is readable: this does not block.
            client.fill()?;
            let Some(answer) = client.arrived()? else { continue };
            let id = asked[number];
            let answered = client.message(&answer, id)?;
            if answered.len() != tiny_length + digits(id) {
                return Err(wrong_answer(id, answered).into());
            }
            left -= 1;
            if unsent > 0 {
                asked[number] = ask(client)?;
                unsent -= 1;
            }
        }
    }
    Ok(started.elapsed())
}
