//! Cuts a byte stream into frames, whatever the size of the reads. Must not know what a frame contains.

use super::{Frame, Framing, MAX_MESSAGE_LIMIT_BYTES};
use crate::hunt::Hunter;
use bytes::{Buf, Bytes, BytesMut};

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// Capacity above which a buffer is replaced once its message is taken.
const LARGE_BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
enum FramerState {
    /// Within a line: a message, or (with `Content-Length`) a header or noise before one.
    Line,
    /// A length is known; the blank line has not arrived.
    Headers {
        length: u64,
    },
    Body {
        length: usize,
    },
    /// Over the limit: the rest of the line goes to the hunter and is dropped.
    SkipLine {
        hunter: Box<Hunter>,
        skipped: u64,
    },
    SkipBody {
        hunter: Box<Hunter>,
        length: u64,
        left: u64,
    },
}

/// The line at the start of the buffer.
enum Line {
    Whole(Bytes),
    Unfinished,
    /// Over the limit, complete or not.
    TooLong,
}

/// Result of one step over the buffer.
enum Step {
    Frame(Frame),
    /// No frame yet; the buffer may still hold one.
    Again,
    /// More bytes are needed.
    Wait,
}

/// The inbound half of a stream.
#[derive(Debug)]
pub struct Framer {
    framing: Option<Framing>,
    limit: usize,
    buffer: BytesMut,
    /// Prefix length of the buffer known to contain no line end.
    searched: usize,
    /// The searched bytes are ASCII. Checked while they are in the CPU cache, so that a long message is not
    /// scanned again.
    plain: bool,
    taken_plain: bool,
    state: FramerState,
}

impl Framer {
    /// `framing` fixes the framing; `None` detects it from the first bytes.
    pub fn new(framing: Option<Framing>, limit: usize) -> Self {
        // Spans are 32 bits wide, whatever the config says.
        let limit = limit.clamp(1, MAX_MESSAGE_LIMIT_BYTES);
        Self {
            framing,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            plain: true,
            taken_plain: false,
            state: FramerState::Line,
        }
    }

