//! Long streams over HTTP, and their ends: by the server, by us, by the client. A closed response is a cancelled request.

use super::http_calls::served;
use crate::http::served::{FAKE, Served};
use serde_json::{Value, json};
use switchboard_testkit::http::Modern;
use switchboard_testkit::pids::Word;
use switchboard_testkit::{message, patience};

const PATHS: [(&str, &str); 2] = [(FAKE, ""), ("/mcp", "fake__")];

/// Cancellations that the server has seen.
fn cancellations(modern: &Modern, prefix: &str) -> Vec<Value> {
    let answer = modern.call(&format!("{prefix}cancellations"), json!({}));
    answer["result"]["cancelled"].as_array().unwrap().clone()
}

/// Number of cancellations that have reached a server.
fn heard(served: &Served) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains("notifications/cancelled")).count()
}

/// The subscription that an answer ends.
fn ended(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[test]
fn listen_carries_what_was_asked_for() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    let wishes = json!({ "resourceSubscriptions": ["fake://a"] });
    let (id, mut stream) = modern.listen(wishes.clone());
    let (other, mut second) = modern.listen(wishes);
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    for uri in ["fake://b", "fake://a"] {
        modern.call("change", json!({ "uri": uri }));
    }
    for (id, stream) in [(id, &mut stream), (other, &mut second)] {
        let notice = stream.message().unwrap();
        assert_eq!(
            (&notice["method"], &notice["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("fake://a"))
        );
        assert_eq!(*message::subscription(&notice), id, "{notice}");
    }
}

#[test]
fn closed_listen_is_cancelled() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    let (_, stream) = modern.listen(json!({ "resourceSubscriptions": ["fake://a"] }));
    assert_eq!(heard(&served), 0);
    drop(stream);
    patience::until_true("the server hears of it", || heard(&served) == 1);
    let seen = cancellations(&modern, "");
    assert!(seen.iter().any(|seen| seen["listen"] == true), "{seen:?}");
}

#[test]
fn server_ends_a_listen() {
    for how in ["result", "cancelled"] {
        let served = served();
        let modern = Modern::at(&served.web, FAKE);
        let (id, mut stream) = modern.listen(json!({ "resourceSubscriptions": ["fake://a"] }));
        modern.call("unlisten", json!({ "how": how }));
        let last = stream.message().unwrap();
        match how {
            "result" => assert_eq!((&last["id"], ended(&last)), (&json!(id), &json!(id)), "{last}"),
            _ => assert!(last["id"] == id || last["params"]["requestId"] == id, "{last}"),
        }
        assert_eq!(stream.message(), None, "{how}");
    }
}

#[test]
fn shutdown_ends_listens_in_order() {
    let mut served = served();
    let open: Vec<_> = PATHS
        .into_iter()
        .map(|(path, _)| Modern::at(&served.web, path).listen(json!({ "toolsListChanged": true })))
        .collect();
    served.program.signal(Word::Terminate);
    for (id, mut stream) in open {
        let last = stream.message().unwrap();
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(id), &json!("complete")), "{last}");
        assert_eq!(*ended(&last), id, "{last}");
        assert_eq!(stream.message(), None);
    }
    let end = served.program.wait_for_end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
}

#[test]
fn closed_response_cancels_the_call() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        // One path is the end of the other.
        let label = format!("<{path}>");
        let arguments = json!({ "label": label });
        let (_, message) =
            modern.message("tools/call", json!({ "name": format!("{prefix}hang"), "arguments": arguments }));
        let wire = modern.say(&message).begin();
        patience::until_true("the call is there", || {
            served.record().all_lines().iter().any(|line| line.contains("\"hang\"") && line.contains(&label))
        });
        let before = heard(&served);
        drop(wire);
        patience::until_true("the server hears of it", || heard(&served) == before + 1);
        let seen = cancellations(&modern, prefix);
        assert!(seen.iter().any(|seen| seen["label"] == label.as_str()), "{seen:?}");
        // The id is free again for the client, and the answer is that of the new request.
        let mut again = message.clone();
        again["params"]["name"] = json!(format!("{prefix}echo"));
        let answer = modern.say(&again).send().json();
        assert_eq!(answer["result"]["content"][0]["text"], arguments.to_string(), "{answer}");
    }
}

/// Legacy: a lost connection cancels nothing.
#[test]
fn closed_response_of_a_session_is_no_cancel() {
    let served = Served::with(json!({}), json!({ "scope": "global", "state": "none" }), &["--era", "dual"]);
    let talk = served.open();
    let (_, message) = talk.call_of("hang", json!({ "label": "kept" }));
    let wire = talk.say(&message).begin();
    served.record().wait_for(1, "kept");
    drop(wire);
    assert_eq!(talk.call("echo", json!({}))["result"]["content"][0]["text"], "{}");
    assert!(!served.record().all_lines().iter().any(|line| line.contains("notifications/cancelled")));
}
