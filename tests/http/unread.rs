//! Sessions without an open stream: waiting notifications are bounded and counted, and server requests are
//! not lost.

use super::served::{FAKE, Served};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Talk, answer};
use switchboard_testkit::{patience, pids};

const MIB: u64 = 1 << 20;

/// A client without an open stream for notifications.
fn open(served: &Served, path: &str) -> Talk {
    Talk::open_as(&served.web, path, "2025-11-25", json!({ "sampling": {} }))
}

#[track_caller]
fn call(talk: &Talk, tool: &str, arguments: Value) -> Value {
    let (id, message) = talk.call_of(tool, arguments);
    answer(talk.say(&message).header("Accept", "application/json").send(), id)
}

#[test]
fn waiting_notifications_are_bounded() {
    for (path, flood) in [(FAKE, "flood"), ("/mcp", "fake__flood"), ("/profiles/some/mcp", "fake__flood")] {
        let served = Served::with(json!({ "profiles": { "some": ["fake"] } }), json!({}), &[]);
        let talk = open(&served, path);
        call(&talk, flood, json!({ "count": 1, "bytes": MIB }));
        let before = pids::memory(served.program.pid()).unwrap();
        let answer = call(&talk, flood, json!({ "count": 80, "bytes": MIB }));
        assert_eq!(answer["result"]["done"], true);
        let more = pids::memory(served.program.pid()).unwrap().saturating_sub(before);
        assert!(more < 40 * MIB, "{path}: {} MiB more", more / MIB);
        patience::until_true("it is said", || {
            served.program.stderr_so_far().contains("notifications dropped")
        });
        // Small notifications wait; the newest are kept.
        call(&talk, flood, json!({ "count": 10, "bytes": 10 }));
        let mut own = talk.listen();
        for number in 0..10 {
            assert_eq!(own.message().unwrap()["params"]["number"], number);
        }
    }
}

#[test]
fn waiting_request_outlives_notifications() {
    let served = Served::new();
    let talk = open(&served, FAKE);
    // Sent when no request is open any more.
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}"#;
    call(&talk, "say", json!({ "text": format!("{answer}\n{question}\n") }));
    call(&talk, "flood", json!({ "count": 600, "bytes": 20_000 }));
    let mut own = talk.listen();
    let asked = own.message().unwrap();
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    talk.answer(&asked["id"], json!({ "said": "a sample" }));
    served.record().wait_for(1, "a sample");
    // An open stream gets everything again.
    assert_eq!(text(&talk.call("echo", json!({}))), "{}");
}
