//! Requests from servers to the client, and notifications from the client to servers.

use super::servers::{Servers, with_tools};
use crate::support::text;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::client::Client;

/// Makes a server send a request within a call; checks the client's view of it and the answer that the server
/// gets.
#[track_caller]
fn check(method: &str, params: &str, answer: &str) {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open_with(json!({ "sampling": {}, "elicitation": {} }));
    let request = format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{params}}}"#);
    let call = client.start_call("b__ask", json!({ "id": "\"q\"", "request": request }));
    let asked = client.recv_text();
    let ours = serde_json::from_str::<Value>(&asked).unwrap()["id"].to_string();
    assert_eq!(asked, format!(r#"{{"jsonrpc":"2.0","id":{ours},"method":"{method}","params":{params}}}"#));
    client.send(format!(r#"{{"jsonrpc":"2.0",{answer},"id":{ours}}}"#));
    let told = client.answer(call);
    assert_eq!(text(&told), format!(r#"{{"jsonrpc":"2.0",{answer},"id":"q"}}"#));
}

#[test]
fn sampling_request_passes_through() {
    check(
        "sampling/createMessage",
        r#"{"messages":[{"role":"user"}],"maxTokens":100,"temperature":0.70}"#,
        r#""result":{"role":"assistant","model":"m","content":{"type":"text","text":"é"}}"#,
    );
}

#[test]
fn elicitation_request_passes_through() {
    check(
        "elicitation/create",
        r#"{"message":"Sure?","requestedSchema":{"type":"object"}}"#,
        r#""result":{"action":"accept","content":{"n":1.0}}"#,
    );
    check(
        "elicitation/create",
        r#"{"message":"Sure?"}"#,
        r#""error":{"code":-1,"message":"no","data":[1.0]}"#,
    );
}

/// Both requests have the same id and are answered in reverse order.
#[test]
fn two_servers_ask_at_the_same_time() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open_with(json!({ "sampling": {} }));
    let [one, two] = ["a", "b"].map(|name| {
        let params = json!({ "messages": [], "systemPrompt": name });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params });
        let call =
            client.start_call(&format!("{name}__ask"), json!({ "id": "1", "request": request.to_string() }));
        let asked = client.told("sampling/createMessage");
        assert_eq!(asked["params"]["systemPrompt"], name);
        (call, asked["id"].clone(), name)
    });
    for (call, id, name) in [two, one] {
        client.send(json!({ "jsonrpc": "2.0", "id": id, "result": { "model": name } }).to_string());
        let answer = client.answer(call);
        assert!(text(&answer).contains(&format!(r#""model":"{name}""#)), "{answer}");
    }
}

/// Reads messages until `id` is answered; answers `roots/list` with `roots` and counts how often it came.
#[track_caller]
fn answer_roots_until(client: &mut Client, id: u64, roots: &Value, asked: &mut u32) -> Value {
    loop {
        let message = client.recv_json();
        if message["method"] == "roots/list" {
            *asked += 1;
            let result = json!({ "roots": roots });
            client.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string());
        } else if message["id"] == id && message.get("method").is_none() {
            return message;
        }
    }
}

#[test]
fn roots_are_requested_once_for_all_servers() {
    let servers = Servers::of(&["a", "b", "c"]);
    let mut client = servers.open_with(json!({ "roots": { "listChanged": true } }));
    let first = json!([{ "uri": "file:///one", "name": "1" }, { "uri": "file:///two%20words" }]);
    let mut asked = 0;
    let request = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    for name in ["a", "b", "c"] {
        let call = client.start_call(&format!("{name}__ask"), json!({ "id": "\"r\"", "request": request }));
        let answer = answer_roots_until(&mut client, call, &first, &mut asked);
        assert!(text(&answer).contains("file:///two%20words"), "{name}: {answer}");
    }
    assert_eq!(asked, 1);

    // After a change, all servers are told and the client is asked once more.
    let second = json!([{ "uri": "file:///three" }]);
    client.notify("notifications/roots/list_changed", json!({}));
    for name in ["a", "b", "c"] {
        let told = |servers: &Servers| servers.told(name, "notifications/roots/list_changed") > 0;
        let deadline = std::time::Instant::now() + switchboard_testkit::patience::LIMIT;
        while !told(&servers) {
            assert!(std::time::Instant::now() < deadline, "{name} is not told that roots have changed");
            // Answers `roots/list` requests that arrive meanwhile.
            let ping = client.ask("ping", json!({}));
            answer_roots_until(&mut client, ping, &second, &mut asked);
            std::thread::sleep(Duration::from_millis(2));
        }
        let call = client.start_call(&format!("{name}__ask"), json!({ "id": "\"r\"", "request": request }));
        let answer = answer_roots_until(&mut client, call, &second, &mut asked);
        assert!(text(&answer).contains("file:///three"), "{name}: {answer}");
    }
    assert_eq!(asked, 2);
}

#[test]
fn notification_reaches_all_running_servers() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    client.call("a__echo", json!({}));
    client.call("b__echo", json!({}));
    let line = r#"{"jsonrpc":"2.0","method":"notifications/own","params":{"z":0.70,"a":1E2}}"#;
    client.send(line);
    for name in ["a", "b"] {
        assert_eq!(servers.record(name).wait_for(1, "notifications/own"), line);
    }
}

#[test]
fn notification_follows_configured_targets() {
    let servers = Servers::of(&["a", "b", "c"])
        .with("notifications", json!({ "notifications/own": ["b", "c"], "notifications/none": [] }));
    let mut client = servers.open();
    for name in ["a", "b", "c"] {
        client.call(&format!("{name}__echo"), json!({}));
    }
    client.notify("notifications/own", json!({ "x": 1 }));
    client.notify("notifications/none", json!({}));
    client.notify("notifications/last", json!({}));
    for (name, expect) in [("a", 0), ("b", 1), ("c", 1)] {
        servers.record(name).wait_for(1, "notifications/last");
        assert_eq!(servers.told(name, "notifications/own"), expect, "{name}");
        assert_eq!(servers.told(name, "notifications/none"), 0, "{name}");
    }
}

#[test]
fn notification_starts_no_server() {
    let servers = Servers::none().and_offer("a", json!({}), &with_tools(&["echo"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["echo"]),
    );
    drop(servers.open_and_list());
    let mut client = servers.open();
    client.call("a__echo", json!({}));
    client.notify("notifications/own", json!({}));
    servers.record("a").wait_for(2, "notifications/own");
    assert_eq!(servers.launches(["a", "b"]), [2, 1]);
}

impl Servers {
    #[track_caller]
    fn open_and_list(&self) -> Client {
        let mut client = self.open();
        super::servers::tools(&mut client);
        client
    }
}
