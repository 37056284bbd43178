//! Server requests to a client: they reach the only client that has used the process, or are refused.

use super::routes::{Guest, Site, on_shared_routes, servers};
use crate::aggregate::servers::Servers;
use serde_json::json;
use switchboard_testkit::patience;

const OFFER: &str = r#"{ "tools": [{ "name": "say" }, { "name": "hang" }, { "name": "echo" }],
    "resources": [{ "uri": "x://a", "name": "a" }] }"#;
const SAMPLING: &str =
    r#"{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
const ELICITATION: &str = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}"#;

fn asking() -> Servers {
    // `keep`: without it, a probe after the timeout would end the process.
    servers(json!({ "timeout": 1000, "onTimeout": "keep" }), OFFER)
}

/// State of A's call when B calls.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Running,
    Cancelled,
    TimedOut,
    Answered,
    Disconnected,
}

fn open(site: &Site) -> Guest {
    site.open_with(json!({ "sampling": {}, "elicitation": {} }))
}

/// Makes A's call and waits until it has this fate, apart from the disconnection.
fn make_call(site: &Site, a: &mut Guest, fate: Fate) {
    if let Fate::Answered = fate {
        a.call("echo", json!({}));
        return;
    }
    let tool = a.route.tool("hang");
    let id = a.begin("tools/call", json!({ "name": tool, "arguments": {} }));
    patience::until_true("the call is there", || site.told("\"hang\"") == 1);
    match fate {
        Fate::Cancelled => {
            a.notify("notifications/cancelled", json!({ "requestId": id }));
            patience::until_true("the cancellation is there", || site.told("/cancelled") == 1);
        }
        Fate::TimedOut => patience::until_true("the time is over", || site.told("/cancelled") == 1),
        Fate::Disconnected | Fate::Running | Fate::Answered => {}
    }
}

/// Both A and B use the process; then B's call makes the server send a request that may concern A.
fn check_refused(fate: Fate, question: &'static str) {
    on_shared_routes(asking, |site| {
        // Stored lists belong to clients without these capabilities.
        site.open_gate();
        let (mut a, mut b) = (open(site), open(site));
        let shared = a.process("x://a");
        assert_eq!(b.process("x://a"), shared);
        make_call(site, &mut a, fate);
        let mut a = Some(a);
        if let Fate::Disconnected = fate {
            a = None;
        }
        b.have_said(&[question]);
        patience::until_true("the server is refused", || site.told(r#""id":"q1","error""#) == 1);
        // The process is no longer shared and takes no new requests.
        let other = b.process("x://a");
        assert_ne!(other, shared);
        if let Some(a) = &mut a {
            let own = a.process("x://a");
            assert!(own != shared && own != other, "{own} {other} {shared}");
        }
        // From now on B's server can send requests to B.
        b.have_said(&[&question.replace("q1", "q2")]);
        let method =
            if question.contains("sampling") { "sampling/createMessage" } else { "elicitation/create" };
        b.answers(method, json!({ "result": { "answer": "of b" } }));
        patience::until_true("the server is answered", || site.told("of b") == 1);
    });
}

#[test]
fn request_while_two_calls_run_is_refused() {
    check_refused(Fate::Running, SAMPLING);
}

#[test]
fn request_after_a_cancel_is_refused() {
    check_refused(Fate::Cancelled, SAMPLING);
}

#[test]
fn request_after_a_timeout_is_refused() {
    check_refused(Fate::TimedOut, ELICITATION);
}

#[test]
fn request_after_an_answer_is_refused() {
    check_refused(Fate::Answered, ELICITATION);
}

#[test]
fn request_after_a_disconnect_is_refused() {
    check_refused(Fate::Disconnected, SAMPLING);
}
