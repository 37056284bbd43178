//! HTTP refusals: they state the error and the remedy, under the request's id wherever the body can be
//! read, with `kind`, `retryable` and `hint`.

use super::served::{FAKE, Served};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Talk, call, hello};

/// Paths of Streamable HTTP.
const PATHS: [&str; 3] = ["/mcp", FAKE, "/profiles/some/mcp"];

fn served() -> Served {
    let file = json!({ "profiles": { "some": ["fake"] }, "maxMessageBytes": "64KiB", "serve": { "maxSessions": 4 } });
    Served::with(file, json!({}), &[])
}

fn ping() -> String {
    json!({ "jsonrpc": "2.0", "id": "mine", "method": "ping" }).to_string()
}

/// Checks a refusal of the request `mine`.
#[track_caller]
fn check(ask: Ask, status: u16, code: i64, kind: &str) {
    check_under(ask, status, code, kind, &json!("mine"));
}

#[track_caller]
fn check_under(ask: Ask, status: u16, code: i64, kind: &str, id: &Value) {
    let mut reply = ask.send();
    let answer = reply.json();
    assert_eq!(reply.status, status, "{answer}");
    check_error(&answer, code, kind, id);
}

#[track_caller]
fn check_error(answer: &Value, code: i64, kind: &str, id: &Value) {
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), id), "{answer}");
    let told = error(answer, code, kind);
    assert!(told["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    assert!(told["data"]["retryable"].is_boolean(), "{answer}");
    assert!(told["data"]["hint"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
}

#[test]
fn refusals_carry_the_id_of_the_request() {
    let served = served();
    let web = &served.web;
    for path in PATHS {
        let lost = |body: String| web.post(path, body).header("Mcp-Session-Id", "nobody");
        check(lost(ping()), 404, -32001, "session_not_found");
        check(lost(ping()).header("MCP-Protocol-Version", "1999-01-01"), 400, -32600, "bad_message");
        let unknown = web.post(path, ping()).header("MCP-Protocol-Version", "1999-01-01");
        check(unknown, 400, -32022, "unsupported_version");
        check(web.post(path, ping()).header("Accept", "text/html"), 406, -32600, "bad_message");
        let long = format!(
            r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":"{}"}},"id":"mine"}}"#,
            "x".repeat(70_000)
        );
        check(lost(long), 413, -32603, "message_too_large");
        // Notifications have no id, and in invalid JSON-RPC none can be read.
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        check_under(lost(notice), 404, -32001, "session_not_found", &Value::Null);
        check_under(lost("nonsense".into()), 400, -32700, "bad_message", &Value::Null);
    }
    for path in ["/servers/nobody/mcp", "/profiles/nobody/mcp", "/servers/nobody/messages", "/nowhere"] {
        check(web.post(path, ping()), 404, -32602, "unknown_name");
    }
    check(web.post("/messages?session=nobody", ping()), 404, -32001, "session_not_found");
    check(web.post("/sse", ping()), 405, -32600, "bad_message");
    let mut first = hello("2025-11-25", json!({}));
    first["id"] = json!("mine");
    let first = first.to_string();
    check(
        web.post(FAKE, first.clone()).header("Switchboard-Root", "/no/such"),
        400,
        -32004,
        "routing_failed",
    );
    let _all: Vec<Talk> = (0..4).map(|_| served.open()).collect();
    check(web.post(FAKE, first), 503, -32603, "overloaded");
}

#[test]
fn every_request_of_a_batch_is_refused() {
    let served = served();
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": "two", "method": "ping" },
    ]);
    for path in PATHS {
        let ask = served.web.post(path, batch.to_string()).header("Mcp-Session-Id", "nobody");
        let mut reply = ask.send();
        let answer = reply.json();
        assert_eq!((reply.status, answer.as_array().map(Vec::len)), (404, Some(2)), "{answer}");
        check_error(&answer[0], -32001, "session_not_found", &json!(1));
        check_error(&answer[1], -32001, "session_not_found", &json!("two"));
    }
}

/// A body that may not be read shows no id; the other members are there.
#[test]
fn unread_bodies_are_refused_with_data() {
    let served = served();
    let web = &served.web;
    for path in PATHS.into_iter().chain(["/messages?session=x"]) {
        let ask = || web.post(path, ping());
        check_under(ask().without("Authorization"), 401, -32603, "unauthorized", &Value::Null);
        check_under(ask().header("Authorization", "Bearer no"), 401, -32603, "unauthorized", &Value::Null);
        check_under(ask().header("Host", "evil.test"), 403, -32603, "forbidden", &Value::Null);
        check_under(ask().header("Origin", "http://evil.test"), 403, -32603, "forbidden", &Value::Null);
        check_under(ask().header("Content-Type", "text/plain"), 415, -32600, "bad_message", &Value::Null);
    }
    let talk = served.open();
    let _own = talk.listen();
    let get = || web.get(FAKE).header("Mcp-Session-Id", &talk.session);
    check_under(get(), 409, -32600, "bad_message", &Value::Null);
    check_under(get().header("Last-Event-ID", "x"), 400, -32600, "bad_message", &Value::Null);
    check_under(get().header("Accept", "text/html"), 406, -32600, "bad_message", &Value::Null);
    check_under(web.get(FAKE), 405, -32600, "bad_message", &Value::Null);
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
    check_under(web.post(FAKE, answer), 400, -32600, "not_initialized", &Value::Null);
}

#[test]
fn id_in_use_is_refused_under_that_id() {
    let served = served();
    let talk = served.open();
    let (id, message) = talk.call_of("hold", json!({}));
    let _open = talk.say(&message).begin();
    served.record().wait_for(1, "hold");
    check_under(talk.say(&call(id, "echo", json!({}))), 400, -32600, "bad_message", &json!(id));
}
