//! One keep-alive connection of one client. It does as little as it can, so that the figures show the servers: a request is
//! one write, and an answer is looked at where it was read.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use super::answer::{self, Chunked, Head, Length};
use crate::run::Failure;
use crate::run::connection::answered_id;
use crate::wire::{self, PROTOCOL_VERSION};

/// Enough for every small answer at once.
const BUFFER: usize = 8 * 1024;

/// Where a server is, and by what it lets clients in.
#[derive(Clone)]
pub(in crate::run) struct Place {
    pub(super) address: SocketAddr,
    pub(super) path: String,
    /// Nothing: it asks for none.
    pub(super) token: Option<String>,
}

pub(in crate::run) struct Client {
    stream: TcpStream,
    /// What stands in every request.
    fields: Vec<u8>,
    path: String,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// Where the bytes end that were read.
    end: usize,
    /// The head of the answer that is being read.
    head: Option<Head>,
    next_id: u64,
}

/// By what a session is known, without a connection.
pub(in crate::run) struct Badge(Vec<u8>);

/// An answer that is all there.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) is_stream: bool,
    pub(super) body: Body,
}

/// Where the body is.
pub(super) enum Body {
    Here(std::ops::Range<usize>),
    Joined(Vec<u8>),
}

impl Client {
    pub(super) fn connect(place: &Place) -> Result<Self, Failure> {
        let stream = TcpStream::connect(place.address)?;
        stream.set_nodelay(true)?;
        let mut fields = format!(
            "Host: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: {PROTOCOL_VERSION}\r\n",
            place.address
        );
        if let Some(token) = &place.token {
            fields.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        Ok(Self {
            stream,
            fields: fields.into_bytes(),
            path: place.path.clone(),
            request: Vec::new(),
            buffer: vec![0; BUFFER],
            end: 0,
            head: None,
            next_id: 1,
        })
    }

    /// From here on it speaks for this session.
    pub(super) fn join(&mut self, session: &str) {
        self.fields.extend_from_slice(format!("Mcp-Session-Id: {session}\r\n").as_bytes());
    }

    /// It speaks for a session that another connection began.
    pub(super) fn speak_as(&mut self, badge: &Badge) {
        self.fields.clone_from(&badge.0);
    }

    /// Closes the connection; the session is still there.
    pub(in crate::run) fn leave(self) -> Badge {
        Badge(self.fields)
    }

    pub(super) fn mint(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn head(&mut self, method: &str, length: Option<usize>) {
        let request = &mut self.request;
        request.clear();
        request.extend_from_slice(method.as_bytes());
        request.push(b' ');
        request.extend_from_slice(self.path.as_bytes());
        request.extend_from_slice(b" HTTP/1.1\r\n");
        request.extend_from_slice(&self.fields);
        if let Some(length) = length {
            request.extend_from_slice(b"Content-Length: ");
            wire::push_number(request, length as u64);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
    }

    /// A small message, in one write.
    pub(super) fn post(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.head("POST", Some(message.len()));
        self.request.extend_from_slice(message);
        self.stream.write_all(&self.request).map_err(unwritten)
    }

    /// A large one, from where it lies.
    pub(super) fn post_parts(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        self.head("POST", Some(parts.iter().map(|part| part.len()).sum()));
        let all = [&self.request[..]].into_iter().chain(parts.iter().copied());
        let mut slices: Vec<IoSlice<'_>> = all.map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match self.stream.write_vectored(rest) {
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unwritten(error)),
            }
        }
        Ok(())
    }

    /// Opens the session's own stream, on which nothing is expected.
    pub(super) fn open_stream(&mut self) -> Result<(), Failure> {
        self.head("GET", None);
        self.stream.write_all(&self.request).map_err(unwritten)?;
        loop {
            if let Some(head) = Head::read(&self.buffer[..self.end])? {
                return match (head.status, head.is_stream) {
                    (200, true) => Ok(()),
                    (status, _) => Err(Failure(format!("no stream, but the status {status}"))),
                };
            }
            self.fill()?;
        }
    }

    /// The next answer, waited for.
    pub(super) fn receive(&mut self) -> Result<Answer, Failure> {
        loop {
            if let Some(answer) = self.arrived()? {
                return Ok(answer);
            }
            self.fill()?;
        }
    }

    /// One read(2).
    pub(super) fn fill(&mut self) -> Result<(), Failure> {
        self.make_room();
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(Failure("it closed the connection while an answer was due".to_owned())),
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next answer, if all of it has been read.
    pub(super) fn arrived(&mut self) -> Result<Option<Answer>, Failure> {
        if self.head.is_none() {
            self.head = Head::read(&self.buffer[..self.end])?;
        }
        let Some(head) = &self.head else { return Ok(None) };
        let (start, there) = (head.end, self.end);
        let (body, end) = match head.length {
            Length::Known(length) if there < start + length => return Ok(None),
            Length::Known(length) => (Body::Here(start..start + length), start + length),
            Length::Chunked => {
                let bytes = &self.buffer[start..there];
                let Some(Chunked { chunks, end }) = answer::chunks(bytes)? else { return Ok(None) };
                let parts: Vec<&[u8]> = chunks.into_iter().map(|range| &bytes[range]).collect();
                (Body::Joined(parts.concat()), start + end)
            }
        };
        if end != there {
            return Err(Failure("more came than one answer".to_owned()));
        }
        let head = self.head.take().expect("it was there just now");
        self.end = 0;
        Ok(Some(Answer { status: head.status, session: head.session, is_stream: head.is_stream, body }))
    }

    /// The message of an answer to the request `id`, which is there until the next read.
    pub(super) fn message<'a>(&'a self, answer: &'a Answer, id: u64) -> Result<&'a [u8], Failure> {
        let body = match &answer.body {
            Body::Here(range) => &self.buffer[range.clone()],
            Body::Joined(bytes) => bytes,
        };
        let is_it = |message: &&[u8]| answered_id(message) == Some(id);
        let found = match answer.is_stream {
            true => answer::messages(body).find(is_it),
            false => Some(body).filter(is_it),
        };
        found.filter(|_| answer.status == 200).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&body[..body.len().min(200)]);
            Failure(format!("wrong answer to request {id}, status {}: {shown}", answer.status))
        })
    }

    /// A long answer gets its place at once, and lest it be read in many pieces any answer has some.
    fn make_room(&mut self) {
        let wanted = match &self.head {
            Some(Head { length: Length::Known(length), end, .. }) => end + length,
            Some(_) | None => self.end + BUFFER / 2,
        };
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.max(self.buffer.len() * 2), 0);
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn unwritten(error: io::Error) -> Failure {
    Failure(format!("writing to it: {error}"))
}
