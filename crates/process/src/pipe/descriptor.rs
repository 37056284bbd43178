//! A descriptor that never makes us wait, without harm to those who share it. Must not know the runtime.
//!
//! O_NONBLOCK belongs to the open file description, and others may hold the same one: the terminal's shell,
//! or a client that gave us its own end. They do not expect `EAGAIN`. So the flag is set freely only where
//! the description is ours alone; elsewhere we first try to do without.

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, open},
    io::{Errno, retry_on_intr},
};
use std::{
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    sync::Arc,
};

/// Capacity of a widened pipe; 64 KiB is usual.
#[cfg(target_os = "linux")]
const WIDENED_PIPE_BYTES: usize = 512 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What a descriptor is, as far as waiting for it goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    StreamSocket,
    /// A read takes one packet, however many more there are.
    PacketSocket,
    /// A file, a terminal or another device: only a thread can wait for it.
    Unpollable,
}

impl Kind {
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(match FileType::from_raw_mode(fstat(fd)?.st_mode) {
            FileType::Fifo => Self::Pipe,
            FileType::Socket => {
                if rustix::net::sockopt::socket_type(fd)? == rustix::net::SocketType::STREAM {
                    Self::StreamSocket
                } else {
                    Self::PacketSocket
                }
            }
            _ => Self::Unpollable,
        })
    }

    /// Linux lets every call on a socket say for itself that it does not want to wait, so that the flag is
    /// not needed. macOS takes no notice of that in `send`.
    fn asks_per_call(self) -> bool {
        cfg!(target_os = "linux") && matches!(self, Self::StreamSocket | Self::PacketSocket)
    }
}

/// A descriptor that came to us from our parent, who may go on using the same description.
pub(crate) struct Inherited {
    fd: OwnedFd,
    was_blocking: bool,
    neighbours: Arc<()>,
}

impl Inherited {
    /// Our two standard streams. They may be one description (a socket, a terminal): what the flags were is
    /// looked up before either is changed, and they are restored only when neither end is in use any more.
    pub(crate) fn pair(input: OwnedFd, output: OwnedFd) -> io::Result<(Self, Self)> {
        let (first, second) = (fstat(&input)?, fstat(&output)?);
        let token = Arc::new(());
        let other = if (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino) {
            token.clone()
        } else {
            Arc::new(())
        };
        let one = |fd: OwnedFd, neighbours| -> io::Result<Self> {
            let was_blocking = !fcntl_getfl(&fd)?.contains(OFlags::NONBLOCK);
            Ok(Self { fd, was_blocking, neighbours })
        };
        Ok((one(input, token)?, one(output, other)?))
    }
}

/// An open descriptor, and how to use it without waiting.
pub(crate) struct Descriptor {
    fd: OwnedFd,
    kind: Kind,
    /// Present if the description is to be made blocking again, by the last holder of the token.
    restore: Option<Arc<()>>,
}

impl Descriptor {
    pub(crate) fn private(fd: OwnedFd) -> io::Result<Self> {
        let kind = Kind::of(fd.as_fd())?;
        if kind != Kind::Unpollable && !kind.asks_per_call() {
            set_blocking(fd.as_fd(), false)?;
        }
        Ok(Self { fd, kind, restore: None })
    }

    pub(super) fn inherited(inherited: Inherited, direction: Direction) -> io::Result<Self> {
        let fd = inherited.fd.as_fd();
        let kind = Kind::of(fd)?;
        if kind == Kind::Unpollable || kind.asks_per_call() {
            return Ok(Self { fd: inherited.fd, kind, restore: None });
        }
        if kind == Kind::Pipe
            && let Some(own) = reopen(fd)
        {
            // A named FIFO that is opened without waiting while it has no writer reports no hang-up until a
            // writer has come and gone, though the descriptor that we were given does: we would wait for an
            // end that is there. A thread reads out what is left.
            let end_is_hidden = direction == Direction::Read && hung_up(fd) && !hung_up(own.as_fd());
            return Ok(if end_is_hidden {
                Self { fd: inherited.fd, kind: Kind::Unpollable, restore: None }
            } else {
                Self { fd: own, kind, restore: None }
            });
        }
        Self::flagged(inherited, kind)
    }

    /// The last resort: the flag on a shared description, to be taken back later.
    fn flagged(inherited: Inherited, kind: Kind) -> io::Result<Self> {
        let Inherited { fd, was_blocking, neighbours } = inherited;
        set_blocking(fd.as_fd(), false)?;
        Ok(Self { fd, kind, restore: was_blocking.then_some(neighbours) })
    }

    /// Makes a pipe hold more, for messages that would otherwise need many turns to get through. Only where
    /// such a message has come up: the system limits what one user's pipes may hold together.
    pub(super) fn widen(&self) {
        #[cfg(target_os = "linux")]
        if self.kind == Kind::Pipe {
            // Without it the pipe is slower, and nothing else.
            let _ = rustix::pipe::fcntl_setpipe_size(&self.fd, WIDENED_PIPE_BYTES);
        }
    }

    pub(super) fn is_pipe(&self) -> bool {
        self.kind == Kind::Pipe
    }

