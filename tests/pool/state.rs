//! `state`: an instance that keeps client state is not stopped while idle.

use crate::roots::editor::Editor;
use crate::support::{configured, log_with};
use serde_json::{Value, json};
use switchboard_testkit::{patience, pids};

/// A server with a browser, recognised by its tool's name.
fn browser(server: Value) -> Editor {
    let mut editor = Editor::plain(configured(json!({}), server, &["--tool", "browser_navigate"]));
    assert!(editor.request("tools/list", json!({}))["result"]["tools"].is_array());
    editor
}

#[test]
fn stateful_instance_is_not_stopped_idle() {
    let mut kept = browser(json!({ "idleTtl": "1s" }));
    let pid = kept.facts(json!({})).pid;
    let log = log_with(&kept.client, "keeps client state");
    assert!(log.contains("browser_navigate"), "{log}");
    let mut told = Editor::plain(configured(json!({}), json!({ "idleTtl": "1s", "state": "backend" }), &[]));
    let other = told.facts(json!({})).pid;
    // The config overrides the recognition. This instance has been idle for less time when it is stopped.
    let mut forgetful = browser(json!({ "idleTtl": "1s", "state": "none" }));
    let stopped = forgetful.facts(json!({})).pid;
    patience::until_true("the one that keeps nothing is gone", || !pids::is_alive(stopped));
    assert_eq!((kept.facts(json!({})).pid, told.facts(json!({})).pid), (pid, other));
}

#[test]
fn lost_state_is_reported() {
    let mut editor = browser(json!({ "memoryLimit": "50MiB" }));
    let pid = editor.call("grow", json!({ "bytes": 100 << 20 }))["result"]["pid"].as_u64().unwrap();
    let notice = editor.client.told("notifications/message");
    let params = &notice["params"];
    assert_eq!((&params["level"], &params["logger"]), (&json!("warning"), &json!("switchboard")), "{notice}");
    let data = params["data"].as_str().unwrap();
    assert!(data.contains("`fake`") && data.contains("memory") && data.contains("lost"), "{notice}");
    assert_ne!(u64::from(editor.facts(json!({})).pid), pid);
}
