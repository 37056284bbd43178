//! A connection of a window: to Switchboard, or to one server. It answers what it is asked, as far as it said it would.

use super::clients::Manner;
use crate::spawn;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: String,
    next: u64,
}

impl Client {
    /// Starts a program in a folder, and greets it.
    pub(super) fn open(
        argv: &[OsString],
        manner: &Manner,
        more: impl Iterator<Item = (OsString, OsString)>,
        folder: &Path,
    ) -> io::Result<Self> {
        let variables = manner.variables.iter().cloned().chain(more);
        let mut child = spawn::with_environment(argv, variables, folder)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let folder = folder.display().to_string();
        let mut client = Self { child, input, output: BufReader::new(output), folder, next: 0 };
        if manner.discovers {
            client.ask("server/discover", &json!({}))?;
        }
        let greeting = json!({
            "protocolVersion": manner.version,
            "capabilities": manner.capabilities,
            "clientInfo": manner.info,
        });
        client.ask("initialize", &greeting)?;
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn say(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.input, "{message}")
    }

    /// The answer to a request. What the other side asks meanwhile is answered.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.next += 1;
        let id = json!(self.next);
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::Error::other(format!("no answer to {method}")));
            }
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            match (message["method"].as_str(), &message["id"]) {
                (Some(asked), question) if !question.is_null() => {
                    let mut answer = json!({ "jsonrpc": "2.0", "id": question });
                    match asked {
                        "roots/list" => {
                            let root = json!({ "uri": format!("file://{}", self.folder), "name": "root" });
                            answer["result"] = json!({ "roots": [root] });
                        }
                        "ping" => answer["result"] = json!({}),
                        _ => answer["error"] = json!({ "code": -32601, "message": "unknown method" }),
                    }
                    self.say(&answer)?;
                }
                (None, answered) if *answered == id => return Ok(message),
                (Some(_) | None, _) => {}
            }
        }
    }

    /// The names of its tools, of all pages.
    pub(super) fn tools(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let answer = self.ask("tools/list", &params)?;
            let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
            names.extend(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
            match &answer["result"]["nextCursor"] {
                Value::Null => return Ok(names),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    pub(super) fn close(self) -> io::Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().map(drop)
    }
}
