//! Refusals of a remote server, and bodies that are no answer.

use super::{SECRET, far, finish, greeted};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::web::{Seen, Web, Wire, answer, mcp};

/// A server with this answer to the tool `odd`.
fn web(odd: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Web {
    Web::start(move |seen, wire| match seen.what() {
        "tools/call" if seen.tool() == "odd" => odd(seen, wire),
        _ => mcp(seen, wire, "s-1"),
    })
}

/// The error of the call. Checks that it was sent once, and that the next one works.
#[track_caller]
fn refused(web: &Web, code: i64, kind: &str) -> Value {
    let mut client = greeted(web);
    let heard = client.call("odd", json!({}));
    let told = error(&heard, code, kind).clone();
    assert!(!heard.to_string().contains(SECRET), "{heard}");
    assert_eq!(told["data"]["server"], "far");
    assert_eq!(web.count("tools/call"), 1);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    finish(client);
    told
}

/// The error of a handshake with this server.
#[track_caller]
fn not_greeted(web: &Web, more: Value) -> Value {
    let mut client = far(&web.url("/mcp"), more).start();
    let heard = client.request("initialize", initialize_params());
    let told = error(&heard, -32001, "backend_spawn_failed").clone();
    assert!(!heard.to_string().contains(SECRET), "{heard}");
    assert!(!heard.to_string().contains("started"), "there is nothing to start: {heard}");
    finish(client);
    told
}

fn check_message(told: &Value, part: &str) {
    assert!(told["message"].as_str().unwrap().contains(part), "{told}");
}

fn check_hint(told: &Value, part: &str) {
    assert!(told["data"]["hint"].as_str().unwrap().contains(part), "{told}");
}

#[test]
fn oauth_login_is_reported_as_missing() {
    let oauth = ("www-authenticate", "Bearer resource_metadata=\"http://127.0.0.1/x\"");
    let at_start = Web::start(move |_, wire| wire.reply(401, &[oauth], ""));
    let told = not_greeted(&at_start, json!({}));
    check_message(&told, "requires an OAuth login (401), which Switchboard does not support yet");
    check_hint(&told, "`headers`");
    assert_eq!(at_start.count("initialize"), 1, "no use in trying again");
    assert_eq!(told["data"]["retryable"], false);
    let later =
        web(move |_, wire| wire.json(401, &[], &json!({ "error_description": format!("bad {SECRET}") })));
    let told = refused(&later, -32603, "unauthorized");
    check_message(&told, "requires a valid token (401); it said: bad [redacted]");
}

#[test]
fn status_403_is_forbidden() {
    let told = refused(&web(|_, wire| wire.reply(403, &[], "not for you")), -32603, "forbidden");
    check_message(&told, "denied access (403); it said: not for you");
}

#[test]
fn status_500_is_unavailable() {
    let told =
        refused(&web(|_, wire| wire.reply(500, &[], "<html>Oops</html>")), -32002, "backend_unavailable");
    check_message(&told, "failed (500)");
    assert!(!told.to_string().contains("Oops"));
}

#[test]
fn jsonrpc_error_in_a_400_is_passed_on() {
    let web = web(|seen, wire| {
        let error = json!({ "code": -32602, "message": "no such tool" });
        wire.json(400, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
    });
    let mut client = greeted(&web);
    assert_eq!(client.call("odd", json!({}))["error"], json!({ "code": -32602, "message": "no such tool" }));
    finish(client);
}

#[test]
fn rate_limit_delays_lists_and_fails_calls() {
    let web = Web::start(|seen, wire| match (seen.what(), seen.before) {
        ("tools/list", 0..2) => wire.reply(503, &[("retry-after", "0")], ""),
        ("tools/call", 0) => wire.reply(429, &[("retry-after", "7")], "slow down"),
        ("tools/call", 1) => wire.reply(503, &[], ""),
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"][0]["name"], "one");
    assert_eq!(web.count("tools/list"), 3);
    let heard = client.call("one", json!({}));
    let told = error(&heard, -32603, "rate_limited");
    check_message(told, "is too busy (429); it said: slow down");
    assert_eq!((&told["data"]["retryAfterMs"], &told["data"]["retryable"]), (&json!(7000), &json!(true)));
    let heard = client.call("one", json!({}));
    error(&heard, -32002, "backend_unavailable");
    assert_eq!(web.count("tools/call"), 2);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    finish(client);
}

/// The delay follows the server's own clock.
#[test]
fn rate_limit_at_start_says_when_to_retry() {
    let dates = [("date", "Mon, 16 Nov 2026 09:00:00 GMT"), ("retry-after", "Mon, 16 Nov 2026 10:00:00 GMT")];
    let web = Web::start(move |_, wire| wire.reply(503, &dates, "at night"));
    let told = not_greeted(&web, json!({}));
    check_message(&told, "is too busy (503); it said: at night");
    assert_eq!(
        (&told["data"]["retryAfterMs"], &told["data"]["retryable"]),
        (&json!(3_600_000), &json!(true))
    );
    assert_eq!(web.count("initialize"), 1, "nobody waits for so long");
}

#[test]
fn redirect_to_another_origin_is_refused() {
    let elsewhere = Web::start(|seen, wire| mcp(seen, wire, "s-2"));
    let to = elsewhere.url("/mcp?token=in-the-query");
    let web = Web::start(move |_, wire| wire.reply(307, &[("location", &to)], ""));
    let told = not_greeted(&web, json!({}));
    check_message(&told, &format!("redirects to {} (307), which is not followed", elsewhere.url("/mcp")));
    assert!(elsewhere.seen().is_empty(), "the token must not get there");
}

#[test]
fn redirect_within_the_host_is_followed() {
    let web = Web::start(|seen, wire| match seen.path.as_str() {
        "/mcp" => wire.reply(307, &[("location", "/mcp/")], ""),
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    assert_eq!(web.count("tools/call"), 1, "where it is, is known by then");
    finish(client);
}

#[test]
fn missing_server_is_reported() {
    let web = Web::start(|_, wire| wire.reply(404, &[], "<html>"));
    check_message(
        &not_greeted(&web, json!({})),
        &format!("there is no MCP server at {} (404)", web.url("/mcp")),
    );
    // The older transport was tried too.
    assert_eq!(web.count("GET"), 1);
    let web = Web::start(|_, wire| wire.reply(405, &[], ""));
    check_message(&not_greeted(&web, json!({ "type": "http" })), "refused this request (405)");
    assert_eq!(web.count("GET"), 0);
}

#[test]
fn non_answers_are_bad_answers() {
    let told = refused(
        &web(|_, wire| wire.reply(200, &[("content-type", "text/html; charset=x")], "<html>hello</html>")),
        -32603,
        "bad_answer",
    );
    check_message(&told, "the content type is text/html");
    let told = refused(&web(|_, wire| wire.reply(202, &[], "")), -32603, "bad_answer");
    check_message(&told, "no content (202)");
    let json = &[("content-type", "application/json")];
    let told = refused(&web(|_, wire| wire.reply(200, json, "this is no JSON")), -32603, "bad_answer");
    check_message(&told, "it contains no answer to this request");
    let told = refused(&web(|_, wire| wire.reply(200, json, "")), -32603, "bad_answer");
    check_message(&told, "it contains no answer to this request");
    let other =
        web(|_, wire| wire.json(200, &[], &json!({ "jsonrpc": "2.0", "id": "another's", "result": {} })));
    check_message(&refused(&other, -32603, "bad_answer"), "it contains no answer to this request");
}

#[test]
fn several_messages_in_one_body_are_read() {
    let web = web(|seen, wire| {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": 1 } });
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        wire.json(200, &[], &json!([note, answer(seen, &result)]));
    });
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("odd", json!({}))), "done");
    client.told("notifications/message");
    finish(client);
}

#[test]
fn unknown_host_is_reported() {
    let mut client = far("http://no-such-host.invalid/mcp", json!({})).start();
    let heard = client.request("initialize", initialize_params());
    let told = error(&heard, -32001, "backend_spawn_failed");
    check_message(told, "cannot reach http://no-such-host.invalid/mcp");
    check_hint(told, "check the name in `url`");
    finish(client);
}
