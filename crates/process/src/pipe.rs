//! One type for reading bytes and one for writing, whatever the underlying stream. Must not know what the
//! bytes mean, nor whose they are.
//!
//! A pollable descriptor (pipe, socket) is read and written directly by the calling task, without a thread or
//! a copy in between; so are, on Windows, the local socket and the pipes of children. Anything else (regular file,
//! terminal, `/dev/null`, our own standard streams on Windows) gets a thread that blocks on our behalf.
//!
//! A write to a pipe without a reader returns `BrokenPipe` and raises no signal: Rust's runtime ignores
//! SIGPIPE in our process before `main`, and resets it in every child.

#[cfg(unix)]
mod descriptor;
#[cfg(windows)]
mod named;
#[cfg(windows)]
mod child_end;
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

/// Minimum spare capacity that makes a read worth its system call. A buffer of this capacity that is emptied
/// before each read never grows.
pub const MIN_SPARE_BYTES: usize = 4 * 1024;
/// Bytes to reserve below that: the capacity of a pipe.
const RESERVED_BYTES: usize = 64 * 1024;
/// Size of a large message, for which pipes are enlarged and reads are longer.
const LARGE_MESSAGE_BYTES: usize = 256 * 1024;

/// The readable end of a stream. Dropping it closes the stream (a thread blocked in a read keeps it open
/// until that read returns).
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

/// A source of bytes defined elsewhere in this crate.
#[cfg(target_os = "linux")]
pub(crate) trait PollRead: Send + Sync {
    /// Appends the available bytes to `buf` and returns their number; 0 means end of stream.
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<usize>>;

    /// Frees memory that the next read does not need.
    fn trim(&mut self);
}

impl ByteReader {
    /// Appends the available bytes to `buf` and returns their number; 0 means end of stream.
    ///
    /// Reads into the spare capacity of `buf` with one system call, so a caller that expects much should
    /// reserve much; 64 KiB are reserved when less than 4 KiB are spare. Cancel-safe: a dropped future has
    /// read nothing.
    pub async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        // A message that is large already is likely to grow: fewer, longer reads.
        let times = if buf.len() > LARGE_MESSAGE_BYTES { 8 } else { 1 };
        // A source that copies reserves what it needs, unless the message is known to be large.
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

