mod content;
mod input;
mod subscriptions;
mod known_tasks;
mod waited_tasks;

use super::*;
use crate::messages::own_message;
use serde_json::{Value, json};

fn message(value: &Value) -> Message {
    own_message(value.to_string().into()).expect("a message")
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A translator with a greeted server, and the greeting.
struct Desk {
    it: ForLegacy,
    /// The level of the client whose request comes next, as JSON.
    level: Option<String>,
    now: Moment,
}

/// A step of the translator: `>` to the server, `<` to the core, `? id` to the client with this request.
fn shown(steps: Vec<Step>) -> Vec<(String, Value)> {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    let show = |step| match step {
        Step::ToServer(out) => (">".to_owned(), parse(&out.to_vec())),
        Step::ToCore(message) => ("<".to_owned(), parse(message.bytes())),
        Step::Ask { about, question } => (format!("? {about}"), parse(question.bytes())),
        Step::GoesOn { about } => (format!("{about} goes on"), Value::Null),
        Step::GiveUp { refusal: Some(refusal), .. } => ("give up".to_owned(), parse(refusal.bytes())),
        Step::GiveUp { handshake, .. } => {
            let sent = handshake.iter().map(|out| parse(&out.to_vec())).collect();
            ("greet".to_owned(), Value::Array(sent))
        }
    };
    steps.into_iter().map(show).collect()
}

impl Desk {
    fn new() -> Self {
        Self::speaking("2025-06-18")
    }

    /// A client of this version has greeted the server, which has not answered yet.
    fn speaking(version: &str) -> Self {
        let mut desk = Self { it: ForLegacy::new(PROCESS), level: None, now: Moment::default() };
        let hello = json!({ "protocolVersion": version, "clientInfo": { "name": "c", "version": "1" },
            "capabilities": { "elicitation": {}, "tasks": {}, "roots": { "listChanged": true } } });
        let sent = desk.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
        assert_eq!(
            (sent[0].0.as_str(), &sent[0].1["method"], &sent[0].1["id"]),
            (">", &json!("server/discover"), &json!(1))
        );
        desk
    }

    fn greeted(capabilities: Value) -> Self {
        let mut desk = Self::new();
        desk.welcome(capabilities);
        desk
    }

    /// The server answers the greeting.
    fn welcome(&mut self, capabilities: Value) -> Vec<(String, Value)> {
        let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "2" } });
        self.hear(json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "_meta": meta } }))
    }

    fn send(&mut self, value: Value) -> Vec<(String, Value)> {
        shown(self.it.outbound(&message(&value), self.level.as_deref().map(str::as_bytes), self.now))
    }

    fn hear(&mut self, value: Value) -> Vec<(String, Value)> {
        shown(self.it.inbound(message(&value), self.now))
    }

    fn tick(&mut self) -> Vec<(String, Value)> {
        shown(self.it.tick(self.now))
    }

    fn call(&mut self, id: u64) -> Vec<(String, Value)> {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "t", "_meta": { "progressToken": id } } }))
    }

    /// The server asks for input for the request with this id.
    fn want(&mut self, id: &Value, keys: &[&str]) -> Vec<(String, Value)> {
        let ask = json!({ "method": "elicitation/create", "params": { "message": "?" } });
        let requests: serde_json::Map<_, _> =
            keys.iter().map(|key| ((*key).to_owned(), ask.clone())).collect();
        self.hear(json!({ "jsonrpc": "2.0", "id": id,
            "result": { "resultType": "input_required", "inputRequests": requests, "requestState": "s" } }))
    }
}

fn went_on(minted: u64) -> (String, Value) {
    (format!("{minted} goes on"), Value::Null)
}

/// The server's answer to this request: the state of a task.
fn task(id: &Value, mut state: Value) -> Value {
    let members = json!({ "taskId": "t\u{e9}", "createdAt": "", "lastUpdatedAt": "", "ttlMs": null, "pollIntervalMs": 2_500 });
    state.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({ "jsonrpc": "2.0", "id": id, "result": state })
}