    #[cfg(target_os = "linux")]
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// One more descriptor for a stream that can be handed to another process: nobody else would find it changed.
    #[cfg(target_os = "linux")]
    pub(super) fn share(&self) -> Option<OwnedFd> {
        let is_fit = matches!(self.kind, Kind::Pipe | Kind::StreamSocket) && self.restore.is_none();
        is_fit.then(|| rustix::io::fcntl_dupfd_cloexec(&self.fd, 3).ok())?
    }

    pub(super) fn can_be_polled(&self) -> bool {
        self.kind != Kind::Unpollable
    }

    /// Whether a read that did not fill its buffer proves that nothing is left. True of byte streams; a read
    /// of packets stops at each packet's end.
    pub(super) fn short_read_means_empty(&self) -> bool {
        matches!(self.kind, Kind::Pipe | Kind::StreamSocket)
    }

    pub(crate) fn read_now(&self, spare: &mut [MaybeUninit<u8>]) -> rustix::io::Result<usize> {
        #[cfg(target_os = "linux")]
        if self.kind.asks_per_call() {
            let ((filled, _), _) = rustix::net::recv(&self.fd, spare, rustix::net::RecvFlags::DONTWAIT)?;
            return Ok(filled.len());
        }
        let (filled, _) = rustix::io::read(&self.fd, spare)?;
        Ok(filled.len())
    }

    pub(super) fn write_now(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        // The system refuses a longer list instead of taking its beginning.
        const MAX_SLICES: usize = 1024;
        let bufs = &bufs[..bufs.len().min(MAX_SLICES)];
        #[cfg(target_os = "linux")]
        if self.kind.asks_per_call() {
            use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            return Ok(retry_on_intr(|| {
                sendmsg(&self.fd, bufs, &mut SendAncillaryBuffer::default(), flags)
            })?);
        }
        Ok(match bufs {
            // The system has a shorter way for one.
            [only] => retry_on_intr(|| rustix::io::write(&self.fd, only))?,
            _ => retry_on_intr(|| rustix::io::writev(&self.fd, bufs))?,
        })
    }

    /// Ends one direction of a socket, for all who hold it. The other side reads the end, or can write no more.
    pub(super) fn shut(&self, direction: Direction) {
        let how = match direction {
            Direction::Read => rustix::net::Shutdown::Read,
            Direction::Write => rustix::net::Shutdown::Write,
        };
        // The other side may be gone.
        let _ = rustix::net::shutdown(&self.fd, how);
    }

    /// Waits on this thread. Only for descriptors that we did not make non-blocking, but others may have.
    fn wait(&self, events: PollFlags) -> io::Result<()> {
        retry_on_intr(|| poll(&mut [PollFd::new(&self.fd, events)], None))?;
        Ok(())
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some(token) = &self.restore
            && Arc::strong_count(token) == 1
        {
            // Nobody is left to be told, and the description may be gone already.
            let _ = set_blocking(self.fd.as_fd(), true);
        }
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Blocking reads, for the thread that stands in where nothing can be polled.
impl Read for Descriptor {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.fd, &mut *buf) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::IN)?,
                result => return Ok(result?),
            }
        }
    }
}

/// Blocking writes, likewise.
impl Write for Descriptor {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.fd, buf) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT)?,
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn set_blocking(fd: BorrowedFd<'_>, blocking: bool) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    let wanted = if blocking { flags - OFlags::NONBLOCK } else { flags | OFlags::NONBLOCK };
    if wanted != flags {
        fcntl_setfl(fd, wanted)?;
    }
    Ok(())
}

/// The same pipe through an open file description of our own. Works on Linux, if `/proc` is mounted and the
/// pipe belongs to our user; on macOS `/dev/fd` gives the same description again, so it is not even tried.
fn reopen(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Whoever gave us a pipe that is open both ways counts on it: there is no end of file, for one.
    let mode = fcntl_getfl(fd).ok()? & OFlags::RWMODE;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    open(path, mode | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).ok()
}

fn hung_up(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(retry_on_intr(|| poll(&mut polled, Some(&at_once))), Ok(1..))
        && polled[0].revents().contains(PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn is_blocking(fd: impl AsFd) -> bool {
        !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
    }

    /// Both ends flagged, and then dropped one after the other: whether the witness blocks after each.
    fn restored(input: OwnedFd, output: OwnedFd, witness: impl AsFd) -> [bool; 3] {
        let (input, output) = Inherited::pair(input, output).unwrap();
        let input = Descriptor::flagged(input, Kind::StreamSocket).unwrap();
        let output = Descriptor::flagged(output, Kind::StreamSocket).unwrap();
        let flagged = is_blocking(&witness);
        drop(input);
        let one_dropped = is_blocking(&witness);
        drop(output);
        [flagged, one_dropped, is_blocking(&witness)]
    }

    #[test]
    fn a_shared_description_is_restored_by_the_last_end_that_uses_it() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let copy = || OwnedFd::from(ours.try_clone().unwrap());
        assert_eq!(restored(copy(), copy(), &ours), [false, false, true]);
        // What was not blocking before is left so.
        ours.set_nonblocking(true).unwrap();
        assert_eq!(restored(copy(), copy(), &ours), [false, false, false]);
    }

    #[test]
    fn separate_descriptions_are_restored_one_by_one() {
        let (reader, _) = io::pipe().unwrap();
        let (_, writer) = io::pipe().unwrap();
        let copy = reader.try_clone().unwrap();
        assert_eq!(restored(copy.into(), writer.into(), &reader), [false, true, true]);
    }
}
