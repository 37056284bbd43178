//! Deaths of the daemon together with all windows, so that only the guards notice; or with its warden and
//! guards, so that only a window does.

use super::scene::check_gone;
use crate::daemon::house::{Home, House};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::{self, Process};
use switchboard_testkit::zoo::{self, Zoo};

#[test]
fn daemon_and_windows_killed_leave_nothing() {
    let house = House::with(json!({ "linger": "1h" }), json!({}), zoo::EIGHT);
    let mut windows: Vec<_> = ["a", "a", "b"].map(|folder| house.open(folder)).into();
    // The handshake of the second workspace may be answered before its server runs.
    windows.iter_mut().for_each(|window| drop(window.call("echo", json!({}))));
    let zoos = complete_zoos(&house);
    let mut those: Vec<Process> = windows.iter().filter_map(|window| Process::look(window.pid())).collect();
    those.push(house.daemon());
    let since = kill_in_one_instant(&those);
    check_gone(since, || {
        windows.iter_mut().for_each(|window| {
            window.has_ended();
        });
        let left = house.processes().into_iter().map(|process| format!("{} {}", process.name, process.pid));
        left.chain(zoos.iter().flat_map(Zoo::living)).collect()
    });
}

/// A surviving window ends the leftovers of the dead run, even without a request.
#[test]
fn window_cleans_up_after_dead_daemon() {
    let house = House::with(json!({ "linger": "1h" }), json!({}), zoo::EIGHT);
    check_survivors(house);
}

/// The same for a window that relays every message.
#[cfg(debug_assertions)]
#[test]
fn relaying_window_cleans_up_as_well() {
    let house = crate::daemon::house::Relayed::with(json!({ "linger": "1h" }), json!({}), zoo::EIGHT);
    check_survivors(house);
}

#[track_caller]
fn check_survivors<const RELAYED: bool>(house: Home<RELAYED>) {
    let mut windows: Vec<_> = ["a", "b"].map(|folder| house.open(folder)).into();
    windows.iter_mut().for_each(|window| drop(window.call("echo", json!({}))));
    let zoos = complete_zoos(&house);
    let daemon = house.daemon();
    let is_keeper = |process: &Process| matches!(&process.name[..], "sb-warden" | "sb-guard");
    let mut those: Vec<Process> = tree::descendants(daemon.pid).into_iter().filter(is_keeper).collect();
    assert_eq!(those.len(), 3, "a warden and two guards: {those:?}");
    those.push(daemon);
    let since = kill_in_one_instant(&those);
    check_gone(since, || zoos.iter().flat_map(Zoo::living).collect());
    let runs = house.state("runs");
    check_gone(since, || names_in(&runs));
    // The windows continue.
    for window in &mut windows {
        assert!(window.call("echo", json!({})).get("result").is_some());
        assert_eq!(window.finish().code, Some(0));
    }
    house.daemon().tell(Word::Terminate);
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[track_caller]
fn complete_zoos<const RELAYED: bool>(house: &Home<RELAYED>) -> [Zoo; 2] {
    let zoos = [1, 2].map(|launch| Zoo::of(house.record().folder(), launch));
    for zoo in &zoos {
        assert_eq!(zoo.living(), zoo::NAMES, "the zoo is complete");
    }
    zoos
}

#[track_caller]
fn kill_in_one_instant(those: &[Process]) -> Instant {
    those.iter().for_each(|process| process.tell(Word::Suspend));
    patience::until_true("all are suspended", || {
        those.iter().all(|process| process.again().is_none_or(|now| now.is_stopped()))
    });
    let since = Instant::now();
    those.iter().for_each(|process| process.tell(Word::Kill));
    since
}
