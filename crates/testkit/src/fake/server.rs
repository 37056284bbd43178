//! The server itself: answers the methods that every server has, and leaves calls to the tools.

use super::modern::{self, ModernState};
use super::offer::Offer;
use super::options::{Framing, Options};
use super::template::Blanks;
use super::{stdio, tools};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

/// The parts of a message that this server reads.
pub(super) struct Heard<'a> {
    /// The id as spelled by the client.
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<String>,
    pub(super) params: Value,
    /// The bytes of `params`; empty if there are none.
    pub(super) raw_params: &'a str,
    pub(super) token: String,
    pub(super) text: &'a str,
}

/// A call that is held.
pub(super) struct Held {
    pub(super) id: String,
    pub(super) label: Value,
}

/// A call that waits for the client's answer.
pub(super) struct Asking {
    pub(super) id: String,
    /// Time that the server works before it asks, and again before it answers.
    pub(super) work: Duration,
    /// A second request, which follows the answer to the first: its id, and the whole message.
    pub(super) then: Option<(String, Vec<u8>)>,
}

pub struct Server {
    pub(super) options: Options,
    launch: u32,
    answers: u32,
    deaf: bool,
    /// Calls of `hold`, until `release`.
    pub(super) held: Vec<Held>,
    /// Calls of `ask`, by the id of the request to the client.
    pub(super) asked: BTreeMap<String, Asking>,
    /// Accounts for which the client was told to open a URL first.
    pub(super) logins: BTreeSet<String>,
    /// Memory that is held for nothing.
    pub(super) hoard: Vec<u8>,
    pub(super) modern: ModernState,
}

impl Server {
    pub fn new(options: Options, launch: u32) -> Self {
        let (held, asked) = (Vec::new(), BTreeMap::new());
        let (logins, hoard, modern) = (BTreeSet::new(), Vec::new(), ModernState::default());
        Self { options, launch, answers: 0, deaf: false, held, asked, logins, hoard, modern }
    }

    pub(super) fn begin(&self) {
        if self.options.bom {
            stdio::write(b"\xEF\xBB\xBF");
        }
        if let Some(template) = &self.options.say {
            stdio::write(&Blanks::NONE.fill(template));
        }
    }

    pub(super) fn end(&self) -> ExitCode {
        if let Some(template) = &self.options.last_words {
            stdio::write(&Blanks::NONE.fill(template));
        }
        if self.options.ignore_eof {
            stdio::rest_for_ever();
        }
        ExitCode::SUCCESS
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// Stops reading.
    pub(super) fn stop_reading(&mut self) {
        self.deaf = true;
    }

    pub fn heard(&mut self, message: &[u8]) {
        let Ok(text) = std::str::from_utf8(message) else { return };
        let Ok(parts) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
            let protest = self.options.protest.as_deref().unwrap_or_default();
            return stdio::write(&Blanks::NONE.fill(protest));
        };
        let part = |name: &str| parts.get(name).map(|raw| raw.get());
        let params: Value = part("params").and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        let heard = Heard {
            id: part("id"),
            method: part("method").and_then(|raw| serde_json::from_str(raw).ok()),
            token: params["_meta"]["progressToken"].to_string(),
            params,
            raw_params: part("params").unwrap_or_default(),
            text,
        };
        match (heard.method.as_deref(), heard.id) {
            (Some(method), Some(id)) => self.request(method, id, &heard),
            (Some("notifications/cancelled"), None) => self.modern.cancel(&heard.params),
            (Some(_), None) => {}
            (None, Some(id)) => tools::client_answered(self, id, text),
            (None, None) => {}
        }
    }

