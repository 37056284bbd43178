//! What a remote server says no to, and what it says instead of an answer.

use super::{SECRET, far, finish, greeted};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::web::{Seen, Web, Wire, answer, mcp};

/// A server that says this to the tool `odd`.
fn web(odd: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Web {
    Web::start(move |seen, wire| match seen.what() {
        "tools/call" if seen.tool() == "odd" => odd(seen, wire),
        _ => mcp(seen, wire, "s-1"),
    })
}

/// What the call is answered with. It was sent once, and the next one works.
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

/// What a client hears whose handshake gets this.
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

fn says(told: &Value, part: &str) {
    assert!(told["message"].as_str().unwrap().contains(part), "{told}");
}

fn hints(told: &Value, part: &str) {
    assert!(told["data"]["hint"].as_str().unwrap().contains(part), "{told}");
}

#[test]
fn a_login_that_cannot_be_done_yet() {
    let oauth = ("www-authenticate", "Bearer resource_metadata=\"http://127.0.0.1/x\"");
    let at_start = Web::start(move |_, wire| wire.reply(401, &[oauth], ""));
    let told = not_greeted(&at_start, json!({}));
    says(&told, "wants a login with OAuth (401), which Switchboard cannot do yet");
    hints(&told, "`headers`");
    assert_eq!(at_start.count("initialize"), 1, "no use in trying again");
    assert_eq!(told["data"]["retryable"], false);
    let later =
        web(move |_, wire| wire.json(401, &[], &json!({ "error_description": format!("bad {SECRET}") })));
    let told = refused(&later, -32603, "unauthorized");
    says(&told, "does not know who we are (401); it said: bad [redacted]");
}

#[test]
fn a_lack_of_permission() {
    let told = refused(&web(|_, wire| wire.reply(403, &[], "not for you")), -32603, "forbidden");
    says(&told, "refuses this (403); it said: not for you");
}

#[test]
fn a_failure_of_the_server() {
    let told =
        refused(&web(|_, wire| wire.reply(500, &[], "<html>Oops</html>")), -32002, "backend_unavailable");
    says(&told, "failed (500)");
    assert!(!told.to_string().contains("Oops"));
}

#[test]
fn a_refusal_that_is_an_answer() {
    let web = web(|seen, wire| {
        let error = json!({ "code": -32602, "message": "no such tool" });
        wire.json(400, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
    });
    let mut client = greeted(&web);
    assert_eq!(client.call("odd", json!({}))["error"], json!({ "code": -32602, "message": "no such tool" }));
    finish(client);
}

#[test]
fn too_much_is_waited_for_with_a_list_and_told_with_a_call() {
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
    says(told, "takes no more at the moment (429); it said: slow down");
    assert_eq!((&told["data"]["retryAfterMs"], &told["data"]["retryable"]), (&json!(7000), &json!(true)));
    let heard = client.call("one", json!({}));
    error(&heard, -32002, "backend_unavailable");
    assert_eq!(web.count("tools/call"), 2);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    finish(client);
}

/// By the server's own clock.
#[test]
fn too_much_at_the_start_is_told_with_when_to_try_again() {
    let dates = [("date", "Mon, 16 Nov 2026 09:00:00 GMT"), ("retry-after", "Mon, 16 Nov 2026 10:00:00 GMT")];
    let web = Web::start(move |_, wire| wire.reply(503, &dates, "at night"));
    let told = not_greeted(&web, json!({}));
    says(&told, "takes no more at the moment (503); it said: at night");
    assert_eq!(
        (&told["data"]["retryAfterMs"], &told["data"]["retryable"]),
        (&json!(3_600_000), &json!(true))
    );
    assert_eq!(web.count("initialize"), 1, "nobody waits for so long");
}

#[test]
fn a_redirect_to_another_place_is_not_followed() {
    let elsewhere = Web::start(|seen, wire| mcp(seen, wire, "s-2"));
    let to = elsewhere.url("/mcp?token=in-the-query");
    let web = Web::start(move |_, wire| wire.reply(307, &[("location", &to)], ""));
    let told = not_greeted(&web, json!({}));
    says(&told, &format!("redirects to {} (307), which is not followed", elsewhere.url("/mcp")));
    assert!(elsewhere.seen().is_empty(), "the token must not get there");
}

#[test]
fn a_redirect_within_the_place_is_followed() {
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
fn no_server_there() {
    let web = Web::start(|_, wire| wire.reply(404, &[], "<html>"));
    says(&not_greeted(&web, json!({})), &format!("there is no MCP server at {} (404)", web.url("/mcp")));
    // An older kind was looked for, too.
    assert_eq!(web.count("GET"), 1);
    let web = Web::start(|_, wire| wire.reply(405, &[], ""));
    says(&not_greeted(&web, json!({ "type": "http" })), "refused this request (405)");
    assert_eq!(web.count("GET"), 0);
}

#[test]
fn what_is_no_answer() {
    let told = refused(
        &web(|_, wire| wire.reply(200, &[("content-type", "text/html; charset=x")], "<html>hello</html>")),
        -32603,
        "bad_answer",
    );
    says(&told, "it has the content type text/html");
    let told = refused(&web(|_, wire| wire.reply(202, &[], "")), -32603, "bad_answer");
    says(&told, "nothing (202)");
    let json = &[("content-type", "application/json")];
    let told = refused(&web(|_, wire| wire.reply(200, json, "this is no JSON")), -32603, "bad_answer");
    says(&told, "the answer to this request is not in it");
    let told = refused(&web(|_, wire| wire.reply(200, json, "")), -32603, "bad_answer");
    says(&told, "the answer to this request is not in it");
    let other =
        web(|_, wire| wire.json(200, &[], &json!({ "jsonrpc": "2.0", "id": "another's", "result": {} })));
    says(&refused(&other, -32603, "bad_answer"), "the answer to this request is not in it");
}

#[test]
fn several_messages_in_one_body() {
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
fn a_name_that_nobody_knows() {
    let mut client = far("http://no-such-host.invalid/mcp", json!({})).start();
    let heard = client.request("initialize", initialize_params());
    let told = error(&heard, -32001, "backend_spawn_failed");
    says(told, "http://no-such-host.invalid/mcp cannot be reached");
    hints(told, "check the name in `url`");
    finish(client);
}
