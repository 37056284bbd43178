//! A connection may be cut at any point: nothing is cancelled by that, and who comes back with the number of the last
//! event gets the rest.

use super::served::{FAKE, Served, asking};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::http::{Event, Reply, Talk, answer};

fn asked(served: &Served) -> Talk {
    Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} }))
}

/// The answer to this request among these messages, which is there once.
#[track_caller]
fn only_answer(messages: &[Value], id: u64) -> &Value {
    let answers: Vec<&Value> =
        messages.iter().filter(|it| it["id"] == id && it.get("method").is_none()).collect();
    assert_eq!(answers.len(), 1, "{messages:?}");
    answers[0]
}

#[test]
fn after_its_first_event_a_call_can_be_come_back_to() {
    let served = Served::new();
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    drop(reply);
    talk.answer(&first.json()["id"], json!({ "said": "a sample" }));
    // Once before the answer is there, perhaps, and once after: it is kept.
    for _ in 0..2 {
        let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
        assert!(text(&answer).contains("a sample"), "{answer}");
    }
    assert!(!served.record().all_lines().iter().any(|line| line.contains("cancelled")));
}

#[test]
fn what_was_asked_on_a_lost_stream_is_asked_again() {
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

/// The stream of a call, cut after each of its bytes in turn.
#[test]
fn a_stream_that_is_cut_anywhere_can_be_gone_on_with() {
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
            // It has nothing to come back with. The server works to the end, and the session goes on.
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

/// The whole events among these bytes.
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
fn one_who_goes_before_the_head_of_an_answer_cancels_nothing() {
    let served = Served::new();
    let talk = served.open();
    let (id, message) = talk.call_of("hold", json!({}));
    let wire = talk.say(&message).begin();
    served.record().wait_for(1, "hold");
    drop(wire);
    assert_eq!(talk.call("release", json!({}))["result"]["released"], 1);
    assert!(!served.record().all_lines().iter().any(|line| line.contains("cancelled")));
    // It is over, whoever heard of it: its id is free again.
    let again = switchboard_testkit::http::call(id, "echo", json!({}));
    assert_eq!(text(&answer(talk.say(&again).send(), id)), "{}");
}

/// What takes long is answered by a stream, whose first event says nothing but its number.
#[test]
fn a_call_that_takes_long_can_be_come_back_to_before_anything_was_said() {
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
fn an_older_client_gets_no_event_without_a_message() {
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
fn an_answer_that_was_not_kept_is_an_error_for_who_comes_back() {
    let served = Served::set(json!({ "eventBytes": "300B" }));
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let first = reply.said().unwrap();
    drop(reply);
    talk.answer(&first.json()["id"], json!({ "said": "x".repeat(1000) }));
    // What comes after it is here: so it was given, to nobody.
    talk.call("echo", json!({}));
    let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
    error(&answer, answer["error"]["code"].as_i64().unwrap(), "client_too_slow");
    assert!(answer["error"]["message"].as_str().unwrap().contains("not kept"), "{answer}");
}

/// One session's answers, which it has read, take no room from another's that wait.
#[test]
fn answers_that_were_read_make_room() {
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
    // What comes after it is here: so it was given, to nobody.
    talk.call("echo", json!({}));
    read_much();
    let answer = answer(talk.resume(first.id.as_deref().unwrap()), id);
    assert!(text(&answer).len() > 20 << 10, "{answer}");
}

/// On a stream that is read, nothing is missing for want of room.
#[test]
fn who_stays_gets_everything_however_little_is_kept() {
    let served = Served::set(json!({ "eventBytes": "300B" }));
    let talk = asked(&served);
    let (id, message) = talk.call_of("ask", asking());
    let mut reply = talk.say(&message).send();
    let asked = reply.message().unwrap();
    talk.answer(&asked["id"], json!({ "said": "x".repeat(100_000) }));
    assert!(text(&answer(reply, id)).len() > 100_000);
}

#[test]
fn the_own_stream_is_gone_on_with() {
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
fn the_number_of_no_event_is_refused_or_followed_by_nothing() {
    let served = Served::new();
    let talk = served.open();
    for nonsense in ["x", "1", "-", "1-x", "99999999999999999999999-1"] {
        assert_eq!(talk.resume(nonsense).status, 400, "{nonsense}");
    }
    let mut reply = talk.resume("4711-1");
    assert_eq!((reply.status, reply.event()), (200, None));
}

/// Two sessions number their events alike; one's numbers say nothing of the other's.
#[test]
fn the_number_of_anothers_event_leads_nowhere() {
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
