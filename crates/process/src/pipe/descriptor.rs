//! A descriptor that never blocks, without side effects on processes that share it. Must not know the runtime.
//!
//! O_NONBLOCK belongs to the open file description, which other processes may share: the terminal's shell, or
//! a client that gave us its own end. They do not expect `EAGAIN`. So the flag is set freely only on private
//! descriptions; elsewhere it is the last resort.

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

/// Capacity of an enlarged pipe; 64 KiB is the default.
#[cfg(target_os = "linux")]
const WIDENED_PIPE_BYTES: usize = 512 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Kind of a descriptor, as far as polling is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    StreamSocket,
    /// A read returns one packet, even if more are queued.
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

    /// On Linux, each call on a socket can ask not to block, so the flag is not needed. macOS ignores that
    /// request in `send`.
    fn asks_per_call(self) -> bool {
        cfg!(target_os = "linux") && matches!(self, Self::StreamSocket | Self::PacketSocket)
    }
}

/// A descriptor inherited from our parent, which may continue to use the same description.
pub(crate) struct Inherited {
    fd: OwnedFd,
    was_blocking: bool,
    neighbours: Arc<()>,
}

impl Inherited {
    /// Our two standard streams. They may share one description (a socket, a terminal): the flags are read
    /// before either is changed, and restored only when neither end is in use any more.
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

/// An open descriptor and its way of non-blocking use.
pub(crate) struct Descriptor {
    fd: OwnedFd,
    kind: Kind,
    /// Present if the description must be made blocking again, by the last holder of the token.
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
            // A named FIFO opened without blocking while it has no writer reports no hang-up until a writer
            // has come and gone, although the inherited descriptor does: we would wait forever for an end
            // that is already there. A thread reads the rest instead.
            let end_is_hidden = direction == Direction::Read && hung_up(fd) && !hung_up(own.as_fd());
            return Ok(if end_is_hidden {
                Self { fd: inherited.fd, kind: Kind::Unpollable, restore: None }
            } else {
                Self { fd: own, kind, restore: None }
            });
        }
        Self::flagged(inherited, kind)
    }

    /// Last resort: sets the flag on a shared description, to be restored later.
    fn flagged(inherited: Inherited, kind: Kind) -> io::Result<Self> {
        let Inherited { fd, was_blocking, neighbours } = inherited;
        set_blocking(fd.as_fd(), false)?;
        Ok(Self { fd, kind, restore: was_blocking.then_some(neighbours) })
    }

    /// Enlarges a pipe, for messages that would otherwise need many turns. Done only once such a message
    /// occurs: the system limits the total capacity of a user's pipes.
    pub(super) fn widen(&self) {
        #[cfg(target_os = "linux")]
        if self.kind == Kind::Pipe {
            // A failure only makes the pipe slower.
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

    /// A duplicate descriptor, if the stream can be handed to another process without a changed flag to restore.
    #[cfg(target_os = "linux")]
    pub(super) fn share(&self) -> Option<OwnedFd> {
        let is_fit = matches!(self.kind, Kind::Pipe | Kind::StreamSocket) && self.restore.is_none();
        is_fit.then(|| rustix::io::fcntl_dupfd_cloexec(&self.fd, 3).ok())?
    }

    pub(super) fn can_be_polled(&self) -> bool {
        self.kind != Kind::Unpollable
    }

    /// Whether a read that did not fill its buffer proves that nothing is left. True of byte streams; a
    /// packet read stops at the packet's end.
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
        // The system rejects a longer list instead of writing its beginning.
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
            // A plain write is faster for a single slice.
            [only] => retry_on_intr(|| rustix::io::write(&self.fd, only))?,
            _ => retry_on_intr(|| rustix::io::writev(&self.fd, bufs))?,
        })
    }

    /// Shuts down one direction of a socket, for all its holders. The peer reads the end, or can no longer write.
    pub(super) fn shut(&self, direction: Direction) {
        let how = match direction {
            Direction::Read => rustix::net::Shutdown::Read,
            Direction::Write => rustix::net::Shutdown::Write,
        };
        // The peer may be gone.
        let _ = rustix::net::shutdown(&self.fd, how);
    }

    /// Blocks this thread. Only for descriptors that we left blocking but that others may have made non-blocking.
    fn wait(&self, events: PollFlags) -> io::Result<()> {
        retry_on_intr(|| poll(&mut [PollFd::new(&self.fd, events)], None))?;
        Ok(())
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // The other standard stream may share the description and still be in use.
        if let Some(token) = &self.restore
            && Arc::strong_count(token) == 1
        {
            // The description may be gone already; there is no one to report an error to.
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

/// Blocking reads, for the thread that handles unpollable descriptors.
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

/// Blocking writes for the same purpose.
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

/// Opens the same pipe with a private open file description. Works on Linux if `/proc` is mounted and the
/// pipe belongs to our user; on macOS `/dev/fd` returns the shared description, so it is not tried.
fn reopen(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Keep the access mode: the owner of a pipe that is open both ways relies on it, for instance on never
    // seeing its end.
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

    /// Flags both ends, then drops one after the other: whether the witness is blocking after each step.
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
    fn last_user_restores_a_shared_description() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let copy = || OwnedFd::from(ours.try_clone().unwrap());
        assert_eq!(restored(copy(), copy(), &ours), [false, false, true]);
        // A description that was non-blocking before stays so.
        ours.set_nonblocking(true).unwrap();
        assert_eq!(restored(copy(), copy(), &ours), [false, false, false]);
    }

    #[test]
    fn separate_descriptions_restored_apart() {
        let (reader, _) = io::pipe().unwrap();
        let (_, writer) = io::pipe().unwrap();
        let copy = reader.try_clone().unwrap();
        assert_eq!(restored(copy.into(), writer.into(), &reader), [false, true, true]);
    }
}
