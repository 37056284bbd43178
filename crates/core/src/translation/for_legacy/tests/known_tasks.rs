//! Clients of 2025-11-25, which know tasks, at a server with the tasks extension.

use super::*;
use std::time::Duration;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A client of 2025-11-25, whose server has answered.
fn knowing() -> Desk {
    let mut desk = Desk::speaking("2025-11-25");
    desk.welcome(json!({ "tools": {}, "extensions": { TASKS: {} } }));
    desk
}

/// The task as the client knows it.
fn known(status: &str) -> Value {
    json!({ "taskId": "t\u{e9}", "status": status, "createdAt": "", "lastUpdatedAt": "", "ttl": null, "pollInterval": 2_500 })
}

fn told(id: u64, result: Value) -> (String, Value) {
    ("<".to_owned(), json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn refused(id: u64, steps: &[(String, Value)]) -> &str {
    assert_eq!((steps.len(), steps[0].0.as_str(), &steps[0].1["id"]), (1, "<", &json!(id)), "{steps:?}");
    assert_eq!(steps[0].1["error"]["code"], -32602, "{steps:?}");
    steps[0].1["error"]["message"].as_str().unwrap()
}

impl Desk {
    /// Calls a tool as a task.
    fn call_task(&mut self, id: u64, task: Value) -> Vec<(String, Value)> {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "t", "task": task, "arguments": {} } }))
    }

    fn about(&mut self, id: u64, method: &str) -> Vec<(String, Value)> {
        self.about_task(id, method, "t\u{e9}")
    }

    fn about_task(&mut self, id: u64, method: &str, task: &str) -> Vec<(String, Value)> {
        self.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "taskId": task, "_meta": {} } }),
        )
    }

    fn cancel(&mut self, id: u64) -> Vec<(String, Value)> {
        self.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        )
    }

    /// Waits until the server is asked again. Returns the id of the question.
    fn polled(&mut self) -> Value {
        self.now = self.now + Duration::from_millis(2_500);
        asked_for_task(&self.tick())
    }

    fn is_idle(&self) -> bool {
        self.it.calls.is_empty() && self.it.asked.is_empty() && self.it.repeated.is_empty()
    }
}

/// The id of the `tasks/get` that is all the server gets.
fn asked_for_task(steps: &[(String, Value)]) -> Value {
    let shown = steps.iter().map(|(to, it)| (to.as_str(), &it["method"], &it["params"]["taskId"]));
    assert_eq!(shown.collect::<Vec<_>>(), [(">", &json!("tasks/get"), &json!("t\u{e9}"))]);
    steps[0].1["id"].clone()
}

fn wanting(id: &Value, key: &str) -> Value {
    let ask = json!({ "method": "elicitation/create", "params": { "message": "?" } });
    task(id, json!({ "status": "input_required", "inputRequests": { key: ask } }))
}

#[test]
fn tasks_are_offered_to_2025_11_25_clients() {
    let ours = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
    let extensions = json!({ TASKS: {} });
    for (version, capabilities, expected) in [
        (
            "2025-11-25",
            json!({ "extensions": extensions, "tasks": { "list": {} } }),
            json!({ "tasks": ours }),
        ),
        (
            "2025-11-25",
            json!({ "logging": {}, "extensions": extensions }),
            json!({ "tasks": ours, "logging": {} }),
        ),
        ("2025-06-18", json!({ "extensions": extensions }), json!({})),
        ("2025-11-25", json!({ "tasks": { "list": {} } }), json!({})),
    ] {
        let mut desk = Desk::speaking(version);
        let welcome = desk.welcome(capabilities);
        assert_eq!(welcome[0].1["result"]["capabilities"], expected, "{version}");
        let has_tasks = expected != json!({});
        desk.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        let tools = json!([{ "name": "a" }, { "name": "b", "execution": {} }, { "name": "c", "execution": null }, 5, {}]);
        let listed = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "tools": tools } }));
        let mut expected = tools;
        if has_tasks {
            expected[0]["execution"] = json!({ "taskSupport": "optional" });
        }
        assert_eq!(listed, [told(2, json!({ "tools": expected }))], "{version}");
        let sent = &desk.call_task(3, json!({}))[0].1["params"];
        assert_eq!(sent.get("task").is_none(), has_tasks, "{version}");
    }
}

