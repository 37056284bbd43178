//! Deadlines: an expired request gets an error, the server is told, and a late answer is dropped. The config
//! makes the times short; no test waits for a time by itself.

use super::MODE;
use crate::support::{error, fake_backend, greet, log_with, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start};

/// A short timeout that still lets a busy machine answer other requests.
const SHORT: &str = "1s";

fn with(server: Value, options: &[&str]) -> Start {
    MODE.configured(json!({}), server, options)
}

#[track_caller]
fn check_alive(client: &mut Client) {
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn expired_call_is_an_error() {
    let mut client = greet(with(json!({ "timeout": SHORT, "onTimeout": "keep" }), &[]));
    let answer = client.call("hold", json!({ "label": "late" }));
    let told = error(&answer, -32003, "backend_timeout");
    let data = &told["data"];
    assert_eq!((&data["server"], &data["retryable"]), (&json!("fake"), &json!(true)), "{told}");
    assert!(data["timeoutMs"].as_u64().is_some_and(|ms| ms >= 1000), "{told}");
    assert!(data["hint"].as_str().unwrap().contains("timeout"), "{told}");

    let line = client.record().wait_for(1, "late");
    let theirs = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
    let cancelled: Value =
        serde_json::from_str(&client.record().wait_for(1, "notifications/cancelled")).unwrap();
    assert_eq!(cancelled["params"]["requestId"], theirs, "{cancelled}");

    // The server answers nevertheless, but too late.
    let release = client.start_call("release", json!({}));
    let next = client.recv_json();
    assert_eq!((&next["id"], &next["result"]["released"]), (&json!(release), &json!(1)), "{next}");
    log_with(&client, "late answer dropped");
    assert_eq!(client.record().launches(), 1);
}

#[test]
fn lists_have_a_deadline_too() {
    let mut client =
        greet(with(json!({ "timeout": SHORT, "onTimeout": "keep" }), &["--hang-on", "tools/list"]));
    error(&client.request("tools/list", json!({})), -32003, "backend_timeout");
    check_alive(&mut client);
}

/// Some clients write `timeout` in milliseconds in their configs.
#[test]
fn large_bare_number_is_milliseconds() {
    let mut client = greet(with(json!({ "timeout": 1000, "onTimeout": "keep" }), &[]));
    let answer = client.call("hang", json!({}));
    let told = error(&answer, -32003, "backend_timeout");
    assert!(told["data"]["timeoutMs"].as_u64().is_some_and(|ms| (1000..60_000).contains(&ms)), "{told}");
}

#[test]
fn handshake_has_a_deadline() {
    let mut client = with(json!({ "startTimeout": SHORT, "framing": "newline" }), &["--silent"]).start();
    let answer = client.request("initialize", json!({}));
    error(&answer, -32003, "backend_timeout");
    assert_eq!(client.record().launches(), 1, "with a known framing there is nothing else to try");
}

#[test]
fn hung_server_is_restarted_if_configured() {
    let mut client =
        greet(with(json!({ "timeout": SHORT, "onTimeout": "restart", "shutdownGrace": "200ms" }), &[]));
    let first = client.record().pid(1);
    error(&client.call("hang", json!({})), -32003, "backend_timeout");
    // The next call waits for the new process, which has got the handshake again.
    let facts = client.call("facts", json!({}));
    assert_ne!(facts["result"]["pid"], json!(first), "{facts}");
    let heard = client.record().lines(2);
    assert!(
        heard[0].contains("\"initialize\"") && heard[1].contains("notifications/initialized"),
        "{heard:?}"
    );
}

/// A hung server gets no grace period: SIGTERM at once, and SIGKILL a second later.
#[test]
fn restart_skips_the_grace_period() {
    for options in [&["--ignore-eof"][..], &["--ignore-eof", "--stubborn"]] {
        let server = json!({ "timeout": SHORT, "onTimeout": "restart", "shutdownGrace": "1h" });
        let mut client = greet(with(server, options));
        let first = client.record().pid(1);
        error(&client.call("hang", json!({})), -32003, "backend_timeout");
        let facts = client.call("facts", json!({}));
        assert_ne!(facts["result"]["pid"], json!(first), "{facts}");
        assert!(!switchboard_testkit::pids::is_alive(first));
    }
}

/// After a timeout the server is pinged; one that answers is kept.
#[test]
fn slow_server_is_probed_and_kept() {
    let mut client = greet(with(json!({ "timeout": SHORT }), &[]));
    error(&client.call("hang", json!({})), -32003, "backend_timeout");
    client.record().wait_for(1, r#""method":"ping""#);
    check_alive(&mut client);
    assert_eq!(client.record().launches(), 1);
    let end = client.finish();
    assert_eq!(end.stdout, b"", "the answer to our own probe is ours");
}

/// A server that does not answer the ping within 10 s (fixed) is restarted.
#[test]
fn unresponsive_server_is_restarted() {
    let server = json!({ "timeout": SHORT, "shutdownGrace": "100ms" });
    let mut client = greet(with(server, &["--ignore-eof"]));
    client.call("deaf", json!({}));
    error(&client.call("echo", json!({})), -32003, "backend_timeout");
    log_with(&client, "it did not answer a health check");
    client.record().pid(2);
    check_alive(&mut client);
}

#[test]
fn progress_extends_the_deadline() {
    let mut client = greet(with(json!({ "timeout": "1500ms" }), &[]));
    // Far longer than the timeout, with progress every quarter of a second.
    let arguments = json!({ "steps": 12, "ms": 250 });
    let meta = json!({ "progressToken": "t" });
    let answer =
        client.request("tools/call", json!({ "name": "work", "arguments": arguments, "_meta": meta }));
    assert_eq!(text(&answer), "worked");
    for step in 0..12 {
        assert_eq!(client.recv_json()["params"], json!({ "progressToken": "t", "progress": step }));
    }
}

#[test]
fn hard_timeout_ends_progress_extension() {
    let mut client =
        greet(with(json!({ "timeout": SHORT, "hardTimeout": "1500ms", "onTimeout": "keep" }), &[]));
    let arguments = json!({ "steps": 30, "ms": 100 });
    let meta = json!({ "progressToken": "t" });
    let answer =
        client.request("tools/call", json!({ "name": "work", "arguments": arguments, "_meta": meta }));
    let told = error(&answer, -32003, "backend_timeout");
    assert!(told["data"]["timeoutMs"].as_u64().is_some_and(|ms| ms >= 1500), "{told}");
}

/// A request to the client shows that the server is at work, so the call may outlast the timeout.
#[test]
fn server_request_extends_the_deadline() {
    let mut client = greet(with(json!({ "timeout": "1500ms", "onTimeout": "keep" }), &[]));
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request, "ms": 900 }));
    let asked = client.told("elicitation/create");
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept" } }).to_string());
    assert!(text(&client.answer(call)).contains("accept"));
}

/// The server does not answer the handshake that we make for the client.
#[test]
fn request_without_handshake_expires() {
    let server = json!({ "command": fake_backend(), "startTimeout": SHORT, "onTimeout": "keep" });
    let mut client = with(server, &["--silent"]).start();
    error(&client.call("echo", json!({})), -32003, "backend_timeout");
}

/// The client never answers: the server gets an error in the end.
#[test]
fn server_request_has_a_hard_timeout() {
    let mut client = greet(with(json!({ "hardTimeout": SHORT, "onTimeout": "keep" }), &[]));
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    client.told("elicitation/create");
    let told = client.record().wait_for(1, r#""id":"q","error""#);
    assert!(told.contains("client_timeout"), "{told}");
}
