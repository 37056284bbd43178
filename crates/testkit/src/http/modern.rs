//! A client of the modern era over HTTP: no session, and the headers that repeat the body.

use super::{Ask, Reply, Web};
use crate::message::{self, MODERN, Profile};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Modern {
    pub web: Web,
    pub profile: Profile,
    path: String,
    next: AtomicU64,
}

impl Modern {
    pub fn at(web: &Web, path: &str) -> Self {
        Self { web: web.clone(), profile: Profile::default(), path: path.into(), next: AtomicU64::new(1) }
    }

    pub fn declaring(mut self, capabilities: Value) -> Self {
        self.profile.capabilities = capabilities;
        self
    }

    pub fn log_level(mut self, level: &str) -> Self {
        self.profile.log_level = Some(level.to_owned());
        self
    }

    /// The next request's id.
    pub fn mint(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A request with its `_meta`.
    pub fn message(&self, method: &str, params: Value) -> (u64, Value) {
        let id = self.mint();
        (id, message::request(id, method, self.profile.dress(params)))
    }

    /// A POST of this message with the headers that belong to it, ready to be changed and sent.
    pub fn say(&self, message: &Value) -> Ask {
        self.say_text(&message.to_string(), message)
    }

    /// A POST with this exact body, and the headers of `message`.
    pub fn say_text(&self, body: &str, message: &Value) -> Ask {
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let ask = self.web.post(&self.path, body).header("Mcp-Method", method);
        let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let ask = ask.header("MCP-Protocol-Version", version.unwrap_or(MODERN));
        let name = match method {
            "tools/call" | "prompts/get" => &params["name"],
            "resources/read" => &params["uri"],
            "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
            _ => &Value::Null,
        };
        match name.as_str() {
            Some(name) => ask.header("Mcp-Name", &header_value(name)),
            None => ask,
        }
    }

    /// Sends a request and waits for the head of its answer.
    #[track_caller]
    pub fn begin(&self, method: &str, params: Value) -> (u64, Reply) {
        let (id, message) = self.message(method, params);
        (id, self.say(&message).send())
    }

    /// Sends a request and waits for its whole answer.
    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Value {
        let (id, reply) = self.begin(method, params);
        super::answer(reply, id)
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a request, and as often as its result is `input_required`, again with these responses and the
    /// `requestState` to the byte. Returns the last answer.
    #[track_caller]
    pub fn request_with_input(&self, method: &str, params: Value, responses: &Value) -> Value {
        let (_, message) = self.message(method, params);
        let mut body = message.to_string();
        loop {
            let text = raw_answer(self.say_text(&body, &message).send());
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            if answer["result"]["resultType"] != "input_required" {
                return answer;
            }
            let params = message::retry(&message["params"], message::raw_result(&text), responses);
            body =
                format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.mint());
        }
    }

    /// Opens a listen and reads its acknowledgement. Dropping the stream ends the listen.
    #[track_caller]
    pub fn listen(&self, notifications: Value) -> (u64, Reply) {
        let (id, mut reply) = self.begin("subscriptions/listen", json!({ "notifications": notifications }));
        if !reply.is_stream() {
            panic!("not a stream: {}", reply.text());
        }
        let first = reply.message().unwrap_or_default();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        assert_eq!(*message::subscription(&first), id, "{first}");
        (id, reply)
    }
}

/// The text of the last message in a body or a stream: the answer.
#[track_caller]
fn raw_answer(mut reply: Reply) -> String {
    if !reply.is_stream() {
        return reply.text();
    }
    let mut last = String::new();
    while let Some(event) = reply.said() {
        last = event.data;
    }
    last
}

/// The value as a header carries it: encoded if it is not plain ASCII, or looks encoded.
pub fn header_value(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_plain { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}
