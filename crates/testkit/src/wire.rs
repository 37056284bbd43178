//! Messages as bytes, for clients and servers that must cost next to nothing: requests, payloads, line ends,
//! and fields without parsing. Knows JSON only as far as our own messages need.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::Range;

/// The version that both ends speak: the newest one with a handshake.
pub const PROTOCOL_VERSION: &str = "2025-11-25";
/// The answer of the tool `tiny`.
pub const TINY_TEXT: &str = "ok";

/// Distance from either end of a message within which fields are searched; only a payload can be longer.
const MAX_FIELD_OFFSET_BYTES: usize = 512;
/// A line of the payload `code`, in JSON spelling: an escape about every 30 bytes.
const CODE_LINE: &[u8] =
    br#"    let answer = server.call(\"tools/list\")?; // what the server offers today\n"#;

/// The content of a large message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Payload {
    /// Letters without a single escape: the easiest text to scan.
    #[default]
    Plain,
    /// Lines of source code, with quotes and line ends escaped, as in real answers.
    Code,
}

impl Payload {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "plain" => Some(Self::Plain),
            "code" => Some(Self::Code),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Code => "code",
        }
    }

    /// A text of exactly `length` bytes, in JSON spelling.
    pub fn text(self, length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length);
        if self == Self::Code {
            while text.len() + CODE_LINE.len() <= length {
                text.extend_from_slice(CODE_LINE);
            }
        }
        text.resize(length, b'x');
        text
    }
}

/// Appends a call of `tool`, newline included. `arguments` is JSON, or empty for none. `more` is further members of the
/// parameters, each behind a comma.
pub fn push_call(out: &mut Vec<u8>, id: u64, tool: &str, arguments: &[&[u8]], more: &[u8]) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    push_number(out, id);
    out.extend_from_slice(br#","method":"tools/call","params":{"name":""#);
    out.extend_from_slice(tool.as_bytes());
    out.push(b'"');
    if !arguments.is_empty() {
        out.extend_from_slice(br#","arguments":"#);
        arguments.iter().for_each(|part| out.extend_from_slice(part));
    }
    out.extend_from_slice(more);
    out.extend_from_slice(b"}}\n");
}

pub fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The value of the first field `key` (with its quotes), as spelled, near the start or else near the end of
/// the message. For a string the quotes are part of it; of an object or array only the start is.
///
/// A quote inside a text is escaped, so `"key":` is never found there; depth is not checked.
pub fn field<'a>(message: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    field_at(message, key).map(|range| &message[range])
}

/// The span of that value.
pub fn field_at(message: &[u8], key: &[u8]) -> Option<Range<usize>> {
    let start = value_start(message, key)?;
    let value = &message[start..];
    let length = match value.first()? {
        b'"' => end_of_string(&value[..value.len().min(MAX_FIELD_OFFSET_BYTES)], 1)?,
        _ => value.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\r'))?,
    };
    Some(start..start + length)
}

/// The number in these digits.
pub fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, byte| match byte {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// The text of the field `"text"`, of any length. Only the last bytes of the message are searched for its
/// end, so only a short rest may follow.
pub fn text(message: &[u8]) -> Option<Range<usize>> {
    let start = value_start(message, b"\"text\"")?;
    if message.get(start) != Some(&b'"') {
        return None;
    }
    let start = start + 1;
    let mut from = start.max(message.len().saturating_sub(MAX_FIELD_OFFSET_BYTES));
    // The window may begin inside an escape: an odd run of backslashes before it escapes its first byte.
    let backslashes = message[start..from].iter().rev().take_while(|byte| **byte == b'\\').count();
    from += backslashes % 2;
    Some(start..end_of_string(message, from)? - 1)
}

/// The position at which the value of `key` begins.
fn value_start(message: &[u8], key: &[u8]) -> Option<usize> {
    let head = &message[..message.len().min(MAX_FIELD_OFFSET_BYTES)];
    let tail_at = message.len().saturating_sub(MAX_FIELD_OFFSET_BYTES);
    value_start_in(head, key).or_else(|| Some(tail_at + value_start_in(&message[tail_at..], key)?))
}

fn value_start_in(part: &[u8], key: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + part[from..].windows(key.len()).position(|window| window == key)? + key.len();
        let colon = end + spaces(&part[end..]);
        if part.get(colon) == Some(&b':') {
            return Some(colon + 1 + spaces(&part[colon + 1..]));
        }
        from = end;
    }
}

fn spaces(part: &[u8]) -> usize {
    part.iter().take_while(|byte| **byte == b' ').count()
}

