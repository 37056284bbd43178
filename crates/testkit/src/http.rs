//! A small client over HTTP, which sends exactly the bytes of a test: every header can be replaced, every connection can be
//! cut at any byte. Shares no code with the program. Every wait has a limit.
//!
//! - [`Web`]: the server's address, and headers of all requests. [`Ask`]: one request. [`Reply`]: its answer.
//! - [`Talk`]: a session of MCP. [`Modern`]: the modern era, without sessions.
//! - [`KeepAlive`]: one connection of a session, for measurements.

mod head;
mod keep_alive;
mod modern;
mod reply;
mod talk;

pub use keep_alive::KeepAlive;
pub use modern::{Modern, header_value};
pub use reply::{Event, Reply};
pub use talk::{Talk, answer, call, hello};

use crate::patience::LIMIT;
pub use reply::Wire;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The server, and the headers of every request.
#[derive(Debug, Clone)]
pub struct Web {
    place: Place,
    headers: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
enum Place {
    Tcp(SocketAddr),
    #[cfg_attr(not(unix), expect(dead_code, reason = "sockets with a path need Unix"))]
    Path(PathBuf),
}

impl Web {
    pub fn at(address: SocketAddr) -> Self {
        Self { place: Place::Tcp(address), headers: vec![("Host".into(), address.to_string())] }
    }

    pub fn at_path(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Path(path.into()), headers: vec![("Host".into(), "localhost".into())] }
    }

    /// The port, if there is one.
    pub fn port(&self) -> u16 {
        match &self.place {
            Place::Tcp(address) => address.port(),
            Place::Path(_) => 0,
        }
    }

    /// Sets a header of every request, replacing others of its name.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut web = self.without(name);
        web.headers.push((name.into(), value.into()));
        web
    }

    pub fn without(&self, name: &str) -> Self {
        let mut web = self.clone();
        web.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        web
    }

    /// A new connection.
    #[track_caller]
    pub fn connect(&self) -> Box<dyn Connection> {
        match self.try_connect() {
            Ok(connection) => connection,
            Err(error) => panic!("{:?} cannot be reached: {error}", self.place),
        }
    }

    pub fn try_connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(match &self.place {
            Place::Tcp(_) => Box::new(self.connect_tcp()?),
            #[cfg(unix)]
            Place::Path(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(LIMIT))?;
                stream.set_write_timeout(Some(LIMIT))?;
                Box::new(stream)
            }
            #[cfg(not(unix))]
            Place::Path(_) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    fn connect_tcp(&self) -> io::Result<TcpStream> {
        let Place::Tcp(address) = &self.place else { return Err(io::ErrorKind::Unsupported.into()) };
        let stream = TcpStream::connect_timeout(address, LIMIT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        Ok(stream)
    }

    pub fn get(&self, path: &str) -> Ask {
        self.ask("GET", path).header("Accept", "text/event-stream")
    }

    pub fn delete(&self, path: &str) -> Ask {
        self.ask("DELETE", path)
    }

    /// A POST with the headers of an MCP client.
    pub fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Ask {
        let mut ask = self.ask("POST", path);
        ask.body = Some(body.into());
        ask.header("Content-Type", "application/json").header("Accept", "application/json, text/event-stream")
    }

    pub fn ask(&self, method: &str, path: &str) -> Ask {
        Ask { web: self.clone(), line: format!("{method} {path} HTTP/1.1"), body: None }
    }
}

/// A stream of bytes in both directions.
pub trait Connection: Read + Write + Send {}
impl<T: Read + Write + Send> Connection for T {}

/// A request to be sent.
#[derive(Debug)]
pub struct Ask {
    web: Web,
    line: String,
    body: Option<Vec<u8>>,
}

impl Ask {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.web = self.web.with(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.web = self.web.without(name);
        self
    }

    /// Adds a header beside others of its name.
    pub fn also(mut self, name: &str, value: &str) -> Self {
        self.web.headers.push((name.into(), value.into()));
        self
    }

    /// The request's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.prefix();
        if let Some(body) = &self.body {
            bytes.extend_from_slice(body.len().to_string().as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        [&bytes[..], b"\r\n", self.body.as_deref().unwrap_or_default()].concat()
    }

    /// The head, up to the length of the body.
    fn prefix(&self) -> Vec<u8> {
        let mut text = format!("{}\r\n", self.line);
        for (name, value) in &self.web.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if self.body.is_some() {
            text += "Content-Length: ";
        }
        text.into_bytes()
    }

    /// Sends the request on a connection of its own.
    #[track_caller]
    pub fn send(self) -> Reply {
        let connection = self.web.connect();
        self.send_on(connection)
    }

    /// The same, with an error instead of a failure.
    pub fn try_send(self) -> io::Result<Reply> {
        let connection = self.web.try_connect()?;
        self.begin_on(connection).and_then(Reply::read)
    }

    #[track_caller]
    pub fn send_on(self, connection: Box<dyn Connection>) -> Reply {
        let what = self.line.clone();
        match self.begin_on(connection).and_then(Reply::read) {
            Ok(reply) => reply,
            Err(error) => panic!("{what}: {error}"),
        }
    }

    /// Sends without waiting for an answer. Dropping the result cuts the connection.
    #[track_caller]
    pub fn begin(self) -> Wire {
        let what = self.line.clone();
        let connection = self.web.connect();
        match self.begin_on(connection) {
            Ok(wire) => wire,
            Err(error) => panic!("{what}: {error}"),
        }
    }

    fn begin_on(self, mut connection: Box<dyn Connection>) -> io::Result<Wire> {
        // A server that refuses does not read the rest: its answer counts, not the failed write.
        let _ = connection.write_all(&self.to_bytes()).and_then(|()| connection.flush());
        Ok(Wire::new(connection))
    }
}

impl From<Ask> for Reply {
    #[track_caller]
    fn from(ask: Ask) -> Self {
        ask.send()
    }
}
