//! One type to read bytes with and one to write them, whatever stands behind. Must not know what the bytes
//! mean, nor whose they are.
//!
//! A descriptor that can be polled (a pipe, a socket) is read and written directly by the calling task: no
//! thread and no copy between. What cannot be polled (a regular file, a terminal, `/dev/null`, and for now
//! everything on Windows but the local socket) has a thread that blocks in our stead.
//!
//! A write to a pipe that nobody reads gives `BrokenPipe` and no signal: Rust's runtime ignores SIGPIPE in us
//! before `main`, and gives it back its default in every child.

#[cfg(unix)]
mod descriptor;
#[cfg(windows)]
mod named;
#[cfg(unix)]
mod polled;
mod sealed;
mod threaded;

use crate::memory;
use bytes::BytesMut;
use std::io::{self, IoSlice};
#[cfg(target_os = "linux")]
use std::task::{Context, Poll};

#[cfg(unix)]
pub(crate) use descriptor::Inherited;
#[cfg(target_os = "linux")]
pub(crate) use descriptor::Kind;
#[cfg(unix)]
pub(crate) use descriptor::{Descriptor, Direction};
#[cfg(target_os = "linux")]
pub(crate) use polled::register;
#[cfg(unix)]
pub(crate) use unix::both_ways;
#[cfg(windows)]
pub(crate) use windows::{NamedPipe, both_ways};

pub use sealed::Sealed;

/// With less spare room than this a read is not worth its system call. A buffer that is made as large as this, and emptied
/// before each read, never grows.
pub const MIN_SPARE_BYTES: usize = 4 * 1024;
/// Bytes reserved then: the capacity of a pipe.
const RESERVED_BYTES: usize = 64 * 1024;
/// A message above this is a large one, for which pipes are widened and reads are longer.
const LARGE_MESSAGE_BYTES: usize = 256 * 1024;

/// The end of a stream that bytes come out of. Dropping it closes it (a thread that is blocked in a read
/// holds it open until that read returns).
pub struct ByteReader(Reader);

enum Reader {
    #[cfg(unix)]
    Polled(polled::PolledReader),
    #[cfg(windows)]
    Named(named::NamedReader),
    #[cfg(target_os = "linux")]
    Custom(Box<dyn PollRead>),
    Threaded(threaded::ThreadedReader),
}

/// A source of bytes that is defined elsewhere in this crate.
#[cfg(target_os = "linux")]
pub(crate) trait PollRead: Send + Sync {
    /// Appends what has arrived to `buf` and says how much; 0 is the end of the stream.
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<usize>>;

    /// Gives back memory that the next read can do without.
    fn trim(&mut self);
}

impl ByteReader {
    /// Appends what has arrived to `buf` and says how much; 0 is the end of the stream.
    ///
    /// Reads into the spare capacity of `buf`, in one system call, so that a caller who knows that much is to
    /// come can reserve much; 64 KiB are reserved when less than 4 KiB are spare. Cancel-safe: a future that
    /// is dropped has read nothing.
    pub async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        let times = if buf.len() > LARGE_MESSAGE_BYTES { 8 } else { 1 };
        if buf.capacity() - buf.len() < MIN_SPARE_BYTES * times && !(self.copies() && times == 1) {
            buf.reserve(RESERVED_BYTES * times);
        }
        if times > 1 {
            let spare = buf.spare_capacity_mut();
            let soon = spare.len().min(RESERVED_BYTES * times);
            memory::make_pages(&mut spare[..soon]);
        }
        match &mut self.0 {
            #[cfg(unix)]
            Reader::Polled(polled) => polled.read(buf).await,
            #[cfg(windows)]
            Reader::Named(named) => named.read(buf).await,
            #[cfg(target_os = "linux")]
            Reader::Custom(source) => std::future::poll_fn(|cx| source.poll_read(cx, buf)).await,
            Reader::Threaded(threaded) => threaded.read(buf).await,
        }
    }

    /// Whether bytes are read elsewhere first, and room for them is made when their number is known.
    fn copies(&self) -> bool {
        #[cfg(target_os = "linux")]
        return matches!(self.0, Reader::Custom(_));
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// Gives back memory that the next read can do without. For a stream that has been quiet for a while.
    pub fn trim(&mut self) {
        #[cfg(target_os = "linux")]
        if let Reader::Custom(source) = &mut self.0 {
            source.trim();
        }
    }

    /// Whether a thread stands between the caller and the descriptor.
    pub fn is_threaded(&self) -> bool {
        matches!(self.0, Reader::Threaded(_))
    }
}

/// The end of a stream that bytes go into. Dropping it closes it, after what a thread was handed over has
/// been written.
pub struct ByteWriter(Writer);

enum Writer {
    #[cfg(unix)]
    Polled(polled::PolledWriter),
    #[cfg(windows)]
    Named(named::NamedWriter),
    Threaded(threaded::ThreadedWriter),
}

