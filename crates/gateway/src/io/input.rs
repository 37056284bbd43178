//! Input from a peer: a pipe or socket of the system, or a stream of an embedding program.

use bytes::BytesMut;
use std::io;
use std::pin::Pin;
use switchboard_process::pipe::ByteReader;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Byte source of one peer.
pub(crate) enum Input {
    Pipe(ByteReader),
    Stream(Pin<Box<dyn AsyncRead + Send>>),
}

impl Input {
    /// Appends arrived bytes to `buf` and returns their number; 0 is the end.
    pub(crate) async fn read(&mut self, buf: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Pipe(reader) => reader.read(buf).await,
            Self::Stream(stream) => stream.read_buf(buf).await,
        }
    }

    /// Frees memory that the next read can do without.
    pub(crate) fn trim(&mut self) {
        match self {
            Self::Pipe(reader) => reader.trim(),
            Self::Stream(_) => {}
        }
    }
}

impl From<ByteReader> for Input {
    fn from(reader: ByteReader) -> Self {
        Self::Pipe(reader)
    }
}
