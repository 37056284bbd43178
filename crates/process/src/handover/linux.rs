//! A client's two streams and their file, as they change hands.

use super::input::Input;
use super::store::{INPUT, OUTPUT, Store};
use super::{Waiting, input, pass};
use crate::local::Connection;
use crate::pipe::{ByteReader, Descriptor, Direction, Kind, register};
use crate::stdio::OwnStdio;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, recv};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::unix::AsyncFd;

pub use super::journal::Journal;
pub use super::output::Output;

/// A client's streams, with the file that all holders share.
pub struct Streams {
    input: OwnedFd,
    output: OwnedFd,
    store: Arc<Store>,
}

impl Streams {
    /// The streams, if they can be handed over: each a pipe or a stream socket that no other process would
    /// find changed.
    pub fn of(stdio: &OwnStdio) -> Option<Self> {
        let (input, output) = (stdio.input.share()?, stdio.output.share()?);
        Some(Self { input, output, store: Arc::new(Store::new().ok()?) })
    }

    #[cfg(test)]
    pub(super) fn over(input: OwnedFd, output: OwnedFd, store: Arc<Store>) -> Self {
        Self { input, output, store }
    }

    #[cfg(test)]
    pub(super) fn file(&self) -> std::os::fd::BorrowedFd<'_> {
        self.store.file.as_fd()
    }

    /// Sends copies of the descriptors to the peer of the connection.
    pub async fn pass(&self, connection: &Connection) -> io::Result<()> {
        pass::send(connection, [self.input.as_fd(), self.output.as_fd(), self.store.file.as_fd()]).await
    }

    /// Receives the descriptors that the other side passes.
    pub async fn receive(connection: &mut Connection) -> io::Result<Self> {
        let [input, output, file] = pass::receive(connection).await?;
        // Sent by another process: only streams that can be polled are accepted.
        for fd in [&input, &output] {
            if !matches!(Kind::of(fd.as_fd())?, Kind::Pipe | Kind::StreamSocket) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not a stream that can be polled"));
            }
        }
        Ok(Self { input, output, store: Arc::new(Store::over(file)?) })
    }

    /// The journal, and the entries of earlier holders. Must be renewed before use.
    pub fn journal(&self) -> io::Result<(Journal, Vec<Vec<u8>>)> {
        Journal::read(&self.store)
    }

    /// A reader that continues behind the processed input. `limit` bounds the stored part of one message.
    pub fn reader(&self, taken: Arc<AtomicU64>, limit: usize) -> io::Result<ByteReader> {
        within(taken.load(Ordering::Acquire), INPUT)?;
        let fd = registered(&self.input, Direction::Read)?;
        Ok(ByteReader::from_source(Input::at(&self.store, fd, taken, limit)?))
    }

    /// An output that continues behind the committed bytes.
    pub fn output(&self, committed: u64) -> io::Result<Output> {
        within(committed, OUTPUT)?;
        Ok(Output::at(&self.store, registered(&self.output, Direction::Write)?, committed))
    }

    /// Number of open requests, as published by the last holder.
    pub fn open_requests(&self) -> u32 {
        // SAFETY: the control page is mapped as long as the store exists, and this field is atomic.
        unsafe { (*self.store.control()).open.load(Ordering::Relaxed) }
    }

    /// Readiness of the input right now.
    pub fn waiting(&self) -> Waiting {
        let mut polled = [PollFd::new(&self.input, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match (poll(&mut polled, Some(&at_once)), Kind::of(self.input.as_fd())) {
            // A socket is readable at its end as well; only a peek tells data from the end.
            (Ok(1..), Ok(Kind::StreamSocket)) => {
                let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
                match recv(&self.input, &mut [0_u8; 1][..], flags) {
                    Ok((1.., _)) => Waiting::Something,
                    Err(Errno::AGAIN | Errno::INTR) => Waiting::Nothing,
                    Ok(_) | Err(_) => Waiting::Ended,
                }
            }
            // A pipe with data says so even after its writer has closed it; a hang-up alone is the end.
            (Ok(1..), _) if polled[0].revents().contains(PollFlags::IN) => Waiting::Something,
            (Ok(1..), _) => Waiting::Ended,
            (Ok(0) | Err(_), _) => Waiting::Nothing,
        }
    }

    /// Waits until there may be input, or the end of it. Cancel-safe.
    pub async fn readable(&self) -> io::Result<()> {
        registered(&self.input, Direction::Read)?.readable().await?.retain_ready();
        Ok(())
    }

    /// Whether anything but white space was read after this offset.
    pub fn has_unread(&self, from: u64) -> io::Result<bool> {
        input::holds_more(&self.store, from)
    }
}

/// Checks an offset from another process's journal, which may contain anything. Each part of the file is as
/// long as its own start offset.
fn within(offset: u64, part: u64) -> io::Result<()> {
    // An offset close to the end of its part would leave no room to continue.
    let is_within = offset < part / 2;
    is_within
        .then_some(())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a journal of this program"))
}

fn registered(fd: &OwnedFd, direction: Direction) -> io::Result<AsyncFd<Descriptor>> {
    // A poller takes each descriptor once, so each user gets its own. Below 3 are the standard streams.
    let copy = fcntl_dupfd_cloexec(fd, 3)?;
    register(Descriptor::private(copy)?, direction)?.map_err(|_| Errno::PERM.into())
}
