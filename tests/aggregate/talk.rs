//! Messages other than lists and names: pings, log levels, progress, cancellation, batches, tasks.

use super::servers::{Servers, heard, say, with_tools};
use crate::support::{error, text};
use serde_json::{Value, json};

#[test]
fn ping_is_answered_by_the_gateway() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!((servers.told("a", "\"ping\""), servers.told("b", "\"ping\"")), (0, 0));
}

fn logging(server: &str) -> String {
    let capabilities =
        if server == "quiet" { json!({ "tools": {} }) } else { json!({ "tools": {}, "logging": {} }) };
    let mut offer: Value = serde_json::from_str(&with_tools(&["say"])).unwrap();
    offer["capabilities"] = capabilities;
    offer.to_string()
}

#[test]
fn log_level_reaches_all_logging_servers() {
    let names = ["a", "b", "quiet"];
    let servers = names.iter().fold(Servers::none(), |s, name| s.and_offer(name, json!({}), &logging(name)));
    let mut client = servers.open();
    client.request("tools/list", json!({}));
    let answer = client.request("logging/setLevel", json!({ "level": "warning" }));
    assert_eq!(answer["result"], json!({}), "{answer}");
    for name in ["a", "b"] {
        let line = servers.record(name).wait_for(1, "logging/setLevel");
        assert!(line.contains(r#""level":"warning""#), "{line}");
    }
    let log = |members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{{members}"level":"error","data":0.70}}}}"#
        )
    };
    say(&mut client, "a__say", &[&log(r#""logger":"db","#)]);
    assert_eq!(
        client.told("notifications/message")["params"],
        json!({ "logger": "a/db", "level": "error", "data": 0.70 })
    );
    say(&mut client, "b__say", &[&log("")]);
    assert_eq!(
        client.told("notifications/message")["params"],
        json!({ "logger": "b", "level": "error", "data": 0.70 })
    );
    // Messages below the level are dropped, for servers that ignore `logging/setLevel`.
    let debug = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1}}"#;
    say(&mut client, "a__say", &[debug, &log("")]);
    assert_eq!(client.told("notifications/message")["params"]["level"], "error");
    assert_eq!(servers.told("quiet", "logging/setLevel"), 0);
}

