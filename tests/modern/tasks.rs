//! Tasks of the modern era: whose they are, on every route.

use super::http_calls::served;
use crate::access::token::web_of;
use crate::aggregate::servers::Servers;
use crate::http::served::FAKE;
use serde_json::{Value, json};
use switchboard_testkit::client::{Modern, Start};
use switchboard_testkit::{http, patience};

fn extension() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

fn servers() -> Servers {
    let modern = |servers: Servers, name: &str| servers.and(name, json!({}), &["--era", "modern"]);
    modern(modern(Servers::none(), "a"), "b")
}

fn window(start: Start) -> Modern {
    let mut client = Modern::start(start);
    client.profile.capabilities = extension();
    client
}

fn task_of(answer: &Value) -> Value {
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    json!({ "taskId": answer["result"]["taskId"] })
}

#[test]
fn task_belongs_to_its_window() {
    for (arguments, prefix) in [(&["--server", "a"][..], ""), (&[], "a__")] {
        let servers = servers();
        let [mut one, mut other] = [0, 1].map(|_| window(servers.shared().args(arguments)));
        let task = task_of(&one.call(&format!("{prefix}task"), json!({ "polls": 9 })));
        other.call(&format!("{prefix}echo"), json!({}));
        for method in ["tasks/get", "tasks/cancel"] {
            let refused = other.request(method, task.clone());
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        assert_eq!(one.request("tasks/get", task)["result"]["status"], "working");
    }
}

#[test]
fn news_come_from_several_servers() {
    for mode in 0..2 {
        let servers = servers();
        let starts = [servers.shared(), servers.start()];
        let mut client = window(starts.into_iter().nth(mode).unwrap());
        let tasks = ["a__task", "b__task"].map(|tool| task_of(&client.call(tool, json!({}))));
        let (listen, _) = client.listen(json!({ "taskIds": [tasks[0]["taskId"], tasks[1]["taskId"]] }));
        for (tool, task) in [("b__finish_task", &tasks[1]), ("a__finish_task", &tasks[0])] {
            client.call(tool, json!({}));
            let told = client.heard(listen, "notifications/tasks");
            assert_eq!(
                (&told["params"]["taskId"], &told["params"]["status"]),
                (&task["taskId"], &json!("completed"))
            );
        }
    }
}

/// Requests over HTTP do not tell which client they are from, so a task belongs to the token.
#[test]
fn task_over_http_belongs_to_its_token() {
    let served = served();
    let stranger = web_of(&served, &["ci"]);
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        let at = |web| http::Modern::at(web, path).declaring(extension());
        let first = at(&served.web);
        let hang = json!({ "name": format!("{prefix}hang"), "arguments": {} });
        let (_, message) = first.message("tools/call", hang);
        let _open = first.say(&message).begin();
        patience::until_true("the call is there", || {
            served.record().all_lines().iter().filter(|line| line.contains("\"hang\"")).count() > 0
        });
        // Its id is in use, so this is another client for us.
        let task = task_of(&at(&served.web).call(&format!("{prefix}task"), json!({ "polls": 9 })));
        assert_eq!(first.request("tasks/get", task.clone())["result"]["status"], "working");
        let foreign = at(&stranger);
        foreign.call(&format!("{prefix}echo"), json!({}));
        for method in ["tasks/get", "tasks/cancel"] {
            let refused = foreign.request(method, task.clone());
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        assert_eq!(first.request("tasks/get", task)["result"]["status"], "working");
    }
}
