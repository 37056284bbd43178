//! The README's quick start, followed exactly by a new user: empty home, default mode, real servers.

use crate::real::peers::{node_package, python};
use crate::support::{program, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use switchboard_testkit::client::Start;
use switchboard_testkit::scratch::Scratch;

const README: &str = include_str!("../README.md");

/// Code blocks in this language in the section "Quick start".
fn quick_start(language: &str) -> Vec<&'static str> {
    let section = README.split("\n## Quick start\n").nth(1).expect("the README has a quick start");
    let section = section.split("\n## ").next().unwrap();
    let opening = format!("```{language}\n");
    section.split(&opening).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// A machine with the README's servers installed: its package runners start the real packages without a
/// registry.
struct Machine {
    scratch: Scratch,
    path: String,
}

impl Machine {
    fn new() -> Self {
        let scratch = Scratch::new();
        let bin = scratch.folder("bin");
        let mark = scratch.path().display();
        let everything = node_package("@modelcontextprotocol/server-everything/dist/index.js");
        runner(&bin.join("npx"), &format!("node {} stdio {mark}", everything.display()));
        runner(&bin.join("uvx"), &format!("{} -Xmark={mark} -m mcp_server_time", python(".venv").display()));
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Self { scratch, path }
    }

    fn switchboard<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Start {
        let start = program().args(words).home(self.scratch.home()).env("PATH", &self.path);
        start.env("XDG_RUNTIME_DIR", self.scratch.runtime()).cwd(self.scratch.folder("project"))
    }
}

fn runner(path: &Path, command: &str) {
    fs::write(path, format!("#!/bin/sh\nexec {command}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Arguments of the entry for a client's config.
fn arguments(entry: &Value) -> Vec<&str> {
    assert_eq!(entry["command"], "switchboard");
    entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect()
}

#[test]
fn quick_start_works_as_written() {
    let machine = Machine::new();
    let [config, entry, _] = quick_start("json")[..] else { panic!("three JSON blocks are expected") };
    machine.scratch.file("home/.config/switchboard/config.json", config);

    let commands = quick_start("sh")[1].lines().map(|line| line.split(" #").next().unwrap().trim());
    let mut shown = Vec::new();
    for command in commands {
        let mut words = command.split(' ');
        assert_eq!(words.next(), Some("switchboard"));
        let end = machine.switchboard(words).start().finish();
        assert_eq!(end.code, Some(0), "{command}: {}", end.stderr);
        shown.push(String::from_utf8(end.stdout).unwrap());
    }
    for tool in ["everything__echo", "time__get_current_time"] {
        assert!(shown[1].contains(tool), "{}", shown[1]);
    }

    let entry: Value = serde_json::from_str(entry).unwrap();
    let mut client = machine.switchboard(arguments(&entry["mcpServers"]["switchboard"])).start();
    client.initialize();
    assert_eq!(text(&client.call("everything__echo", json!({ "message": "hi" }))), "Echo: hi");
    let time = client.call("time__get_current_time", json!({ "timezone": "Europe/Paris" }));
    assert!(text(&time).contains("Europe/Paris"), "{time}");

    let status = machine.switchboard(["status"]).start().finish();
    assert_eq!(status.code, Some(0));
    assert!(String::from_utf8_lossy(&status.stdout).contains("everything"));
    client.finish();
    machine.switchboard(["daemon", "stop"]).start().finish();
}

#[test]
fn single_server_works_without_a_config() {
    let machine = Machine::new();
    let entry: Value = serde_json::from_str(quick_start("json")[2]).unwrap();
    let mut client = machine.switchboard(arguments(&entry)).start();
    client.initialize();
    assert_eq!(text(&client.call("echo", json!({ "message": "hi" }))), "Echo: hi");
    client.finish();
}
