//! Answers over HTTP: whole if the answer comes first, as a stream as soon as another message does.

use super::served::{FAKE, Served, asking, refused};
use crate::support::{saying, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use switchboard_testkit::http::{Reply, Talk, answer, call};
use switchboard_testkit::patience;

const PROGRESS: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"said"}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;

#[test]
fn notifications_are_accepted_without_body() {
    let served = Served::new();
    let talk = served.open();
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/of-the-house", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": "never asked", "result": {} }),
        json!([{ "jsonrpc": "2.0", "method": "notifications/one" }, { "jsonrpc": "2.0", "method": "notifications/two" }]),
    ] {
        let mut reply = talk.say(&message).send();
        assert_eq!((reply.status, reply.text().as_str()), (202, ""), "{message}");
    }
    served.record().wait_for(1, "notifications/two");
}

#[test]
fn immediate_answer_is_plain_json() {
    let served = Served::new();
    let talk = served.open();
    let mut reply = talk.begin("echo", json!({ "a": 1 }));
    assert_eq!((reply.status, reply.kind()), (200, "application/json"));
    assert_eq!(text(&reply.json()), r#"{"a":1}"#);
}

#[test]
fn ids_keep_their_spelling() {
    let served = Served::new();
    let talk = served.open();
    for id in [r#""1""#, "1", "1.0", "-0", r#""é 😀""#, "12345678901234567890123", r#""""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let reply = talk.web.post(FAKE, body).header("Mcp-Session-Id", &talk.session).send().text();
        assert!(reply.contains(&format!(r#""id":{id}"#)), "{id}: {reply}");
    }
}

#[test]
fn earlier_notification_opens_a_stream() {
    let served = Served::new();
    let talk = served.open();
    for (said, method) in [(PROGRESS, "notifications/progress"), (LOG, "notifications/message")] {
        let (id, message) = talk.call_of("say", json!({ "text": format!("{said}\n{ANSWER}\n") }));
        let mut reply = talk.say(&message).send();
        assert_eq!((reply.status, reply.kind()), (200, "text/event-stream"), "{said}");
        assert_eq!(reply.header("cache-control"), Some("no-cache, no-transform"));
        let first = reply.event().unwrap();
        assert_eq!(
            (first.id.is_some(), &*first.data),
            (true, ""),
            "it can be come back to from the beginning"
        );
        let next = reply.event().unwrap();
        assert!(next.id.is_some(), "{next:?}");
        assert_eq!(next.json()["method"], method);
        assert_eq!(reply.message().unwrap()["id"], id);
        assert_eq!(reply.event(), None, "it ends with the answer");
    }
}

#[test]
fn client_without_streams_gets_json() {
    let served = Served::new();
    let talk = served.open();
    let (id, message) = talk.call_of("say", json!({ "text": format!("{PROGRESS}\n{LOG}\n{ANSWER}\n") }));
    let mut reply = talk.say(&message).header("Accept", "application/json").send();
    assert_eq!((reply.status, reply.kind()), (200, "application/json"));
    assert_eq!(reply.json()["id"], id);
    refused(talk.say(&message).header("Accept", "text/html").send(), 406);
    refused(
        talk.web.get(FAKE).header("Mcp-Session-Id", &talk.session).header("Accept", "text/html").send(),
        406,
    );
}

#[test]
fn server_request_is_answered_by_post() {
    let served = Served::new();
    for (path, tool) in [(FAKE, "ask"), ("/mcp", "fake__ask")] {
        let talk = Talk::open_as(&served.web, path, "2025-11-25", json!({ "sampling": {} }));
        let (id, message) = talk.call_of(tool, asking());
        let mut reply = talk.say(&message).send();
        assert!(reply.is_stream());
        let asked = reply.message().unwrap();
        assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
        talk.answer(&asked["id"], json!({ "role": "assistant", "said": "a sample" }));
        let answer = answer(reply, id);
        assert!(text(&answer).contains("a sample"), "{answer}");
    }
}

/// Another session cannot answer for a client, even with the right id.
#[test]
fn only_the_asked_session_can_answer() {
    let served = Served::new();
    let talks = [(); 2].map(|()| Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} })));
    for at in 0..2 {
        let (id, message) = talks[at].call_of("ask", asking());
        let mut reply = talks[at].say(&message).send();
        let asked = reply.message().unwrap();
        talks[1 - at].answer(&asked["id"], json!({ "said": "a lie" }));
        talks[at].answer(&asked["id"], json!({ "said": format!("by {at}") }));
        let answer = answer(reply, id);
        assert!(text(&answer).contains(&format!("by {at}")), "{answer}");
    }
}

#[test]
fn batch_is_answered_as_a_batch() {
    let served = Served::new();
    let talk = Talk::open_as(&served.web, FAKE, "2025-03-26", json!({}));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/aside" });
    let batch = json!([call(1, "echo", json!({ "n": 1 })), note, call(2, "echo", json!({ "n": 2 }))]);
    let answers = talk.say(&batch).send().json();
    let ids: BTreeSet<u64> =
        answers.as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, BTreeSet::from([1, 2]));
    // Other messages turn the answer into a stream of single messages.
    let batch = json!([call(3, "echo", json!({})), call(4, "say", saying(&format!("{PROGRESS}\n{ANSWER}")))]);
    let mut reply = talk.say(&batch).send();
    assert!(reply.is_stream());
    let mut said: Vec<Value> = Vec::new();
    while let Some(message) = reply.message() {
        said.push(message);
    }
    let ids: BTreeSet<u64> = said.iter().filter_map(|it| it["id"].as_u64()).collect();
    assert_eq!((ids, said.len()), (BTreeSet::from([3, 4]), 3), "{said:?}");
}

