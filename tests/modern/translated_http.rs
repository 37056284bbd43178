//! Modern requests over HTTP to a legacy server: statuses, closed responses, subscriptions and log messages.

use super::paused::{ACCEPT, asking, continued, is_paused};
use crate::http::served::{FAKE, Served};
use crate::support::{saying, text};
use serde_json::{Value, json};
use switchboard_testkit::http::Modern;
use switchboard_testkit::{message, patience};

/// Paths of Streamable HTTP, and the prefix of tools there.
const PATHS: [(&str, &str); 3] = [("/mcp", "fake__"), (FAKE, ""), ("/profiles/some/mcp", "fake__")];
const GREETING: &str = r#"{"jsonrpc":"2.0","id":%ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}}
"#;

fn served() -> Served {
    let profiles = json!({ "profiles": { "some": ["fake"] } });
    let server = json!({ "scope": "global", "state": "none", "maxInFlight": 200 });
    Served::with(profiles, server, &["--greeting", GREETING])
}

fn told(served: &Served, text: &str) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains(text)).count()
}

/// Makes the server print these notifications and answer the call.
#[track_caller]
fn say(modern: &Modern, notices: &[Value]) {
    let lines: String = notices.iter().map(|notice| format!("{notice}\n")).collect();
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    let answer = modern.call("say", saying(&format!("{lines}{answer}")));
    assert!(answer.get("result").is_some(), "{answer}");
}

#[test]
fn answers_have_the_status_of_their_code() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path).declaring(json!({ "elicitation": {} }));
        let status = |method: &str, params: Value| {
            let (id, mut reply) = modern.begin(method, params);
            let answer = reply.json();
            assert_eq!((&answer["id"], reply.header("mcp-session-id")), (&json!(id), None), "{answer}");
            (reply.status, answer["error"]["code"].as_i64().unwrap_or_default(), answer)
        };
        for removed in ["ping", "logging/setLevel", "resources/subscribe", "tasks/list", "initialize"] {
            let (status, code, answer) = status(removed, json!({ "level": "info", "uri": "x://a" }));
            assert_eq!((status, code), (404, -32601), "{path} {removed}: {answer}");
        }
        let (code, _, found) = status("server/discover", json!({}));
        assert_eq!((code, &found["result"]["resultType"]), (200, &json!("complete")), "{found}");
        let params = json!({ "name": format!("{prefix}ask"), "arguments": asking(77, "elicitation/create") });
        let (code, _, paused) = status("tools/call", params.clone());
        assert!(code == 200 && is_paused(&paused), "{paused}");
        let good = continued(&params, &paused, &ACCEPT);
        assert_eq!(status("tools/call", good.clone()).0, 200);
        // Only codes of the transport have their own status.
        let (status, code, answer) = status("tools/call", good);
        assert_eq!((status, code), (200, -32602), "{answer}");
    }
    assert_eq!(told(&served, "resources/subscribe") + told(&served, "logging/setLevel"), 0);
}

#[test]
fn closed_response_cancels_the_call() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        let label = format!("<{path}>");
        let params = json!({ "name": format!("{prefix}hang"), "arguments": { "label": label } });
        let wire = modern.say(&modern.message("tools/call", params).1).begin();
        patience::until_true("the call is there", || told(&served, &label) == 1);
        let before = told(&served, "notifications/cancelled");
        drop(wire);
        patience::until_true("the server hears of it", || {
            told(&served, "notifications/cancelled") == before + 1
        });
        assert_eq!(text(&modern.call(&format!("{prefix}echo"), json!({}))), "{}");
    }
}

/// A pause ends the response, which does not cancel the call.
#[test]
fn end_of_paused_response_does_not_cancel() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE).declaring(json!({ "elicitation": {} }));
    let params = json!({ "name": "ask", "arguments": asking(77, "elicitation/create") });
    let paused = modern.request("tools/call", params.clone());
    modern.request("tools/list", json!({}));
    assert_eq!(told(&served, "notifications/cancelled"), 0);
    let done = modern.request("tools/call", continued(&params, &paused, &ACCEPT));
    assert_eq!(super::paused::answered(&done), *ACCEPT);
}

#[test]
fn listen_carries_requested_notifications() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    modern.call("echo", json!({}));
    let (id, mut stream) = modern.listen(json!({ "resourceSubscriptions": ["fake://a"] }));
    let (other, mut second) =
        modern.listen(json!({ "toolsListChanged": true, "resourceSubscriptions": ["fake://a"] }));
    patience::until_true("the server knows of it", || told(&served, "resources/subscribe") > 0);
    let updated = |uri: &str| json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    say(&modern, &[updated("fake://b"), changed, updated("fake://a")]);
    for (id, stream, methods) in [
        (id, &mut stream, &["notifications/resources/updated"][..]),
        (other, &mut second, &["notifications/tools/list_changed", "notifications/resources/updated"]),
    ] {
        let mut heard: Vec<Value> = methods.iter().map(|_| stream.message().unwrap()).collect();
        heard.sort_by_key(|it| it["method"] != methods[0]);
        for (notice, method) in heard.iter().zip(methods) {
            assert_eq!((&notice["method"], message::subscription(notice)), (&json!(method), &json!(id)));
            assert_ne!(notice["params"]["uri"], "fake://b");
        }
    }
    drop(stream);
    drop(second);
    patience::until_true("the server is told of the end", || told(&served, "resources/unsubscribe") == 1);
}

/// Log messages of a legacy server name no request: they arrive in the response to the only open one.
#[test]
fn log_messages_reach_their_request() {
    let served = served();
    let log = |level: &str| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": level, "data": level } });
    let lines = format!("{}\n{}\n", log("info"), log("error"));
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    for (path, prefix) in PATHS {
        let params =
            json!({ "name": format!("{prefix}say"), "arguments": saying(&format!("{lines}{answer}")) });
        let modern = Modern::at(&served.web, path).log_level("error");
        let (id, mut stream) = modern.begin("tools/call", params.clone());
        assert!(stream.is_stream(), "{path}: {}", stream.text());
        let told = stream.message().unwrap();
        assert_eq!(
            (&told["method"], &told["params"]["level"]),
            (&json!("notifications/message"), &json!("error"))
        );
        assert_eq!(stream.message().unwrap()["id"], id);
        // Without `logLevel` there are no log messages.
        let (_, mut reply) = Modern::at(&served.web, path).begin("tools/call", params);
        assert!(!reply.is_stream() && reply.json().get("result").is_some());
    }
    assert!(told(&served, "logging/setLevel") > 0);
}
