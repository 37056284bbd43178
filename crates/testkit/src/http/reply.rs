//! The answer to a request: its head at once, its body as it arrives.

use super::Connection;
use super::head::{Head, Length};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read};

/// A connection on which a request was made.
pub type Wire = BufReader<Box<dyn Connection>>;

/// An answer, starting with its head.
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    wire: Wire,
    body: Body,
}

enum Body {
    /// Number of bytes to come.
    Sized(u64),
    /// Rest of the current chunk, in bytes.
    Pieces(u64),
    /// Up to the end of the connection.
    Rest,
    Over,
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    pub id: Option<String>,
    pub kind: Option<String>,
    pub data: String,
}

impl Event {
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.data) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {:?}", self.data),
        }
    }
}

impl Reply {
    pub fn read(mut wire: Wire) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let head = loop {
            if wire.read_until(b'\n', &mut bytes)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if bytes.ends_with(b"\r\n\r\n")
                && let Some(head) = Head::read(&bytes)?
            {
                break head;
            }
        };
        if head.status == 100 {
            return Self::read(wire);
        }
        let headers = head.fields().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let body = match head.length {
            Length::Known(length) => Body::Sized(length as u64),
            Length::Chunked => Body::Pieces(0),
            Length::Unknown => Body::Rest,
        };
        Ok(Self { status: head.status, headers: headers.collect(), wire, body })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn kind(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    pub fn is_stream(&self) -> bool {
        self.kind() == "text/event-stream"
    }

    /// The whole body.
    #[track_caller]
    pub fn whole(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.read_to_end(&mut bytes) {
            Ok(_) => bytes,
            Err(error) => panic!("after {} bytes: {error}", bytes.len()),
        }
    }

    #[track_caller]
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.whole()).into_owned()
    }

    #[track_caller]
    pub fn json(&mut self) -> Value {
        let bytes = self.whole();
        match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {:?}", String::from_utf8_lossy(&bytes)),
        }
    }

    /// The next event; `None` at the stream's end. Comments are skipped.
    #[track_caller]
    pub fn event(&mut self) -> Option<Event> {
        let (mut event, mut is_any) = (Event::default(), false);
        loop {
            let line = self.body_line()?;
            let Some((name, value)) = line.split_once(':') else {
                if line.is_empty() && std::mem::take(&mut is_any) {
                    return Some(event);
                }
                continue;
            };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "id" => event.id = Some(value.to_owned()),
                "event" => event.kind = Some(value.to_owned()),
                "data" => event.data += value,
                _ => continue,
            }
            is_any = true;
        }
    }

    /// The next event with data; `None` at the stream's end.
    #[track_caller]
    pub fn said(&mut self) -> Option<Event> {
        loop {
            let event = self.event()?;
            if !event.data.is_empty() {
                return Some(event);
            }
        }
    }

    /// The message in the next event with data.
    #[track_caller]
    pub fn message(&mut self) -> Option<Value> {
        self.said().map(|event| event.json())
    }

    /// Reads this many bytes of the body, as they arrive.
    #[track_caller]
    pub fn some(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        match self.read_exact(&mut bytes) {
            Ok(()) => bytes,
            Err(error) => panic!("there were not {count} bytes: {error}"),
        }
    }

    /// The connection, after the whole body.
    #[track_caller]
    pub fn again(mut self) -> Box<dyn Connection> {
        self.whole();
        self.wire.into_inner()
    }

    #[track_caller]
    fn body_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            match Read::read(self, &mut byte) {
                Ok(0) => return None,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) => line.push(byte[0]),
                // An incomplete line does not count.
                Err(error) if is_cut(&error) => return None,
                Err(error) => panic!("after {:?}: {error}", String::from_utf8_lossy(&line)),
            }
        }
        Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
    }
}

fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl Read for Reply {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Body::Pieces(0) = self.body {
            let size = line(&mut self.wire)?;
            let size = size.split(';').next().unwrap_or_default().trim();
            let size =
                u64::from_str_radix(size, 16).map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            self.body = match size {
                0 => {
                    line(&mut self.wire)?;
                    Body::Over
                }
                size => Body::Pieces(size),
            };
        }
        let left = match &mut self.body {
            Body::Sized(left) | Body::Pieces(left) => left,
            Body::Rest => return self.wire.read(into),
            Body::Over => return Ok(0),
        };
        if *left == 0 {
            return Ok(0);
        }
        let most = into.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        let got = self.wire.read(&mut into[..most])?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *left -= got as u64;
        if let Body::Pieces(0) = self.body {
            line(&mut self.wire)?;
        }
        Ok(got)
    }
}

/// The line without its end.
fn line(wire: &mut Wire) -> io::Result<String> {
    let mut line = String::new();
    if wire.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}
