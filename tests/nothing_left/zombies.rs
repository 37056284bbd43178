//! Who has ended is reaped at once: by us, by the warden, by the guard. A zombie holds a process number, and
//! there are not many of those.

use super::scene::Scene;
use super::setting::{Setting, USUAL};
use crate::support::{fake_backend, log_with};
use serde_json::json;
use switchboard_testkit::patience;
use switchboard_testkit::tree::{self, Process};

/// Fewer than make the breaker stop restarts.
const CRASHES: u32 = 3;

#[track_caller]
fn check_none(below: u32) {
    let zombies = || tree::descendants(below).into_iter().filter(Process::is_zombie).collect::<Vec<_>>();
    patience::until_true(format_args!("there are no zombies: {:?}", zombies()), || zombies().is_empty());
}

#[test]
fn of_servers_that_crash() {
    for setting in Setting::all() {
        let mut scene = Scene::greet(setting.start(&["--with", "daemon"]));
        for _ in 0..CRASHES {
            scene.client.call("crash", json!({ "code": 1 }));
        }
        assert!(scene.client.call("echo", json!({})).get("result").is_some());
        check_none(scene.us.pid);
        // One guard for the one backend, not one more for each that there was.
        scene.look_again();
        scene.guard();
    }
}

/// Orphans become children of the guard, which did not start them and is not told to expect them.
#[test]
fn of_orphans_that_end_by_themselves() {
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

/// A server that is started again and again: nothing piles up beside it either.
/// A file of the log may be opened at any time. A leak would be one for each of the crashes.
const LOG_FILES: usize = 1;

#[test]
fn nor_descriptors() {
    let mut scene = Scene::greet(USUAL.start(&[]));
    let count = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count).unwrap();
    let us = [scene.us.pid, scene.warden().pid];
    let crash = |scene: &mut Scene| {
        scene.client.call("crash", json!({ "code": 1 }));
        assert!(scene.client.call("echo", json!({})).get("result").is_some());
    };
    // The first crash has files opened that stay open: those of the log.
    crash(&mut scene);
    log_with(&scene.client, "crashed");
    let before = us.map(count);
    // One more than these would make the breaker stop restarts.
    (0..4).for_each(|_| crash(&mut scene));
    patience::until_true(format_args!("{before:?} descriptors as before; now {:?}", us.map(count)), || {
        us.map(count).iter().zip(&before).all(|(now, before)| *now <= before + LOG_FILES)
    });
}