/// For a client that takes no streams, a batch is answered when its last member is, or is cancelled.
#[test]
fn cancelled_member_does_not_hold_its_batch() {
    let served = Served::new();
    let talk = Talk::open_as(&served.web, FAKE, "2025-03-26", json!({}));
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let batch = json!([call(1, "hang", json!({})), ping]);
    let response = talk.say(&batch).header("Accept", "application/json").begin();
    let is_there = || served.record().all_lines().iter().any(|line| line.contains("\"hang\""));
    patience::until_true("the call is there", is_there);
    talk.notify("notifications/cancelled", json!({ "requestId": 1 }));
    let answers = Reply::read(response).unwrap().json();
    assert_eq!(answers, json!([{ "jsonrpc": "2.0", "id": 2, "result": {} }]));
}

/// Some clients wait for the answer even after they have cancelled.
#[test]
fn late_answer_to_a_cancelled_call_passes() {
    let served = Served::new();
    let talk = served.open();
    let (id, message) = talk.call_of("hold", json!({}));
    let response = talk.say(&message).begin();
    served.record().wait_for(1, "hold");
    talk.notify("notifications/cancelled", json!({ "requestId": id }));
    served.record().wait_for(1, "notifications/cancelled");
    talk.begin("release", json!({}));
    assert_eq!(Reply::read(response).unwrap().json()["id"], id);
}

/// A proxy that collects or compresses a stream would delay its messages.
#[test]
fn streams_pass_proxies_unbuffered() {
    let served = Served::new();
    let talk = served.open();
    let (_, call) = talk.call_of("say", saying(&format!("{PROGRESS}\n{ANSWER}")));
    for stream in [talk.say(&call).send(), talk.listen(), served.web.get("/sse").send()] {
        assert!(stream.is_stream());
        assert_eq!(stream.header("x-accel-buffering"), Some("no"));
        assert_eq!(stream.header("cache-control"), Some("no-cache, no-transform"));
    }
}

#[test]
fn invalid_message_is_refused() {
    let served = Served::new();
    let talk = served.open();
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"forbidden"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"Method":"forbidden"}"#, -32600),
        ("7", -32600),
    ] {
        let mut reply = talk.web.post(FAKE, body).header("Mcp-Session-Id", &talk.session).send();
        let status = reply.status;
        let answer = reply.json();
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{body}: {answer}");
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn equal_ids_of_sessions_stay_apart() {
    let served = Served::new();
    let talks = [served.open(), served.open(), served.open()];
    let wires: Vec<_> = talks
        .iter()
        .enumerate()
        .map(|(at, talk)| talk.say(&call(7, "hold", json!({ "label": at }))).begin())
        .collect();
    for at in 0..talks.len() {
        served.record().wait_for(1, &format!(r#""label":{at}"#));
    }
    talks[0].call("release", json!({ "labels": [2, 0, 1] }));
    for (at, wire) in wires.into_iter().enumerate() {
        assert_eq!(answer(Reply::read(wire).unwrap(), 7)["result"]["label"], at);
    }
}

#[test]
fn id_in_use_cannot_be_reused() {
    let served = Served::new();
    let talk = served.open();
    let wire = talk.say(&call(7, "hold", json!({}))).begin();
    served.record().wait_for(1, "hold");
    refused(talk.say(&call(7, "echo", json!({ "is": "forbidden" }))).send(), 400);
    let twice =
        json!([call(8, "echo", json!({ "is": "forbidden" })), call(8, "echo", json!({ "is": "forbidden" }))]);
    refused(talk.say(&twice).send(), 400);
    talk.call("release", json!({}));
    assert!(answer(Reply::read(wire).unwrap(), 7)["result"].is_object());
    assert!(answer(talk.say(&call(7, "echo", json!({}))).send(), 7)["result"].is_object());
    served.check_not_forwarded("forbidden");
}

#[test]
fn session_stream_is_unique() {
    let served = Served::new();
    let talk = served.open();
    let mut own = talk.listen();
    assert_eq!((own.status, own.kind()), (200, "text/event-stream"));
    refused(talk.listen(), 409);
    // From another session's call, so it belongs to no request of this one.
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    served.open().call("say", json!({ "text": format!("{changed}\n{ANSWER}\n") }));
    assert_eq!(own.message().unwrap()["method"], "notifications/tools/list_changed");
    drop(own);
    switchboard_testkit::patience::until_true("the stream can be had again", || talk.listen().status == 200);
}

/// Progress arrives on the session's own stream, since that of the request has ended with the answer.
#[test]
fn late_progress_reaches_only_its_session() {
    let served = Served::new();
    let talks = [served.open(), served.open()];
    let mut streams = talks.each_ref().map(Talk::listen);
    for (talk, stream) in talks.iter().zip(&mut streams).rev() {
        let (id, mut message) = talk.call_of("say", json!({ "text": format!("{ANSWER}\n{PROGRESS}\n") }));
        message["params"]["_meta"]["progressToken"] = json!(talk.session);
        assert_eq!(answer(talk.say(&message).send(), id)["id"], id);
        let progress = stream.message().unwrap();
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(progress["params"]["progressToken"], talk.session.as_str());
    }
}

#[test]
fn unknown_progress_reaches_the_server() {
    let served = Served::new();
    let talk = served.open();
    talk.call("echo", json!({}));
    talk.notify("notifications/progress", json!({ "progressToken": "mine", "progress": 1 }));
    let heard = served.record().wait_for(1, "notifications/progress");
    assert!(heard.contains(r#""progressToken":"mine""#), "{heard}");
}
