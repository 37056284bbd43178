//! Calls that wait for the tasks of a modern server.

use super::*;

/// A call that a server with the tasks extension continues as a task.
pub(super) fn working() -> Desk {
    let mut desk = Desk::greeted(json!({ "extensions": { TASKS: {}, "x": {} } }));
    let sent = desk.call(2);
    let declared = &sent[0].1["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared["extensions"], json!({ TASKS: {} }));
    assert_eq!(
        desk.hear(task(&json!(2), json!({ "resultType": "task", "status": "working" }))),
        [went_on(2)]
    );
    desk
}

/// The request for the task, when it is due.
pub(super) fn polled(desk: &mut Desk) -> Value {
    let due = desk.it.deadline().expect("it is planned");
    assert_eq!(due.since(desk.now).as_millis(), 2_500);
    assert_eq!(desk.tick(), []);
    desk.now = due;
    let steps = desk.tick();
    assert_eq!(
        (&steps[0].1["method"], &steps[0].1["params"]["taskId"]),
        (&json!("tasks/get"), &json!("t\u{e9}"))
    );
    steps[0].1["id"].clone()
}

#[test]
fn tasks_are_waited_for() {
    let mut desk = working();
    for _ in 0..20 {
        let id = polled(&mut desk);
        assert_eq!(desk.hear(task(&id, json!({ "status": "working" }))), [went_on(2)]);
    }
    let id = polled(&mut desk);
    let result = json!({ "resultType": "complete", "content": [], "structuredContent": 1.50 });
    let steps = desk.hear(task(&id, json!({ "status": "completed", "result": result })));
    let expected = json!({ "content": [], "structuredContent": { "result": 1.50 } });
    assert_eq!(steps, [("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 2, "result": expected }))]);
    assert!(desk.it.calls.is_empty() && desk.it.repeated.is_empty() && desk.it.deadline().is_none());
}

#[test]
fn failed_tasks_end_their_calls() {
    let error = json!({ "code": -7, "message": "broken" });
    for (state, expected) in [
        (json!({ "status": "failed", "error": error }), -7),
        (json!({ "status": "cancelled", "statusMessage": "why" }), -32603),
        (json!({ "status": "unheard of" }), -32603),
    ] {
        let mut desk = working();
        let id = polled(&mut desk);
        let steps = desk.hear(task(&id, state));
        let answer = &steps.last().unwrap().1;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(expected)));
    }
    let mut desk = working();
    let id = polled(&mut desk);
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    assert_eq!(steps, [("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 2, "error": error }))]);
}

#[test]
fn task_asks_the_caller_once() {
    let mut desk = working();
    let id = polled(&mut desk);
    let ask = json!({ "method": "elicitation/create", "params": { "message": "?" } });
    let wanted = json!({ "status": "input_required", "inputRequests": { "k\"": ask } });
    let asked = desk.hear(task(&id, wanted.clone()));
    assert_eq!((asked[0].0.as_str(), asked.len()), ("? 2", 1));
    let sent = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": { "n": 1.50 } }));
    let params = &sent[0].1["params"];
    assert_eq!((&sent[0].1["method"], &params["taskId"]), (&json!("tasks/update"), &json!("t\u{e9}")));
    assert_eq!(params["inputResponses"], json!({ "k\"": { "n": 1.50 } }));
    let asked = desk.hear(json!({ "jsonrpc": "2.0", "id": sent[0].1["id"], "result": {} }));
    assert_eq!(asked[0].1["method"], "tasks/get");
    // The server has not processed the answer yet.
    assert_eq!(desk.hear(task(&asked[0].1["id"], wanted)), [went_on(2)]);
    let id = polled(&mut desk);
    let is_remembered = |desk: &Desk| desk.it.inputs.is_asked(&json!("t\u{e9}").to_string(), "k\"");
    assert!(is_remembered(&desk));
    let steps = desk.hear(task(&id, json!({ "status": "completed", "result": {} })));
    assert_eq!(steps, [done(2)]);
    assert!(!is_remembered(&desk));
}

#[test]
fn cancelled_call_cancels_its_task() {
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    for is_asked in [false, true] {
        let mut desk = working();
        let id = if is_asked { polled(&mut desk) } else { json!(FIRST_OWN_ID) };
        let steps = desk.send(cancel.clone());
        assert_eq!(
            (steps.len(), &steps[0].1["method"], &steps[0].1["params"]["taskId"]),
            (1, &json!("tasks/cancel"), &json!("t\u{e9}"))
        );
        assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": steps[0].1["id"], "result": {} })), []);
        assert_eq!(desk.hear(task(&id, json!({ "status": "working" }))), []);
        assert!(desk.it.calls.is_empty() && desk.it.repeated.is_empty() && desk.it.deadline().is_none());
    }
}

#[test]
fn welcome_hides_the_tasks_extension() {
    for (extensions, kept) in
        [(json!({ TASKS: {}, "x": {} }), json!({ "x": {} })), (json!({ TASKS: {} }), Value::Null)]
    {
        let mut desk = Desk::new();
        let steps = desk
            .hear(json!({ "jsonrpc": "2.0", "id": 1, "result": { "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "extensions": extensions } } }));
        let capabilities = &steps[0].1["result"]["capabilities"];
        assert_eq!((&capabilities["tools"], &capabilities["extensions"]), (&json!({}), &kept));
    }
}

/// A late answer asks no client, and leaves no task behind.
#[test]
fn cancelled_call_is_not_continued() {
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    desk.send(cancel.clone());
    assert_eq!(desk.want(&json!(2), &["a"]), []);
    desk.call(2);
    desk.send(cancel);
    let steps = desk.hear(task(&json!(2), json!({ "resultType": "task", "status": "working" })));
    assert_eq!((steps.len(), &steps[0].1["method"]), (1, &json!("tasks/cancel")));
    assert!(desk.it.calls.is_empty() && desk.it.deadline().is_none());
}
