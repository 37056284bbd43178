//! Output to a peer: directly into a stream, or through a store from which another process can continue.

use super::stream_writer::StreamWriter;
use std::io::{self, IoSlice};
use std::pin::Pin;
use switchboard_process::pipe::{ByteWriter, Sealed};
use switchboard_protocol::Outgoing;

/// Byte sink of one peer.
pub(crate) enum Output {
    Direct(ByteWriter),
    /// A stream of an embedding program.
    Buffered(StreamWriter),
    Stored(Box<dyn StoredOutput>),
}

/// Output that stores whole messages where they outlive this process, and sends from there.
pub(crate) trait StoredOutput: Send + Sync {
    /// Called for each message before it is queued. `false` drops the message.
    fn admit(&self, out: &Outgoing) -> bool;

    /// Stores whole messages: from then on they are sent, whatever happens to this process.
    fn store(&self, bufs: &[IoSlice<'_>]) -> io::Result<()>;

    /// Stored bytes that are not yet sent.
    fn unsent(&self) -> u64;

    /// Sends without waiting, and returns the number of bytes; `WouldBlock` if none.
    fn send(&self) -> io::Result<usize>;

    /// Waits until [`send`](Self::send) may succeed.
    fn writable(&self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>>;

    /// The peer no longer reads.
    fn lost(&self);

    /// Frees memory of an idle peer.
    fn trim(&self);
}

impl From<ByteWriter> for Output {
    fn from(writer: ByteWriter) -> Self {
        Self::Direct(writer)
    }
}

impl From<StreamWriter> for Output {
    fn from(writer: StreamWriter) -> Self {
        Self::Buffered(writer)
    }
}

impl Output {
    /// Writes without waiting, and returns the number of bytes; `WouldBlock` if none. Not for stored output,
    /// which takes whole messages only.
    pub(crate) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Direct(writer) => writer.try_write(bufs),
            Self::Buffered(writer) => writer.try_write(bufs),
            Self::Stored(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Lets the system send prepared bytes without waiting. `Unsupported` where they must be copied.
    pub(crate) fn try_give(&self, sealed: &Sealed, at: usize, length: usize) -> io::Result<usize> {
        match self {
            Self::Direct(writer) => writer.try_give(sealed, at, length),
            Self::Buffered(_) | Self::Stored(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Direct(writer) => writer.writable().await,
            Self::Buffered(writer) => {
                writer.writable().await;
                Ok(())
            }
            Self::Stored(stored) => stored.writable().await,
        }
    }

    /// Whether the system can send prepared bytes without a copy.
    pub(crate) fn is_pipe(&self) -> bool {
        match self {
            Self::Direct(writer) => writer.is_pipe(),
            Self::Buffered(_) | Self::Stored(_) => false,
        }
    }

    /// Waits until all accepted bytes have reached the system.
    pub(crate) async fn drained(&self) {
        match self {
            Self::Direct(writer) => writer.drained().await,
            Self::Buffered(writer) => writer.drained().await,
            Self::Stored(_) => {}
        }
    }
}
