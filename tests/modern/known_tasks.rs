//! Legacy clients with tasks of 2025-11-25, at servers with the tasks extension: on every route, at the first start and
//! with stored lists.

use super::guest;
use crate::isolation::routes::{self, Guest, Route, SERVER, Site};
use crate::remote::{far, finish};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use switchboard_testkit::patience;
use switchboard_testkit::web::Web;

const VERSION: &str = "2025-11-25";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const OFFER: &str = r#"{ "capabilities": { "tools": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } },
    "tools": [{ "name": "task" }, { "name": "echo" }] }"#;

fn open(site: &Site, route: Route) -> Guest {
    site.open_version(route, VERSION, json!({ "elicitation": {} }))
}

fn on_every_route(check: impl Fn(&mut Site) + Sync) {
    routes::on_routes(&Route::ALL, |route, visit| {
        let ask = |site: &Site, route: Route| {
            let mut client = open(site, route);
            client.names("tools");
            client
        };
        check(&mut Site::with(*route, visit, guest::servers(json!({}), OFFER), ask));
    });
}

/// Calls a tool as a task. Returns the task.
#[track_caller]
fn begin(client: &mut Guest, tool: &str, arguments: Value) -> Value {
    let name = client.route.tool(tool);
    let params = json!({ "name": name, "arguments": arguments, "task": { "ttl": 60_000 } });
    let answer = client.request("tools/call", params);
    let task = &answer["result"]["task"];
    let id = task["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}"));
    assert_eq!(id.starts_with(&format!("{SERVER}:")), !client.route.is_to_one(), "{id}");
    assert!(task["createdAt"].is_string() && task["ttl"] == 60_000, "{task}");
    task.clone()
}

fn named(task: &Value) -> Value {
    json!({ "taskId": task["taskId"] })
}

#[track_caller]
fn result_of(answer: &Value, task: &Value) -> String {
    assert_eq!(answer["result"]["_meta"][RELATED], named(task), "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn tasks_are_followed_to_their_results() {
    on_every_route(|site| {
        let mut client = open(site, site.route);
        for tool in client.items("tools") {
            // The other server has no tasks.
            let expected = if tool["name"] == "other__else" {
                Value::Null
            } else {
                json!({ "taskSupport": "optional" })
            };
            assert_eq!(tool["execution"], expected, "{tool}");
        }
        site.open_gate();
        let task = begin(&mut client, "task", json!({ "polls": 2 }));
        assert_eq!(task["status"], "working");
        let state = client.request("tasks/get", named(&task));
        assert_eq!(state["result"], task);
        let result = client.request("tasks/result", named(&task));
        assert_eq!(result_of(&result, &task), "worked");
        let state = client.request("tasks/get", named(&task));
        assert_eq!((&state["result"]["status"], state["result"].get("result")), (&json!("completed"), None));

        let task = begin(&mut client, "echo", json!({ "x": 1 }));
        assert_eq!(task["status"], "completed");
        assert_eq!(client.request("tasks/get", named(&task))["result"], task);
        let result = client.request("tasks/result", named(&task));
        assert_eq!(result_of(&result, &task), r#"{"x":1}"#);

        let task = begin(&mut client, "task", json!({ "polls": 9 }));
        let cancelled = client.request("tasks/cancel", named(&task));
        assert_eq!(
            (&cancelled["result"]["status"], &cancelled["result"]["taskId"]),
            (&json!("cancelled"), &task["taskId"])
        );
        for method in ["tasks/result", "tasks/get"] {
            let answer = client.request(method, named(&task));
            let code = if method == "tasks/get" { Value::Null } else { json!(-32602) };
            assert_eq!(answer["error"]["code"], code, "{answer}");
        }
        // Without `params.task`, the call waits for its result.
        let answer = client.call("task", json!({ "polls": 1 }));
        assert_eq!(answer["result"]["content"][0]["text"], "worked");
        assert_eq!(site.told(r#""task":"#), 0);
    });
}

#[test]
fn task_asks_its_client() {
    on_every_route(|site| {
        site.open_gate();
        let mut client = open(site, site.route);
        let mut other = open(site, site.route);
        let task = begin(&mut client, "task", json!({ "input": true }));
        other.call("echo", json!({}));
        let waits = client.request("tasks/get", named(&task));
        assert_eq!(waits["result"]["status"], "input_required", "{waits}");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let refused = other.request(method, named(&task));
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let answer = json!({ "result": { "action": "accept", "content": { "name": "Ann" } } });
        let (question, result) =
            client.asked_about("tasks/result", named(&task), "elicitation/create", answer);
        assert_eq!(question["params"]["_meta"][RELATED], named(&task), "{question}");
        let given: Value = serde_json::from_str(&result_of(&result, &task)).unwrap();
        assert_eq!(given, json!({ "who": { "action": "accept", "content": { "name": "Ann" } } }));
        assert_eq!(site.told("tasks/update"), 1);
    });
}

/// Each request about a task has the headers of its own body.
#[test]
fn remote_tasks_are_followed() {
    let polls = AtomicUsize::new(0);
    let web = Web::start(move |seen, wire| {
        let id = &seen.body["id"];
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let state = |status: &str| {
            json!({ "taskId": "t 1", "status": status, "createdAt": "2026-07-28T00:00:00Z",
                "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": null, "pollIntervalMs": 1 })
        };
        let answer = match seen.what() {
            "initialize" => {
                let error = json!({ "code": -32601, "message": "Method not found" });
                return wire.json(404, &[], &json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            "server/discover" => json!({ "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } } }),
            "tools/list" => json!({ "tools": [{ "name": "x", "inputSchema": { "type": "object" } }] }),
            "tools/call" => {
                let mut task = state("working");
                task["resultType"] = json!("task");
                task
            }
            "tasks/get" if polls.fetch_add(1, Ordering::SeqCst) < 2 => state("working"),
            "tasks/get" => {
                let mut task = state("completed");
                task["result"] = json!({ "content": [{ "type": "text", "text": "done" }] });
                task
            }
            _ => json!({}),
        };
        wire.json(200, &[], &result(answer));
    });
    let mut client = far(&web.url("/mcp"), json!({})).start();
    let mut hello = switchboard_testkit::client::initialize_params();
    hello["protocolVersion"] = json!(VERSION);
    let welcome = client.request("initialize", hello);
    assert!(welcome["result"]["capabilities"]["tasks"]["cancel"].is_object(), "{welcome}");
    client.notify("notifications/initialized", json!({}));
    let created = client.request("tools/call", json!({ "name": "x", "task": {} }));
    let task = created["result"]["task"].clone();
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &Value::Null), "{created}");
    assert_eq!(client.request("tasks/get", named(&task))["result"], task);
    let result = client.request("tasks/result", named(&task));
    assert_eq!(result_of(&result, &task), "done");
    let refused = client.request("tasks/cancel", named(&task));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    patience::until_true("the server has heard of all", || web.count("tasks/cancel") == 1);
    finish(client);
    for seen in web.seen().iter().filter(|seen| seen.what().starts_with("tasks/")) {
        assert_eq!((seen.header("mcp-method"), seen.header("mcp-name")), (Some(seen.what()), Some("t 1")));
    }
    let call = web.seen().into_iter().find(|seen| seen.what() == "tools/call").unwrap();
    assert!(call.body["params"].get("task").is_none(), "{}", call.body);
}
