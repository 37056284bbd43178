//! Requests for input without questions, or with unreadable ones.

use super::waited_tasks::{polled, working};
use super::*;

/// The server may not have processed the client's answers yet.
#[test]
fn task_without_requests_is_asked_again() {
    for requests in [None, Some(json!(null)), Some(json!({}))] {
        let mut desk = working();
        let id = polled(&mut desk);
        let mut state = json!({ "status": "input_required" });
        if let Some(requests) = requests {
            state["inputRequests"] = requests;
        }
        assert_eq!(desk.hear(task(&id, state.clone())), [went_on(2)], "{state}");
        let id = polled(&mut desk);
        assert_eq!(desk.hear(task(&id, json!({ "status": "completed", "result": {} }))), [done(2)]);
    }
}

#[test]
fn call_without_requests_fails() {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "resultType": "input_required" } }));
    assert_eq!((&steps[0].1["id"], &steps[0].1["error"]["data"]["kind"]), (&json!(2), &json!("bad_answer")));
}

#[test]
fn kept_state_is_limited() {
    let wants = |state: usize, key: usize| {
        let mut desk = Desk::greeted(json!({}));
        desk.call(2);
        let question = json!({ "method": "elicitation/create", "params": {} });
        let result = json!({
            "resultType": "input_required",
            "requestState": "s".repeat(state),
            "inputRequests": { "k".repeat(key): question },
        });
        let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
        steps[0].1["error"]["data"]["kind"] == "bad_answer"
    };
    assert!(!wants(1_000_000, 1) && !wants(1, 1_000_000));
    assert!(wants(1_100_000, 1) && wants(1, 1_100_000));
}

/// Otherwise the task would be polled for ever.
#[test]
fn unreadable_requests_end_the_call() {
    let good = json!({ "method": "elicitation/create", "params": {} });
    for requests in [
        json!({ "k": { "method": 5 } }),
        json!({ "a": good, "k": { "method": {} } }),
        json!({ "k": {} }),
        json!(7),
    ] {
        let mut desk = working();
        let id = polled(&mut desk);
        let steps = desk.hear(task(&id, json!({ "status": "input_required", "inputRequests": requests })));
        assert_eq!(
            (steps.len(), &steps[0].1["method"]),
            (2, &json!("tasks/cancel")),
            "{requests}: {steps:?}"
        );
        assert_eq!(
            (&steps[1].1["id"], &steps[1].1["error"]["data"]["kind"]),
            (&json!(2), &json!("bad_answer"))
        );
        assert!(desk.it.calls.is_empty() && desk.it.asked.is_empty() && desk.it.deadline().is_none());

        desk.call(3);
        let result =
            json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s" });
        let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": result }));
        assert_eq!((steps.len(), &steps[0].1["error"]["data"]["kind"]), (1, &json!("bad_answer")));
        assert!(desk.it.calls.is_empty() && desk.it.asked.is_empty());
    }
}

/// Legacy clients require an `elicitationId`, which the modern era does not have.
#[test]
fn question_for_a_url_has_an_id() {
    let url = json!({ "mode": "url", "message": "?", "url": "https://example.com" });
    let mut named = url.clone();
    named["elicitationId"] = json!("own");
    for (params, expected) in
        [(named, json!("own")), (url, Value::Null), (json!({ "mode": "form", "message": "?" }), Value::Null)]
    {
        let mut desk = Desk::greeted(json!({}));
        desk.call(2);
        let ask = json!({ "method": "elicitation/create", "params": params });
        let result = json!({ "resultType": "input_required", "inputRequests": { "k": ask } });
        let asked = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
        let number = format!("switchboard-0-4.2-{}", asked[0].1["id"]);
        let is_minted = params["mode"] == "url" && expected.is_null();
        let expected = if is_minted { json!(number) } else { expected };
        assert_eq!(asked[0].1["params"]["elicitationId"], expected, "{params}");
        assert_eq!(asked[0].1["params"]["message"], "?");
    }
}