#[test]
fn handshake_is_made_from_discovery() {
    let mut desk = Desk::new();
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete",
        "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "instructions": "Be kind.",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "2" } } } }));
    let expected = json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": "2025-06-18",
        "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "2" }, "instructions": "Be kind." } });
    assert_eq!(answer, [("<".to_owned(), expected)]);
    assert_eq!(desk.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })), []);
    let pong = desk.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    assert_eq!(pong, [("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 2, "result": {} }))]);
}

#[test]
fn requests_declare_the_client() {
    let mut desk = Desk::greeted(json!({ "logging": {} }));
    let level =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "error" } });
    assert_eq!(desk.send(level)[0].0, "<");
    desk.level = Some("\"error\"".to_owned());
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "roots": { "listChanged": true } },
        "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
        "io.modelcontextprotocol/logLevel": "error" });
    for params in [None, Some(json!({})), Some(json!({ "cursor": "x" }))] {
        let mut request = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        if let Some(params) = &params {
            request["params"] = params.clone();
        }
        let mut expected = request.clone();
        expected["params"]["_meta"] = meta.clone();
        assert_eq!(desk.send(request), [(">".to_owned(), expected)]);
    }
    let sent = &desk.call(4)[0].1["params"]["_meta"];
    assert_eq!((&sent["progressToken"], sent.as_object().map(|it| it.len())), (&json!(4), Some(5)));
    // Those of other clients differ.
    for level in [Some("\"debug\""), None, Some("\"error\"")] {
        desk.level = level.map(str::to_owned);
        let sent = &desk.call(5)[0].1["params"]["_meta"];
        let expected = level.map_or(Value::Null, |level| level.trim_matches('"').into());
        assert_eq!(sent["io.modelcontextprotocol/logLevel"], expected);
    }
}

#[test]
fn results_lose_modern_members() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let answer = desk
        .hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [], "resultType": "complete",
        "_meta": { "io.modelcontextprotocol/serverInfo": {}, "x": 1 }, "structuredContent": [1.50] } }));
    let expected = json!({ "content": [], "_meta": { "x": 1 }, "structuredContent": { "result": [1.50] } });
    assert_eq!(answer[0].1["result"], expected);
    desk.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let schema = json!({ "type": "array" });
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": { "ttlMs": 5, "cacheScope": "public",
        "tools": [{ "name": "a", "outputSchema": schema }, { "name": "b", "outputSchema": { "type": "object" } }] } }));
    let wrapped = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    let expected = json!({ "tools": [{ "name": "a", "outputSchema": wrapped }, { "name": "b", "outputSchema": { "type": "object" } }] });
    assert_eq!(answer[0].1["result"], expected);
}

#[test]
fn any_content_is_wrapped() {
    for content in [json!(null), json!(7), json!("x"), json!([null])] {
        let mut desk = Desk::greeted(json!({}));
        desk.call(2);
        let answer =
            desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "structuredContent": content } }));
        assert_eq!(answer[0].1["result"], json!({ "structuredContent": { "result": content } }));
    }
}

/// Definitions apply at the root.
#[test]
fn wrapped_schema_keeps_its_definitions() {
    let mut desk = Desk::greeted(json!({}));
    desk.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let definitions = json!({ "Item": { "type": "object" } });
    let schema =
        json!({ "$schema": "s", "$defs": definitions, "type": "array", "items": { "$ref": "#/$defs/Item" } });
    let tools = json!([{ "name": "a", "outputSchema": schema }]);
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": { "tools": tools } }));
    let own = json!({ "type": "array", "items": { "$ref": "#/$defs/Item" } });
    let expected = json!({ "$schema": "s", "$defs": definitions, "type": "object", "properties": { "result": own }, "required": ["result"] });
    assert_eq!(answer[0].1["result"]["tools"][0]["outputSchema"], expected);
}

