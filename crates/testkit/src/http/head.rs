//! An HTTP/1.1 answer, parsed from the bytes that have arrived so far, without copying them.

use memchr::memmem;
use std::io;
use std::ops::Range;

/// Status and header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) status: u16,
    lines: &'a str,
    pub(super) length: Length,
    /// Whether the body is server-sent events.
    pub(super) is_stream: bool,
    /// Start of the body.
    pub(super) end: usize,
}

/// Length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
    /// Until the connection ends.
    Unknown,
}

impl<'a> Head<'a> {
    /// Parses the head; `None` while a part of it is missing.
    pub(super) fn read(bytes: &'a [u8]) -> io::Result<Option<Self>> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
        let odd = || io::Error::other(format!("not an answer: {}", String::from_utf8_lossy(&bytes[..end])));
        let text = str::from_utf8(&bytes[..end]).map_err(|_| odd())?;
        let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(odd)?;
        let lines = &text[memchr::memchr(b'\n', text.as_bytes()).map_or(end, |at| at + 1)..];
        let length = if status == 204 { Length::Known(0) } else { Length::Unknown };
        let mut head = Self { status, lines, length, is_stream: false, end: end + 4 };
        // A single pass: a measurement does this for every call.
        for (name, value) in head.fields() {
            if name.eq_ignore_ascii_case("content-length") {
                head.length = Length::Known(value.parse().map_err(|_| odd())?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked" {
                head.length = Length::Chunked;
            } else if name.eq_ignore_ascii_case("content-type") {
                head.is_stream = value.starts_with("text/event-stream");
            }
        }
        Ok(Some(head))
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let fields = self.lines.split("\r\n").filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name, value.trim()))
    }
}

/// A body in chunks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunked {
    pub(super) chunks: Vec<Range<usize>>,
    /// Length of the whole body, with everything between the chunks.
    pub(super) end: usize,
}

/// Positions of the chunks of a body; `None` while a part of it is missing.
pub(super) fn chunks(bytes: &[u8]) -> io::Result<Option<Chunked>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = memmem::find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let digits = str::from_utf8(&bytes[at..at + line]).ok();
        let size = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let size = size.ok_or_else(|| io::Error::other("a chunk without a length"))?;
        let start = at + line + 2;
        at = start + size + 2;
        if bytes.len() < at {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(Chunked { chunks: found, end: at }));
        }
        found.push(start..start + size);
    }
}

/// The messages of server-sent events, each on one line as our servers write them.
pub(super) fn messages(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = events.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.strip_prefix(b"data: ")).filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_complete_or_none() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: abc\r\ncontent-length: 2\r\n\r\n{}";
        for cut in 0..text.len() - 2 {
            assert_eq!(Head::read(&text[..cut]).unwrap(), None);
        }
        let head = Head::read(text).unwrap().unwrap();
        assert_eq!(&text[head.end..], b"{}");
        assert_eq!((head.status, head.length, head.is_stream), (200, Length::Known(2), false));
        assert_eq!(head.fields().nth(1), Some(("Mcp-Session-Id", "abc")));
        assert!(Head::read(b"nonsense\r\n\r\n").is_err());
    }

    #[test]
    fn chunks_are_found_when_complete() {
        let text = b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nHTTP";
        for cut in 0..text.len() - 4 {
            assert_eq!(chunks(&text[..cut]).unwrap(), None);
        }
        let Chunked { chunks: found, end } = chunks(text).unwrap().unwrap();
        let parts: Vec<&[u8]> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!((parts, &text[end..]), (vec![&b"abc"[..], b"0123456789"], &b"HTTP"[..]));
    }

    #[test]
    fn empty_events_are_skipped() {
        let events = b"id: 1-1\nretry: 500\ndata: \n\n: \n\nid: 1-2\nevent: message\ndata: {\"id\":1}\n\n";
        assert_eq!(messages(events).collect::<Vec<_>>(), [b"{\"id\":1}"]);
    }
}
