//! Refusals by which a server says, or seems to say, that it does not know our session. Executions are
//! counted: a call is sent again only if the transport has rejected it.

use super::{finish, greeted};
use crate::support::{error, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_testkit::web::{Seen, Web, Wire, mcp};

const UNKNOWN: &str = "whether this request took effect is unknown; it was not sent a second time";

/// Answer of a server to the tool `odd`, or to a list, in its first session.
struct Refusal {
    status: u16,
    /// `$id` stands for the request's id.
    body: &'static str,
    /// Whether the server forgets that session.
    forgets: bool,
}

impl Refusal {
    fn say(&self, seen: &Seen, wire: &mut Wire<'_>) {
        let body = self.body.replace("$id", &seen.body["id"].to_string());
        wire.reply(self.status, &[("content-type", "application/json")], body);
    }
}

/// A server that executes requests that it refuses, and counts executions.
fn web(refusal: Refusal) -> (Web, Arc<AtomicUsize>) {
    let executed = Arc::new(AtomicUsize::new(0));
    let (count, refused) = (executed.clone(), AtomicUsize::new(0));
    let web = Web::start(move |seen, wire| {
        let is_first = seen.header("mcp-session-id") == Some("s-1");
        let is_odd = seen.tool() == "odd" || seen.what() == "tools/list";
        count.fetch_add(usize::from(seen.tool() == "odd"), Ordering::SeqCst);
        if is_odd && is_first {
            refused.fetch_add(1, Ordering::SeqCst);
            return refusal.say(seen, wire);
        }
        let is_over = refusal.forgets && refused.load(Ordering::SeqCst) > 0;
        mcp(seen, wire, if is_over { "s-2" } else { "s-1" });
    });
    (web, executed)
}

/// Calls `odd`; returns the answer, the number of executions and the number of sessions.
#[track_caller]
fn called(refusal: Refusal) -> (Value, usize, usize) {
    let (web, executed) = web(refusal);
    let mut client = greeted(&web);
    let heard = client.call("odd", json!({}));
    let (executed, sessions) = (executed.load(Ordering::SeqCst), web.count("initialize"));
    let next = text(&client.call("one", json!({}))).to_owned();
    assert_eq!(next, format!("one in s-{sessions}"), "the next call works");
    finish(client);
    (heard, executed, sessions)
}

#[test]
fn rejected_call_is_sent_again() {
    for (status, body) in [
        (404, ""),
        (404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#),
        (
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#,
        ),
        (
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#,
        ),
        (400, "Bad Request: No valid session ID provided"),
    ] {
        let (heard, sent, sessions) = called(Refusal { status, body, forgets: true });
        assert_eq!(text(&heard), "odd in s-2", "{status} {body}");
        assert_eq!((sent, sessions), (2, 2), "{status} {body}");
    }
}

/// The session is lost, but the refusal does not say that nothing was executed.
#[test]
fn possibly_executed_call_is_not_resent() {
    for (status, body) in [
        (400, "the session has ended"),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#),
        (
            404,
            r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"the session of this shell is gone"}}"#,
        ),
        (404, "no such page"),
        (410, "gone"),
        (
            400,
            r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
    ] {
        let (heard, executed, sessions) = called(Refusal { status, body, forgets: true });
        let told = error(&heard, -32002, "backend_unavailable");
        let part = format!(
            "had lost the session and refused this request ({status}); a new session was started; it said: "
        );
        assert!(told["message"].as_str().unwrap().contains(&part), "{told}");
        assert_eq!(told["data"]["hint"], UNKNOWN);
        assert_eq!((executed, sessions), (1, 2), "{body}");
    }
}

/// The refusal is about a session of the tool; ours is unchanged.
#[test]
fn known_session_is_kept() {
    let (heard, executed, sessions) =
        called(Refusal { status: 400, body: "no such session: shell-5", forgets: false });
    let told = error(&heard, -32002, "backend_unavailable");
    let part = "refused this request (400); it said: no such session: shell-5";
    assert!(told["message"].as_str().unwrap().contains(part), "{told}");
    assert_eq!((executed, sessions), (1, 1));
}

#[test]
fn jsonrpc_error_is_passed_on() {
    for (status, told) in [
        (400, r#"{"code":-32602,"message":"argument `session` is missing"}"#),
        (404, r#"{"code":-32601,"message":"Method not found"}"#),
        (404, r#"{"code":-32000,"message":"no such session: shell-5"}"#),
    ] {
        let body: String = format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{told}}}"#);
        let (heard, executed, sessions) = called(Refusal { status, body: body.leak(), forgets: false });
        assert_eq!(heard["error"].to_string(), told);
        assert_eq!((executed, sessions), (1, 1));
    }
}

#[test]
fn list_is_requested_again_in_doubt() {
    let (web, _) = web(Refusal { status: 400, body: "the session has ended", forgets: true });
    let mut client = greeted(&web);
    let list = client.request("tools/list", json!({}));
    assert_eq!(list["result"]["tools"][0]["name"], "one", "{list}");
    assert_eq!((web.count("tools/list"), web.count("initialize")), (2, 2));
    finish(client);
}