#[test]
fn server_task_is_returned_at_once() {
    let mut desk = knowing();
    let sent = desk.call_task(2, json!({ "ttl": 1 }));
    let members: Vec<&String> = sent[0].1["params"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["_meta", "arguments", "name"]);
    let created = desk.hear(task(&json!(2), json!({ "resultType": "task", "status": "working" })));
    assert_eq!(created, [told(2, json!({ "task": known("working") }))]);
    assert!(desk.is_idle() && desk.it.deadline().is_none());
}

#[test]
fn unreadable_task_is_an_error() {
    let mut desk = knowing();
    desk.call_task(2, json!({}));
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "resultType": "task" } }));
    assert_eq!(steps[0].1["error"]["data"]["kind"], "bad_answer");
    desk.about(3, "tasks/get");
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": { "taskId": "t" } }));
    assert_eq!(steps[0].1["error"]["data"]["kind"], "bad_answer");
    assert!(desk.is_idle());
}

/// The result is available until it expires.
#[test]
fn immediate_result_is_kept() {
    let mut desk = knowing();
    desk.call_task(2, json!({ "ttl": 60_000 }));
    let result =
        json!({ "resultType": "complete", "content": [], "structuredContent": [1.50], "_meta": { "k": 1 } });
    let created = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
    let state = created[0].1["result"]["task"].clone();
    assert_eq!((&state["status"], &state["ttl"]), (&json!("completed"), &json!(60_000)));
    let id = state["taskId"].as_str().unwrap().to_owned();
    for request in [3, 13] {
        assert_eq!(desk.about_task(request, "tasks/get", &id), [told(request, state.clone())]);
        let expected = json!({ "content": [], "structuredContent": { "result": [1.50] },
            "_meta": { "k": 1, RELATED: { "taskId": id } } });
        assert_eq!(desk.about_task(request, "tasks/result", &id), [told(request, expected)]);
        let steps = desk.about_task(request, "tasks/cancel", &id);
        assert_eq!(refused(request, &steps), "Cannot cancel task: already in terminal status 'completed'");
    }
    desk.now = desk.it.deadline().expect("its time ends");
    assert_eq!((desk.tick(), desk.it.deadline()), (Vec::new(), None));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let steps = desk.about_task(4, method, &id);
        assert!(refused(4, &steps).contains("no longer kept"));
    }
    assert!(desk.is_idle());
}

#[test]
fn errors_and_late_results_are_not_kept() {
    let mut desk = knowing();
    desk.call_task(2, json!({}));
    let error = json!({ "code": -32602, "message": "no such tool" });
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    assert_eq!(steps[0].1["error"], error);
    desk.call_task(5, json!({}));
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": 5, "result": 7 })), [told(5, json!(7))]);
    desk.call_task(3, json!({}));
    desk.cancel(3);
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": {} })), [done(3)]);
    desk.call_task(4, json!({}));
    desk.cancel(4);
    let steps = desk.hear(task(&json!(4), json!({ "resultType": "task", "status": "working" })));
    assert_eq!((steps.len(), &steps[0].1["method"]), (1, &json!("tasks/cancel")));
    assert!(desk.is_idle() && desk.it.deadline().is_none());
}

/// The client gets a tool result, not an error.
#[test]
fn missing_capability_fails_the_task() {
    let mut desk = knowing();
    desk.call_task(2, json!({}));
    let error = json!({ "code": -32021, "message": "needs sampling" });
    let created = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    assert_eq!(created[0].1["result"]["task"]["status"], "failed");
    let id = created[0].1["result"]["task"]["taskId"].as_str().unwrap().to_owned();
    let result = &desk.about_task(3, "tasks/result", &id)[0].1["result"];
    assert!(
        result["isError"] == true
            && result["content"][0]["text"].as_str().unwrap().contains("needs sampling")
    );
}

/// The repeated call has no `params.task` either.
#[test]
fn call_may_want_input_before_its_task() {
    let mut desk = knowing();
    desk.call_task(2, json!({}));
    let asked = desk.want(&json!(2), &["a"]);
    assert!(asked[0].1["params"].get("_meta").is_none(), "there is no task yet");
    let sent = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": {} }));
    assert!(sent[0].1["params"].get("task").is_none() && sent[0].1["params"]["requestState"] == "s");
    let steps = desk.hear(task(&sent[0].1["id"], json!({ "resultType": "task", "status": "working" })));
    assert_eq!(steps, [told(2, json!({ "task": known("working") }))]);
}

