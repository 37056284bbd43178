//! The server for measurements. Costs as little as possible, so that the figures show the proxies: calls and lists are
//! answered without parsing, one write answers all requests of one read, and a large text is written without a
//! copy. All other methods go to [`Server`].
//!
//! Tools: `tiny` answers a fixed text, `echo` its argument `text`, `answer` a payload of `bytes`.

use super::options::Era;
use super::{Options, Server};
use crate::wire::{self, Lines, Payload, TINY_TEXT};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Length from which a text is written in place, not copied into the batch.
const LARGE: usize = 32 * 1024;

pub struct Fast {
    server: Server,
    to_client: File,
    /// Small answers to the requests of the last read.
    batch: Vec<u8>,
    /// Puts the id behind the result, where a proxy finds it only at the end.
    id_last: bool,
    payload: Payload,
    /// The result of `tools/list`.
    tools: Vec<u8>,
    /// A tool's result up to its text.
    before_text: &'static [u8],
    /// The last text of `answer`, made once and reused.
    prepared: Vec<u8>,
}

/// A duplicate of a standard stream, which the standard library does not buffer.
pub fn unbuffered(standard: impl AsFd) -> io::Result<File> {
    standard.as_fd().try_clone_to_owned().map(File::from)
}

impl Fast {
    /// `tools` is the result of `tools/list`. Results of the modern era have the members that it demands.
    pub fn new(options: Options, payload: Payload, mut tools: String) -> io::Result<Self> {
        let before_text: &[u8] = match options.era {
            Era::Legacy | Era::Dual => br#"{"content":[{"type":"text","text":""#,
            Era::Modern => {
                tools.insert_str(1, r#""resultType":"complete","ttlMs":60000,"cacheScope":"public","#);
                br#"{"resultType":"complete","content":[{"type":"text","text":""#
            }
        };
        Ok(Self {
            to_client: unbuffered(io::stdout())?,
            batch: Vec::new(),
            id_last: options.id_last,
            server: Server::new(options, 1),
            payload,
            tools: tools.into_bytes(),
            before_text,
            prepared: Vec::new(),
        })
    }

    /// Serves until the end of the input.
    pub fn serve(mut self) -> io::Result<()> {
        let mut lines = Lines::new(unbuffered(io::stdin())?);
        loop {
            while let Some(line) = lines.buffered_line() {
                self.answer(lines.bytes(&line))?;
            }
            self.flush()?;
            if lines.fill()? == 0 {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, line: &[u8]) -> io::Result<()> {
        // A message without an id is a notification; this server ignores all of them.
        let Some(id) = wire::field(line, b"\"id\"") else { return Ok(()) };
        match wire::field(line, b"\"method\"") {
            Some(b"\"tools/call\"") => self.call(id, line),
            Some(b"\"tools/list\"") => {
                let tools = std::mem::take(&mut self.tools);
                let written = self.result(id, [b"", &tools, b""]);
                self.tools = tools;
                written
            }
            Some(_) | None => {
                self.flush()?;
                self.server.heard(line);
                Ok(())
            }
        }
    }

    fn call(&mut self, id: &[u8], line: &[u8]) -> io::Result<()> {
        match called_tool(line) {
            Some(b"\"tiny\"") => self.text(id, TINY_TEXT.as_bytes()),
            Some(b"\"echo\"") => match wire::text(line) {
                Some(range) => self.text(id, &line[range]),
                None => self.error(id, "echo needs `text`"),
            },
            Some(b"\"answer\"") => {
                let bytes = wire::field(line, b"\"bytes\"").and_then(wire::number);
                let Some(bytes) = bytes else { return self.error(id, "answer needs `bytes`") };
                let mut prepared = std::mem::take(&mut self.prepared);
                if prepared.len() != bytes as usize {
                    prepared = self.payload.text(bytes as usize);
                }
                let written = self.text(id, &prepared);
                self.prepared = prepared;
                written
            }
            Some(_) | None => self.error(id, "unknown tool"),
        }
    }

    /// A tool's result: one block of text, given as JSON spells it.
    fn text(&mut self, id: &[u8], text: &[u8]) -> io::Result<()> {
        self.result(id, [self.before_text, text, br#""}]}"#])
    }

    /// A result in three parts; the middle may be large.
    fn result(&mut self, id: &[u8], [before, body, after]: [&[u8]; 3]) -> io::Result<()> {
        self.open(id, "result");
        self.batch.extend_from_slice(before);
        if body.len() < LARGE {
            self.batch.extend_from_slice(body);
            self.batch.extend_from_slice(after);
            self.close(id);
            return Ok(());
        }
        let head = std::mem::take(&mut self.batch);
        self.batch.extend_from_slice(after);
        self.close(id);
        wire::write_parts(&self.to_client, &[&head, body, &self.batch])?;
        self.batch.clear();
        Ok(())
    }

    fn error(&mut self, id: &[u8], message: &str) -> io::Result<()> {
        self.open(id, "error");
        self.batch.extend_from_slice(format!(r#"{{"code":-32602,"message":"{message}"}}"#).as_bytes());
        self.close(id);
        Ok(())
    }

    fn open(&mut self, id: &[u8], kind: &str) {
        self.batch.push(b'{');
        if !self.id_last {
            self.batch.extend_from_slice(br#""id":"#);
            self.batch.extend_from_slice(id);
            self.batch.extend_from_slice(br#","jsonrpc":"2.0","#);
        }
        self.batch.push(b'"');
        self.batch.extend_from_slice(kind.as_bytes());
        self.batch.extend_from_slice(br#"":"#);
    }

    fn close(&mut self, id: &[u8]) {
        if self.id_last {
            self.batch.extend_from_slice(br#","jsonrpc":"2.0","id":"#);
            self.batch.extend_from_slice(id);
        }
        self.batch.extend_from_slice(b"}\n");
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.batch.is_empty() {
            self.to_client.write_all(&self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }
}

/// The name of the tool. That of the client may come before it, in `_meta`.
fn called_tool(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    loop {
        let range = wire::field_at(rest, b"\"name\"")?;
        let name = &rest[range.clone()];
        if matches!(name, b"\"tiny\"" | b"\"echo\"" | b"\"answer\"") {
            return Some(name);
        }
        rest = &rest[range.end..];
    }
}