    /// Whether the source reads elsewhere first, and reserves the exact space when the length is known.
    fn copies(&self) -> bool {
        #[cfg(target_os = "linux")]
        return matches!(self.0, Reader::Custom(_));
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// Frees memory that the next read does not need. For a stream that has been idle for a while.
    pub fn trim(&mut self) {
        #[cfg(target_os = "linux")]
        if let Reader::Custom(source) = &mut self.0 {
            source.trim();
        }
    }

    /// Whether a thread does the reading.
    pub fn is_threaded(&self) -> bool {
        matches!(self.0, Reader::Threaded(_))
    }
}

/// The writable end of a stream. Dropping it closes the stream, after a thread has written what it was given.
pub struct ByteWriter(Writer);

enum Writer {
    #[cfg(unix)]
    Polled(polled::PolledWriter),
    #[cfg(windows)]
    Named(named::NamedWriter),
    Threaded(threaded::ThreadedWriter),
}

impl ByteWriter {
    /// Writes as much as possible without blocking and returns the count; `WouldBlock` if nothing can be
    /// written, in which case [`writable`](Self::writable) tells when to retry.
    pub fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.try_write(bufs),
            #[cfg(windows)]
            Writer::Named(named) => named.try_write(bufs),
            Writer::Threaded(threaded) => threaded.try_write(bufs),
        }
    }

    /// Sends `length` sealed bytes from offset `at`, as far as possible without blocking. `Unsupported` if
    /// they would have to be copied.
    pub fn try_give(&self, sealed: &Sealed, at: usize, length: usize) -> io::Result<usize> {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.try_give(sealed, at, length),
            #[cfg(windows)]
            Writer::Named(_) => sealed.copied_only(at, length),
            Writer::Threaded(_) => sealed.copied_only(at, length),
        }
    }

    /// Whether the stream is a pollable pipe.
    pub fn is_pipe(&self) -> bool {
        match &self.0 {
            #[cfg(unix)]
            Writer::Polled(polled) => polled.is_pipe(),
            #[cfg(windows)]
            Writer::Named(_) => false,
            Writer::Threaded(_) => false,
        }
    }

    /// Waits until a `try_write` may succeed or fail permanently. It may still return `WouldBlock`. Cancel-safe.
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

    /// Waits until everything that `try_write` accepted has reached the system, or never will. Cancel-safe.
    pub async fn drained(&self) {
        match &self.0 {
            #[cfg(unix)]
            // Accepted bytes are already in the system's buffer.
            Writer::Polled(_) => {}
            #[cfg(windows)]
            Writer::Named(named) => named.drained().await,
            Writer::Threaded(threaded) => threaded.drained().await,
        }
    }

    /// Whether a thread does the writing.
    pub fn is_threaded(&self) -> bool {
        matches!(self.0, Writer::Threaded(_))
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::fd::OwnedFd;

    /// Both directions of a private socket. Dropping one half shuts down that direction.
    pub(crate) fn both_ways(fd: OwnedFd) -> io::Result<(ByteReader, ByteWriter)> {
        let (reader, writer) = polled::both_ways(Descriptor::private(fd)?)?;
        Ok((ByteReader(Reader::Polled(reader)), ByteWriter(Writer::Polled(writer))))
    }

    impl ByteReader {
        /// Takes over a descriptor whose open file description is not shared: a pipe or socket is made
        /// non-blocking permanently.
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
        /// Takes over a descriptor whose open file description is not shared: a pipe or socket is made
        /// non-blocking permanently.
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
        /// Reads from a custom source.
        pub(crate) fn from_source(source: impl PollRead + 'static) -> Self {
            Self(Reader::Custom(Box::new(source)))
        }

        /// A duplicate descriptor, if the stream can be handed to another process.
        pub(crate) fn share(&self) -> Option<OwnedFd> {
            match &self.0 {
                Reader::Polled(polled) => polled.descriptor().share(),
                // A thread reads ahead: its bytes would be lost to the next holder.
                Reader::Custom(_) | Reader::Threaded(_) => None,
            }
        }

        /// Waits for readability, for callers that read the descriptor themselves. Cancel-safe.
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
    use super::*;
    use std::{fs::File, os::windows::io::OwnedHandle};

    pub(crate) use super::named::NamedPipe;

    /// Both directions of a pipe between two processes of ours. Dropping one half ends that direction.
    pub(crate) fn both_ways(pipe: NamedPipe) -> (ByteReader, ByteWriter) {
        let (reader, writer) = named::both_ways(pipe);
        (ByteReader(Reader::Named(reader)), ByteWriter(Writer::Named(writer)))
    }

    impl ByteReader {
        /// A pipe, and the end that a child is given to write to.
        pub(crate) fn from_child() -> io::Result<(Self, OwnedHandle)> {
            let (reader, theirs) = child_end::from_child()?;
            Ok((Self(Reader::Named(reader)), theirs))
        }

        /// Takes over a handle.
        pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
            Ok(Self(Reader::Threaded(threaded::ThreadedReader::start(File::from(handle))?)))
        }
    }

    impl ByteWriter {
        /// A pipe, and the end that a child is given to read from.
        pub(crate) fn to_child() -> io::Result<(Self, OwnedHandle)> {
            let (writer, theirs) = child_end::to_child()?;
            Ok((Self(Writer::Named(writer)), theirs))
        }

        /// Takes over a handle.
        pub fn from_handle(handle: OwnedHandle) -> io::Result<Self> {
            Ok(Self(Writer::Threaded(threaded::ThreadedWriter::start(File::from(handle))?)))
        }
    }
}
