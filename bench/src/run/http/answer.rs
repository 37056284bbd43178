//! An answer of HTTP/1.1, taken out of the bytes that have arrived so far. Pure, and only as strict as our two servers
//! need.

use std::ops::Range;

use memchr::memmem;

use crate::run::Failure;

/// What stands before the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// The session that the answer begins.
    pub(super) session: Option<String>,
    /// The body is server-sent events.
    pub(super) is_stream: bool,
    pub(super) length: Length,
    /// How many bytes it takes, up to where the body begins.
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
}

impl Head {
    /// `None` as long as not all of it is there.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, Failure> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
        let odd = || Failure(format!("not an answer: {}", String::from_utf8_lossy(&bytes[..end])));
        let text = str::from_utf8(&bytes[..end]).map_err(|_| odd())?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let mut head = Self {
            status: status.ok_or_else(odd)?,
            session: None,
            is_stream: false,
            length: Length::Known(0),
            end: end + 4,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = Length::Known(value.parse().map_err(|_| odd())?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.length = Length::Chunked;
            } else if name.eq_ignore_ascii_case("content-type") {
                head.is_stream = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.to_owned());
            }
        }
        Ok(Some(head))
    }
}

/// A body that came in chunks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunked {
    pub(super) chunks: Vec<Range<usize>>,
    /// How many bytes all of it takes.
    pub(super) end: usize,
}

/// Where the chunks of a body are; `None` as long as not all of it is there.
pub(super) fn chunks(bytes: &[u8]) -> Result<Option<Chunked>, Failure> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = memmem::find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let digits = str::from_utf8(&bytes[at..at + line]).ok();
        let size = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let size = size.ok_or_else(|| Failure("a chunk without a length".to_owned()))?;
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
    fn a_head_is_there_or_not_yet() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: abc\r\ncontent-length: 2\r\n\r\n{}";
        for cut in 0..text.len() - 2 {
            assert_eq!(Head::read(&text[..cut]).unwrap(), None);
        }
        let head = Head::read(text).unwrap().unwrap();
        assert_eq!(&text[head.end..], b"{}");
        assert_eq!((head.status, head.length, head.is_stream), (200, Length::Known(2), false));
        assert_eq!(head.session.as_deref(), Some("abc"));
        assert!(Head::read(b"nonsense\r\n\r\n").is_err());
    }

    #[test]
    fn chunks_are_found_once_all_have_come() {
        let text = b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nHTTP";
        for cut in 0..text.len() - 4 {
            assert_eq!(chunks(&text[..cut]).unwrap(), None);
        }
        let Chunked { chunks: found, end } = chunks(text).unwrap().unwrap();
        let parts: Vec<&[u8]> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!((parts, &text[end..]), (vec![&b"abc"[..], b"0123456789"], &b"HTTP"[..]));
    }

    #[test]
    fn events_are_messages_or_say_nothing() {
        let events = b"id: 1-1\nretry: 500\ndata: \n\n: \n\nid: 1-2\nevent: message\ndata: {\"id\":1}\n\n";
        assert_eq!(messages(events).collect::<Vec<_>>(), [b"{\"id\":1}"]);
    }
}
