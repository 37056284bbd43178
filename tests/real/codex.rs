//! The real Codex: configured as by a user, it connects when a conversation begins and uses the servers
//! behind us. Needs no account and no network, since no model is asked.

use super::aggregate::Aggregate;
use super::peers::node_package;
use serde_json::{Value, json};
use std::ffi::OsString;
use switchboard_testkit::client::{Client, Start};

fn codex() -> Vec<OsString> {
    vec!["node".into(), node_package("@openai/codex/bin/codex.js").into()]
}

/// Codex with its own home. Network traffic ends on this machine.
fn dressed(start: Start, aggregate: &Aggregate) -> Start {
    let nowhere = "http://127.0.0.1:9";
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let start = names.iter().fold(start, |start, name| start.env(name, nowhere));
    let start = start.env("HOME", aggregate.folder().folder("home")).cwd(aggregate.folder().folder("work"));
    start.env("CODEX_HOME", aggregate.folder().folder("home/.codex"))
}

/// Output of a command.
#[track_caller]
fn run(aggregate: &Aggregate, words: Vec<OsString>) -> String {
    let own = codex();
    let end = dressed(Start::new(&own[0]).args(&own[1..]).args(words), aggregate).start().finish();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    String::from_utf8(end.stdout).unwrap()
}

/// Codex's app server, the backend of its windows: JSON-RPC, one message per line.
struct Window(Client);

impl Window {
    #[track_caller]
    fn open(aggregate: &Aggregate) -> Self {
        let provider = r#"model_providers.nobody={ name = "nobody", base_url = "http://127.0.0.1:9/v1" }"#;
        let settings =
            [provider, r#"model_provider="nobody""#, r#"model="none""#, "check_for_update_on_startup=false"];
        let words = codex();
        let start = Start::new(&words[0]).args(&words[1..]).arg("app-server");
        let start = settings.iter().fold(start, |start, setting| start.arg("-c").arg(setting));
        let mut client = dressed(start, aggregate).start();
        let info = json!({ "name": "test", "title": "test", "version": "1" });
        let answer = client.request("initialize", json!({ "clientInfo": info }));
        assert!(answer.get("result").is_some(), "{answer}");
        client.notify("initialized", json!({}));
        Self(client)
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.0.request(method, params);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }
}

#[test]
fn codex_lists_calls_and_reads() {
    let aggregate = Aggregate::four();
    let add = ["mcp", "add", "switchboard", "--"].map(OsString::from);
    let home = aggregate.folder().folder("home/.codex");
    run(&aggregate, [add.to_vec(), aggregate.command()].concat());
    assert!(home.join("config.toml").exists(), "it is written down");
    let listed = run(&aggregate, ["mcp", "list"].map(OsString::from).to_vec());
    assert!(listed.contains("switchboard") && listed.contains("enabled"), "{listed}");

    let mut window = Window::open(&aggregate);
    let status = window.ask("mcpServerStatus/list", json!({ "detail": "full" }));
    let us = &status["data"][0];
    assert_eq!(
        (&us["name"], &us["serverInfo"]["name"]),
        (&json!("switchboard"), &json!("switchboard")),
        "{status}"
    );
    assert_eq!(us["toolsError"], Value::Null, "{status}");
    let tools = us["tools"].as_object().unwrap();
    let count = |prefix: &str| tools.keys().filter(|name| name.starts_with(prefix)).count();
    let each = ["everything__", "filesystem__", "memory__", "time__"].map(count);
    assert!(each[0] >= 13 && each[1] >= 10 && each[2] == 9 && each[3] == 2, "{:?}", tools.keys());
    assert_eq!(each.iter().sum::<usize>(), tools.len());
    assert!(us["resources"].as_array().unwrap().len() >= 7, "{status}");
    assert_eq!(us["resourceTemplates"].as_array().unwrap().len(), 2, "{status}");

    // Each conversation has its own connection.
    let thread =
        window.ask("thread/start", json!({ "cwd": aggregate.folder().join("work") }))["thread"]["id"].take();
    let is_ready = |message: &Value| {
        message["method"] == "mcpServer/startupStatus/updated"
            && message["params"]["name"] == "switchboard"
            && message["params"]["status"] != "starting"
    };
    let started = window.0.recv_where("its connection", is_ready);
    assert_eq!(started["params"]["status"], "ready", "{started}");
    let mut call = |tool: &str, arguments: Value| {
        let params =
            json!({ "threadId": thread, "server": "switchboard", "tool": tool, "arguments": arguments });
        window.ask("mcpServer/tool/call", params)
    };
    assert_eq!(
        call("everything__echo", json!({ "message": "„hi“ 😀" }))["content"][0]["text"],
        "Echo: „hi“ 😀"
    );
    let time = call("time__get_current_time", json!({ "timezone": "Asia/Tokyo" }));
    assert!(time.to_string().contains("2026-07-28T21:00:00+09:00"), "{time}");
    let uri = us["resources"].as_array().unwrap().iter().find(|item| item["name"] == "features.md").unwrap()
        ["uri"]
        .clone();
    for uri in [uri, json!("demo://resource/static/document/features.md")] {
        let read = window.ask(
            "mcpServer/resource/read",
            json!({ "threadId": thread, "server": "switchboard", "uri": uri }),
        );
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("Everything Server"), "{read}");
    }
    assert_eq!(window.0.finish().code, Some(0));
    switchboard_testkit::patience::until_true("nothing is left", || aggregate.processes().is_empty());
}
