//! Features that each pair of a front and a server has to carry. Each returns a value that must be the same
//! without us.

use super::fronts::Line;
use crate::real::talk::agree;
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::patience;

pub(super) type Feature = fn(&mut Guest) -> Value;

pub(super) const FEATURES: [(&str, Feature); 16] = [
    ("ping", |guest| guest.request("ping", json!({}))),
    ("roots", roots),
    ("tools/list", |guest| guest.request("tools/list", json!({}))),
    ("tools/call", |guest| guest.call("echo", json!({ "message": "Grüße 😀" }))),
    ("an error", |guest| guest.call("no-such-tool", json!({}))),
    ("progress", progress),
    ("cancellation", cancellation),
    ("logging", logging),
    ("resources", resources),
    ("subscriptions", subscriptions),
    ("prompts", prompts),
    ("completion", completion),
    ("sampling", |guest| guest.call("trigger-sampling-request", json!({ "prompt": "p", "maxTokens": 20 }))),
    ("elicitation", |guest| guest.call("trigger-elicitation-request", json!({}))),
    ("list_changed", list_changed),
    ("a large answer", large),
];

const URI: &str = "demo://resource/dynamic/text/1";

/// A client that agrees to every request.
pub(super) struct Guest {
    line: Box<dyn Line>,
    asked: u64,
    /// Messages that arrived while another was awaited.
    aside: Vec<Value>,
}

impl Guest {
    pub(super) fn new(line: Box<dyn Line>) -> Self {
        Self { line, asked: 0, aside: Vec::new() }
    }

    #[track_caller]
    pub(super) fn greet(&mut self) {
        let capabilities = json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} });
        let info = json!({ "name": "matrix", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info });
        let welcome = self.request("initialize", params);
        assert!(welcome.get("result").is_some(), "{welcome}");
        self.notify("notifications/initialized", json!({}));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.line.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.line.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        json!(self.asked)
    }

    /// Sends a request; returns its answer without the id, which depends on the number of requests before.
    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(&id);
        answer["id"].take();
        answer
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    #[track_caller]
    fn answer(&mut self, id: &Value) -> Value {
        self.hear(|message| message.get("id") == Some(id) && message.get("method").is_none())
    }

    #[track_caller]
    fn told(&mut self, method: &str) -> Value {
        self.hear(|message| message["method"] == method)
    }

    /// The first matching message, of those received and those to come.
    #[track_caller]
    fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&is_it) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.line.recv();
            if message.get("id").is_some() && message.get("method").is_some() {
                let mut reply = agree(&message).unwrap_or_default();
                reply["jsonrpc"] = json!("2.0");
                reply["id"] = message["id"].clone();
                self.line.send(&reply);
            }
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }
}

/// The server requests the roots after the handshake, and knows them a little later.
fn roots(guest: &mut Guest) -> Value {
    guest.told("roots/list");
    patience::until("the roots are known", || {
        let answer = guest.call("get-roots-list", json!({}));
        answer.to_string().contains("two%20words").then_some(answer)
    })
}

fn operation(seconds: f64, token: &str) -> Value {
    let arguments = json!({ "duration": seconds, "steps": 2 });
    json!({ "name": "trigger-long-running-operation", "arguments": arguments, "_meta": { "progressToken": token } })
}

/// Both notifications come before the answer.
fn progress(guest: &mut Guest) -> Value {
    let answer = guest.request("tools/call", operation(0.1, "p"));
    let is_progress = |message: &Value| message["params"]["progressToken"] == "p";
    let told: Vec<Value> = guest.aside.extract_if(.., |message| is_progress(message)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    json!([told, answer])
}

/// A cancelled call gets no answer, although a longer one does.
fn cancellation(guest: &mut Guest) -> Value {
    let id = guest.ask("tools/call", operation(0.4, "c"));
    guest.hear(|message| message["params"]["progressToken"] == "c");
    guest.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    let answer = guest.request("tools/call", operation(0.8, "d"));
    let late = guest.aside.iter().find(|message| message["id"] == id && message.get("method").is_none());
    assert_eq!(late, None);
    answer
}

fn logging(guest: &mut Guest) -> Value {
    let set = guest.request("logging/setLevel", json!({ "level": "debug" }));
    // Earlier messages were about roots.
    guest.aside.retain(|message| message["method"] != "notifications/message");
    guest.call("toggle-simulated-logging", json!({}));
    let heard = guest.told("notifications/message");
    assert!(heard["params"]["level"].is_string(), "{heard}");
    guest.call("toggle-simulated-logging", json!({}));
    set
}

fn resources(guest: &mut Guest) -> Value {
    json!([
        guest.request("resources/list", json!({})),
        guest.request("resources/templates/list", json!({})),
        guest.request("resources/read", json!({ "uri": "demo://resource/static/document/features.md" })),
        guest.request("resources/read", json!({ "uri": "demo://nowhere" })),
    ])
}

fn subscriptions(guest: &mut Guest) -> Value {
    let subscribed = guest.request("resources/subscribe", json!({ "uri": URI }));
    guest.call("toggle-subscriber-updates", json!({}));
    let updated = guest.told("notifications/resources/updated");
    guest.call("toggle-subscriber-updates", json!({}));
    json!([subscribed, updated, guest.request("resources/unsubscribe", json!({ "uri": URI }))])
}

fn prompts(guest: &mut Guest) -> Value {
    let one = json!({ "name": "args-prompt", "arguments": { "city": "Zürich" } });
    json!([guest.request("prompts/list", json!({})), guest.request("prompts/get", one)])
}

fn completion(guest: &mut Guest) -> Value {
    let reference = json!({ "type": "ref/prompt", "name": "completable-prompt" });
    let argument = json!({ "name": "department", "value": "S" });
    guest.request("completion/complete", json!({ "ref": reference, "argument": argument }))
}

/// Uses a tool that makes a resource.
fn list_changed(guest: &mut Guest) -> Value {
    let is_it = |message: &Value| message["method"] == "notifications/resources/list_changed";
    guest.aside.retain(|message| !is_it(message));
    let data = "data:text/plain;base64,SGVsbG8=";
    let made = guest
        .call("gzip-file-as-resource", json!({ "name": "x.gz", "data": data, "outputType": "resourceLink" }));
    guest.hear(is_it);
    json!([made, guest.request("resources/list", json!({}))])
}

fn large(guest: &mut Guest) -> Value {
    let message = "äb\\\"\n".repeat((1 << 20) / 6);
    let answer = guest.call("echo", json!({ "message": message }));
    let echo = text(&answer);
    assert!(echo.ends_with(&message), "{} bytes", echo.len());
    json!(echo.len())
}