/// Servers that start later get the level too.
#[test]
fn log_level_is_kept_for_later_starts() {
    let servers = Servers::none().and_offer("a", json!({}), &logging("a"));
    drop(servers.open_listed());
    let mut client = servers.open();
    assert_eq!(client.request("logging/setLevel", json!({ "level": "error" }))["result"], json!({}));
    assert_eq!(servers.launches(["a"]), [1], "for that nobody is started");
    say(&mut client, "a__say", &[]);
    servers.record("a").wait_for(2, r#""level":"error""#);
}

impl Servers {
    #[track_caller]
    fn open_listed(&self) -> switchboard_testkit::client::Client {
        let mut client = self.open();
        super::servers::tools(&mut client);
        client
    }
}

#[test]
fn progress_carries_the_clients_token() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    // Both servers at once, with a token that looks like the other's id.
    let call = |id: &str, tool: &str, token: &str| {
        let params = json!({ "name": tool, "arguments": { "steps": 2, "ms": 1 } }).to_string();
        let params = format!(r#"{{"_meta":{{"progressToken":{token}}},{}"#, &params[1..]);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    client.send(call("11", "a__work", "\"12\""));
    client.send(call("12", "b__work", "11"));
    let answers = [client.answer(11), client.answer(12)];
    answers.iter().for_each(|answer| assert_eq!(text(answer), "worked"));
    let mut tokens: Vec<Value> =
        (0..4).map(|_| client.told("notifications/progress")["params"]["progressToken"].clone()).collect();
    tokens.sort_by_key(Value::to_string);
    assert_eq!(tokens, [json!("12"), json!("12"), json!(11), json!(11)]);
}

#[test]
fn cancel_reaches_only_the_working_server() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    let one = client.start_call("a__hang", json!({ "label": "one" }));
    client.start_call("b__hang", json!({ "label": "two" }));
    let theirs: Value = serde_json::from_str(&servers.record("a").wait_for(1, "\"one\"")).unwrap();
    servers.record("b").wait_for(1, "\"two\"");
    client.notify("notifications/cancelled", json!({ "requestId": one, "reason": "r" }));
    let told: Value = serde_json::from_str(&servers.record("a").wait_for(1, "cancelled")).unwrap();
    assert_eq!(told["params"], json!({ "requestId": theirs["id"], "reason": "r" }));
    client.call("b__echo", json!({}));
    assert_eq!(servers.told("b", "cancelled"), 0);
}

#[test]
fn batch_across_servers_has_one_answer() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    client.send(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__echo","arguments":{"n":1}}},
        {"jsonrpc":"2.0","id":"2","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},
        {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b__echo","arguments":{"n":3}}},
        {"jsonrpc":"2.0","id":4,"method":"tools/list"},{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}},
        {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"c__echo"}}]"#
            .replace('\n', " "),
    );
    let batch = client.recv_where("the batch", Value::is_array);
    let find = |id: Value| batch.as_array().unwrap().iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(batch.as_array().unwrap().len(), 6, "{batch}");
    assert_eq!((text(find(json!(1))), text(find(json!(3)))), (r#"{"n":1}"#, r#"{"n":3}"#));
    assert_eq!(find(json!("2"))["result"], json!({}));
    assert!(find(json!(4))["result"]["tools"].as_array().unwrap().len() > 20);
    assert_eq!(find(json!(5))["result"], json!({}));
    error(find(json!(6)), -32602, "unknown_name");
    assert_eq!((servers.told("a", "{\"n\":1}"), servers.told("b", "{\"n\":3}")), (1, 1));
}

#[test]
fn task_requests_reach_the_owning_server() {
    let mut offer: Value = serde_json::from_str(&with_tools(&["say"])).unwrap();
    let requests = json!({ "tools": { "call": {} } });
    offer["capabilities"] =
        json!({ "tools": {}, "tasks": { "list": {}, "cancel": {}, "requests": requests } });
    let offer = offer.to_string();
    let servers = Servers::none().and_offer("a", json!({}), &offer).and_offer("b", json!({}), &offer);
    let mut client = servers.open();
    let time = "2026-07-28T12:00:00Z";
    let task = format!(
        r#"{{"taskId":"t-%PID","status":"working","ttl":60000,"createdAt":"{time}","lastUpdatedAt":"{time}"}}"#
    );
    let answer = format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{{"task":{task}}}}}"#);
    let mut begin = |tool: &str| {
        let arguments = json!({ "text": format!("{answer}\n") });
        let begun = client
            .request("tools/call", json!({ "name": tool, "arguments": arguments, "task": { "ttl": 60000 } }));
        begun["result"]["task"]["taskId"].as_str().unwrap().to_owned()
    };
    let (of_a, of_b) = (begin("a__say"), begin("b__say"));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let answer = client.request(method, json!({ "taskId": of_b }));
        assert_eq!(heard(&answer)["params"]["taskId"], json!(of_b.strip_prefix("b:").unwrap()), "{method}");
    }
    assert_eq!(
        heard(&client.request("tasks/get", json!({ "taskId": of_a })))["params"]["taskId"],
        json!(of_a.strip_prefix("a:").unwrap())
    );
    assert_eq!((servers.told("a", "tasks/"), servers.told("b", "tasks/")), (1, 3));
    error(&client.request("tasks/get", json!({ "taskId": "nobody's" })), -32602, "unknown_name");

    // Tasks of both servers, page by page.
    let first = client.request("tasks/list", json!({}));
    let next = first["result"]["nextCursor"].as_str().unwrap();
    let second = client.request("tasks/list", json!({ "cursor": next }));
    assert_eq!(second["result"].get("nextCursor"), None, "{second}");
    assert_eq!((servers.told("a", "tasks/list"), servers.told("b", "tasks/list")), (1, 1));
}

/// A single server gets it; with several, there is no way to choose.
#[test]
fn unknown_method_needs_a_single_server() {
    let servers = Servers::of(&["a"]);
    let answer = servers.open().request("vendor/ask", json!({ "x": 1 }));
    assert_eq!(heard(&answer)["params"], json!({ "x": 1 }));
    let servers = Servers::of(&["a", "b"]);
    let answer = servers.open().request("vendor/ask", json!({ "x": 1 }));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

const LATE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;

#[test]
fn late_progress_reaches_only_its_window() {
    let servers = Servers::of(&["a", "b"]);
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    for (client, token) in [(&mut one, "first"), (&mut other, "second")] {
        let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
        let arguments = json!({ "text": format!("{answer}\n{LATE}\n") });
        let meta = json!({ "progressToken": token });
        client.request("tools/call", json!({ "name": "b__say", "arguments": arguments, "_meta": meta }));
        assert_eq!(client.told("notifications/progress")["params"]["progressToken"], token);
    }
    assert_eq!(servers.launches(["b"]), [1], "they share it");
    // The first window gets none of the second's messages.
    let id = one.ask("ping", json!({}));
    assert_eq!(one.recv_json()["id"], json!(id));
}

#[test]
fn unknown_progress_reaches_all_servers() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    for name in ["a__echo", "b__echo"] {
        client.call(name, json!({}));
    }
    let unknown = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":0.20}}"#;
    client.send(unknown);
    for name in ["a", "b"] {
        assert_eq!(servers.record(name).wait_for(1, "\"mine\""), unknown);
    }
}
