//! Event streams, and both ways to end them.

use super::*;
use std::collections::HashMap;

/// Requests whose connection was closed by the client.
type ClosedRequests = Arc<Monitor<Vec<u64>>>;

/// A server that answers with a stream: one log message, then silence until the client is gone.
fn silent() -> (Web, ClosedRequests) {
    let closed = ClosedRequests::default();
    let seen_closed = closed.clone();
    let web = web(move |seen, wire| {
        wire.begin_events(&[]);
        wire.event(None, &note(&format!("begun {}", seen.body["id"])));
        wire.until_closed();
        seen_closed.update(|closed| closed.push(seen.body["id"].as_u64().unwrap()));
    });
    (web, closed)
}

#[track_caller]
fn wait_for_close(closed: &ClosedRequests, id: u64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let found = closed.wait_for(Some(deadline), |closed| closed.contains(&id).then_some(()));
    assert!(found.is_some(), "{id} is still open");
}

#[test]
fn messages_arrive_before_the_answer() {
    let web = web(|seen, wire| {
        wire.begin_events(&[]);
        wire.chunk(": keep-alive\n\n");
        for text in ["a", "b"] {
            wire.event(None, &note(text));
        }
        wire.event(None, &switchboard_testkit::web::answer(seen, &json!({ "resultType": "complete" })));
        wire.end_events();
    });
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    line.answer(2);
    let heard: Vec<_> = line.heard.0.lock().messages[1..].to_vec();
    let heard: Vec<_> = heard.iter().map(|it| it["params"]["data"].as_str().unwrap_or("answer")).collect();
    assert_eq!(heard, ["a", "b", "answer"]);
    line.settle();
}

#[test]
fn messages_arrive_as_they_are_sent() {
    let (web, _) = silent();
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    assert_eq!(line.notification("notifications/message")["params"]["data"], "begun 2");
}

#[test]
fn cancellation_closes_the_stream() {
    let (web, closed) = silent();
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    line.call(3, "t", json!({}));
    for text in ["begun 2", "begun 3"] {
        line.wait(|heard| heard.messages.iter().any(|it| it["params"]["data"] == text).then_some(()));
    }
    line.cancel(2);
    wait_for_close(&closed, 2);
    assert!(!closed.lock().contains(&3), "the other request goes on");
    line.settle();
    assert_eq!(web.count("notifications/cancelled"), 0);
    let is_answered = |id| line.heard.0.lock().messages.iter().any(|it| it["id"] == id);
    assert!(!is_answered(2) && !is_answered(3));
    line.cancel(3);
    wait_for_close(&closed, 3);
}

#[test]
fn cancellation_before_the_response() {
    let closed = ClosedRequests::default();
    let seen_closed = closed.clone();
    let web = web(move |seen, wire| {
        wire.until_closed();
        seen_closed.update(|closed| closed.push(seen.body["id"].as_u64().unwrap()));
    });
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    line.settle();
    line.cancel(2);
    wait_for_close(&closed, 2);
}

/// The result that the core gets for a subscription that ended without one.
fn ended(id: u64) -> Value {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "_meta": meta } })
}

