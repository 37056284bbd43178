//! `switchboard example-server`: a small MCP server for the demo, the documentation and experiments. Plain
//! blocking reads and writes, as in most servers. Must not know that a gateway is in front of it.
//!
//! # Layout
//! - this file: lines in, lines out, and the dispatch of methods.
//! - `rpc`: answers and refusals in JSON-RPC form.
//! - `tools`: `echo`, `add`, `wait`, `noise`, `crash`.
//! - `wait`: the tool that takes time, reports progress and can be cancelled.
//! - `offers`: the resource and the prompt.

mod rpc;
mod tools;
mod wait;
mod offers;

use crate::exit::Exit;
use rpc::{Answer, Refusal};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;
use tools::Outcome;
use wait::{Wait, Waits};

/// MCP versions with a handshake, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) fn run() -> anyhow::Result<Exit> {
    let mut server = Server::default();
    for line in std::io::stdin().lock().split(b'\n') {
        server.take(line?.trim_ascii());
    }
    Ok(Exit::Ok)
}

#[derive(Default)]
struct Server {
    waits: Arc<Waits>,
    calls: u64,
}

/// Result of a message.
enum Step {
    Nothing,
    Reply(Value),
    Wait(Wait),
}

impl Server {
    fn take(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(Value::Array(members)) if !members.is_empty() => self.take_batch(members),
            Ok(message) => match self.step(message) {
                Step::Nothing => {}
                Step::Reply(reply) => say(&reply),
                Step::Wait(wait) => self.wait_aside(wait),
            },
            Err(error) => {
                say(&rpc::reply(Value::Null, Err(Refusal::new(rpc::PARSE_ERROR, error.to_string()))))
            }
        }
    }

    /// Answers a batch as a whole, and waits for its slow members.
    fn take_batch(&mut self, members: Vec<Value>) {
        let mut replies = Vec::new();
        for member in members {
            match self.step(member) {
                Step::Nothing => {}
                Step::Reply(reply) => replies.push(reply),
                Step::Wait(wait) => {
                    let ticket = self.waits.enter(&wait.id);
                    replies.extend(wait.run(&ticket));
                    self.waits.leave(&wait.id);
                }
            }
        }
        if !replies.is_empty() {
            say(&Value::Array(replies));
        }
    }

    /// Waits on another thread, so that other requests, and the cancellation of
    /// this one, are served meanwhile.
    fn wait_aside(&self, wait: Wait) {
        let ticket = self.waits.enter(&wait.id);
        let waits = self.waits.clone();
        thread::spawn(move || {
            if let Some(reply) = wait.run(&ticket) {
                say(&reply);
            }
            waits.leave(&wait.id);
        });
    }

    fn step(&mut self, mut message: Value) -> Step {
        let id = message.get_mut("id").map(Value::take);
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => self.request(method, id, &params),
            (Some("notifications/cancelled"), None) => {
                self.waits.cancel(&params["requestId"]);
                Step::Nothing
            }
            (Some(_), None) => Step::Nothing,
            // An answer, although nothing was asked.
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => Step::Nothing,
            (None, id) => {
                let refusal = Refusal::new(rpc::INVALID_REQUEST, "a message has a `method`");
                Step::Reply(rpc::reply(id.unwrap_or_default(), Err(refusal)))
            }
        }
    }

    fn request(&mut self, method: &str, id: Value, params: &Value) -> Step {
        let answer = match method {
            "initialize" => Ok(greet(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(tools::list()),
            "tools/call" => {
                self.calls += 1;
                match tools::call(params) {
                    Ok(Outcome::Done(result)) => Ok(result),
                    Ok(Outcome::Wait { seconds }) => return Step::Wait(Wait::new(id, seconds, params)),
                    Err(refusal) => Err(refusal),
                }
            }
            "resources/list" => Ok(offers::resources()),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" => offers::read(params, self.calls),
            "prompts/list" => Ok(offers::prompts()),
            "prompts/get" => offers::prompt(params),
            _ => Err(Refusal::new(rpc::METHOD_NOT_FOUND, format!("Method not found: {method}"))),
        };
        Step::Reply(rpc::reply(id, answer))
    }
}

/// Answer to `initialize`: the client's version if we know it, otherwise our newest, and the client decides.
fn greet(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str();
    let version = VERSIONS.into_iter().find(|version| Some(*version) == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": {
            "name": "switchboard-example",
            "title": "Switchboard's example server",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "instructions": "A server to try things on: `echo` and `add` behave, `wait` takes its time, \
                         `noise` prints on stdout, `crash` ends the process.",
    })
}

/// Writes one message. Errors are ignored: if the reader is gone, stdin ends too, and with it the program.
fn say(message: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{message}").and_then(|()| stdout.flush());
}
