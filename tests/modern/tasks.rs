//! Tasks of the modern era: whose they are, on every route.

use crate::access::token::web_of;
use crate::aggregate::servers::Servers;
use crate::http::served::{FAKE, Served};
use crate::support::text;
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

/// Requests about a task that nobody but its owner may make.
const METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

/// What the owner says when the task asks.
fn reply() -> Value {
    json!({ "who": { "action": "accept", "content": { "name": "Ann" } } })
}

fn with_reply(task: &Value, reply: &Value) -> Value {
    json!({ "taskId": task["taskId"], "inputResponses": reply })
}

/// Checks that a client can do nothing with a task of another, by any of the methods.
#[track_caller]
fn check_stranger(task: &Value, mut request: impl FnMut(&str, Value) -> Value) {
    for method in METHODS {
        let refused = request(method, with_reply(task, &json!({ "who": { "action": "decline" } })));
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
}

/// Takes a task that asks for input, and that nobody has touched, to its end.
#[track_caller]
fn check_owner(task: &Value, mut request: impl FnMut(&str, Value) -> Value) {
    assert_eq!(request("tasks/get", task.clone())["result"]["status"], "input_required");
    let updated = request("tasks/update", with_reply(task, &reply()));
    assert!(updated.get("result").is_some(), "{updated}");
    let done = request("tasks/get", task.clone());
    assert_eq!(done["result"]["status"], "completed", "{done}");
    let said = text(&json!({ "result": done["result"]["result"] })).to_owned();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), reply(), "{done}");
}

/// Lines about tasks that a server has read.
fn about_tasks(lines: Vec<String>) -> Vec<String> {
    let is_about = |line: &String| METHODS.iter().any(|method| line.contains(&format!("\"{method}\"")));
    lines.into_iter().filter(is_about).collect()
}

/// Checks that all requests of the owner have reached the server, under its own id, and none of anybody else.
#[track_caller]
fn check_arrivals(lines: &[String]) {
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains(r#""taskId":"task-1""#)), "{lines:?}");
    assert!(lines[1].contains(r#""method":"tasks/update""#), "{lines:?}");
}

#[test]
fn task_belongs_to_its_window() {
    for (arguments, prefix) in [(&["--server", "a"][..], ""), (&[], "a__")] {
        let servers = servers();
        let [mut one, mut other] = [0, 1].map(|_| window(servers.shared().args(arguments)));
        let task = task_of(&one.call(&format!("{prefix}task"), json!({ "input": true })));
        other.call(&format!("{prefix}echo"), json!({}));
        check_stranger(&task, |method, params| other.request(method, params));
        check_owner(&task, |method, params| one.request(method, params));
        check_arrivals(&about_tasks(servers.record("a").all_lines()));
        assert_eq!(about_tasks(servers.record("b").all_lines()), [""; 0]);
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
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        let server = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
        let served = Served::with(json!({}), server, &["--era", "modern", "--cache-scope", "public"]);
        let at = |web| http::Modern::at(web, path).declaring(extension());
        // From here on the server's lists are known to be public, and the next process serves all tokens.
        let [reader, stranger] = ["qa", "ci"].map(|token| web_of(&served, &[token]));
        at(&reader).request("tools/list", json!({}));
        let first = at(&served.web);
        let hang = json!({ "name": format!("{prefix}hang"), "arguments": {} });
        let (_, message) = first.message("tools/call", hang);
        let _open = first.say(&message).begin();
        patience::until_true("the call is there", || {
            served.record().all_lines().iter().filter(|line| line.contains("\"hang\"")).count() > 0
        });
        // Its id is in use, so this is another client for us.
        let task = task_of(&at(&served.web).call(&format!("{prefix}task"), json!({ "input": true })));
        let foreign = at(&stranger);
        foreign.call(&format!("{prefix}echo"), json!({}));
        check_stranger(&task, |method, params| foreign.request(method, params));
        check_owner(&task, |method, params| first.request(method, params));
        check_arrivals(&about_tasks(served.record().all_lines()));
        assert_eq!(served.record().launches(), 2);
    }
}
