//! The MCP server that every subject of the comparison talks to. It does as little as it can, so that the
//! figures show the proxies and not the server: nothing is parsed but what an answer depends on, one write
//! answers everything that one read brought, and a large text is written from where it lies.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::process::ExitCode;

use crate::pump::unbuffered;
use crate::wire::{self, Lines, PROTOCOL_VERSION, Payload, TINY_TEXT};

/// From this length on a text is written in place and not copied into the batch.
const LARGE: usize = 32 * 1024;

const TOOLS: &str = r#"{"tools":[{"name":"tiny","description":"Answers a fixed small text.","inputSchema":{"type":"object"}},{"name":"echo","description":"Answers its argument.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"answer","description":"Answers so many bytes of text.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}]}"#;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let mut id_last = false;
    let mut payload = Payload::Plain;
    let mut rest = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = rest.next() {
        match argument {
            "--id-last" => id_last = true,
            "--payload" => {
                payload = rest.next().and_then(Payload::named).ok_or("--payload is `plain` or `code`")?;
            }
            other => return Err(format!("backend: unknown argument `{other}`")),
        }
    }
    Backend::new(id_last, payload)
        .and_then(|mut backend| backend.serve())
        .map_err(|e| format!("backend: {e}"))?;
    Ok(ExitCode::SUCCESS)
}

struct Backend {
    to_client: File,
    /// The small answers to what the last read brought.
    batch: Vec<u8>,
    /// The TypeScript SDK writes the id after the result, so that a proxy finds it only at the end.
    id_last: bool,
    payload: Payload,
    /// What `answer` answered last: a text is made once and then only written.
    prepared: Vec<u8>,
}

impl Backend {
    fn new(id_last: bool, payload: Payload) -> io::Result<Self> {
        let to_client = unbuffered(io::stdout())?;
        Ok(Self { to_client, batch: Vec::new(), id_last, payload, prepared: Vec::new() })
    }

    fn serve(&mut self) -> io::Result<()> {
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
        // Whatever has no id is a notification, and there is none that we would have to heed.
        let Some(id) = wire::field(line, b"\"id\"") else { return Ok(()) };
        match wire::field(line, b"\"method\"") {
            Some(b"\"tools/call\"") => self.call(id, line),
            Some(b"\"ping\"") => self.result(id, "{}"),
            Some(b"\"tools/list\"") => self.result(id, TOOLS),
            Some(b"\"initialize\"") => {
                let result = format!(
                    r#"{{"protocolVersion":"{PROTOCOL_VERSION}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"switchboard-bench","version":"{}"}}}}"#,
                    env!("CARGO_PKG_VERSION")
                );
                self.result(id, &result)
            }
            Some(_) | None => self.error(id, -32601, "method not found"),
        }
    }

    fn call(&mut self, id: &[u8], line: &[u8]) -> io::Result<()> {
        match wire::field(line, b"\"name\"") {
            Some(b"\"tiny\"") => self.text(id, TINY_TEXT.as_bytes()),
            Some(b"\"echo\"") => match wire::text(line) {
                Some(range) => self.text(id, &line[range]),
                None => self.error(id, -32602, "echo wants `text`"),
            },
            Some(b"\"answer\"") => {
                let bytes = wire::field(line, b"\"bytes\"")
                    .and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
                let Some(bytes) = bytes else { return self.error(id, -32602, "answer wants `bytes`") };
                let mut prepared = std::mem::take(&mut self.prepared);
                if prepared.len() != bytes {
                    prepared = self.payload.text(bytes);
                }
                let written = self.text(id, &prepared);
                self.prepared = prepared;
                written
            }
            Some(_) | None => self.error(id, -32602, "unknown tool"),
        }
    }

    /// A tool's result: one block of text, given as JSON spells it.
    fn text(&mut self, id: &[u8], text: &[u8]) -> io::Result<()> {
        self.open(id, "result");
        self.batch.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
        if text.len() < LARGE {
            self.batch.extend_from_slice(text);
            self.batch.extend_from_slice(br#""}]}"#);
            self.close(id);
            return Ok(());
        }
        let before = std::mem::take(&mut self.batch);
        self.batch.extend_from_slice(br#""}]}"#);
        self.close(id);
        write_all(&self.to_client, [&before, text, &self.batch])?;
        self.batch.clear();
        Ok(())
    }

    fn result(&mut self, id: &[u8], result: &str) -> io::Result<()> {
        self.open(id, "result");
        self.batch.extend_from_slice(result.as_bytes());
        self.close(id);
        Ok(())
    }

    fn error(&mut self, id: &[u8], code: i32, message: &str) -> io::Result<()> {
        self.open(id, "error");
        self.batch.extend_from_slice(format!(r#"{{"code":{code},"message":"{message}"}}"#).as_bytes());
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

fn write_all(mut to: &File, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut slices = parts.map(IoSlice::new);
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        match to.write_vectored(rest) {
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