#[test]
fn state_comes_from_the_server() {
    let mut desk = knowing();
    for (status, result, expected) in [
        ("working", Value::Null, "working"),
        ("input_required", Value::Null, "input_required"),
        ("completed", json!({}), "completed"),
        ("completed", json!({ "isError": true }), "failed"),
        ("cancelled", Value::Null, "cancelled"),
    ] {
        let sent = desk.about(2, "tasks/get");
        assert_eq!((&sent[0].1["method"], &sent[0].1["id"]), (&json!("tasks/get"), &json!(2)));
        assert_eq!(
            sent[0].1["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"],
            json!({ TASKS: {} })
        );
        let steps = desk
            .hear(task(&json!(2), json!({ "resultType": "complete", "status": status, "result": result })));
        assert_eq!(steps[0].1["result"]["status"], expected);
        assert!(steps[0].1["result"].get("result").is_none() && desk.is_idle());
    }
    desk.about(2, "tasks/get");
    let error = json!({ "code": -32602, "message": "Task not found" });
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    assert_eq!(steps[0].1["error"], error);
}

#[test]
fn result_is_waited_for() {
    let mut desk = knowing();
    let mut id = asked_for_task(&desk.about(2, "tasks/result"));
    for _ in 0..20 {
        assert_eq!(desk.hear(task(&id, json!({ "status": "working" }))), [went_on(2)]);
        id = desk.polled();
    }
    let result = json!({ "resultType": "complete", "structuredContent": 5, "isError": true });
    let steps = desk.hear(task(&id, json!({ "status": "completed", "result": result })));
    let expected = json!({ "structuredContent": { "result": 5 }, "isError": true,
        "_meta": { RELATED: { "taskId": "t\u{e9}" } } });
    assert_eq!(steps, [told(2, expected)]);
    assert!(desk.is_idle() && desk.it.deadline().is_none());
}

#[test]
fn result_may_be_an_error() {
    let error = json!({ "code": -7, "message": "broken" });
    for (state, code) in [
        (json!({ "status": "failed", "error": error }), -7),
        (json!({ "status": "cancelled", "statusMessage": "by hand" }), -32602),
        (json!({ "status": "completed" }), -32603),
        (json!({ "status": "completed", "result": 5 }), -32603),
        (json!({ "status": "unheard of" }), -32603),
    ] {
        let mut desk = knowing();
        let id = asked_for_task(&desk.about(2, "tasks/result"));
        let steps = desk.hear(task(&id, state));
        // The client owns the task, so it is not cancelled.
        assert_eq!(
            (steps.len(), &steps[0].1["id"], &steps[0].1["error"]["code"]),
            (1, &json!(2), &json!(code))
        );
        assert!(desk.is_idle());
    }
}

#[test]
fn input_is_asked_for_with_the_result() {
    let mut desk = knowing();
    let id = asked_for_task(&desk.about(2, "tasks/result"));
    let asked = desk.hear(wanting(&id, "k"));
    assert_eq!(asked[0].0, "? 2");
    assert_eq!(
        asked[0].1["params"],
        json!({ "message": "?", "_meta": { RELATED: { "taskId": "t\u{e9}" } } })
    );
    // A second request for the same result does not repeat the question.
    let other = asked_for_task(&desk.about(3, "tasks/result"));
    assert_eq!(desk.hear(wanting(&other, "k")), [went_on(3)]);
    let sent = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": { "n": 1.50 } }));
    let params = &sent[0].1["params"];
    assert_eq!((&sent[0].1["method"], &params["taskId"]), (&json!("tasks/update"), &json!("t\u{e9}")));
    assert_eq!(params["inputResponses"], json!({ "k": { "n": 1.50 } }));
    let id = asked_for_task(&desk.hear(json!({ "jsonrpc": "2.0", "id": sent[0].1["id"], "result": {} })));
    // A later one does not either, until the server has processed the answer.
    desk.cancel(2);
    assert_eq!(desk.hear(wanting(&id, "k")), []);
    let id = asked_for_task(&desk.about(4, "tasks/result"));
    assert_eq!(desk.hear(wanting(&id, "k")), [went_on(4)]);
    desk.cancel(3);
    // The server could not be asked for a while.
    let id = desk.polled();
    desk.hear(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": "busy" } }));
    let id = asked_for_task(&desk.about(5, "tasks/result"));
    assert_eq!(desk.hear(wanting(&id, "k")), [went_on(5)]);
    let id = desk.polled();
    assert_eq!(desk.hear(wanting(&id, "next"))[0].0, "? 5");
}

#[test]
fn abandoned_question_is_asked_again() {
    let mut desk = knowing();
    let id = asked_for_task(&desk.about(2, "tasks/result"));
    let asked = desk.hear(wanting(&id, "k"));
    let steps = desk.cancel(2);
    // The question is withdrawn, the task is not cancelled.
    assert_eq!((steps.len(), &steps[0].1["params"]["requestId"]), (1, &asked[0].1["id"]));
    let id = asked_for_task(&desk.about(3, "tasks/result"));
    let asked = desk.hear(wanting(&id, "k"));
    assert_eq!(asked[0].0, "? 3");
    // The server does not take the answer.
    let sent = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "result": {} }));
    let error = json!({ "code": -32603, "message": "busy" });
    let steps = desk.hear(json!({ "jsonrpc": "2.0", "id": sent[0].1["id"], "error": error }));
    assert_eq!((steps.len(), &steps[0].1["id"], &steps[0].1["error"]), (1, &json!(3), &error));
    let id = asked_for_task(&desk.about(4, "tasks/result"));
    assert_eq!(desk.hear(wanting(&id, "k"))[0].0, "? 4");
}

