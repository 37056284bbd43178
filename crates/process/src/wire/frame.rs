//! Frames on the socket between the main process and a guard: a body after its length, and the plain values
//! in a body. Must not know which messages exist.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// Limit on a frame's body. `exec` accepts 2 MiB on Linux unless the stack limit is raised; this is far above.
const MAX_FRAME_BYTES: u32 = 64 << 20;

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        // A length that was cut off by the death of its sender counts as the end too.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = body_length(length)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(body))
}

/// Takes the first complete frame off a buffer.
pub(crate) fn take_frame(buffer: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = buffer.first_chunk::<4>() else { return Ok(None) };
    let end = 4 + body_length(*length)?;
    if buffer.len() < end {
        return Ok(None);
    }
    let body = buffer[4..end].to_vec();
    buffer.drain(..end);
    Ok(Some(body))
}

fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix);
    if length > MAX_FRAME_BYTES { Err(malformed()) } else { Ok(length as usize) }
}

/// The error for bytes that none of our processes would send.
pub(super) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a message of a guard")
}

/// Builds a frame. [`finish`](Self::finish) fills in its length.
pub(super) struct FrameWriter(Vec<u8>);

impl FrameWriter {
    pub(super) fn new() -> Self {
        Self(vec![0; 4])
    }

    pub(super) fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn time(&mut self, time: Duration) {
        self.number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    pub(super) fn option(&mut self, number: Option<u64>) {
        self.byte(u8::from(number.is_some())).number(number.unwrap_or_default());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn path(&mut self, path: Option<&PathBuf>) {
        // An empty text stands for `None`, since a path is never empty.
        self.bytes(path.map(|path| path.as_os_str().as_bytes()).unwrap_or_default());
    }

    pub(super) fn list(&mut self, list: &[OsString]) {
        self.number(list.len() as u64);
        for text in list {
            self.bytes(text.as_bytes());
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        // The receiver refuses such a length.
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// Reads values off the body of a frame, in the order in which they were written.
pub(super) struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn number(&mut self) -> io::Result<u64> {
        let bytes = self.take(8)?.first_chunk::<8>().ok_or_else(malformed)?;
        Ok(u64::from_le_bytes(*bytes))
    }

    pub(super) fn small(&mut self) -> io::Result<u32> {
        u32::try_from(self.number()?).map_err(|_| malformed())
    }

    pub(super) fn option(&mut self) -> io::Result<Option<u32>> {
        // The number is written in both cases, so it is read in both.
        let there = self.byte()? != 0;
        let number = self.small()?;
        Ok(there.then_some(number))
    }

    pub(super) fn time(&mut self) -> io::Result<Duration> {
        Ok(Duration::from_millis(self.number()?))
    }

    pub(super) fn text(&mut self) -> io::Result<OsString> {
        let length = usize::try_from(self.number()?).map_err(|_| malformed())?;
        Ok(OsString::from_vec(self.take(length)?.to_vec()))
    }

    pub(super) fn path(&mut self) -> io::Result<Option<PathBuf>> {
        Ok(Some(PathBuf::from(self.text()?)).filter(|path| !path.as_os_str().is_empty()))
    }

    pub(super) fn list(&mut self) -> io::Result<Vec<OsString>> {
        let count = self.number()?;
        // A wrong count runs into the end of the body; no memory is reserved for it.
        (0..count).map(|_| self.text()).collect()
    }
}
