//! Tasks of 2025-11-25, in both directions. Those that a server runs belong to the client that began them, those that
//! a client runs to the server that asked. Among several servers, an id has the name of its server.

use super::routes::{Guest, Route, SERVER, on_every_route, on_shared_routes, servers};
use crate::aggregate::servers::Servers;
use serde_json::{Value, json};
use switchboard_testkit::patience;

const OFFER: &str = r#"{ "capabilities": { "tools": {}, "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } } },
    "tools": [{ "name": "say", "execution": { "taskSupport": "optional" } }, { "name": "ask" }] }"#;

/// The server under test beside another one with the same tools.
fn alike() -> Servers {
    servers(json!({}), OFFER).and_offer("other", json!({}), OFFER)
}

impl Route {
    /// Id of a task on this route.
    fn task(self, id: &str) -> String {
        if self.is_to_one() { id.to_owned() } else { format!("{SERVER}:{id}") }
    }
}

/// Makes a server begin a task, by the name of its tool `say`. Returns the id that the client gets.
#[track_caller]
fn begin_with(client: &mut Guest, tool: &str, id: &str) -> String {
    let task =
        format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{{"task":{{"taskId":"{id}","status":"working"}}}}}}"#);
    let arguments = json!({ "text": format!("{task}\n") });
    let params = json!({ "name": tool, "arguments": arguments, "task": { "ttl": 60_000 } });
    let answer = client.request("tools/call", params);
    let shown = answer["result"]["task"]["taskId"].as_str();
    shown.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

/// Makes the server under test begin a task.
#[track_caller]
fn begin_task(client: &mut Guest, id: &str) {
    let shown = begin_with(client, &client.route.tool("say"), id);
    assert_eq!(shown, client.route.task(id));
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
                let answer = b.request(method, json!({ "taskId": site.route.task("of-a") }));
                assert_eq!(*code(&answer), -32602, "{method}: {answer}");
                let spelled =
                    b.request_text(method, &format!(r#"{{"taskId":"{}"}}"#, site.route.task("of-\\u0061")));
                assert_eq!(*code(&spelled), -32602, "{method}: {spelled}");
                assert_eq!(site.told(&format!("\"{method}\"")), 0, "{method}");
            }
            let own = b.request("tasks/get", json!({ "taskId": site.route.task("of-b") }));
            assert!(own.get("result").is_some(), "{own}");
            assert_eq!(site.told("\"tasks/get\""), 1);
            // Only the task's client gets its status.
            let status = r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"of-a","status":"completed"}}"#;
            b.have_said(&[status]);
            assert_eq!(a.told("notifications/tasks/status")["params"]["taskId"], site.route.task("of-a"));
        },
    );
}

#[test]
fn task_is_followed_to_its_result() {
    on_every_route(alike, |site| {
        let mut client = site.open();
        site.open_gate();
        begin_task(&mut client, "1");
        let shown = site.route.task("1");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let answer = client.request(method, json!({ "taskId": shown }));
            let heard: Value = serde_json::from_str(answer["result"]["heard"].as_str().unwrap()).unwrap();
            assert_eq!(heard["params"]["taskId"], "1", "{method}: {answer}");
            assert_eq!(site.told(&format!("\"{method}\"")), 1, "{method}");
        }
        client.have_said(&[
            r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"1","status":"completed"}}"#,
        ]);
        assert_eq!(client.told("notifications/tasks/status")["params"]["taskId"], json!(shown));
        let list = client.request("tasks/list", json!({}));
        assert!(list.get("result").is_some(), "{list}");
    });
}

/// Two servers with the same id.
#[test]
fn tasks_of_two_servers_stay_apart() {
    on_every_route(alike, |site| {
        // A client that cannot reach the other server has nothing to mix up.
        if !matches!(site.route, Route::WindowAll | Route::SoloAll | Route::HttpAll) {
            return;
        }
        let mut client = site.open();
        site.open_gate();
        begin_task(&mut client, "1");
        assert_eq!(begin_with(&mut client, "other__say", "1"), "other:1");
        let told = |name: &str| site.servers.told(name, "\"tasks/cancel\"");
        client.request("tasks/cancel", json!({ "taskId": "other:1" }));
        assert_eq!((told(SERVER), told("other")), (0, 1));
        client.request("tasks/cancel", json!({ "taskId": site.route.task("1") }));
        assert_eq!((told(SERVER), told("other")), (1, 1));
        for id in ["1", "else:1", "other:2", ":1", ""] {
            let answer = client.request("tasks/get", json!({ "taskId": id }));
            // Without a name it may be from the time when there was one server.
            assert!(id == "1" || *code(&answer) == -32602, "{id}: {answer}");
        }
    });
}

