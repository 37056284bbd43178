//! Kills during a start: between any two steps there may be an unknown process, or one that waits for a
//! message that never comes.

use super::scene::{Scene, check_gone};
use super::setting::{Setting, User};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::tree::{self, Process};
use switchboard_testkit::zoo::{self, Zoo};

/// A start takes tens of milliseconds, more on a busy machine.
const LAST_MS: u64 = 90;
const STEP_MS: u64 = 3;
const AT_A_TIME: u64 = 3;

#[track_caller]
fn check_killed_after(setting: Setting, time: Duration) {
    let mut client = setting.start(zoo::EIGHT).start();
    client.ask("initialize", initialize_params());
    // Not a wait for a fact: this is the moment under test.
    std::thread::sleep(time);
    let since = Instant::now();
    client.signal(Word::Kill);
    client.wait_for_end();
    let scratch = client.scratch().path().display().to_string();
    check_gone(since, || {
        let traces =
            pids::with_trace(&scratch).into_iter().map(|pid| format!("{pid}, killed after {time:?}"));
        traces.chain(Zoo::of(client.record().folder(), 1).living()).collect()
    });
}

fn settings() -> impl Iterator<Item = Setting> {
    Setting::all().filter(|setting| setting.user == User::Unprivileged)
}

/// Runs the check for each moment, a few at a time.
fn at_moments(last: u64, step: u64, check: impl Fn(Duration) + Sync) {
    std::thread::scope(|scope| {
        for lane in 0..AT_A_TIME {
            let moments = (0..last / step).filter(move |number| number % AT_A_TIME == lane);
            let check = &check;
            scope.spawn(move || moments.for_each(|number| check(Duration::from_millis(number * step))));
        }
    });
}

/// Kills a process between us and the server as soon as it exists, or a little later; checks that this and
/// the next request are answered.
#[track_caller]
fn check_answered(setting: Setting, name: &str, time: Duration) {
    let mut client = setting.start(zoo::EIGHT).start();
    let id = client.ask("initialize", initialize_params());
    let us = Process::look(client.pid()).unwrap();
    let between =
        patience::until(name, || tree::descendants(us.pid).into_iter().find(|process| process.name == name));
    // Not a wait for a fact: this is the moment under test.
    std::thread::sleep(time);
    between.tell(Word::Kill);
    let answer = client.answer(id);
    assert!(answer.get("result").or(answer.get("error")).is_some(), "{name}, {time:?}: {answer}");
    client.call("echo", json!({}));
    let mut scene = Scene::look(client, us);
    let since = Instant::now();
    scene.client.close_input();
    scene.check_gone(since);
}

#[test]
fn kill_during_a_start_leaves_nothing() {
    for setting in settings() {
        at_moments(LAST_MS, STEP_MS, |time| check_killed_after(setting, time));
    }
}

#[test]
fn warden_killed_in_a_start_blocks_nobody() {
    for setting in settings() {
        at_moments(20, 2, |time| check_answered(setting, "sb-warden", time));
    }
}

#[test]
fn guard_killed_in_a_start_blocks_nobody() {
    for setting in settings() {
        at_moments(20, 2, |time| check_answered(setting, "sb-guard", time));
    }
}
