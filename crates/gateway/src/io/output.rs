//! The way out to a peer: straight into a stream, or through a store from which another process can go on.

use super::stream_writer::StreamWriter;
use std::io::{self, IoSlice};
use std::pin::Pin;
use switchboard_process::pipe::{ByteWriter, Sealed};
use switchboard_protocol::Outgoing;

/// Way of bytes to one peer.
pub(crate) enum Output {
    Direct(ByteWriter),
    /// Into a stream of an embedding program.
    Buffered(StreamWriter),
    Stored(Box<dyn StoredOutput>),
}

/// Output that keeps whole messages where they outlive this process, and sends them from there.
pub(crate) trait StoredOutput: Send + Sync {
    /// Called for each message before it is queued. `false` drops the message.
    fn admit(&self, out: &Outgoing) -> bool;

    /// Stores whole messages: from then on they are sent, whatever happens to this process.
    fn store(&self, bufs: &[IoSlice<'_>]) -> io::Result<()>;

    /// Bytes that are stored and not yet sent.
    fn unsent(&self) -> u64;

    /// Sends what goes without waiting, and says how many bytes that was; `WouldBlock` if none.
    fn send(&self) -> io::Result<usize>;

    /// Waits until [`send`](Self::send) may succeed.
    fn writable(&self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>>;

    /// The peer does not read any more.
    fn lost(&self);

    /// Gives back memory that is not needed while the peer is quiet.
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
    /// Writes as much as goes without waiting and says how much that was; `WouldBlock` if none. Stored output is not
    /// written to in pieces.
    pub(crate) fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Direct(writer) => writer.try_write(bufs),
            Self::Buffered(writer) => writer.try_write(bufs),
            Self::Stored(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Lets the system send prepared bytes, as far as it goes without waiting. `Unsupported` where they would have to be
    /// copied.
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
