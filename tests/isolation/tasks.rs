//! Tasks: they belong to the client that began them.

use super::routes::{Guest, on_shared_routes, servers};
use serde_json::{Value, json};

const OFFER: &str = r#"{ "capabilities": { "tools": {}, "tasks": { "list": {}, "cancel": {} } },
    "tools": [{ "name": "say" }] }"#;

/// Makes the server begin a task.
fn begin_task(client: &mut Guest, id: &str) {
    let task =
        format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{{"task":{{"taskId":"{id}","status":"working"}}}}}}"#);
    let answer = client.call("say", json!({ "text": format!("{task}\n") }));
    assert_eq!(answer["result"]["task"]["taskId"], *id, "{answer}");
}

fn code(answer: &Value) -> &Value {
    &answer["error"]["code"]
}

#[test]
fn tasks_of_others_cannot_be_reached() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            let mut a = site.open();
            site.open_gate();
            let mut b = site.open();
            begin_task(&mut a, "of-a");
            begin_task(&mut b, "of-b");
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                let answer = b.request(method, json!({ "taskId": "of-a" }));
                assert_eq!(*code(&answer), -32602, "{method}: {answer}");
                let spelled = b.request_text(method, r#"{"taskId":"of-\u0061"}"#);
                assert_eq!(*code(&spelled), -32602, "{method}: {spelled}");
                assert_eq!(site.told(&format!("\"{method}\"")), 0, "{method}");
            }
            let own = b.request("tasks/get", json!({ "taskId": "of-b" }));
            assert!(own.get("result").is_some(), "{own}");
            assert_eq!(site.told("\"tasks/get\""), 1);
            // Only the task's client gets its status.
            let status = r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"of-a","status":"completed"}}"#;
            b.have_said(&[status]);
            assert_eq!(a.told("notifications/tasks/status")["params"]["taskId"], "of-a");
        },
    );
}
