//! A client of the TypeScript SDK 1.x runs tools of FastMCP, which has the tasks extension, as tasks of 2025-11-25.

use super::routes::window;
use crate::daemon::house::House;
use crate::real::peers::{driver, installed, node, python};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use switchboard_testkit::client::Start;

/// What the driver prints, by step.
#[track_caller]
fn talk(house: &House, prefix: &str, target: Vec<OsString>) -> BTreeMap<String, Value> {
    let words: Vec<OsString> = node(driver("tasks.mjs")).chain([prefix.into()]).chain(target).collect();
    let start = Start::new(&words[0]).args(&words[1..]).home(house.path("home"));
    let end = start.env("XDG_RUNTIME_DIR", house.path("r")).cwd(house.path("home")).start().wait_for_end();
    let printed = String::from_utf8_lossy(&end.stdout).into_owned();
    assert_eq!(end.code, Some(0), "{printed}\n{}", end.stderr);
    let steps = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    steps.map(|step| (step["step"].as_str().unwrap().to_owned(), step["value"].clone())).collect()
}

/// Alone, and beside a server without tasks.
#[test]
fn typescript_runs_tools_as_tasks() {
    for (prefix, more) in [("", &["--server", "fixture"][..]), ("fixture__", &[])] {
        let folder = installed(".venv-fastmcp/fixture");
        let command = [python(".venv-fastmcp"), driver("fixture_fastmcp.py"), folder];
        let command: Vec<&str> = command.iter().filter_map(|word| word.to_str()).collect();
        let fixture =
            json!({ "command": command[0], "args": [command[1], command[2], "stdio"], "era": "modern" });
        let old = json!({ "command": crate::support::fake_backend() });
        let house = House::with(json!({ "mcpServers": { "fixture": fixture, "old": old } }), json!({}), &[]);
        let steps = talk(&house, prefix, window(&house, more));
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
}