    /// The buffer to which the caller appends incoming bytes.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Frees the buffer if it is empty.
    pub fn trim(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    /// The framing of the stream, once known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Whether the last frame is known to be ASCII. False for short frames, which the parser checks itself.
    pub fn gave_plain(&self) -> bool {
        self.taken_plain
    }

    /// The next complete frame, if any.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let step = match self.state {
                FramerState::Line => self.next_line(),
                FramerState::Headers { length } => self.next_header(length),
                FramerState::Body { length } => self.next_body(length),
                // No further round: a skip either uses up the buffer or completes the frame.
                FramerState::SkipLine { .. } | FramerState::SkipBody { .. } => return self.skip(),
            };
            match step {
                Step::Frame(frame) => return Some(frame),
                Step::Again => {}
                Step::Wait => return None,
            }
        }
    }

    fn next_line(&mut self) -> Step {
        match self.take_line() {
            Line::Whole(line) => self.sort_line(line).map_or(Step::Again, Step::Frame),
            Line::Unfinished => Step::Wait,
            Line::TooLong => {
                self.state = FramerState::SkipLine { hunter: Box::default(), skipped: 0 };
                Step::Again
            }
        }
    }

    fn next_header(&mut self, length: u64) -> Step {
        match self.take_line() {
            Line::Whole(line) if line.is_empty() => self.begin_body(length),
            Line::Whole(line) => {
                // Other headers change nothing; of two lengths the last one counts.
                let length = content_length(&line).unwrap_or(length);
                self.state = FramerState::Headers { length };
            }
            Line::Unfinished => return Step::Wait,
            // A header over the limit is not a header: back to looking for a message.
            Line::TooLong => self.state = FramerState::Line,
        }
        Step::Again
    }

    fn next_body(&mut self, length: usize) -> Step {
        if self.buffer.len() < length {
            // One reservation for the whole body, instead of growth by doubling.
            self.buffer.reserve(length - self.buffer.len());
            return Step::Wait;
        }
        self.state = FramerState::Line;
        let body = strip_bom(self.take(length));
        if is_blank(&body) { Step::Again } else { Step::Frame(Frame::Message(body)) }
    }

    /// The rest of the stream after its end: a last line without its line break, or an incomplete message.
    pub fn end(&mut self) -> Option<Frame> {
        let rest = strip_bom(self.buffer.split().freeze());
        self.searched = 0;
        self.taken_plain = false;
        match std::mem::replace(&mut self.state, FramerState::Line) {
            FramerState::Line if is_blank(&rest) => None,
            FramerState::Line => Some(Frame::Message(rest)),
            // No byte of a body arrived.
            FramerState::Headers { .. } => None,
            // Shorter than announced, so certainly not a whole message.
            FramerState::Body { .. } => Some(Frame::Noise(rest)),
            FramerState::SkipLine { hunter, skipped } => {
                Some(Frame::TooLong { length: skipped, glimpses: hunter.finish() })
            }
            FramerState::SkipBody { hunter, length, .. } => {
                Some(Frame::TooLong { length, glimpses: hunter.finish() })
            }
        }
    }

    /// The next line without its line break, carriage return and byte order mark. Scans each byte once.
    fn take_line(&mut self) -> Line {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.plain &= self.buffer[self.searched..].is_ascii();
            self.searched = self.buffer.len();
            return if self.searched > self.limit { Line::TooLong } else { Line::Unfinished };
        };
        let end = self.searched + at;
        // A line found at the first look is short, and the parser checks it for ASCII itself.
        let was_long = self.searched > 0;
        let plain = was_long && self.plain && self.buffer[self.searched..end].is_ascii();
        // A single read may bring an over-long line together with its end.
        if end > self.limit {
            return Line::TooLong;
        }
        let mut line = self.take(end + 1);
        let is_crlf = end > 0 && line[end - 1] == b'\r';
        line.truncate(end - usize::from(is_crlf));
        self.taken_plain = plain;
        Line::Whole(strip_bom(line))
    }

    /// Takes bytes off the front of the buffer. A large message takes the whole allocation with it, which is
    /// freed with the message; the stream continues with a small buffer.
    fn take(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        self.plain = true;
        self.taken_plain = false;
        let taken = self.buffer.split_to(length).freeze();
        if length > LARGE_BUFFER_BYTES {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        taken
    }

    /// Classifies a line, and detects the framing of the stream if it is still unknown.
    fn sort_line(&mut self, line: Bytes) -> Option<Frame> {
        if is_blank(&line) {
            return None;
        }
        let looks_like_json = matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
        match self.framing {
            // Every line goes to the parser, which tells messages from log output.
            Some(Framing::Newline) => return Some(Frame::Message(line)),
            // A JSON line between framed messages is accepted as a message: some servers mix both framings.
            _ if looks_like_json => {
                self.framing.get_or_insert(Framing::Newline);
                return Some(Frame::Message(line));
            }
            _ => {}
        }
        if let Some(length) = content_length(&line) {
            self.framing = Some(Framing::ContentLength);
            self.state = FramerState::Headers { length };
            return None;
        }
        match self.framing {
            // Only `ContentLength` gets here; such a line precedes the length.
            Some(_) if is_header(&line) => None,
            Some(_) => Some(Frame::Noise(line)),
            // Some senders put this header before the length, while the framing is still unknown.
            None if is_content_type(&line) => None,
            // Framing still unknown: pass the line on, so that the parser reports the fault.
            None => Some(Frame::Message(line)),
        }
    }

    fn begin_body(&mut self, length: u64) {
        self.state = match usize::try_from(length) {
            Ok(length) if length <= self.limit => FramerState::Body { length },
            _ => FramerState::SkipBody { hunter: Box::default(), length, left: length },
        };
    }

    /// Drops bytes of an over-long frame; returns the frame once its end has passed.
    fn skip(&mut self) -> Option<Frame> {
        let (done, hunter, length) = match &mut self.state {
            FramerState::SkipLine { hunter, skipped } => {
                let end = memchr::memchr(b'\n', &self.buffer);
                let passed = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
                // The line break itself belongs to no frame.
                self.buffer.advance(usize::from(end.is_some()));
                self.searched = 0;
                self.plain = true;
                hunter.feed(&passed);
                *skipped += passed.len() as u64;
                (end.is_some(), hunter, *skipped)
            }
            FramerState::SkipBody { hunter, length, left } => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(self.buffer.len());
                let passed = self.buffer.split_to(here);
                hunter.feed(&passed);
                *left -= passed.len() as u64;
                (*left == 0, hunter, *length)
            }
            // The caller skips in the two states above only.
            FramerState::Line | FramerState::Headers { .. } | FramerState::Body { .. } => return None,
        };
        // A burst may have grown the buffer; only the unread rest is worth its memory.
        if self.buffer.capacity() > LARGE_BUFFER_BYTES {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        if !done {
            return None;
        }
        let glimpses = std::mem::take(hunter).finish();
        self.state = FramerState::Line;
        Some(Frame::TooLong { length, glimpses })
    }
}

fn strip_bom(line: Bytes) -> Bytes {
    if line.starts_with(BOM) { line.slice(BOM.len()..) } else { line }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Value of `Content-Length: 12`, in any letter case and spacing.
fn content_length(line: &[u8]) -> Option<u64> {
    let (name, value) = header(line)?;
    if !name.eq_ignore_ascii_case(b"content-length") {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn is_content_type(line: &[u8]) -> bool {
    header(line).is_some_and(|(name, _)| name.eq_ignore_ascii_case(b"content-type"))
}

fn is_header(line: &[u8]) -> bool {
    header(line).is_some_and(|(name, _)| name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-'))
}

fn header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}
