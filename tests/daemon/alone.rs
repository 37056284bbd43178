//! Windows without a daemon: they serve themselves and say so.

use super::house::{House, server_of};
use serde_json::json;
use std::fs;

#[test]
fn window_without_daemon_serves_itself() {
    let house = House::new();
    let mut shared = house.open("a");
    let start = house.socket().with_extension("start");
    house.daemon().tell(switchboard_testkit::pids::Word::Kill);
    // A folder in place of the lock file cannot be locked.
    fs::create_dir(&start).unwrap();
    let mut alone = [house.open("a"), house.open("a")];
    for window in &alone {
        window.wait_for_stderr("warning: cannot reach or start the daemon");
        window.wait_for_stderr("hint: `--solo`");
    }
    let [one, other] = alone.each_mut().map(server_of);
    assert_ne!(one, other);
    assert_eq!(house.daemons(), vec![]);
    // A window that had a daemon gets an error, and connects again as soon as one can be started.
    let answer = shared.call("echo", json!({}));
    assert!(answer["error"]["data"]["kind"].is_string(), "{answer}");
    fs::remove_dir(&start).unwrap();
    switchboard_testkit::patience::until_true("a daemon again", || {
        shared.call("echo", json!({})).get("result").is_some()
    });
    house.daemon();
}

/// The variable names a file instead of a folder: all windows use the same fallback.
#[test]
fn unusable_runtime_folder_is_replaced() {
    let house = House::new();
    let file = house.path("a-file");
    fs::write(&file, "").unwrap();
    let mut windows = [0, 1].map(|_| {
        let mut window = house.window("a").env("XDG_RUNTIME_DIR", &file).start();
        window.initialize();
        window
    });
    let [one, other] = windows.each_mut().map(server_of);
    assert_eq!(one, other);
    assert_eq!(windows[0].stderr_so_far(), "");
    house.daemon();
}

#[test]
fn solo_starts_no_daemon() {
    let house = House::new();
    let mut window = house.window("a").arg("--solo").start();
    window.initialize();
    assert!(house.daemons().is_empty());
    let mut window = house.window("a").env("SWITCHBOARD_SOLO", "1").start();
    window.initialize();
    assert!(house.daemons().is_empty());
    assert_eq!(window.stderr_so_far(), "");
}
