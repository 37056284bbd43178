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

    /// The handshake in this version, with these capabilities.
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

    /// A POST of this session, ready to be sent.
    pub fn say(&self, message: &Value) -> Ask {
        self.say_text(&message.to_string())
    }

    /// A POST with this exact body.
    pub fn say_text(&self, message: &str) -> Ask {
        self.web.post(&self.path, message).header("Mcp-Session-Id", &self.session)
    }

    /// Sends a call under the next id; returns the id.
    pub fn call_of(&self, tool: &str, arguments: Value) -> (u64, Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        (id, call(id, tool, arguments))
    }

    /// Sends a call and waits for the head of its answer.
    #[track_caller]
    pub fn begin(&self, tool: &str, arguments: Value) -> Reply {
        self.say(&self.call_of(tool, arguments).1).send()
    }

    /// Sends a call and waits for its whole answer.
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

    /// Answers a request of the server.
    #[track_caller]
    pub fn answer(&self, id: &Value, result: Value) {
        let message = message::result(id, result);
        assert_eq!(self.say(&message).send().status, 202, "{message}");
    }

    /// Opens the session's own stream.
    #[track_caller]
    pub fn listen(&self) -> Reply {
        self.web.get(&self.path).header("Mcp-Session-Id", &self.session).send()
    }

    /// Opens a stream after this event.
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

/// A call with a progress token.
pub fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "progressToken": format!("token-{id}") });
    message::request(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
}

/// The answer to this request, from a body or a stream.
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
