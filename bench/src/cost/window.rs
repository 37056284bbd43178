//! A client with one connection: to Switchboard in its default mode, or through the pump to one server. Every answer is
//! checked, so that an error does not pass for a fast answer.

use crate::spawn;
use crate::wire::{self, Lines, PROTOCOL_VERSION, TINY_TEXT};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Instant;

pub(super) struct OpenWindow {
    child: Child,
    input: ChildStdin,
    output: Lines<ChildStdout>,
    tool: String,
    next: u64,
}

impl OpenWindow {
    /// The byte pump, with the server that every program has.
    pub(super) fn pump() -> io::Result<Self> {
        let this: OsString = std::env::current_exe()?.into();
        let words = ["pump", "--", "backend", "--tools", "10"];
        let mut argv: Vec<OsString> = vec![this.clone()];
        for word in words {
            if word == "backend" {
                argv.push(this.clone());
            }
            argv.push(word.into());
        }
        Self::open(&argv, std::iter::empty(), Path::new("/"), 1)
    }

    /// Starts a program, waits until the tools of so many servers are listed, and calls one.
    pub(super) fn open(
        argv: &[OsString],
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        folder: &Path,
        servers: usize,
    ) -> io::Result<Self> {
        let mut child = spawn::with_environment(argv, variables, folder)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let mut window = Self { child, input, output: Lines::new(output), tool: String::new(), next: 1 };
        let info = json!({ "name": "cost", "version": "1" });
        window.ask(
            "initialize",
            &json!({ "protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": info }),
        )?;
        writeln!(window.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        let listed = window.ask("tools/list", &json!({}))?;
        let names = listed["result"]["tools"].as_array().into_iter().flatten();
        let mut tiny = names.filter_map(|tool| tool["name"].as_str()).filter(|name| name.ends_with("tiny"));
        window.tool = tiny.next().ok_or_else(|| io::Error::other("no tool `tiny` is listed"))?.to_owned();
        let seen = 1 + tiny.count();
        if seen != servers {
            return Err(io::Error::other(format!("{seen} of {servers} servers are listed")));
        }
        let params = json!({ "name": window.tool });
        let answer = window.ask("tools/call", &params)?;
        match answer["result"]["content"][0]["text"] == TINY_TEXT {
            true => Ok(window),
            false => Err(io::Error::other(format!("a wrong answer: {answer}"))),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let id = self.next;
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.input, "{request}")?;
        loop {
            let line = self.output.next_line()?;
            let line = line.ok_or_else(|| io::Error::other(format!("no answer to {method}")))?;
            let message: Value = serde_json::from_slice(self.output.bytes(&line))?;
            if message["id"] == json!(id) {
                return Ok(message);
            }
        }
    }

    /// Small calls with so many in flight: for every answer that a read brings a new call is sent, all in one write.
    pub(super) fn calls_per_second(&mut self, count: usize, callers: usize) -> io::Result<f64> {
        let first = self.next;
        let mut answered = vec![false; count];
        let (mut left, mut free) = (count, callers.min(count));
        let mut request = Vec::new();
        let started = Instant::now();
        while left > 0 {
            request.clear();
            let unsent = count - (self.next - first) as usize;
            for _ in 0..free.min(unsent) {
                wire::push_call(&mut request, self.next, &self.tool, &[]);
                self.next += 1;
            }
            self.input.write_all(&request)?;
            free = 0;
            if self.output.fill()? == 0 {
                return Err(io::Error::other("the connection ended"));
            }
            while let Some(line) = self.output.buffered_line() {
                let answer = self.output.bytes(&line);
                let id = wire::field(answer, b"\"id\"").and_then(wire::number).unwrap_or(0);
                let seen = id.checked_sub(first).and_then(|at| answered.get_mut(at as usize));
                match (seen, wire::field(answer, b"\"text\"")) {
                    (Some(seen), Some(b"\"ok\"")) if !*seen => *seen = true,
                    (Some(_) | None, _) if wire::field(answer, b"\"method\"").is_some() => continue,
                    (Some(_) | None, _) => {
                        let shown = String::from_utf8_lossy(answer).into_owned();
                        return Err(io::Error::other(format!("a wrong answer: {shown}")));
                    }
                }
                left -= 1;
                free += 1;
            }
        }
        Ok(count as f64 / started.elapsed().as_secs_f64())
    }

    pub(super) fn close(self) -> io::Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().map(drop)
    }
}
