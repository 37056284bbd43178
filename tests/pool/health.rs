//! `health`: an unresponsive instance in use is restarted; a busy one is left alone.

use crate::roots::editor::Editor;
use crate::support::{configured, log_with, text};
use serde_json::json;
use switchboard_testkit::{patience, pids};

#[test]
fn unresponsive_instance_is_restarted() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "health": "1s" }), &[]));
    let pid = editor.facts(json!({})).pid;
    assert!(editor.call("deaf", json!({}))["result"].is_object());
    patience::until_true("it is stopped, without a request that timed out", || !pids::is_alive(pid));
    log_with(&editor.client, "it did not answer a health check");
    assert_ne!(editor.facts(json!({})).pid, pid);
}

/// The server does one thing at a time, and answers nothing meanwhile.
#[test]
fn busy_instance_is_not_restarted() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "health": "1s" }), &[]));
    let pid = editor.facts(json!({})).pid;
    // Longer than the time for a health check.
    let call = editor.client.start_call("work", json!({ "steps": 1, "ms": 14_000 }));
    let asked = editor.client.start_call("facts", json!({}));
    assert_eq!(text(&editor.answer(call)), "worked");
    assert_eq!(crate::roots::editor::Facts::of(&editor.answer(asked)).pid, pid);
    let heard = editor.record().lines(1);
    assert!(heard.iter().any(|line| line.contains(r#""method":"ping""#)), "it was asked: {heard:?}");
    assert_eq!(editor.record().launches(), 1);
}