/// Listens at a server whose stream goes on with `rest`.
fn listen(rest: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> (Web, Line) {
    let web = web(move |seen, wire| {
        wire.begin_events(&[]);
        let params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": seen.body["id"] } });
        for method in ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"] {
            wire.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
        rest(seen, wire);
    });
    let mut line = Line::discovered(&web);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    line.send(&request(2, "subscriptions/listen", filter));
    line.notification("notifications/subscriptions/acknowledged");
    line.notification("notifications/tools/list_changed");
    (web, line)
}

#[test]
fn closed_subscription_ends() {
    let (web, line) = listen(|_, wire| wire.end_events());
    assert_eq!(line.answer(2), ended(2));
    line.settle();
    assert_eq!(web.count("subscriptions/listen"), 1, "the client decides whether to listen again");
}

#[test]
fn cancelled_subscription_ends() {
    let (_web, line) = listen(|seen, wire| {
        let params = json!({ "requestId": seen.body["id"] });
        let other = json!({ "requestId": 77 });
        for params in [other, params] {
            let method = "notifications/cancelled";
            wire.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
        // The stream stays open.
        wire.until_closed();
    });
    assert_eq!(line.answer(2), ended(2));
    assert_eq!(line.notification("notifications/cancelled")["params"]["requestId"], 77);
}

#[test]
fn answered_subscription_ends() {
    let (_web, line) = listen(|seen, wire| {
        wire.event(
            None,
            &switchboard_testkit::web::answer(seen, &json!({ "resultType": "complete", "x": 1 })),
        );
        wire.end_events();
    });
    assert_eq!(line.answer(2)["result"]["x"], 1);
}

#[test]
fn client_ends_a_subscription() {
    let closed = ClosedRequests::default();
    let seen_closed = closed.clone();
    let (_web, mut line) = listen(move |_, wire| {
        wire.until_closed();
        seen_closed.update(|closed| closed.push(2));
    });
    line.cancel(2);
    wait_for_close(&closed, 2);
    assert!(line.heard.0.lock().messages.iter().all(|it| it["id"] != 2));
}

#[test]
fn lost_subscription_is_an_error() {
    let (web, line) = listen(|_, wire| wire.cut());
    assert!(line.answer(2)["error"]["message"].as_str().unwrap().contains("was lost before the answer"));
    assert_eq!(web.count("subscriptions/listen"), 1);
}

#[test]
fn stream_without_answer_is_an_error() {
    for is_cut in [false, true] {
        let web = web(move |_, wire| {
            // An event id does not make a modern stream resumable.
            wire.begin_events(&[]);
            wire.event(Some("e-1"), &note("n"));
            if is_cut { wire.cut() } else { wire.end_events() }
        });
        let mut line = Line::discovered(&web);
        line.call(2, "t", json!({}));
        let told = line.answer(2)["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.contains("was lost before the answer arrived"), "{told}");
        assert_eq!((web.count("tools/call"), web.count("GET")), (1, 0));
        line.settle();
    }
}

#[test]
fn lost_list_is_sent_again_once() {
    let web = web(|_, wire| wire.cut());
    let mut line = Line::discovered(&web);
    line.send(&request(2, "tools/list", json!({})));
    assert!(line.answer(2).get("error").is_some());
    assert_eq!(web.count("tools/list"), 2);
}

#[test]
fn continued_requests_are_sent_once() {
    let web = web(|_, wire| wire.cut());
    let mut line = Line::discovered(&web);
    for (id, member) in [(2, "requestState"), (3, "inputResponses")] {
        line.send(&request(id, "prompts/get", json!({ "name": "p", member: {} })));
        assert!(line.answer(id).get("error").is_some());
    }
    assert_eq!(web.count("prompts/get"), 2);
}

#[test]
fn too_long_answers_are_errors() {
    let web = web(|seen, wire| {
        let answer = switchboard_testkit::web::answer(seen, &json!({ "text": "x".repeat(LIMIT_BYTES) }));
        match seen.tool() {
            "stream" => {
                wire.begin_events(&[]);
                wire.event(None, &answer);
                wire.end_events();
            }
            _ => wire.json(200, &[], &answer),
        }
    });
    let mut line = Line::discovered(&web);
    for (id, tool) in [(2, "json"), (3, "stream")] {
        line.call(id, tool, json!({}));
        line.wait(|heard| (heard.events.len() as u64 == id - 1).then_some(()));
        let event = line.heard.0.lock().events.last().cloned().unwrap();
        assert!(event.starts_with("BackendTooLong"), "{event}");
    }
    line.settle();
}

#[test]
fn hundred_requests_at_once() {
    let arrived = Arc::new(Monitor::new(HashMap::<u64, ()>::new()));
    let web = web(move |seen, wire| {
        let id = seen.body["id"].as_u64().unwrap();
        arrived.update(|arrived| arrived.insert(id, ()));
        // Nobody is answered before all have come.
        let deadline = Instant::now() + Duration::from_secs(30);
        arrived.wait_for(Some(deadline), |arrived| (arrived.len() == 100).then_some(()));
        match id % 2 {
            0 => wire.answer(seen, &json!({ "n": id })),
            _ => {
                wire.begin_events(&[]);
                wire.event(None, &note("n"));
                wire.event(None, &switchboard_testkit::web::answer(seen, &json!({ "n": id })));
                wire.end_events();
            }
        }
    });
    let mut line = Line::discovered(&web);
    for id in 2..102 {
        line.call(id, "t", json!({}));
    }
    for id in 2..102 {
        assert_eq!(line.answer(id)["result"]["n"], id);
    }
    assert_eq!(web.count("tools/call"), 100);
    line.settle();
}
