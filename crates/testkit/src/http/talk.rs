//! A session of MCP over Streamable HTTP.

use super::{Ask, Reply, Web};
use crate::message;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Talk {
    pub web: Web,
    pub session: String,
    /// The answer to its handshake, if it made one.
    pub greeting: Value,
    path: String,
    next: AtomicU64,
}

impl Talk {
    /// The handshake, in the newest version that has one.
    #[track_caller]
    pub fn open(web: &Web, path: &str) -> Self {
        Self::open_as(web, path, "2025-11-25", json!({}))
    }

    /// The same in this version, by a client with these capabilities.
    #[track_caller]
    pub fn open_as(web: &Web, path: &str, version: &str, capabilities: Value) -> Self {
        let mut reply = web.post(path, hello(version, capabilities).to_string()).send();
        let session = reply.header("mcp-session-id").map(str::to_owned);
        let answer = if reply.is_stream() { reply.message().unwrap_or_default() } else { reply.json() };
        let (200, Some(session), true) = (reply.status, session, answer.get("result").is_some()) else {
            panic!("no handshake: {} {answer}", reply.status);
        };
        let web = web.with("MCP-Protocol-Version", version);
        let talk = Self { greeting: answer, ..Self::of(&web, path, &session) };
        talk.notify("notifications/initialized", json!({}));
        talk
    }

    /// A session that another client began, or that does not exist.
    pub fn of(web: &Web, path: &str, session: &str) -> Self {
        Self {
            web: web.clone(),
            session: session.into(),
            greeting: Value::Null,
            path: path.into(),
            next: AtomicU64::new(1),
        }
    }

    /// A POST of this session, to be sent.
    pub fn say(&self, message: &Value) -> Ask {
        self.say_text(&message.to_string())
    }

    /// The same, of a message as it is spelled here.
    pub fn say_text(&self, message: &str) -> Ask {
        self.web.post(&self.path, message).header("Mcp-Session-Id", &self.session)
    }

    /// The next id, and a call under it.
    pub fn call_of(&self, tool: &str, arguments: Value) -> (u64, Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        (id, call(id, tool, arguments))
    }

    /// A call, as soon as the head of its answer is there.
    #[track_caller]
    pub fn begin(&self, tool: &str, arguments: Value) -> Reply {
        self.say(&self.call_of(tool, arguments).1).send()
    }

    /// A call and its whole answer.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let (id, message) = self.call_of(tool, arguments);
        answer(self.say(&message).send(), id)
    }

    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        answer(self.say(&message::request(id, method, params)).send(), id)
    }

    #[track_caller]
    pub fn notify(&self, method: &str, params: Value) {
        let message = message::notification(method, params);
        assert_eq!(self.say(&message).send().status, 202, "{message}");
    }

    /// Answers a request of the server's.
    #[track_caller]
    pub fn answer(&self, id: &Value, result: Value) {
        let message = message::result(id, result);
        assert_eq!(self.say(&message).send().status, 202, "{message}");
    }

    /// Its own stream.
    #[track_caller]
    pub fn listen(&self) -> Reply {
        self.web.get(&self.path).header("Mcp-Session-Id", &self.session).send()
    }

    /// A stream, from the event after this one on.
    #[track_caller]
    pub fn resume(&self, last: &str) -> Reply {
        let ask = self.web.get(&self.path).header("Mcp-Session-Id", &self.session);
        ask.header("Last-Event-ID", last).send()
    }

    #[track_caller]
    pub fn end(&self) -> u16 {
        self.web.delete(&self.path).header("Mcp-Session-Id", &self.session).send().status
    }
}

/// The first message of a client.
pub fn hello(version: &str, capabilities: Value) -> Value {
    message::request("hello", "initialize", message::initialize_params("testkit", version, capabilities))
}

/// A call that asks for progress.
pub fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "progressToken": format!("token-{id}") });
    message::request(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
}

/// The answer to this request, whole or out of a stream.
#[track_caller]
pub fn answer(mut reply: Reply, id: u64) -> Value {
    if !reply.is_stream() {
        return reply.json();
    }
    while let Some(message) = reply.message() {
        if message["id"] == id && message.get("method").is_none() {
            return message;
        }
    }
    panic!("the stream ended without the answer to {id}");
}
