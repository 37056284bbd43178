//! A client without threads and time limits, for measurements: a call is one write and usually one read, and an answer is
//! read in place. Errors are returned; the caller decides how long to wait.

use crate::message::{self, INITIALIZED};
use crate::wire::{self, Lines};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};

/// A running program, and the pipes to it.
pub struct Program {
    pub child: Child,
    pub pipes: Pipes,
}

/// Both pipes of a program.
pub struct Pipes {
    to: ChildStdin,
    lines: Lines<ChildStdout>,
    next_id: u64,
    /// The answer to `roots/list`.
    roots: Value,
}

impl Program {
    pub(super) fn adopt(mut child: Child) -> io::Result<Self> {
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the program has no pipes"));
        };
        let pipes = Pipes { to, lines: Lines::new(from), next_id: 1, roots: json!([]) };
        Ok(Self { child, pipes })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes both pipes, and waits for the program's end.
    pub fn close(self) -> io::Result<ExitStatus> {
        let Self { mut child, pipes } = self;
        drop(pipes);
        child.wait()
    }
}

impl Deref for Program {
    type Target = Pipes;

    fn deref(&self) -> &Pipes {
        &self.pipes
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Pipes {
        &mut self.pipes
    }
}

impl Pipes {
    /// The writing end.
    pub fn input(&self) -> &ChildStdin {
        &self.to
    }

    /// Closes the writing end.
    pub fn close_input(self) -> Lines<ChildStdout> {
        self.lines
    }

    pub fn lines(&mut self) -> &mut Lines<ChildStdout> {
        &mut self.lines
    }

    pub fn set_roots(&mut self, roots: Value) {
        self.roots = roots;
    }

    /// The id of the next request.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    pub fn mint(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    /// Sends one message as a line.
    pub fn say(&mut self, message: &Value) -> io::Result<()> {
        self.send(format!("{message}\n").as_bytes())
    }

    /// The answer to the request `id`, which is the only one in flight. Any other message, apart from requests and
    /// notifications of the server, is an error, so that a broken proxy does not look fast.
    pub fn receive(&mut self, id: u64) -> io::Result<&[u8]> {
        loop {
            let line = self.lines.next_line()?.ok_or_else(ended)?;
            let answer = self.lines.bytes(&line);
            if wire::answered_id(answer) == Some(id) {
                return Ok(self.lines.bytes(&line));
            }
            if !wire::is_notice(answer) {
                return Err(wire::wrong_answer(id, answer));
            }
        }
    }

    /// Sends a request and returns its whole answer. Answers requests of the server meanwhile, and skips lines that are not
    /// JSON, since some servers print them.
    pub fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.mint();
        self.say(&message::request(id, method, params))?;
        loop {
            let line = self.lines.next_line()?.ok_or_else(ended)?;
            let message: Value = serde_json::from_slice(self.lines.bytes(&line)).unwrap_or_default();
            match (message["method"].as_str(), &message["id"]) {
                (Some(asked), question) if !question.is_null() => {
                    let answer = self.answer_to(asked, question);
                    self.say(&answer)?;
                }
                (None, answered) if *answered == id => return Ok(message),
                (Some(_) | None, _) => {}
            }
        }
    }

    /// Our answer to a request of the server.
    fn answer_to(&self, method: &str, id: &Value) -> Value {
        match method {
            "roots/list" => message::result(id, json!({ "roots": self.roots })),
            "ping" => message::result(id, json!({})),
            _ => {
                let error = json!({ "code": -32601, "message": "unknown method" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        }
    }

    /// The handshake. Returns the whole answer.
    pub fn initialize(&mut self, params: Value) -> io::Result<Value> {
        let answer = self.request("initialize", params)?;
        self.send(format!("{INITIALIZED}\n").as_bytes())?;
        Ok(answer)
    }

    /// The names of all tools, over all pages.
    pub fn tools(&mut self) -> io::Result<Vec<String>> {
        let (mut names, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.request("tools/list", params)?;
            let tools = answer["result"]["tools"].as_array().into_iter().flatten();
            names.extend(tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
            match &answer["result"]["nextCursor"] {
                Value::Null => return Ok(names),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }
}

pub fn ended() -> io::Error {
    io::Error::other("the program ended, or closed its stdout, while answers were due")
}