    fn request(&mut self, method: &str, id: &str, heard: &Heard<'_>) {
        if self.options.is_faulty(self.launch) {
            let is_on = |wanted: &Option<String>| wanted.as_deref() == Some(method);
            if is_on(&self.options.crash_on)
                || (self.options.wants_initialize && self.answers == 0 && method != "initialize")
                || self.options.crash_after.is_some_and(|most| self.answers >= most)
            {
                std::process::exit(9);
            }
            if self.options.silent || is_on(&self.options.hang_on) {
                return;
            }
            if let Some(gate) = &self.options.gate {
                while !gate.exists() {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        self.answers += 1;
        if modern::took(self, method, id, heard) {
            return;
        }
        let offer = self.options.offer.as_deref().map(Offer::read);
        let hints = self.hints();
        let more: String =
            hints.as_object().into_iter().flatten().map(|(k, v)| format!(r#","{k}":{v}"#)).collect();
        if let Some(list) = offer.as_ref().and_then(|offer| offer.list(method, &heard.params, &more)) {
            return self.say(&format!(r#""id":{id},{list}"#));
        }
        let is_untold = offer.as_ref().is_some_and(|offer| offer.is_untold(&heard.params["uri"]));
        match (method, &self.options.greeting) {
            ("resources/subscribe", _) if is_untold => {
                self.refuse(id, &json!({ "code": -32602, "message": "no news of this resource" }));
            }
            ("initialize", Some(template)) => {
                stdio::write(&Blanks { id, token: &heard.token }.fill(template));
            }
            ("initialize", None) => self.greet(id, heard),
            ("ping", _) => self.answer(id, &json!({})),
            ("tools/list", _) => {
                self.answer(id, &with(json!({ "tools": tools::list(&self.options) }), hints))
            }
            ("tools/call", _) => tools::call(self, id, heard),
            ("resources/read", _) if offer.is_some() => {
                let contents = json!([{ "uri": heard.params["uri"], "text": "" }]);
                let read = json!({ "contents": contents, "heard": heard.text, "launch": self.launch });
                self.answer(id, &with(read, hints));
            }
            // All other input is echoed.
            _ => self.answer(id, &json!({ "heard": heard.text, "launch": self.launch })),
        }
    }

    fn greet(&self, id: &str, heard: &Heard<'_>) {
        let name = self.options.name.as_deref().unwrap_or("fake-backend");
        let mut greeting = json!({
            "protocolVersion": heard.params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": name, "version": "1" },
        });
        if let Some(path) = &self.options.offer {
            Offer::read(path).greet(&mut greeting);
        }
        self.answer(id, &greeting);
        if let Some(count) = self.options.flood.filter(|_| self.options.is_faulty(self.launch)) {
            tools::flood(count.into(), 1000);
        }
    }

    /// Answers `server/discover`.
    pub(super) fn discover(&self, id: &str) {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        });
        let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
        let mut found = with(found, self.hints());
        let name = self.options.name.as_deref().unwrap_or("fake-backend");
        let mut info = json!({ "name": name, "version": "1" });
        if let Some(path) = &self.options.offer {
            Offer::read(path).greet(&mut found);
            if let Some(offered) = found.as_object_mut().and_then(|found| found.remove("serverInfo")) {
                info = offered;
            }
        }
        found["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": info });
        self.answer(id, &found);
    }

    /// Cache hints of the current request's era: an empty object in the legacy era.
    fn hints(&self) -> Value {
        if !self.modern.is_spoken() {
            return json!({});
        }
        let mut hints = modern::hints(&self.options);
        if let Some(path) = &self.options.offer {
            Offer::read(path).hint(&mut hints);
        }
        hints
    }

    /// The result in the current request's era.
    pub(super) fn result(&self, mut result: Value) -> Value {
        if self.modern.is_spoken() && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        result
    }

    pub(super) fn refuse(&self, id: &str, error: &Value) {
        self.say(&format!(r#""id":{id},"error":{error}"#));
    }

    /// Answers with a result that is written to the byte.
    pub(super) fn say_result(&self, id: &str, result: &str) {
        self.say(&format!(r#""id":{id},"result":{result}"#));
    }

    /// Answers a request, in the style of the options.
    pub(super) fn answer(&self, id: &str, result: &Value) {
        let result = self.result(result.clone());
        match self.options.id_last {
            false => self.say(&format!(r#""id":{id},"result":{result}"#)),
            true => self.say(&format!(r#""result":{result},"id":{id}"#)),
        }
    }

    /// Writes a message, given its members.
    fn say(&self, members: &str) {
        let version = if self.options.bare { "" } else { r#""jsonrpc":"2.0","# };
        let body = format!("{{{version}{members}}}");
        stdio::write(
            match self.options.framing {
                Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
                Framing::Newline if self.options.crlf => format!("{body}\r\n"),
                Framing::Newline => format!("{body}\n"),
            }
            .as_bytes(),
        );
    }

    /// Answers a call with a text.
    pub(super) fn answer_text(&self, id: &str, text: &str) {
        self.answer(id, &json!({ "content": [{ "type": "text", "text": text }] }));
    }
}

/// An object with the members of another too.
fn with(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}
