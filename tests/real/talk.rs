//! A conversation with a real server, held directly and through us. Every received frame is recorded, and the
//! two records must be equal, byte for byte.
//!
//! The client's own ids are compared too. Only the ids of server requests are masked, since they are ours to
//! choose.

use super::aggregate::Aggregate;
use super::peers::{Link, Server};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use switchboard_testkit::client::Client;
use switchboard_testkit::{patience, pids};

/// Holds the conversation both ways and compares; returns the frames.
#[track_caller]
pub(crate) fn same_both_ways(server: &Server, script: impl Fn(&mut Talk)) -> Vec<String> {
    let direct = hold(server, Link::Direct, &script);
    let through = hold(server, Link::Through, &script);
    compare(&direct, &through);
    through
}

/// The same where the order of frames depends on timing.
#[track_caller]
pub(crate) fn same_both_ways_in_any_order(server: &Server, script: impl Fn(&mut Talk)) {
    let [mut direct, mut through] = [Link::Direct, Link::Through].map(|link| hold(server, link, &script));
    direct.sort();
    through.sort();
    compare(&direct, &through);
}

/// Separates `list_changed` notifications, which are debounced (docs/config.md, `debounce`), so that their
/// number may differ.
fn without_changes(heard: &[String]) -> (Vec<&String>, BTreeSet<&String>) {
    let (changes, others): (Vec<&String>, Vec<&String>) = heard.iter().partition(|frame| is_change(frame));
    (others, changes.into_iter().collect())
}

fn is_change(frame: &str) -> bool {
    frame.contains("/list_changed\"")
}

#[track_caller]
pub(crate) fn compare(direct: &[String], through: &[String]) {
    let ((direct, changes), (through, told)) = (without_changes(direct), without_changes(through));
    assert_eq!(told, changes, "through us (left), directly (right)");
    for (number, (direct, through)) in direct.iter().zip(&through).enumerate() {
        assert_eq!(through, direct, "frame {number}: through us (left), directly (right)");
    }
    assert_eq!(through.len(), direct.len(), "heard through us: {through:#?}, directly: {direct:#?}");
}

/// Holds the conversation once. Through us, checks for an orderly end without leftovers.
#[track_caller]
pub(crate) fn hold(server: &Server, link: Link, script: &impl Fn(&mut Talk)) -> Vec<String> {
    let mut talk = Talk::start(server, link);
    script(&mut talk);
    if link == Link::Through {
        let processes = server.processes();
        assert!(!processes.is_empty(), "our own command line names the server's folder");
        let end = talk.client.finish();
        assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
        // A debounced change may be announced after the last answer.
        let rest = String::from_utf8_lossy(&end.stdout).into_owned();
        let (late, unexpected): (Vec<&str>, Vec<&str>) = rest.lines().partition(|frame| is_change(frame));
        assert!(unexpected.is_empty(), "nothing unasked-for at the end: {unexpected:?}");
        talk.heard.extend(late.into_iter().map(str::to_owned));
        // The daemon lingers for other windows.
        server.folder().stop_daemons();
        let left: Vec<u32> = processes.into_iter().filter(|&pid| pids::is_alive(pid)).collect();
        assert!(left.is_empty(), "still there: {left:?}");
    }
    talk.heard
}

/// The same with several servers as one.
#[track_caller]
pub(crate) fn hold_with_all(aggregate: &Aggregate, script: &impl Fn(&mut Talk)) -> Vec<String> {
    let mut talk = Talk::with(aggregate.start().start());
    script(&mut talk);
    let processes = aggregate.processes();
    let end = talk.client.finish();
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    let left: Vec<u32> = processes.into_iter().filter(|&pid| pids::is_alive(pid)).collect();
    assert!(left.is_empty(), "still there: {left:?}");
    talk.heard
}

pub(crate) struct Talk {
    client: Client,
    heard: Vec<String>,
    /// Answers received, by the request's id.
    answers: HashMap<String, Value>,
    asked: u64,
    replies: Replies,
}

/// The client's answer to a request of the server, with `result` or `error`; `None` leaves it open.
type Replies = Box<dyn Fn(&Value) -> Option<Value>>;

impl Talk {
    fn start(server: &Server, link: Link) -> Self {
        Self::with(server.start(link).start())
    }

    pub(crate) fn with(client: Client) -> Self {
        Self { client, heard: Vec::new(), answers: HashMap::new(), asked: 0, replies: Box::new(agree) }
    }

