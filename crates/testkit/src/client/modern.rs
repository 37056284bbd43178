//! A client of the modern era: no handshake, and `_meta` in each request.

use super::{Client, Start};
use crate::message::{self, Profile};
use serde_json::{Value, json};
use std::ops::{Deref, DerefMut};

/// A [`Client`] that declares its version and capabilities with each request. Its own methods hide those of [`Client`]
/// with the same names.
pub struct Modern {
    client: Client,
    pub profile: Profile,
}

impl Modern {
    pub fn start(start: Start) -> Self {
        Self::of(start.start())
    }

    pub fn of(client: Client) -> Self {
        Self { client, profile: Profile::default() }
    }

    /// The client without its declarations.
    pub fn into_client(self) -> Client {
        self.client
    }

    pub fn declaring(mut self, capabilities: Value) -> Self {
        self.profile.capabilities = capabilities;
        self
    }

    /// Asks for log messages of this level and above.
    pub fn log_level(mut self, level: &str) -> Self {
        self.profile.log_level = Some(level.to_owned());
        self
    }

    /// The whole answer of `server/discover`.
    #[track_caller]
    pub fn discover(&mut self) -> Value {
        self.request("server/discover", json!({}))
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let params = self.profile.dress(params);
        self.client.ask(method, params)
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.client.answer(id)
    }

    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a request, and as often as its result is `input_required`, again with these responses and the
    /// `requestState` to the byte. Returns the last answer.
    #[track_caller]
    pub fn request_with_input(&mut self, method: &str, params: Value, responses: &Value) -> Value {
        let params = self.profile.dress(params);
        let mut id = self.client.ask(method, params.clone());
        loop {
            let (text, answer) = self.client.raw_answer(id);
            if answer["result"]["resultType"] != "input_required" {
                return answer;
            }
            let params = message::retry(&params, message::raw_result(&text), responses);
            id = self.client.ask_raw(method, &params);
        }
    }

    /// Opens a listen, waits until it is acknowledged, and returns its id and what the server agreed to.
    #[track_caller]
    pub fn listen(&mut self, notifications: Value) -> (u64, Value) {
        let id = self.ask("subscriptions/listen", json!({ "notifications": notifications }));
        let told = self.heard(id, "notifications/subscriptions/acknowledged");
        (id, told["params"]["notifications"].clone())
    }

    /// The next notification of this method for a listen.
    #[track_caller]
    pub fn heard(&mut self, listen: u64, method: &str) -> Value {
        let is_it = |value: &Value| value["method"] == method && *message::subscription(value) == listen;
        self.client.recv_where(&format!("{method} for the listen {listen}"), is_it)
    }

    pub fn cancel(&self, id: u64) {
        self.client.notify("notifications/cancelled", json!({ "requestId": id }));
    }
}

impl Deref for Modern {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Modern {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}
