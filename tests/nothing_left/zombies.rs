//! Zombies: ended processes are reaped at once by us, the warden or the guard, since zombies hold scarce
//! process ids.

use super::scene::Scene;
use super::setting::{Setting, USUAL};
use crate::support::{fake_backend, log_with};
use serde_json::json;
use switchboard_testkit::patience;
use switchboard_testkit::tree::{self, Process};

/// Fewer than open the breaker.
const CRASHES: u32 = 3;

#[track_caller]
fn check_none(below: u32) {
    let zombies = || tree::descendants(below).into_iter().filter(Process::is_zombie).collect::<Vec<_>>();
    patience::until_true(format_args!("there are no zombies: {:?}", zombies()), || zombies().is_empty());
}

#[test]
fn crashed_servers_leave_no_zombies() {
    for setting in Setting::all() {
        let mut scene = Scene::greet(setting.start(&["--with", "daemon"]));
        for _ in 0..CRASHES {
            scene.client.call("crash", json!({ "code": 1 }));
        }
        assert!(scene.client.call("echo", json!({})).get("result").is_some());
        check_none(scene.us.pid);
        // One guard for the one backend, not one for each crashed process.
        scene.look_again();
        scene.guard();
    }
}

/// Orphans become children of the guard, which did not start them.
#[test]
fn ended_orphans_leave_no_zombies() {
    for setting in Setting::all() {
        let start = crate::support::program();
        let record = start.record();
        let backend = start.scratch().lend(fake_backend());
        let line = r#"for n in 1 2 3 4 5 6 7 8 9; do (true & true & true &); done; exec "$@""#;
        let start = start.args(["stdio", "--guard", setting.guard.word(), "--", "sh", "-c", line, "sh"]);
        let start = start.arg(backend).arg("--record").arg(record.folder());
        let scene = Scene::greet(setting.dressed(start));
        check_none(scene.us.pid);
    }
}

/// Log files that may be opened at any time. A leak would be one descriptor per crash.
const LOG_FILES: usize = 1;

#[test]
fn crashes_leak_no_descriptors() {
    let mut scene = Scene::greet(USUAL.start(&[]));
    let count = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count).unwrap();
    let us = [scene.us.pid, scene.warden().pid];
    let crash = |scene: &mut Scene| {
        scene.client.call("crash", json!({ "code": 1 }));
        assert!(scene.client.call("echo", json!({})).get("result").is_some());
    };
    // The first crash opens log files that stay open.
    crash(&mut scene);
    log_with(&scene.client, "crashed");
    let before = us.map(count);
    // One more would open the breaker.
    (0..4).for_each(|_| crash(&mut scene));
    patience::until_true(format_args!("{before:?} descriptors as before; now {:?}", us.map(count)), || {
        us.map(count).iter().zip(&before).all(|(now, before)| *now <= before + LOG_FILES)
    });
}
