//! `idleTtl`: unused instances are stopped, and no client notices.
//!
//! To show that an instance is *not* stopped, tests compare it with one that is stopped after a shorter idle
//! time.

use crate::roots::editor::{Editor, folders, rooted, uri};
use crate::support::{configured, log_with};
use serde_json::json;
use switchboard_testkit::{patience, pids};

#[track_caller]
fn wait_until_gone(pid: u32) {
    patience::until_true(format_args!("the idle process {pid} is gone"), || !pids::is_alive(pid));
}

#[test]
fn idle_instance_is_stopped() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "idleTtl": "1s" }), &[]));
    let first = editor.facts(json!({})).pid;
    wait_until_gone(first);
    log_with(&editor.client, "it was idle for too long");
    let second = editor.facts(json!({})).pid;
    assert_ne!(first, second);
    wait_until_gone(second);
    assert!(editor.request("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!(editor.record().launches(), 3);
    assert_eq!(editor.client.stderr_so_far(), "");
    assert_eq!(editor.finish(), "", "the client has noticed nothing");
}

#[test]
fn pool_idle_ttl_is_the_default() {
    let pool = json!({ "pool": { "idleTtl": "1s" } });
    let mut never = Editor::plain(configured(pool.clone(), json!({ "idleTtl": 0 }), &[]));
    let mut flag = Editor::plain(configured(pool.clone(), json!({}), &[]).args(["--idle-ttl-seconds", "0"]));
    let kept = [never.facts(json!({})).pid, flag.facts(json!({})).pid];
    let mut stopped = Editor::plain(configured(pool, json!({}), &[]));
    let pid = stopped.facts(json!({})).pid;
    wait_until_gone(pid);
    assert!(kept.into_iter().all(pids::is_alive), "0 is never");
    assert_eq!([never.facts(json!({})).pid, flag.facts(json!({})).pid], kept);
}

#[test]
fn instance_in_use_is_not_idle() {
    let start = rooted(json!({}), json!({ "idleTtl": "1s", "maxBackends": 4 }));
    let [listened, busy, idle] = folders(&start, ["listened", "busy", "idle"]);
    let mut editor = Editor::open(start, &[&listened, &busy, &idle]);
    let subscription = json!({ "uri": uri(listened.join("x")) });
    assert!(editor.request("resources/subscribe", subscription.clone())["result"].is_object());
    let kept = [&listened, &busy].map(|root| editor.facts(json!({ "file": uri(root) })).pid);
    let call = editor.client.start_call("hang", json!({ "file": uri(&busy) }));
    let pid = editor.facts(json!({ "file": uri(&idle) })).pid;
    wait_until_gone(pid);
    assert!(kept.into_iter().all(pids::is_alive), "a subscription and a call are use");
    assert!(editor.request("resources/unsubscribe", subscription)["result"].is_object());
    editor.client.notify("notifications/cancelled", json!({ "requestId": call }));
    kept.into_iter().for_each(wait_until_gone);
}

#[test]
fn pings_keep_and_start_nothing() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "idleTtl": "1s" }), &[]));
    let pid = editor.facts(json!({})).pid;
    let ping = |editor: &mut Editor| assert_eq!(editor.request("ping", json!({}))["result"], json!({}));
    patience::until_true("the process is gone while there are pings", || {
        ping(&mut editor);
        !pids::is_alive(pid)
    });
    log_with(&editor.client, "stopped");
    ping(&mut editor);
    assert_eq!(editor.record().launches(), 1);
    editor.facts(json!({}));
    assert_eq!(editor.record().launches(), 2);
}