/// The server cannot receive the refusal, and would wait for ever.
#[test]
fn refused_question_cancels_the_task() {
    let mut desk = knowing();
    let id = asked_for_task(&desk.about(2, "tasks/result"));
    let asked = desk.hear(wanting(&id, "k"));
    let error = json!({ "code": -1, "message": "no" });
    let steps = desk.send(json!({ "jsonrpc": "2.0", "id": asked[0].1["id"], "error": error }));
    assert_eq!(
        (&steps[0].1["method"], &steps[0].1["params"]["taskId"]),
        (&json!("tasks/cancel"), &json!("t\u{e9}"))
    );
    assert_eq!(steps[1..], [("<".to_owned(), json!({ "jsonrpc": "2.0", "id": 2, "error": error }))]);
}

#[test]
fn abandoned_result_leaves_its_task() {
    for is_asked in [true, false] {
        let mut desk = knowing();
        let id = asked_for_task(&desk.about(2, "tasks/result"));
        if !is_asked {
            desk.hear(task(&id, json!({ "status": "working" })));
        }
        assert_eq!(desk.cancel(2), []);
        assert_eq!(desk.hear(task(&id, json!({ "status": "working" }))), []);
        assert!(desk.is_idle() && desk.it.deadline().is_none());
    }
}

#[test]
fn cancel_returns_the_state_afterwards() {
    for (state, expected) in [
        (json!({ "status": "cancelled" }), Ok("cancelled")),
        (json!({ "status": "working" }), Ok("working")),
        (json!({ "status": "completed", "result": {} }), Err("completed")),
        (json!({ "status": "failed", "error": {} }), Err("failed")),
    ] {
        let mut desk = knowing();
        let sent = desk.about(2, "tasks/cancel");
        assert_eq!((&sent[0].1["method"], &sent[0].1["id"]), (&json!("tasks/cancel"), &json!(2)));
        let id = asked_for_task(
            &desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "resultType": "complete" } })),
        );
        let steps = desk.hear(task(&id, state));
        match expected {
            Ok(status) => assert_eq!(steps, [told(2, known(status))]),
            Err(status) => assert!(refused(2, &steps).contains(status)),
        }
        assert!(desk.is_idle());
    }
    let mut desk = knowing();
    desk.about(2, "tasks/cancel");
    let steps =
        desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32602, "message": "unknown" } }));
    assert_eq!(refused(2, &steps), "unknown");
    // A client that no longer waits for the answer.
    desk.about(3, "tasks/cancel");
    desk.cancel(3);
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": {} })), []);
    assert!(desk.is_idle());
}

#[test]
fn calls_without_params_task_wait() {
    let mut desk = knowing();
    desk.call(2);
    let steps = desk.hear(task(&json!(2), json!({ "resultType": "task", "status": "working" })));
    assert_eq!(steps, [went_on(2)]);
    let id = desk.polled();
    let steps = desk.hear(task(&id, json!({ "status": "completed", "result": { "content": [] } })));
    assert_eq!(steps, [told(2, json!({ "content": [] }))]);
}
