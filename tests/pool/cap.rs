//! `maxBackends`: never more instances than allowed, and no request is lost.

use super::census::Census;
use crate::roots::editor::{Editor, Facts, rooted, uri};
use crate::support::{error, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use switchboard_testkit::client::Start;
use switchboard_testkit::{patience, pids};

/// Interval between two counts of the processes.
const COUNT_INTERVAL: Duration = Duration::from_millis(2);

fn roots(start: &Start, count: usize) -> Vec<PathBuf> {
    (0..count).map(|n| start.scratch().folder(&format!("root-{n}"))).collect()
}

/// Running processes of the server.
fn running(editor: &Editor) -> Vec<u32> {
    pids::with_text(&editor.record().folder().display().to_string())
}

/// The line from its method on, without the id, which is ours.
fn said(line: &str) -> &str {
    &line[line.find(r#""method""#).unwrap()..]
}

#[test]
fn five_roots_share_room_for_two() {
    let start = rooted(json!({}), json!({ "maxBackends": 2 }));
    let roots = roots(&start, 5);
    let mut editor = Editor::open(start, &roots);
    let census = Census::of(editor.record().folder().display(), COUNT_INTERVAL);
    for _ in 0..3 {
        for root in &roots {
            editor.facts(json!({ "file": uri(root.join("x")) })).is_at(root);
        }
    }
    let launches = editor.record().launches();
    assert_eq!(launches, 15, "by the time one comes again, it is the one least recently used");
    for gone in 1..=launches - 2 {
        let pid = editor.record().pid(gone);
        patience::until_true(format_args!("launch {gone} is gone"), || !pids::is_alive(pid));
    }
    let left = running(&editor);
    assert_eq!(left.len(), 2);
    let count = census.finish();
    assert!(count.most <= 2, "{count:?}");
    editor.finish();
    assert!(!left.into_iter().any(pids::is_alive));
}

#[test]
fn least_recently_used_makes_room() {
    let start = rooted(json!({}), json!({ "maxBackends": 2 }));
    let roots = roots(&start, 3);
    let mut editor = Editor::open(start, &roots);
    let mut pid = |n: usize| editor.facts(json!({ "file": uri(&roots[n]) })).pid;
    let (zero, one) = (pid(0), pid(1));
    assert_eq!(pid(0), zero);
    let two = pid(2);
    assert_eq!((pid(0), pid(2)), (zero, two));
    assert!(!pids::is_alive(one));
}

#[test]
fn pool_and_flag_caps_are_enforced() {
    let by_pool = rooted(json!({ "pool": { "maxBackends": 1 } }), json!({}));
    let by_flag = rooted(json!({}), json!({ "maxBackends": 5 })).args(["--max-backends", "1"]);
    for start in [by_pool, by_flag] {
        let roots = roots(&start, 3);
        let mut editor = Editor::open(start, &roots);
        let census = Census::of(editor.record().folder().display(), COUNT_INTERVAL);
        for root in roots.iter().chain(&roots) {
            editor.facts(json!({ "file": uri(root) })).is_at(root);
        }
        assert_eq!((running(&editor).len(), census.finish().most), (1, 1));
    }
}

/// An instance that was stopped to make room, and started again.
#[test]
fn restarted_process_gets_client_state() {
    let start = rooted(json!({}), json!({ "maxBackends": 1 }));
    let roots = roots(&start, 2);
    let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"clientInfo":{"version":"1.0e0","name":"t"}, "capabilities":{"roots":{},"new":{"x":0.10}},"protocolVersion":"2025-06-18"}}"#;
    let mut editor = Editor::silent(start, &roots);
    editor.client.send(initialize);
    assert!(editor.client.answer("i")["result"].is_object());
    editor.client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized","x":1}"#);
    editor.facts(json!({})).is_at(&roots[0]);
    let level = json!({ "level": "warning", "_meta": { "x": 1 } });
    assert!(editor.request("logging/setLevel", level)["result"].is_object());
    for root in [&roots[1], &roots[0]] {
        editor.facts(json!({ "file": uri(root) })).is_at(root);
    }
    assert_eq!(editor.record().launches(), 3);
    for launch in 1..=3 {
        let heard = editor.record().lines(launch);
        assert_eq!(said(&heard[0]), said(initialize), "launch {launch}");
        assert_eq!(heard[1], r#"{"jsonrpc":"2.0","method":"notifications/initialized","x":1}"#);
    }
    let first = editor.record().wait_for(1, "logging/setLevel");
    for launch in 2..=3 {
        let heard = editor.record().lines(launch);
        assert_eq!(said(&heard[2]), said(&first), "before anything else: {heard:?}");
        assert!(heard[3].contains("facts"), "{heard:?}");
    }
}

/// A subscription protects its instance from being stopped; after a crash, the next process gets it again.
#[test]
fn restarted_process_gets_subscriptions() {
    let start = rooted(json!({}), json!({}));
    let roots = roots(&start, 2);
    let mut editor = Editor::open(start, &roots);
    editor.facts(json!({})).is_at(&roots[0]);
    for name in ["one", "two", "gone"] {
        let uri = uri(roots[1].join(name));
        assert!(editor.request("resources/subscribe", json!({ "uri": uri }))["result"].is_object());
    }
    let gone = uri(roots[1].join("gone"));
    assert!(editor.request("resources/unsubscribe", json!({ "uri": gone }))["result"].is_object());
    assert!(editor.request("logging/setLevel", json!({ "level": "error" }))["result"].is_object());
    error(&editor.call("crash", json!({ "file": uri(&roots[1]) })), -32002, "backend_unavailable");
    editor.facts(json!({ "file": uri(&roots[1]) })).is_at(&roots[1]);
    let heard = editor.record().lines(3);
    assert!(heard[2].contains("logging/setLevel") && heard[2].contains("error"), "{heard:?}");
    for (line, name) in heard[3..].iter().zip(["one", "two"]) {
        let params = format!(r#""params":{{"uri":"{}"}}}}"#, uri(roots[1].join(name)));
        assert!(line.contains("resources/subscribe") && line.ends_with(&params), "{heard:?}");
    }
    assert!(heard[5].contains("facts"), "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("gone")), "{heard:?}");
}

/// A call in progress that reports its progress again and again.
fn start_work(editor: &mut Editor, root: &PathBuf, steps: u32) -> u64 {
    let arguments = json!({ "steps": steps, "ms": 100, "file": uri(root) });
    let meta = json!({ "progressToken": root });
    editor.client.ask("tools/call", json!({ "name": "work", "arguments": arguments, "_meta": meta }))
}

fn wait_for_progress(editor: &mut Editor, root: &PathBuf) {
    let is_it = |value: &Value| value["params"]["progressToken"] == json!(root);
    editor.client.recv_where("progress", is_it);
}

#[test]
fn call_waits_for_room() {
    let start = rooted(json!({}), json!({ "maxBackends": 2 }));
    let roots = roots(&start, 3);
    let mut editor = Editor::open(start, &roots);
    let census = Census::of(editor.record().folder().display(), COUNT_INTERVAL);
    let busy = [&roots[0], &roots[1]].map(|root| {
        let pid = editor.facts(json!({ "file": uri(root) })).pid;
        (pid, editor.client.start_call("hang", json!({ "file": uri(root) })))
    });
    let third = editor.client.start_call("facts", json!({ "file": uri(&roots[2]) }));
    // Both instances are in use and answer: there is no room for the third yet.
    for (root, (pid, _)) in roots.iter().zip(busy) {
        assert_eq!(editor.facts(json!({ "file": uri(root) })).pid, pid);
    }
    assert_eq!(editor.record().launches(), 2);
    editor.client.notify("notifications/cancelled", json!({ "requestId": busy[1].1 }));
    Facts::of(&editor.answer(third)).is_at(&roots[2]);
    assert!(pids::is_alive(busy[0].0) && !pids::is_alive(busy[1].0));
    assert!(census.finish().most <= 2);
}

#[test]
fn shutdown_ends_calls_that_wait_for_room() {
    let grace = json!({ "shutdownGrace": "200ms", "maxBackends": 2 });
    let start = rooted(json!({ "shutdownGrace": "200ms", "linger": 0 }), grace);
    let roots = roots(&start, 4);
    let mut editor = Editor::open(start, &roots);
    let calls: Vec<u64> =
        roots.iter().map(|root| editor.client.start_call("hang", json!({ "file": uri(root) }))).collect();
    // Once the roots are named and known, the first two calls are on their way.
    editor.asked_again(0);
    for launch in 1..=2 {
        editor.record().wait_for(launch, "hang");
    }
    let pids = running(&editor);
    editor.client.close_input();
    for call in calls {
        error(&editor.answer(call), -32603, "shutting_down");
    }
    let end = editor.client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
    assert_eq!((editor.record().launches(), pids.len()), (2, 2));
    patience::until_true("they are stopped", || !pids.iter().copied().any(pids::is_alive));
}

#[test]
fn call_without_room_times_out() {
    let start = rooted(json!({}), json!({ "maxBackends": 2, "timeout": "1s" }));
    let roots = roots(&start, 3);
    let mut editor = Editor::open(start, &roots);
    let busy = [&roots[0], &roots[1]].map(|root| {
        editor.facts(json!({ "file": uri(root) })).is_at(root);
        let call = start_work(&mut editor, root, 40);
        wait_for_progress(&mut editor, root);
        call
    });
    let answer = editor.call("facts", json!({ "file": uri(&roots[2]) }));
    let error = error(&answer, -32003, "backend_timeout");
    assert!(error["message"].as_str().unwrap().contains("no room"), "{answer}");
    let data = &error["data"];
    assert_eq!((&data["retryable"], &data["root"]), (&json!(true), &json!(roots[2])), "{answer}");
    for call in busy {
        assert_eq!(text(&editor.answer(call)), "worked", "nobody else suffers");
    }
    editor.facts(json!({ "file": uri(&roots[2]) })).is_at(&roots[2]);
}
