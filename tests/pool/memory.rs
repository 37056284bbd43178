//! `memoryLimit`: an instance over the limit causes a warning, and is then stopped or restarted.

use crate::roots::editor::{Editor, folders, rooted, uri};
use crate::support::{configured, error, log_with};
use serde_json::json;
use switchboard_testkit::{patience, pids};

const EXCESS_BYTES: u64 = 100 << 20;
const WARNING: &str = "memory limit exceeded";

#[test]
fn idle_instance_over_limit_is_stopped() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "memoryLimit": "50MiB" }), &[]));
    let pid = editor.call("grow", json!({ "bytes": EXCESS_BYTES }))["result"]["pid"].as_u64().unwrap() as u32;
    patience::until_true("it is stopped", || !pids::is_alive(pid));
    let log = log_with(&editor.client, "it uses too much memory");
    let (warning, stop) = (log.find(WARNING).unwrap(), log.find("stopping").unwrap());
    assert!(warning < stop && log.contains("WARN"), "{log}");
    assert_eq!(editor.record().launches(), 1, "nobody needs another");
    assert_ne!(editor.facts(json!({})).pid, pid);
    assert_eq!(editor.finish(), "");
}

#[test]
fn busy_instance_over_limit_is_restarted() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "memoryLimit": "50MiB" }), &[]));
    editor.call("grow", json!({ "bytes": EXCESS_BYTES }));
    let answer = editor.call("hang", json!({}));
    let error = error(&answer, -32002, "backend_unavailable");
    assert!(error["message"].as_str().unwrap().contains("memory"), "{answer}");
    assert_eq!(error["data"]["retryable"], json!(true));
    log_with(&editor.client, WARNING);
    assert_eq!(editor.facts(json!({})).pid, editor.record().pid(2));
}

#[test]
fn pool_memory_limit_stops_least_recent() {
    let start = rooted(json!({ "pool": { "memoryLimit": "150MiB" } }), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let mut grow = |root| {
        let answer = editor.call("grow", json!({ "bytes": EXCESS_BYTES, "file": uri(root) }));
        answer["result"]["pid"].as_u64().unwrap() as u32
    };
    let (first, second) = (grow(&a), grow(&b));
    patience::until_true("the first is stopped", || !pids::is_alive(first));
    log_with(&editor.client, "memory limit of all servers exceeded");
    assert_eq!(editor.facts(json!({ "file": uri(&b) })).pid, second, "one alone is not too much");
    editor.facts(json!({ "file": uri(&a) })).is_at(&a);
}