#[test]
fn missing_capability_is_a_tool_error() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let error = json!({ "code": -32021, "message": "needs sampling" });
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    assert_eq!(answer[0].1["result"]["isError"], true);
    desk.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": { "name": "p" } }));
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "error": error }));
    assert_eq!(answer[0].1["error"], error);
}

#[test]
fn input_is_requested_from_the_caller() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let asked = desk.want(&json!(2), &["a", "b"]);
    assert_eq!((asked[0].0.as_str(), &asked[0].1["method"]), ("? 2", &json!("elicitation/create")));
    let ids: Vec<Value> = asked.iter().map(|(_, question)| question["id"].clone()).collect();
    let answer =
        |id: &Value, n: u64| json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept", "n": n } });
    assert_eq!(desk.send(answer(&ids[1], 2)), []);
    let sent = desk.send(answer(&ids[0], 1));
    let params = &sent[0].1["params"];
    assert_eq!(
        params["inputResponses"],
        json!({ "a": { "action": "accept", "n": 1 }, "b": { "action": "accept", "n": 2 } })
    );
    assert_eq!((&params["requestState"], &params["_meta"]["progressToken"]), (&json!("s"), &json!(2)));
    assert_eq!(desk.send(answer(&ids[0], 9)), [], "a second answer is nobody's");
    let done = desk.hear(json!({ "jsonrpc": "2.0", "id": sent[0].1["id"], "result": { "content": [] } }));
    assert_eq!(done, [("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [] } }))]);
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": sent[0].1["id"], "result": {} })), []);
}

#[test]
fn refused_question_ends_the_call() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let asked = desk.want(&json!(2), &["a", "b"]);
    let error = json!({ "code": -1, "message": "no" });
    let steps = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "error": error }));
    assert_eq!(steps[0].1["params"]["requestId"], asked[1].1["id"], "the other question is cancelled");
    assert_eq!(steps[1].1, json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    assert!(desk.it.calls.is_empty() && desk.it.asked.is_empty() && desk.it.repeated.is_empty());
}

#[test]
fn cancelled_call_withdraws_its_question() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let asked = desk.want(&json!(2), &["a"]);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let steps = desk.send(cancel.clone());
    assert_eq!((steps[0].0.as_str(), &steps[0].1["params"]["requestId"]), ("<", &asked[0].1["id"]));
    assert!(desk.it.calls.is_empty() && desk.it.asked.is_empty());
    // A call that the server knows under another id.
    desk.call(2);
    let asked = desk.want(&json!(2), &["a"]);
    let sent = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": {} }));
    let steps = desk.send(cancel);
    assert_eq!((steps[0].0.as_str(), &steps[0].1["params"]["requestId"]), (">", &sent[0].1["id"]));
}

#[test]
fn ninth_round_is_refused() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let mut id = json!(2);
    for _ in 0..8 {
        let asked = desk.want(&id, &["a"]);
        id = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": {} }))[0].1["id"].clone();
    }
    let steps = desk.want(&id, &["a"]);
    assert_eq!(steps[0].1["error"]["data"]["kind"], "bad_answer");
}

/// A server that announces changes of its tools, and the id of the subscription to them, which it has acknowledged.
fn listening() -> (Desk, Value) {
    let mut desk = Desk::new();
    let capabilities = json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true } });
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 1,
        "result": { "supportedVersions": ["2026-07-28"], "capabilities": capabilities } }));
    let first = steps[1].1["id"].clone();
    assert_eq!(steps[1].1["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(desk.hear(notice(&first, "subscriptions/acknowledged")), []);
    (desk, first)
}

fn notice(listen: &Value, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"),
        "params": { "uri": "x:/1", "_meta": { "io.modelcontextprotocol/subscriptionId": listen } } })
}

fn subscribe(id: u64, uri: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": { "uri": uri } })
}