    /// The frames that were heard, once the conversation is over.
    pub(crate) fn into_heard(mut self) -> Vec<String> {
        self.client.finish();
        self.heard
    }

    /// Sets how this client answers requests of the server. `None` leaves one open.
    pub(crate) fn replies(&mut self, replies: impl Fn(&Value) -> Option<Value> + 'static) {
        self.replies = Box::new(replies);
    }

    /// The handshake with these capabilities, in the newest version that has one.
    #[track_caller]
    pub(crate) fn greet(&mut self, capabilities: Value) -> Value {
        self.greet_in("2025-11-25", capabilities)
    }

    #[track_caller]
    pub(crate) fn greet_in(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({ "name": "talk", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        let greeting = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        greeting
    }

    /// Sends a request without waiting. Ids alternate between numbers and strings.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = if self.asked.is_multiple_of(2) {
            json!(format!("ask-{}", self.asked))
        } else {
            json!(self.asked)
        };
        self.client
            .send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Reads until this request is answered, and answers requests of the server meanwhile.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        if let Some(answer) = self.answers.get(&id.to_string()) {
            return answer.clone();
        }
        self.listen(|message| message.get("id") == Some(id) && message.get("method").is_none())
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.client.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a line as it is.
    pub(crate) fn send(&mut self, line: &str) {
        self.client.send(line);
    }

    /// Calls a tool until its answer contains this text, to wait for an unannounced change. Records only the
    /// last answer.
    #[track_caller]
    pub(crate) fn call_until(&mut self, tool: &str, text: &str) {
        let params = json!({ "name": tool, "arguments": {} });
        let call =
            json!({ "jsonrpc": "2.0", "id": "again", "method": "tools/call", "params": params }).to_string();
        patience::until_true(text, || {
            self.client.send(&call);
            let length = self.heard.len();
            let answer = self.listen(|message| message.get("id") == Some(&json!("again")));
            let done = answer.to_string().contains(text);
            if !done {
                self.heard.truncate(length);
            }
            done
        });
    }

    /// Reads until the server sends this method.
    #[track_caller]
    pub(crate) fn told(&mut self, method: &str) -> Value {
        self.listen(|message| message.get("method").is_some_and(|name| name == method))
    }

    #[track_caller]
    fn listen(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.client.recv_text();
            let Ok(message) = serde_json::from_str::<Value>(&frame) else { panic!("not JSON: {frame}") };
            let is_question = message.get("method").is_some() && message.get("id").is_some();
            self.heard.push(if is_question { mask_id(&frame) } else { frame });
            if message.get("method").is_none() {
                self.answers.insert(message["id"].to_string(), message.clone());
            }
            if is_question && let Some(reply) = (self.replies)(&message) {
                let mut reply = reply;
                reply["jsonrpc"] = json!("2.0");
                reply["id"] = message["id"].clone();
                self.client.send(reply.to_string());
            }
            if is_it(&message) {
                return message;
            }
        }
    }
}

/// The answers of a client that agrees to everything.
pub(crate) fn agree(question: &Value) -> Option<Value> {
    let result = match question["method"].as_str()? {
        "ping" => json!({}),
        "roots/list" => json!({ "roots": [
            { "uri": "file:///home/someone/one", "name": "one" },
            { "uri": "file:///home/someone/two%20words" },
        ] }),
        "sampling/createMessage" => json!({
            "role": "assistant", "model": "none", "stopReason": "endTurn", "temperature": 0.7,
            "content": { "type": "text", "text": "Ein Satz mit „Umlauten“: äöü 😀" },
        }),
        "elicitation/create" if question["params"]["mode"] == "url" => json!({ "action": "accept" }),
        "elicitation/create" => {
            json!({ "action": "accept", "content": { "name": "Ada", "integer": 7, "check": true } })
        }
        _ => return Some(json!({ "error": { "code": -32601, "message": "not in this script" } })),
    };
    Some(json!({ "result": result }))
}

/// The frame with a star instead of its id.
fn mask_id(frame: &str) -> String {
    let members: HashMap<String, &RawValue> = serde_json::from_str(frame).expect("it was read before");
    let id = members.get("id").expect("it is a request").get();
    let at = id.as_ptr().addr() - frame.as_ptr().addr();
    format!("{}*{}", &frame[..at], &frame[at + id.len()..])
}