/// The position after the quote that ends the string that continues at `from`.
fn end_of_string(message: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(b'"', b'\\', message.get(at..)?)?;
        if message[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The id of an answer, if it is a number.
pub fn answered_id(answer: &[u8]) -> Option<u64> {
    number(field(answer, b"\"id\"")?)
}

/// Whether this is a notification or request of a server or proxy.
pub fn is_notice(line: &[u8]) -> bool {
    field(line, b"\"method\"").is_some()
}

/// The number of digits of an id.
pub fn digits(id: u64) -> usize {
    id.checked_ilog10().map_or(1, |power| power as usize + 1)
}

pub fn wrong_answer(id: u64, answer: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    io::Error::other(format!("wrong answer to request {id}, {} bytes: {shown}", answer.len()))
}

/// Writes all parts, without copying them together.
pub fn write_parts(mut to: impl Write, parts: &[&[u8]]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        match to.write_vectored(rest) {
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Splits the input of a descriptor into lines, without copying them.
pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// Start of the first line that was not returned yet.
    start: usize,
    /// End of the searched part after `start`, which has no newline.
    searched: usize,
    /// End of the bytes that were read.
    end: usize,
}

impl<R: Read> Lines<R> {
    pub fn new(from: R) -> Self {
        Self { from, buffer: vec![0; 128 * 1024], start: 0, searched: 0, end: 0 }
    }

    /// The stream that lines are read from.
    pub fn source(&self) -> &R {
        &self.from
    }

    /// The position of the next line, without its newline; `None` at the end of the stream.
    pub fn next_line(&mut self) -> io::Result<Option<Range<usize>>> {
        loop {
            if let Some(line) = self.buffered_line() {
                return Ok(Some(line));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// The next line if all of it has been read already.
    pub fn buffered_line(&mut self) -> Option<Range<usize>> {
        let Some(newline) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) else {
            self.searched = self.end;
            return None;
        };
        let line = self.start..self.searched + newline;
        self.start = line.end + 1;
        self.searched = self.start;
        Some(line)
    }

    /// The bytes of a line, valid until the next read.
    pub fn bytes(&self, line: &Range<usize>) -> &[u8] {
        &self.buffer[line.clone()]
    }

    /// A single read(2). Returns the number of bytes; 0 at the end of the stream.
    pub fn fill(&mut self) -> io::Result<usize> {
        self.make_room();
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes room for 64 KiB, the size of a pipe: with less, a read would have to be repeated.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.searched, self.end) = (0, 0, 0);
        }
        if self.buffer.len() - self.end >= 64 * 1024 {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < 64 * 1024 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_call_has_60_to_80_bytes() {
        let mut call = Vec::new();
        push_call(&mut call, 12_345, "tiny", &[], b"");
        assert!((60..=80).contains(&call.len()), "{} bytes", call.len());
        serde_json::from_slice::<serde_json::Value>(&call).unwrap();
    }

    #[test]
    fn id_keeps_its_spelling() {
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, Some("7")),
            (r#"{"jsonrpc": "2.0", "id": "a\"b", "method": "ping"}"#, Some(r#""a\"b""#)),
            (r#"{"method":"ping","id":-1.5e3}"#, Some("-1.5e3")),
            (r#"{"method":"x","params":"id"}"#, None),
        ] {
            assert_eq!(field(message.as_bytes(), b"\"id\""), id.map(str::as_bytes), "{message}");
        }
    }

    #[test]
    fn text_is_found_at_any_length() {
        for payload in [Payload::Plain, Payload::Code] {
            for length in [0, 1, 77, 78, 79, 500, 511, 512, 513, 2_000, 100_000] {
                let sent = payload.text(length);
                assert_eq!(sent.len(), length);
                let mut call = Vec::new();
                push_call(&mut call, 1, "echo", &[b"{\"text\":\"", &sent, b"\"}"], b"");
                call.pop();
                serde_json::from_slice::<serde_json::Value>(&call).unwrap();
                assert_eq!(&call[text(&call).unwrap()], &sent);
                assert_eq!(field(&call, b"\"name\""), Some(&b"\"echo\""[..]));
            }
        }
    }

    #[test]
    fn lines_survive_any_cut() {
        struct Dribble(Vec<u8>);
        impl Read for Dribble {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = into.len().min(self.0.len()).min(50_001);
                into[..count].copy_from_slice(&self.0[..count]);
                self.0.drain(..count);
                Ok(count)
            }
        }
        let expected = [vec![b'a'; 3], vec![b'b'; 400_000], vec![], vec![b'c'; 70_000]];
        let mut lines = Lines::new(Dribble(expected.join(&b'\n').into_iter().chain([b'\n']).collect()));
        for line in &expected {
            let found = lines.next_line().unwrap().unwrap();
            assert!(lines.bytes(&found) == line);
        }
        assert!(lines.next_line().unwrap().is_none());
    }
}
