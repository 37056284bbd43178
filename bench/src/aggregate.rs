//! The floor for many servers as one: the least that an aggregator can cost. Cuts the prefix off a tool's name, replaces the
//! client's id with a number of its own, and back again. Supports nothing else: no lists, no errors, no server that ends
//! early, and no more in flight than pipes hold.
//!
//! A single thread serves all. With a thread for each server, the latency of one caller was the same, and many callers got
//! fewer calls through, since concurrent answers were no longer written together.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, Stdio};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use switchboard_testkit::client::Start;
use switchboard_testkit::fake::unbuffered;
use switchboard_testkit::wire::{self, Lines, PROTOCOL_VERSION};

/// Prefix of the server names, which a number follows, and the separator between that and a tool's name.
pub(crate) const SERVER: &str = "s";
pub(crate) const BETWEEN: &str = "__";

const USAGE: &str = "usage: switchboard-bench aggregate --servers N -- COMMAND ARGS…";
/// Identifies the ready descriptor: the client's, or that of the server with this number.
const CLIENT: u64 = u64::MAX;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let (servers, command) = match arguments {
        [flag, servers, dashes, command @ ..] if flag == "--servers" && dashes == "--" => (servers, command),
        _ => return Err(USAGE.to_owned()),
    };
    let servers = servers.to_str().and_then(|servers| servers.parse().ok()).ok_or(USAGE)?;
    let run = || Aggregator::start(servers, command)?.serve();
    run().map_err(|error| format!("aggregate: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

struct Server {
    child: Child,
    to: ChildStdin,
    lines: Lines<ChildStdout>,
    /// Requests of the client's last write.
    batch: Vec<u8>,
}

struct Aggregator {
    servers: Vec<Server>,
    from_client: Lines<File>,
    to_client: File,
    answers: Vec<u8>,
    waiting: Waiting,
}

impl Aggregator {
    fn start(servers: usize, command: &[OsString]) -> io::Result<Self> {
        let start = |number: usize| {
            let name = [OsString::from("--name"), format!("{SERVER}{number}").into()];
            let argv: Vec<OsString> = command.iter().cloned().chain(name).collect();
            let mut child = Start::plain(&argv).stderr(Stdio::inherit()).spawn()?;
            let to = child.stdin.take().expect("stdin was asked to be a pipe");
            let lines = Lines::new(child.stdout.take().expect("stdout was asked to be a pipe"));
            Ok(Server { child, to, lines, batch: Vec::new() })
        };
        Ok(Self {
            servers: (0..servers).map(start).collect::<io::Result<_>>()?,
            from_client: Lines::new(unbuffered(io::stdin())?),
            to_client: unbuffered(io::stdout())?,
            answers: Vec::new(),
            waiting: Waiting::default(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&queue, self.from_client.source(), EventData::new_u64(CLIENT), EventFlags::IN)?;
        for (number, server) in self.servers.iter().enumerate() {
            epoll::add(&queue, server.lines.source(), EventData::new_u64(number as u64), EventFlags::IN)?;
        }
        let mut ready = Vec::with_capacity(self.servers.len() + 1);
        loop {
            match epoll::wait(&queue, spare_capacity(&mut ready), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in ready.drain(..) {
                match event.data.u64() {
                    CLIENT if self.from_client.fill()? == 0 => return self.end(),
                    CLIENT => self.requests()?,
                    number => self.answers_of(number as usize)?,
                }
            }
            flush(&self.to_client, &mut self.answers)?;
        }
    }

    /// Forwards the requests of one read from the client.
    fn requests(&mut self) -> io::Result<()> {
        while let Some(line) = self.from_client.buffered_line() {
            let line = self.from_client.bytes(&line);
            let Some(id) = wire::field_at(line, b"\"id\"") else { continue };
            match called(line) {
                Some((number, prefix)) => {
                    let ours = self.waiting.insert(&line[id.clone()]);
                    push_request(&mut self.servers[number].batch, line, (id, ours), prefix);
                }
                None => push_welcome(&mut self.answers, &line[id]),
            }
        }
        for server in &mut self.servers {
            flush(&server.to, &mut server.batch)?;
        }
        Ok(())
    }

    /// Forwards the answers of one read from a server.
    fn answers_of(&mut self, number: usize) -> io::Result<()> {
        let lines = &mut self.servers[number].lines;
        if lines.fill()? == 0 {
            return Err(io::Error::other(format!("server {number} has ended")));
        }
        while let Some(line) = lines.buffered_line() {
            let line = lines.bytes(&line);
            let Some(ours) = wire::field_at(line, b"\"id\"") else { continue };
            let Some(theirs) = wire::number(&line[ours.clone()]).and_then(|ours| self.waiting.remove(ours))
            else {
                continue;
            };
            self.answers.extend_from_slice(&line[..ours.start]);
            self.answers.extend_from_slice(&theirs);
            self.answers.extend_from_slice(&line[ours.end..]);
            self.answers.push(b'\n');
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        for Server { mut child, to, lines, .. } in self.servers {
            drop((to, lines));
            child.wait()?;
        }
        Ok(())
    }
}

/// The clients' ids, by the numbers sent to the servers.
#[derive(Default)]
struct Waiting {
    /// The number of the first in `ids`.
    first: u64,
    /// `None` for a request that was answered before an earlier one.
    ids: VecDeque<Option<Box<[u8]>>>,
}

impl Waiting {
    fn insert(&mut self, id: &[u8]) -> u64 {
        self.ids.push_back(Some(id.into()));
        self.first + self.ids.len() as u64 - 1
    }

    fn remove(&mut self, number: u64) -> Option<Box<[u8]>> {
        let id = self.ids.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)?.take();
        while let Some(None) = self.ids.front() {
            self.ids.pop_front();
            self.first += 1;
        }
        id
    }
}

/// The server of a called tool, and the span of the prefix that names it.
fn called(line: &[u8]) -> Option<(usize, Range<usize>)> {
    let name = wire::field_at(line, b"\"name\"")?;
    let start = name.start + 1;
    let rest = line[start..name.end].strip_prefix(SERVER.as_bytes())?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = wire::number(&rest[..digits])?;
    rest[digits..].starts_with(BETWEEN.as_bytes()).then_some(())?;
    Some((number as usize, start..start + SERVER.len() + digits + BETWEEN.len()))
}

/// Appends the request in the server's form. The id is before or after the name.
fn push_request(out: &mut Vec<u8>, line: &[u8], (id, ours): (Range<usize>, u64), prefix: Range<usize>) {
    if id.start < prefix.start {
        out.extend_from_slice(&line[..id.start]);
        wire::push_number(out, ours);
        out.extend_from_slice(&line[id.end..prefix.start]);
        out.extend_from_slice(&line[prefix.end..]);
    } else {
        out.extend_from_slice(&line[..prefix.start]);
        out.extend_from_slice(&line[prefix.end..id.start]);
        wire::push_number(out, ours);
        out.extend_from_slice(&line[id.end..]);
    }
    out.push(b'\n');
}

/// Answers `initialize`, which is the only request that is not a call.
fn push_welcome(out: &mut Vec<u8>, id: &[u8]) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    out.extend_from_slice(br#","result":{"capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"0"},"protocolVersion":""#);
    out.extend_from_slice(PROTOCOL_VERSION.as_bytes());
    out.extend_from_slice(b"\"}}\n");
}

fn flush(mut to: impl Write, batch: &mut Vec<u8>) -> io::Result<()> {
    if !batch.is_empty() {
        to.write_all(batch)?;
        batch.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_loses_prefix_and_id() {
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"s12__tiny"}}"#,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"tiny\"}}\n",
            ),
            (r#"{"params":{"name":"s12__tiny"},"id":3}"#, "{\"params\":{\"name\":\"tiny\"},\"id\":7}\n"),
        ] {
            let (number, prefix) = called(line.as_bytes()).unwrap();
            let id = wire::field_at(line.as_bytes(), b"\"id\"").unwrap();
            let mut out = Vec::new();
            push_request(&mut out, line.as_bytes(), (id, 7), prefix);
            assert_eq!((number, str::from_utf8(&out).unwrap()), (12, expected));
        }
        assert_eq!(
            called(br#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"some"}}}"#),
            None
        );
    }

    #[test]
    fn id_comes_back_once_in_any_order() {
        let mut waiting = Waiting::default();
        let numbers: Vec<u64> = (0..4_u8).map(|id| waiting.insert(&[id])).collect();
        for index in [2, 0, 3, 1] {
            assert_eq!(waiting.remove(numbers[index]).as_deref(), Some(&[index as u8][..]));
            assert_eq!(waiting.remove(numbers[index]), None);
        }
        assert_eq!(waiting.insert(b"x"), 4);
    }
}
