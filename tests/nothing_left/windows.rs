//! The daemon and all windows are killed in one instant: nobody is left to notice but the guards.

use super::scene::check_gone;
use crate::daemon::house::House;
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;
use switchboard_testkit::zoo::{self, Zoo};

#[test]
fn nothing_is_left_of_a_daemon_and_its_windows() {
    let house = House::with(json!({ "linger": "1h" }), json!({}), zoo::EIGHT);
    let mut windows: Vec<_> = ["a", "a", "b"].map(|folder| house.open(folder)).into();
    // The handshake of the second workspace may be answered before its server runs.
    windows.iter_mut().for_each(|window| drop(window.call("echo", json!({}))));
    let zoos = [1, 2].map(|launch| Zoo::of(house.record().folder(), launch));
    for zoo in &zoos {
        assert_eq!(zoo.living(), zoo::NAMES, "the zoo is complete");
    }
    let mut those: Vec<Process> = windows.iter().filter_map(|window| Process::look(window.pid())).collect();
    those.push(house.daemon());
    those.iter().for_each(|process| process.tell(Word::Suspend));
    patience::until_true("all are suspended", || {
        those.iter().all(|process| process.again().is_none_or(|now| now.is_stopped()))
    });
    let since = Instant::now();
    those.iter().for_each(|process| process.tell(Word::Kill));
    check_gone(since, || {
        windows.iter_mut().for_each(|window| {
            window.has_ended();
        });
        let left = house.processes().into_iter().map(|process| format!("{} {}", process.name, process.pid));
        left.chain(zoos.iter().flat_map(Zoo::living)).collect()
    });
}
