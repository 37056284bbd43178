//! The SDKs of TypeScript and Python 1.x run tools as tasks of 2025-11-25, over stdio and HTTP, at FastMCP, which has the
//! tasks extension. The clients of their 2.x lines and of the Rust SDK have no tasks of 2025-11-25.

use super::routes::window;
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use crate::real::peers::{driver, installed, node, python};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use switchboard_testkit::client::Start;

/// The server beside one without tasks.
fn house() -> House {
    let folder = installed(".venv-fastmcp/fixture");
    let command = [python(".venv-fastmcp"), driver("fixture_fastmcp.py"), folder];
    let command: Vec<&str> = command.iter().filter_map(|word| word.to_str()).collect();
    let fixture =
        json!({ "command": command[0], "args": [command[1], command[2], "stdio"], "era": "modern" });
    let old = json!({ "command": crate::support::fake_backend() });
    House::with(json!({ "mcpServers": { "fixture": fixture, "old": old } }), json!({}), &[])
}

/// What a driver prints, by step.
#[track_caller]
fn talk(house: &House, client: &[OsString], prefix: &str, target: Vec<OsString>) -> BTreeMap<String, Value> {
    let words: Vec<OsString> = client.iter().cloned().chain([prefix.into()]).chain(target).collect();
    let start = Start::new(&words[0]).args(&words[1..]).home(house.path("home"));
    let end = start.env("XDG_RUNTIME_DIR", house.path("r")).cwd(house.path("home")).start().wait_for_end();
    let printed = String::from_utf8_lossy(&end.stdout).into_owned();
    assert_eq!(end.code, Some(0), "{printed}\n{}", end.stderr);
    let steps = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    steps.map(|step| (step["step"].as_str().unwrap().to_owned(), step["value"].clone())).collect()
}

#[track_caller]
fn check_steps(steps: &BTreeMap<String, Value>) {
    let run = |statuses: &[&str], said: &str| json!({ "statuses": statuses, "said": said, "asked": [], "related": true });
    for (step, expected) in [
        ("tasks", json!({ "cancel": {}, "requests": { "tools": { "call": {} } } })),
        ("support", json!({ "taskSupport": "optional" })),
        ("works", run(&["working", "completed"], "Computed x after 0.3 seconds")),
        ("at once", run(&["completed"], "Hello, Ann!")),
        ("breaks", json!({ "error": -32603 })),
        ("failed", json!("failed")),
        ("cancels", json!(true)),
        ("cancelled", json!({ "error": -32602 })),
        ("unknown", json!({ "error": -32602 })),
        ("waits", json!(true)),
    ] {
        assert_eq!(steps[step], expected, "{step}: {steps:#?}");
    }
    assert_eq!(steps["fails"]["isError"], true);
    for (step, said, questions) in [
        ("asks", "Deleted f: my confirmation", &["Confirm deletion of f?"][..]),
        ("asks twice", "Answers: my first, my second", &["First question?", "Second question?"]),
    ] {
        let found = &steps[step];
        let mut asked: Vec<&str> =
            found["asked"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        asked.sort_unstable();
        assert_eq!((found["said"].as_str(), &asked[..]), (Some(said), questions), "{step}: {steps:#?}");
        assert_eq!(found["related"], true, "{step}: {steps:#?}");
    }
}

/// Alone, and beside the server without tasks.
#[track_caller]
fn check_over_stdio(client: &[OsString]) {
    for (prefix, more) in [("", &["--server", "fixture"][..]), ("fixture__", &[])] {
        let house = house();
        check_steps(&talk(&house, client, prefix, window(&house, more)));
    }
}

#[track_caller]
fn check_over_http(client: &[OsString]) {
    for (prefix, path) in [("", "/servers/fixture/mcp"), ("fixture__", "/mcp")] {
        let served = Served::start(house(), &[]);
        let url = format!("http://127.0.0.1:{}{path}", served.web.port());
        let target = vec![url.into(), token(&served.house).into()];
        check_steps(&talk(&served.house, client, prefix, target));
    }
}

fn typescript() -> Vec<OsString> {
    node(driver("tasks.mjs")).collect()
}

fn python_1() -> Vec<OsString> {
    vec![python(".venv-1").into(), driver("tasks.py").into()]
}

#[test]
fn typescript_runs_tools_as_tasks() {
    check_over_stdio(&typescript());
}

#[test]
fn typescript_runs_tasks_over_http() {
    check_over_http(&typescript());
}

#[test]
fn python_runs_tools_as_tasks() {
    check_over_stdio(&python_1());
}

#[test]
fn python_runs_tasks_over_http() {
    check_over_http(&python_1());
}