fn done(id: u64) -> (String, Value) {
    ("<".to_owned(), json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
}

#[test]
fn one_listen_serves_all_subscriptions() {
    let (mut desk, first) = listening();
    let told = desk.hear(notice(&first, "resources/updated"));
    assert_eq!(told[0].1["params"], json!({ "uri": "x:/1" }));

    let steps = desk.send(subscribe(5, "x:/1"));
    let second = steps[0].1["id"].clone();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["x:/1"] });
    assert_eq!(steps[0].1["params"]["notifications"], filter);
    assert_eq!(steps.len(), 1, "the first one counts until the second is acknowledged");
    assert_eq!(desk.hear(notice(&first, "tools/list_changed")).len(), 1);
    let steps = desk.hear(notice(&second, "subscriptions/acknowledged"));
    assert_eq!(
        (&steps[0].1["method"], &steps[0].1["params"]["requestId"]),
        (&json!("notifications/cancelled"), &first)
    );
    assert_eq!(steps[1..], [done(5)]);
    assert_eq!(desk.hear(notice(&first, "resources/updated")), [], "of the replaced one");
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": first, "result": {} })), []);
}

#[test]
fn refused_subscription_leaves_the_others() {
    let (mut desk, first) = listening();
    let third = desk.send(subscribe(6, "x:/2"))[0].1["id"].clone();
    // Other subscriptions wait for this acknowledgement.
    assert_eq!(desk.send(subscribe(7, "x:/3")), []);
    let error = json!({ "code": -32602, "message": "no such resource" });
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": third, "error": error }));
    assert_eq!(steps[0], ("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 6, "error": error })));
    assert_eq!(steps[1].1["params"]["notifications"]["resourceSubscriptions"], json!(["x:/3"]));
    assert_eq!(desk.hear(notice(&first, "tools/list_changed")).len(), 1);
    let steps = desk.hear(notice(&steps[1].1["id"], "subscriptions/acknowledged"));
    assert_eq!(steps[1..], [done(7)]);
}

#[test]
fn ended_subscription_is_opened_again() {
    let (mut desk, first) = listening();
    let end = |id: &Value| json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete" } });
    assert_eq!(desk.hear(end(&first)), []);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let due = desk.it.deadline().expect("it is planned");
        pauses.push(due.since(desk.now).as_secs());
        desk.now = due;
        let steps = desk.tick();
        assert_eq!(steps[0].1["params"]["notifications"], json!({ "toolsListChanged": true }));
        let again = &steps[0].1["id"];
        assert_eq!(desk.hear(notice(again, "subscriptions/acknowledged")), []);
        assert_eq!((desk.it.deadline(), desk.hear(end(again))), (None, Vec::new()));
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
}

#[test]
fn unwanted_subscription_is_cancelled() {
    let mut desk = Desk::greeted(json!({ "resources": { "subscribe": true } }));
    let listen = desk.send(subscribe(5, "x:/1"))[0].1["id"].clone();
    desk.hear(notice(&listen, "subscriptions/acknowledged"));
    let steps = desk.send(json!({ "jsonrpc": "2.0", "id": 6, "method": "resources/unsubscribe",
        "params": { "uri": "x:/1" } }));
    assert_eq!(steps[0].1["params"]["requestId"], listen);
    assert_eq!(steps[1..], [done(6)]);
}

#[test]
fn cancelled_calls_are_forgotten() {
    let mut desk = Desk::greeted(json!({}));
    for id in 2..1_000 {
        desk.call(id);
        desk.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        );
    }
    assert_eq!((desk.it.calls.len(), desk.it.repeated.len()), (64, 0));
    let late = json!({ "jsonrpc": "2.0", "id": 999, "result": { "resultType": "complete" } });
    assert_eq!(desk.hear(late), [done(999)]);
}

#[test]
fn server_requests_are_refused() {
    let mut desk = Desk::greeted(json!({}));
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 7, "method": "roots/list" }));
    assert_eq!((steps[0].0.as_str(), &steps[0].1["error"]["code"]), (">", &json!(-32601)));
}
