//! One keep-alive connection, for measurements. Does as little as possible, so that the figures show the servers: a request
//! is one write, and an answer is looked at where it was read.

use super::Web;
use super::head::{self, Chunked, Head, Length};
use crate::message::{self, INITIALIZED};
use crate::wire;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

/// Enough for every small answer at once.
const BUFFER: usize = 8 * 1024;

pub struct KeepAlive {
    web: Web,
    path: String,
    stream: TcpStream,
    /// Each request up to its length.
    prefix: Vec<u8>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// Where the bytes end that were read.
    end: usize,
    /// The answer that is being read.
    begun: Option<Begun>,
    next_id: u64,
}

/// A head that was read, without its text.
#[derive(Clone, Copy)]
struct Begun {
    status: u16,
    is_stream: bool,
    length: Length,
    end: usize,
}

/// A complete answer.
pub struct Answer {
    pub status: u16,
    is_stream: bool,
    /// Where the head ends.
    head: usize,
    body: Body,
}

/// Where the body is.
enum Body {
    Here(Range<usize>),
    Joined(Vec<u8>),
}

impl KeepAlive {
    pub fn connect(web: &Web, path: &str) -> io::Result<Self> {
        let stream = web.connect_tcp()?;
        let prefix = web.post(path, "").prefix();
        Ok(Self {
            web: web.clone(),
            path: path.to_owned(),
            stream,
            prefix,
            request: Vec::new(),
            buffer: vec![0; BUFFER],
            end: 0,
            begun: None,
            next_id: 1,
        })
    }

    /// The handshake. Later requests name the session, if the server has begun one.
    pub fn initialize(&mut self, params: Value) -> io::Result<()> {
        let id = self.mint();
        self.post(message::request(id, "initialize", params).to_string().as_bytes())?;
        let answer = self.receive()?;
        self.message(&answer, id)?;
        if let Some(session) = self.header(&answer, "mcp-session-id") {
            self.web = self.web.with("Mcp-Session-Id", &session);
            self.prefix = self.web.post(&self.path, "").prefix();
        }
        self.post(INITIALIZED.as_bytes())?;
        match self.receive()?.status {
            202 => Ok(()),
            status => Err(io::Error::other(format!("a notification was answered with the status {status}"))),
        }
    }

    /// Closes the connection. The session lives on, and the result names it in every request.
    pub fn leave(self) -> Web {
        self.web
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn mint(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn begin(&mut self, length: usize) {
        self.request.clear();
        self.request.extend_from_slice(&self.prefix);
        wire::push_number(&mut self.request, length as u64);
        self.request.extend_from_slice(b"\r\n\r\n");
    }

    /// A small message, in one write.
    pub fn post(&mut self, message: &[u8]) -> io::Result<()> {
        self.begin(message.len());
        self.request.extend_from_slice(message);
        self.stream.write_all(&self.request)
    }

    /// A large message, from where it lies.
    pub fn post_parts(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.begin(parts.iter().map(|part| part.len()).sum());
        let all: Vec<&[u8]> = [&self.request[..]].into_iter().chain(parts.iter().copied()).collect();
        wire::write_parts(&self.stream, &all)
    }

    /// Waits for the next answer.
    pub fn receive(&mut self) -> io::Result<Answer> {
        loop {
            if let Some(answer) = self.arrived()? {
                return Ok(answer);
            }
            self.fill()?;
        }
    }

    /// One read(2).
    pub fn fill(&mut self) -> io::Result<()> {
        self.make_room();
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(io::Error::other("the connection was closed while an answer was due")),
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next answer, if all of it has been read.
    pub fn arrived(&mut self) -> io::Result<Option<Answer>> {
        if self.begun.is_none() {
            let Some(head) = Head::read(&self.buffer[..self.end])? else { return Ok(None) };
            let is_stream = |(name, value): (&str, &str)| {
                name.eq_ignore_ascii_case("content-type") && value.starts_with("text/event-stream")
            };
            self.begun = Some(Begun {
                status: head.status,
                is_stream: head.fields().any(is_stream),
                length: head.length()?,
                end: head.end,
            });
        }
        let Some(Begun { status, is_stream, length, end: start }) = self.begun else { return Ok(None) };
        let (body, end) = match length {
            Length::Known(length) if self.end < start + length => return Ok(None),
            Length::Known(length) => (Body::Here(start..start + length), start + length),
            Length::Chunked => {
                let bytes = &self.buffer[start..self.end];
                let Some(Chunked { chunks, end }) = head::chunks(bytes)? else { return Ok(None) };
                let parts: Vec<&[u8]> = chunks.into_iter().map(|range| &bytes[range]).collect();
                (Body::Joined(parts.concat()), start + end)
            }
            Length::Unknown => (Body::Here(start..start), start),
        };
        if end != self.end {
            return Err(io::Error::other("more came than one answer"));
        }
        self.begun = None;
        self.end = 0;
        Ok(Some(Answer { status, is_stream, head: start, body }))
    }

    /// A header of an answer, which is there until the next read.
    fn header(&self, answer: &Answer, name: &str) -> Option<String> {
        let head = Head::read(&self.buffer[..answer.head]).ok()??;
        let found = head.fields().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    }

    /// The message that answers the request `id`, which is there until the next read.
    pub fn message<'a>(&'a self, answer: &'a Answer, id: u64) -> io::Result<&'a [u8]> {
        let body = match &answer.body {
            Body::Here(range) => &self.buffer[range.clone()],
            Body::Joined(bytes) => bytes,
        };
        let is_it = |message: &&[u8]| wire::answered_id(message) == Some(id);
        let found = match answer.is_stream {
            true => head::messages(body).find(is_it),
            false => Some(body).filter(is_it),
        };
        found.filter(|_| answer.status == 200).ok_or_else(|| wire::wrong_answer(id, body))
    }

    /// A long answer gets its room at once; any other some, lest it be read in many pieces.
    fn make_room(&mut self) {
        let wanted = match self.begun {
            Some(Begun { length: Length::Known(length), end, .. }) => end + length,
            Some(_) | None => self.end + BUFFER / 2,
        };
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.max(self.buffer.len() * 2), 0);
        }
    }
}
