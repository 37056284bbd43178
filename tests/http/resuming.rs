//! Resuming: a connection may be cut at any point without cancelling anything, and a client that returns with
//! the number of the last event gets the rest.

use super::served::{FAKE, Served, asking};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::http::{Event, Reply, Talk, answer};

fn asked(served: &Served) -> Talk {
    Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} }))
}

/// The only answer to this request among the messages.
#[track_caller]
fn only_answer(messages: &[Value], id: u64) -> &Value {
    let answers: Vec<&Value> =
        messages.iter().filter(|it| it["id"] == id && it.get("method").is_none()).collect();
    assert_eq!(answers.len(), 1, "{messages:?}");
    answers[0]
}

#[test]
fn call_resumes_after_its_first_event() {
    let served = Served::new();
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    drop(reply);
    talk.answer(&first.json()["id"], json!({ "said": "a sample" }));
    // Perhaps once before the answer is there, and once after: it is stored.
    for _ in 0..2 {
        let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
        assert!(text(&answer).contains("a sample"), "{answer}");
    }
    assert!(!served.record().all_lines().iter().any(|line| line.contains("cancelled")));
}

#[test]
fn lost_server_request_is_sent_again() {
    let served = Served::new();
    let talk = asked(&served);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
    let request = r#"{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{}}"#;
    let (id, message) =
        talk.call_of("ask", json!({ "id": "77", "request": format!("{progress}\n{request}") }));
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    assert_eq!(first.json()["method"], "notifications/progress");
    drop(reply);
    let mut again = talk.resume(first.id.as_deref().unwrap());
    let request = again.message().unwrap();
    assert_eq!(request["method"], "sampling/createMessage");
    talk.answer(&request["id"], json!({ "said": "a sample" }));
    assert!(text(&answer(again, id)).contains("a sample"));
}

/// The stream of a call, cut after every third byte in turn.
#[test]
fn stream_cut_anywhere_resumes() {
    let served = Served::new();
    let talk = served.open();
    let work = json!({ "steps": 3, "ms": 0 });
    let whole = talk.begin("work", work.clone()).whole();
    let (mut resumed, mut lost) = (0, 0);
    for cut in (0..whole.len()).step_by(3) {
        let (id, message) = talk.call_of("work", work.clone());
        let mut reply = talk.say(&message).send();
        assert!(reply.is_stream(), "progress comes before the answer");
        let before = events(&reply.some(cut));
        drop(reply);
        let Some(last) = before.iter().filter_map(|event| event.id.clone()).next_back() else {
            // Without an event number there is no resuming. The server finishes the call, and the session
            // continues.
            lost += 1;
            continue;
        };
        let mut messages: Vec<Value> =
            before.iter().filter(|event| !event.data.is_empty()).map(Event::json).collect();
        let mut again = talk.resume(&last);
        assert_eq!(again.status, 200);
        while let Some(message) = again.message() {
            messages.push(message);
        }
        assert_eq!(text(only_answer(&messages, id)), "worked");
        assert_eq!(messages.len(), 4, "each once, in order: {messages:?}");
        resumed += 1;
    }
    assert!(resumed > lost, "{resumed} {lost}");
    assert_eq!(text(&talk.call("echo", json!({}))), "{}");
    assert!(!served.record().all_lines().iter().any(|line| line.contains("cancelled")));
}

/// Complete events in these bytes.
fn events(bytes: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(bytes);
    let Some((whole, _)) = text.rsplit_once("\n\n") else { return Vec::new() };
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    whole
        .split("\n\n")
        .map(|block| Event {
            id: field(block, "id"),
            kind: field(block, "event"),
            data: field(block, "data").unwrap_or_default(),
        })
        .collect()
}

#[test]
fn early_disconnect_cancels_nothing() {
    let served = Served::new();
    let talk = served.open();
    let (id, message) = talk.call_of("hold", json!({}));
    let wire = talk.say(&message).begin();
    served.record().wait_for(1, "hold");
    drop(wire);
    assert_eq!(talk.call("release", json!({}))["result"]["released"], 1);
    assert!(!served.record().all_lines().iter().any(|line| line.contains("cancelled")));
    // The call is over, so its id is free again.
    let again = switchboard_testkit::http::call(id, "echo", json!({}));
    assert_eq!(text(&answer(talk.say(&again).send(), id)), "{}");
}

