//! The MCP server that every subject of the comparison talks to. It does as little as it can, so that the
//! figures show the proxies and not the server: nothing is parsed but what an answer depends on, one write
//! answers everything that one read brought, and a large text is written from where it lies.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::process::ExitCode;
use std::rc::Rc;

use crate::pump::unbuffered;
use crate::wire::{self, Lines, PROTOCOL_VERSION, Payload, TINY_TEXT};

/// From this length on a text is written in place and not copied into the batch.
const LARGE: usize = 32 * 1024;

/// What it offers unless told how many.
const TOOLS: &str = r#"{"tools":[{"name":"tiny","description":"Answers a fixed small text.","inputSchema":{"type":"object"}},{"name":"echo","description":"Answers its argument.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"answer","description":"Answers so many bytes of text.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}]}"#;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let mut id_last = false;
    let mut payload = Payload::Plain;
    let mut tools = TOOLS.to_owned();
    let mut name = "switchboard-bench";
    let mut rest = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = rest.next() {
        match argument {
            "--id-last" => id_last = true,
            "--payload" => {
                payload = rest.next().and_then(Payload::named).ok_or("--payload is `plain` or `code`")?;
            }
            "--tools" => {
                let count = rest.next().and_then(|count| count.parse().ok());
                tools = many_tools(count.ok_or("--tools is how many tools there are")?);
            }
            "--name" => name = rest.next().ok_or("--name is what the server is called")?,
            other => return Err(format!("backend: unknown argument `{other}`")),
        }
    }
    let welcome = format!(
        r#"{{"protocolVersion":"{PROTOCOL_VERSION}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"{name}","version":"{}"}}}}"#,
        env!("CARGO_PKG_VERSION")
    );
    Backend::new(id_last, payload, welcome, tools)
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
    /// The results of `initialize` and `tools/list`.
    welcome: Rc<[u8]>,
    tools: Rc<[u8]>,
    /// What `answer` answered last: a text is made once and then only written.
    prepared: Vec<u8>,
}

impl Backend {
    fn new(id_last: bool, payload: Payload, welcome: String, tools: String) -> io::Result<Self> {
        Ok(Self {
            to_client: unbuffered(io::stdout())?,
            batch: Vec::new(),
            id_last,
            payload,
            welcome: welcome.into_bytes().into(),
            tools: tools.into_bytes().into(),
            prepared: Vec::new(),
        })
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
            Some(b"\"ping\"") => self.result(id, [b"", b"{}", b""]),
            Some(b"\"tools/list\"") => self.result(id, [b"", &*self.tools.clone(), b""]),
            Some(b"\"initialize\"") => self.result(id, [b"", &*self.welcome.clone(), b""]),
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
        self.result(id, [br#"{"content":[{"type":"text","text":""#, text, br#""}]}"#])
    }

    /// A result in three parts, of which the middle may be large.
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
        write_all(&self.to_client, [&head, body, &self.batch])?;
        self.batch.clear();
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

/// A list of so many tools, each as large as real ones are. The first is `tiny`; the others are only to be seen.
fn many_tools(count: usize) -> String {
    let tool = |number: usize| {
        let name = if number == 0 { "tiny".to_owned() } else { format!("find_documents_{number:04}") };
        format!(
            r#"{{"name":"{name}","description":"Finds the documents of collection {number} that a query fits, best first, with the passages that fit it. Use this when the user asks what is known about a subject; not for a document whose path is known already.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","description":"What to look for, in plain words."}},"limit":{{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many to return at most."}},"order":{{"type":"string","enum":["rank","newest","oldest"],"default":"rank"}}}},"required":["query"],"additionalProperties":false}}}}"#
        )
    };
    format!(r#"{{"tools":[{}]}}"#, (0..count).map(tool).collect::<Vec<_>>().join(","))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_as_many_as_asked_for_and_as_large_as_real_ones() {
        let listed: serde_json::Value = serde_json::from_str(&many_tools(1_000)).unwrap();
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 1_000);
        assert_eq!(tools[0]["name"], "tiny");
        for tool in tools {
            assert!((550..=700).contains(&tool.to_string().len()), "{} bytes", tool.to_string().len());
        }
    }
}