impl ByteWriter {
    /// Writes as much as goes without waiting and says how much that was; `WouldBlock` if nothing goes, and
    /// then [`writable`](Self::writable) tells when to try again.
    pub fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.try_write(bufs),
            #[cfg(windows)]
            Writer::Named(named) => named.try_write(bufs),
            Writer::Threaded(threaded) => threaded.try_write(bufs),
        }
    }

    /// Gives out so many of those bytes from there on, as far as it goes without waiting. `Unsupported` where they would
    /// have to be copied.
    pub fn try_give(&self, sealed: &Sealed, at: usize, length: usize) -> io::Result<usize> {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.try_give(sealed, at, length),
            #[cfg(windows)]
            Writer::Named(_) => sealed.copied_only(at, length),
            Writer::Threaded(_) => sealed.copied_only(at, length),
        }
    }

    /// Whether it is a pipe that can be polled.
    pub fn is_pipe(&self) -> bool {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.is_pipe(),
            #[cfg(windows)]
            Writer::Named(_) => false,
            Writer::Threaded(_) => false,
        }
    }

    /// Waits until a `try_write` may succeed, or fail for good. It may still say `WouldBlock`. Cancel-safe.
    pub async fn writable(&self) -> io::Result<()> {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.writable().await,
            #[cfg(windows)]
            Writer::Named(named) => named.writable().await,
            Writer::Threaded(threaded) => {
                threaded.writable().await;
                Ok(())
            }
        }
    }

    /// Waits until all that `try_write` accepted has reached the system, or never will. Cancel-safe.
    pub async fn drained(&self) {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(_) => {}
            #[cfg(windows)]
            Writer::Named(named) => named.drained().await,
            Writer::Threaded(threaded) => threaded.drained().await,
        }
    }

    /// Whether a thread stands between the caller and the descriptor.
    pub fn is_threaded(&self) -> bool {
        matches!(self.0, Writer::Threaded(_))
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::fd::OwnedFd;

    /// Both directions of a socket that is ours alone. Dropping one ends that direction.
    pub(crate) fn both_ways(fd: OwnedFd) -> io::Result<(ByteReader, ByteWriter)> {
        let (reader, writer) = polled::both_ways(Descriptor::private(fd)?)?;
        Ok((ByteReader(Reader::Polled(reader)), ByteWriter(Writer::Polled(writer))))
    }

    impl ByteReader {
        /// Takes over a descriptor whose open file description is ours alone: a pipe or socket is made
        /// non-blocking for good.
        pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
            Self::over(Descriptor::private(fd)?)
        }

        pub(crate) fn inherited(fd: Inherited) -> io::Result<Self> {
            Self::over(Descriptor::inherited(fd, Direction::Read)?)
        }

        fn over(descriptor: Descriptor) -> io::Result<Self> {
            match polled::register(descriptor, Direction::Read)? {
                Ok(fd) => Ok(Self(Reader::Polled(polled::PolledReader::new(fd)))),
                Err(unpollable) => Ok(Self(Reader::Threaded(threaded::ThreadedReader::start(unpollable)?))),
            }
        }
    }

    impl ByteWriter {
        /// Takes over a descriptor whose open file description is ours alone: a pipe or socket is made
        /// non-blocking for good.
        pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
            Self::over(Descriptor::private(fd)?)
        }

        pub(crate) fn inherited(fd: Inherited) -> io::Result<Self> {
            Self::over(Descriptor::inherited(fd, Direction::Write)?)
        }

        fn over(descriptor: Descriptor) -> io::Result<Self> {
            match polled::register(descriptor, Direction::Write)? {
                Ok(fd) => Ok(Self(Writer::Polled(polled::PolledWriter::new(fd)))),
                Err(unpollable) => Ok(Self(Writer::Threaded(threaded::ThreadedWriter::start(unpollable)?))),
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    impl ByteReader {
        /// Reads from a source that is none of those known here.
        pub(crate) fn from_source(source: impl PollRead + 'static) -> Self {
            Self(Reader::Custom(Box::new(source)))
        }

        /// One more descriptor, if it can be handed to another process.
        pub(crate) fn share(&self) -> Option<OwnedFd> {
            match &self.0 {
                Reader::Polled(polled) => polled.descriptor().share(),
                Reader::Custom(_) | Reader::Threaded(_) => None,
            }
        }

        /// Waits until there is something to be read, for those who read it themselves. Cancel-safe.
        pub(crate) async fn readable(&self) -> io::Result<()> {
            match &self.0 {
                Reader::Polled(polled) => polled.readable().await,
                Reader::Custom(_) | Reader::Threaded(_) => Err(io::ErrorKind::Unsupported.into()),
            }
        }

        pub(crate) fn wait_anew(&self) {
            if let Reader::Polled(polled) = &self.0 {
                polled.wait_anew();
            }
        }
    }

    impl ByteWriter {
        pub(crate) fn share(&self) -> Option<OwnedFd> {
            match &self.0 {
                Writer::Polled(polled) => polled.descriptor().share(),
                Writer::Threaded(_) => None,
            }
        }

        pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
            match &self.0 {
                Writer::Polled(polled) => Some(polled.descriptor().as_fd()),
                Writer::Threaded(_) => None,
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Child pipes must not each pin blocking threads: this is the place to change. Named pipes that were
    //! opened for overlapped I/O can be `Named`, as those of the local socket are.

    use super::*;
    use std::{fs::File, os::windows::io::OwnedHandle};

    pub(crate) use super::named::NamedPipe;

    /// Both directions of a pipe between two processes of ours. Dropping one ends that direction.
    pub(crate) fn both_ways(pipe: NamedPipe) -> (ByteReader, ByteWriter) {
        let (reader, writer) = named::both_ways(pipe);
        (ByteReader(Reader::Named(reader)), ByteWriter(Writer::Named(writer)))
    }

    impl ByteReader {
        /// Takes over a handle.
        pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
            Ok(Self(Reader::Threaded(threaded::ThreadedReader::start(File::from(handle))?)))
        }
    }

    impl ByteWriter {
        /// Takes over a handle.
        pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
            Ok(Self(Writer::Threaded(threaded::ThreadedWriter::start(File::from(handle))?)))
        }
    }
}
