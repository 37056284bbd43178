//! A keep-alive connection, for measurements. Does as little as possible, so that the figures show the servers: a request
//! is one write, and an answer is read in place.

use super::Web;
use super::head::{self, Chunked, Head, Length};
use crate::message::{self, INITIALIZED};
use crate::wire;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Buffer size that holds every small answer at once.
const BUFFER: usize = 8 * 1024;
/// Length from which a message is not copied behind its head.
const LARGE: usize = 32 * 1024;

pub struct KeepAlive {
    web: Web,
    path: String,
    stream: TcpStream,
    /// Head of each request up to its length.
    prefix: Vec<u8>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// End of the bytes that were read.
    end: usize,
    /// The answer that is being read.
    begun: Option<Begun>,
    /// The last complete answer, until the next read.
    answer: Option<Answer>,
    next_id: u64,
}

/// A parsed head, without its text.
#[derive(Clone, Copy)]
struct Begun {
    status: u16,
    is_stream: bool,
    length: Length,
    end: usize,
}

/// The parts of a complete answer that are not in the buffer.
struct Answer {
    begun: Begun,
    /// Chunks of a chunked body.
    joined: Option<Vec<u8>>,
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
            answer: None,
            next_id: 1,
        })
    }

    /// The handshake. Later requests name the session, if the server has begun one.
    pub fn initialize(&mut self, params: Value) -> io::Result<()> {
        let id = self.mint();
        self.post(message::request(id, "initialize", params).to_string().as_bytes())?;
        self.receive(id)?;
        if let Some(session) = self.header("mcp-session-id") {
            self.web = self.web.with("Mcp-Session-Id", &session);
            self.prefix = self.web.post(&self.path, "").prefix();
        }
        self.post(INITIALIZED.as_bytes())?;
        match self.next_status()? {
            202 => Ok(()),
            status => Err(io::Error::other(format!("a notification was answered with the status {status}"))),
        }
    }

    /// Closes the connection. The session stays open, and the result names it in every request.
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

    /// Sends a message in one write; a large one without a copy.
    pub fn post(&mut self, message: &[u8]) -> io::Result<()> {
        let message = message.trim_ascii_end();
        self.request.clear();
        self.request.extend_from_slice(&self.prefix);
        wire::push_number(&mut self.request, message.len() as u64);
        self.request.extend_from_slice(b"\r\n\r\n");
        if message.len() > LARGE {
            return wire::write_parts(&self.stream, &[&self.request, message]);
        }
        self.request.extend_from_slice(message);
        self.stream.write_all(&self.request)
    }

    /// Waits for the answer to the request `id`, which is valid until the next read.
    pub fn receive(&mut self, id: u64) -> io::Result<&[u8]> {
        self.next_status()?;
        self.message(id)
    }

    fn next_status(&mut self) -> io::Result<u16> {
        loop {
            if let Some(status) = self.arrived()? {
                return Ok(status);
            }
            self.fill()?;
        }
    }

    /// A single read(2).
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

    /// The status of the next answer, if all of it has been read.
    pub fn arrived(&mut self) -> io::Result<Option<u16>> {
        if self.begun.is_none() {
            let Some(head) = Head::read(&self.buffer[..self.end])? else { return Ok(None) };
            let Head { status, length, is_stream, end, .. } = head;
            self.begun = Some(Begun { status, is_stream, length, end });
        }
        let Some(begun @ Begun { length, end: start, .. }) = self.begun else { return Ok(None) };
        let (joined, end) = match length {
            Length::Known(length) if self.end < start + length => return Ok(None),
            Length::Known(length) => (None, start + length),
            Length::Chunked => {
                let bytes = &self.buffer[start..self.end];
                let Some(Chunked { chunks, end }) = head::chunks(bytes)? else { return Ok(None) };
                let parts: Vec<&[u8]> = chunks.into_iter().map(|range| &bytes[range]).collect();
                (Some(parts.concat()), start + end)
            }
            Length::Unknown => (None, start),
        };
        if end != self.end {
            return Err(io::Error::other("more came than one answer"));
        }
        self.begun = None;
        self.end = 0;
        self.answer = Some(Answer { begun, joined });
        Ok(Some(begun.status))
    }

    /// A header of the last answer.
    fn header(&self, name: &str) -> Option<String> {
        let head = Head::read(&self.buffer[..self.answer.as_ref()?.begun.end]).ok()??;
        let found = head.fields().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    }

    /// The message of the last answer, which must answer the request `id`.
    pub fn message(&self, id: u64) -> io::Result<&[u8]> {
        let none = || io::Error::other("no answer was received");
        let Answer { begun, joined } = self.answer.as_ref().ok_or_else(none)?;
        let body = match (joined, begun.length) {
            (Some(joined), _) => joined,
            (None, Length::Known(length)) => &self.buffer[begun.end..begun.end + length],
            (None, Length::Chunked | Length::Unknown) => &[][..],
        };
        let is_it = |message: &&[u8]| wire::answered_id(message) == Some(id);
        let found = match begun.is_stream {
            true => head::messages(body).find(is_it),
            false => Some(body).filter(is_it),
        };
        found.filter(|_| begun.status == 200).ok_or_else(|| wire::wrong_answer(id, body))
    }

    /// Reserves room: for a long answer all of it, otherwise enough to avoid many small reads.
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