/// Has a server ask its client something, with this answer of the client. Returns the answer as the server got it.
#[track_caller]
fn asked(client: &mut Guest, tool: &str, method: &str, params: Value, answer: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params });
    let arguments = json!({ "id": "5", "request": request.to_string() });
    heard(&client.request_with(json!({ "name": tool, "arguments": arguments }), method, answer))
}

/// The text that a server's tool `ask` got as an answer.
#[track_caller]
fn heard(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("no answer: {answer}"))).unwrap()
}

fn runs_tasks() -> Value {
    json!({ "sampling": {}, "elicitation": {}, "tasks": { "list": {}, "cancel": {},
        "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } } } })
}

/// A task that the client runs for its server, from the request to the result.
#[test]
fn client_runs_a_task_for_its_server() {
    for first in ["sampling/createMessage", "elicitation/create"] {
        on_every_route(alike, |site| {
            // The second visit is about stored lists, which are those of clients without capabilities.
            site.open_gate();
            let mut client = site.open_with(runs_tasks());
            let ask = site.route.tool("ask");
            let task = json!({ "taskId": "c1", "status": "working", "ttl": null });
            let began = json!({ "result": { "task": task } });
            let got = asked(&mut client, &ask, first, json!({ "task": { "ttl": 1000 } }), began);
            assert_eq!(got["result"]["task"], task);
            let polled = json!({ "result": task });
            let got = asked(&mut client, &ask, "tasks/get", json!({ "taskId": "c1" }), polled);
            assert_eq!(got["result"], task);
            client.notify("notifications/tasks/status", json!({ "taskId": "c1", "status": "completed" }));
            patience::until_true("the server knows the status", || site.told("tasks/status") == 1);
            let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": "c1" } });
            let done = json!({ "result": { "role": "assistant", "_meta": related } });
            let got = asked(&mut client, &ask, "tasks/result", json!({ "taskId": "c1" }), done.clone());
            assert_eq!(got["result"], done["result"]);
            let cancelled = json!({ "error": { "code": -32602, "message": "it is over" } });
            let got = asked(&mut client, &ask, "tasks/cancel", json!({ "taskId": "c1" }), cancelled.clone());
            assert_eq!(got["error"], cancelled["error"]);
            let listed = json!({ "result": { "tasks": [task] } });
            let got = asked(&mut client, &ask, "tasks/list", json!({}), listed.clone());
            assert_eq!(got["result"], listed["result"]);
            assert_eq!(site.servers.told("other", "c1"), 0);
        });
    }
}

/// A hostile server guesses the id of a task that its client runs for another.
#[test]
fn server_reaches_its_own_tasks_only() {
    on_every_route(alike, |site| {
        if !matches!(site.route, Route::WindowAll | Route::SoloAll | Route::HttpAll) {
            return;
        }
        site.open_gate();
        let mut client = site.open_with(runs_tasks());
        let began = |id: &str| json!({ "result": { "task": { "taskId": id, "status": "working" } } });
        let wish = json!({ "task": {} });
        asked(&mut client, &site.route.tool("ask"), "elicitation/create", wish.clone(), began("c1"));
        asked(&mut client, "other__ask", "elicitation/create", wish, began("c2"));
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let request =
                json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": { "taskId": "c1" } });
            let arguments = json!({ "id": "5", "request": request.to_string() });
            let answer =
                client.request("tools/call", json!({ "name": "other__ask", "arguments": arguments }));
            assert_eq!(heard(&answer)["error"]["code"], -32602, "{method}: {answer}");
        }
        let all = json!({ "result": { "tasks": [{ "taskId": "c1" }, { "taskId": "c2" }] } });
        let got = asked(&mut client, "other__ask", "tasks/list", json!({}), all);
        assert_eq!(got["result"], json!({ "tasks": [{ "taskId": "c2" }] }));
    });
}
