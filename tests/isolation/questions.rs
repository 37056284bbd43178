//! A server's question goes to the one client that has used its process, or to nobody.

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
    // The server is asked for no sign of life after a timeout, which would end its process.
    servers(json!({ "timeout": 1000, "onTimeout": "keep" }), OFFER)
}

/// What becomes of A's call before B calls.
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

/// A uses the process, and then B, whose call makes the server ask what could be about A.
fn check_refused(fate: Fate, question: &'static str) {
    on_shared_routes(asking, |site| {
        // What is stored is for clients without these capabilities.
        site.open_gate();
        let (mut a, mut b) = (open(site), open(site));
        let shared = a.process("x://a");
        assert_eq!(b.process("x://a"), shared);
        match fate {
            Fate::Running | Fate::TimedOut | Fate::Cancelled | Fate::Disconnected => {
                let tool = a.route.tool("hang");
                let id = a.begin("tools/call", json!({ "name": tool, "arguments": {} }));
                patience::until_true("the call is there", || site.told("\"hang\"") == 1);
                match fate {
                    Fate::Cancelled => {
                        a.notify("notifications/cancelled", json!({ "requestId": id }));
                        patience::until_true("the cancellation is there", || site.told("/cancelled") == 1);
                    }
                    Fate::TimedOut => {
                        patience::until_true("the time is over", || site.told("/cancelled") == 1);
                    }
                    Fate::Disconnected | Fate::Running | Fate::Answered => {}
                }
            }
            Fate::Answered => {
                a.call("echo", json!({}));
            }
        }
        let mut a = Some(a);
        if let Fate::Disconnected = fate {
            a = None;
        }
        b.have_said(&[question]);
        patience::until_true("the server is refused", || site.told(r#""id":"q1","error""#) == 1);
        // Nobody shares any more, and the process of before takes nothing new.
        let other = b.process("x://a");
        assert_ne!(other, shared);
        if let Some(a) = &mut a {
            let own = a.process("x://a");
            assert!(own != shared && own != other, "{own} {other} {shared}");
        }
        // Its own questions reach it from now on.
        b.have_said(&[&question.replace("q1", "q2")]);
        let method =
            if question.contains("sampling") { "sampling/createMessage" } else { "elicitation/create" };
        b.answers(method, json!({ "result": { "answer": "of b" } }));
        patience::until_true("the server is answered", || site.told("of b") == 1);
    });
}

#[test]
fn question_while_two_calls_run() {
    check_refused(Fate::Running, SAMPLING);
}

#[test]
fn question_of_a_cancelled_call() {
    check_refused(Fate::Cancelled, SAMPLING);
}

#[test]
fn question_of_a_timed_out_call() {
    check_refused(Fate::TimedOut, ELICITATION);
}

#[test]
fn question_of_an_answered_call() {
    check_refused(Fate::Answered, ELICITATION);
}

#[test]
fn question_of_a_disconnected_client() {
    check_refused(Fate::Disconnected, SAMPLING);
}
