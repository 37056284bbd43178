//! Panics: one in any task ends the whole program by SIGABRT, since half a program would keep its backends
//! and answer nobody. The guards do the rest.
//!
//! Only debug builds can be made to panic.

use super::scene::Scene;
use super::setting::USUAL;
use crate::remote::far;
use serde_json::json;
use std::fs;
use std::time::Instant;
use switchboard_gateway::task;
use switchboard_testkit::client::{Start, initialize_params};
use switchboard_testkit::tree::Process;
use switchboard_testkit::web::{Web, mcp};
use switchboard_testkit::zoo;

/// Tasks of `--raw`.
const RAW: &[&str] = &["input", "output", "words"];
/// Tasks of the daemon and its attachments: see `tests/daemon`.
const DAEMONS: &[&str] = &["accepting", "attachment", "forgetting", "lending", "link", "watching"];
/// Tasks of remote servers.
const REMOTE: &[&str] = &["exchange", "listening"];
/// Tasks of `serve`: see `tests/http`.
const SERVING: &[&str] = &["accounting", "connection", "parting", "slow", "tidying", "visiting", "welcoming"];
/// Tasks that end before there is a backend.
const EARLY: &[&str] = &["sweeping"];

/// Makes the task panic once a file of this name exists.
fn panicking_in(start: Start, task: &str) -> Start {
    let file = start.scratch().join("panic");
    start.env("SWITCHBOARD_PANIC_IN", format!("{task}@{}", file.display()))
}

#[track_caller]
fn check_end(mut scene: Scene, task: &str, since: Instant) {
    let end = scene.client.wait_for_end();
    assert_eq!(end.code, None, "{task}: a signal ends it; it said {:?}", end.stderr);
    assert!(end.stderr.contains(&format!("`{task}`")), "{task}: {:?}", end.stderr);
    scene.check_gone(since);
}

#[test]
fn panic_in_any_task_leaves_nothing() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let is_ours = |task: &&str| ![EARLY, DAEMONS, REMOTE, SERVING].iter().any(|others| others.contains(task));
    for task in task::NAMES.into_iter().filter(is_ours) {
        let flags: &[&str] = if RAW.contains(&task) { &["--raw"] } else { &[] };
        let start = match task {
            "measuring" => USUAL.start_with(json!({}), json!({ "memoryLimit": "1GiB" }), zoo::EIGHT),
            "offer" => USUAL.start_aggregate(json!({}), json!({}), zoo::EIGHT),
            "lookup" => USUAL.start_by_flags(&["--root-argument", "dir"]),
            "remains" => USUAL.start_with(json!({ "shutdownGrace": "1h" }), json!({}), zoo::EIGHT),
            _ => USUAL.start_by_flags(flags),
        };
        let start = panicking_in(start, task);
        let mut scene = if task == "lookup" { greet_with_roots(start) } else { Scene::greet(start) };
        scene.check_complete(USUAL, 1);
        if task == "remains" {
            // This task runs when a crashed server has left processes that do not end.
            scene.client.call("crash", json!({ "code": 1 }));
            scene.look_again();
        }
        let since = Instant::now();
        fs::write(scene.client.scratch().join("panic"), "").unwrap();
        check_end(scene, task, since);
    }
}

#[test]
fn panic_in_a_remote_task_ends_us() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    for task in REMOTE {
        let web = Web::start(|seen, wire| mcp(seen, wire, "s-1"));
        let mut client = panicking_in(far(&web.url("/mcp"), json!({})).arg("--solo"), task).start();
        client.initialize();
        client.call("one", json!({}));
        fs::write(client.scratch().join("panic"), "").unwrap();
        let end = client.wait_for_end();
        assert_eq!(end.code, None, "{task}: a signal ends it; it said {:?}", end.stderr);
        assert!(end.stderr.contains(&format!("`{task}`")), "{task}: {:?}", end.stderr);
    }
}

/// Reports roots, which the task `lookup` looks up.
fn greet_with_roots(start: Start) -> Scene {
    let mut client = start.start();
    let mut params = initialize_params();
    params["capabilities"] = json!({ "roots": {} });
    client.request("initialize", params);
    client.notify("notifications/initialized", json!({}));
    let question = client.told("roots/list");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [] } });
    client.send(answer.to_string());
    let us = Process::look(client.pid()).unwrap();
    Scene::look(client, us)
}

#[test]
fn panic_at_the_start_leaves_nothing() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    for task in EARLY {
        let start = panicking_in(USUAL.start(zoo::EIGHT), task);
        start.scratch().file("panic", "");
        let mut client = start.start();
        // The program may be gone already.
        client.ask("initialize", initialize_params());
        let since = Instant::now();
        let us = Process::look(client.pid()).unwrap();
        check_end(Scene::look(client, us), task, since);
    }
}
