//! Cuts a byte stream into frames, whatever the sizes in which its bytes arrive.

use super::{Frame, Framing, MAX_MESSAGE_LIMIT_BYTES};
use crate::hunt::Hunter;
use bytes::{Buf, Bytes, BytesMut};

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// A buffer that held more than this is given back once its message is taken.
const LARGE_BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
enum FramerState {
    /// Within a line: a message, or (with `Content-Length`) a header or the noise before one.
    Line,
    /// A length is known; the blank line is still to come.
    Headers {
        length: u64,
    },
    Body {
        length: usize,
    },
    /// Beyond the limit: the rest passes by the hunter and is dropped.
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

/// What stands at the start of the buffer.
enum Line {
    Whole(Bytes),
    Unfinished,
    /// Beyond the limit, whole or not.
    TooLong,
}

/// What one look at the buffer has led to.
enum Step {
    Frame(Frame),
    /// No frame, but the buffer may hold one.
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
    /// So much of the buffer is known to hold no line's end.
    searched: usize,
    /// The bytes searched so far are ASCII. Found out while they are still near: a long message is not looked
    /// through for it again.
    plain: bool,
    taken_plain: bool,
    state: FramerState,
}

impl Framer {
    /// `framing` is fixed, or `None` to be told from the first bytes.
    pub fn new(framing: Option<Framing>, limit: usize) -> Self {
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

    /// Where the next bytes are to be appended.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Gives back an empty buffer.
    pub fn trim(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    /// What the stream turned out to be.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Whether the frame given last is known to be ASCII. Not known of short ones: they are looked at as a whole.
    pub fn gave_plain(&self) -> bool {
        self.taken_plain
    }

    /// The next whole frame, if there is one.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let step = match self.state {
                FramerState::Line => self.next_line(),
                FramerState::Headers { length } => self.next_header(length),
                FramerState::Body { length } => self.next_body(length),
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
                let length = content_length(&line).unwrap_or(length);
                self.state = FramerState::Headers { length };
            }
            Line::Unfinished => return Step::Wait,
            Line::TooLong => self.state = FramerState::Line,
        }
        Step::Again
    }

    fn next_body(&mut self, length: usize) -> Step {
        if self.buffer.len() < length {
            self.buffer.reserve(length - self.buffer.len());
            return Step::Wait;
        }
        self.state = FramerState::Line;
        let body = strip_bom(self.take(length));
        if is_blank(&body) { Step::Again } else { Step::Frame(Frame::Message(body)) }
    }

    /// What is left when the stream has ended: a last line without its end, or the half of something.
    pub fn end(&mut self) -> Option<Frame> {
        let rest = strip_bom(self.buffer.split().freeze());
        self.searched = 0;
        self.taken_plain = false;
        match std::mem::replace(&mut self.state, FramerState::Line) {
            FramerState::Line if is_blank(&rest) => None,
            FramerState::Line => Some(Frame::Message(rest)),
            FramerState::Headers { .. } => None,
            FramerState::Body { .. } => Some(Frame::Noise(rest)),
            FramerState::SkipLine { hunter, skipped } => {
                Some(Frame::TooLong { length: skipped, glimpses: hunter.finish() })
            }
            FramerState::SkipBody { hunter, length, .. } => {
                Some(Frame::TooLong { length, glimpses: hunter.finish() })
            }
        }
    }

    /// The next line without its end; a carriage return and a byte order mark are not part of it. Never looks
    /// twice at the same bytes.
    fn take_line(&mut self) -> Line {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.plain &= self.buffer[self.searched..].is_ascii();
            self.searched = self.buffer.len();
            return if self.searched > self.limit { Line::TooLong } else { Line::Unfinished };
        };
        let end = self.searched + at;
        let was_long = self.searched > 0;
        let plain = was_long && self.plain && self.buffer[self.searched..end].is_ascii();
        if end > self.limit {
            return Line::TooLong;
        }
        let mut line = self.take(end + 1);
        let is_crlf = end > 0 && line[end - 1] == b'\r';
        line.truncate(end - usize::from(is_crlf));
        self.taken_plain = plain;
        Line::Whole(strip_bom(line))
    }

    /// Takes bytes off the buffer. A large message takes the whole allocation along, so that it is freed with
    /// the message and the stream goes on with a small buffer.
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

    /// Decides what a line is, and what the stream is if that is still open.
    fn sort_line(&mut self, line: Bytes) -> Option<Frame> {
        if is_blank(&line) {
            return None;
        }
        let looks_like_json = matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
        match self.framing {
            Some(Framing::Newline) => return Some(Frame::Message(line)),
            // A line of JSON between framed messages is taken for what it looks like.
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
            Some(_) if is_header(&line) => None,
            Some(_) => Some(Frame::Noise(line)),
            None if is_content_type(&line) => None,
            // Undecided: let the parser say what is wrong with it.
            None => Some(Frame::Message(line)),
        }
    }

    fn begin_body(&mut self, length: u64) {
        self.state = match usize::try_from(length) {
            Ok(length) if length <= self.limit => FramerState::Body { length },
            _ => FramerState::SkipBody { hunter: Box::default(), length, left: length },
        };
    }

    /// Drops what belongs to an over-long frame; gives the frame when its end was seen.
    fn skip(&mut self) -> Option<Frame> {
        let (done, hunter, length) = match &mut self.state {
            FramerState::SkipLine { hunter, skipped } => {
                let end = memchr::memchr(b'\n', &self.buffer);
                let passed = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
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
            FramerState::Line | FramerState::Headers { .. } | FramerState::Body { .. } => return None,
        };
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

/// `Content-Length: 12`, in any case and spacing.
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