/// A slow call gets a stream whose first event has a number and no message.
#[test]
fn slow_call_resumes_before_any_message() {
    let served = Served::new();
    let talk = served.open();
    let (id, message) = talk.call_of("hold", json!({ "label": "late" }));
    let mut reply = talk.say(&message).send();
    assert!(reply.is_stream());
    let first = reply.event().unwrap();
    assert_eq!(first.data, "");
    drop(reply);
    talk.call("release", json!({}));
    let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
    assert_eq!(answer["result"]["label"], "late");
}

#[test]
fn older_client_gets_no_empty_event() {
    let served = Served::new();
    let talk = Talk::open_as(&served.web, FAKE, "2025-06-18", json!({}));
    let (id, message) = talk.call_of("hold", json!({ "label": "late" }));
    let mut reply = talk.say(&message).send();
    assert!(reply.is_stream());
    talk.call("release", json!({}));
    let first = reply.event().unwrap();
    assert_eq!(first.json()["id"], id, "{first:?}");
}

#[test]
fn answer_that_was_dropped_is_an_error() {
    let served = Served::set(json!({ "eventBytes": "300B" }));
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    drop(reply);
    talk.answer(&first.json()["id"], json!({ "said": "x".repeat(1000) }));
    // A later answer has arrived, so this one was delivered to the lost stream.
    talk.call("echo", json!({}));
    let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
    error(&answer, answer["error"]["code"].as_i64().unwrap(), "client_too_slow");
    assert!(answer["error"]["message"].as_str().unwrap().contains("no longer stored"), "{answer}");
}

/// Answers of one session, once read, take no room from unread ones of another.
#[test]
fn answers_that_were_read_free_their_room() {
    let served = Served::set(json!({ "eventBytes": "64KiB" }));
    let (greedy, talk) = (served.open(), asked(&served));
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    drop(reply);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
    let begin =
        format!("{progress}\n{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{{\"content\":[{{\"text\":\"");
    let read_much = || {
        for _ in 0..4 {
            let answer = greedy.call("say", json!({ "text": begin, "fill": 30 << 10, "after": "\"}]}}\n" }));
            assert_eq!(text(&answer).len(), 30 << 10);
        }
    };
    read_much();
    talk.answer(&first.json()["id"], json!({ "said": "x".repeat(20 << 10) }));
    // A later answer has arrived, so this one was delivered to the lost stream.
    talk.call("echo", json!({}));
    read_much();
    let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
    assert!(text(&answer).len() > 20 << 10, "{answer}");
}

/// A stream that is read never drops messages for lack of room.
#[test]
fn open_stream_drops_nothing() {
    let served = Served::set(json!({ "eventBytes": "300B" }));
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let asked = reply.message().unwrap();
    talk.answer(&asked["id"], json!({ "said": "x".repeat(100_000) }));
    assert!(text(&answer(reply, id)).len() > 100_000);
}

#[test]
fn session_stream_resumes() {
    let served = Served::new();
    let talk = served.open();
    let other = served.open();
    let tell = |number: u32| {
        let said = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"n":{number}}}}}"#
        );
        let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
        other.call("say", json!({ "text": format!("{said}\n{answer}\n") }));
    };
    let mut own = talk.listen();
    tell(1);
    let first = own.event().unwrap();
    drop(own);
    tell(2);
    let mut again = talk.resume(first.id.as_deref().unwrap());
    assert_eq!(again.message().unwrap()["params"]["n"], 2);
}

#[test]
fn unknown_event_number_gets_nothing() {
    let served = Served::new();
    let talk = served.open();
    for nonsense in ["x", "1", "-", "1-x", "99999999999999999999999-1"] {
        assert_eq!(talk.resume(nonsense).status, 400, "{nonsense}");
    }
    let mut reply = talk.resume("4711-1");
    assert_eq!((reply.status, reply.event()), (200, None));
}

/// Sessions number their events alike; a number is valid only in its own session.
#[test]
fn event_number_of_another_session_is_void() {
    let served = Served::new();
    let (talk, other) = (asked(&served), asked(&served));
    let (_, message) = talk.call_of("ask", asking());
    let mut reply: Reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    let mut stolen = other.resume(first.id.as_deref().unwrap());
    assert_eq!(stolen.event(), None);
    talk.answer(&first.json()["id"], json!({ "said": "a sample" }));
    assert!(text(&reply.message().unwrap()).contains("a sample"));
}
