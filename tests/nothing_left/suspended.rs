//! Suspended guards and wardens: the program notices, works around them, and leaves none behind.

use super::lives_on;
use super::scene::Scene;
use super::setting::Setting;
use crate::daemon::house::{House, server_of};
use crate::support::error;
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::{self, Process};

#[track_caller]
fn check(who: impl Fn(&Scene) -> &Process, end: impl Fn(&Scene)) {
    for setting in Setting::all() {
        let mut scene = Scene::open(setting);
        suspend(who(&scene));
        let since = Instant::now();
        end(&scene);
        scene.check_gone(since);
    }
}

#[track_caller]
fn suspend(process: &Process) {
    process.tell(Word::Suspend);
    patience::until_true("it is suspended", || process.again().is_some_and(|now| now.is_stopped()));
}

#[test]
fn suspended_guard_leaves_nothing() {
    check(Scene::guard, |scene| scene.client.close_input());
}

#[test]
fn suspended_warden_leaves_nothing() {
    check(Scene::warden, |scene| scene.client.close_input());
}

#[test]
fn suspended_guard_ends_after_our_kill() {
    check(Scene::guard, |scene| scene.us.tell(Word::Kill));
}

/// A start needs the warden: it is woken, and the start continues.
#[test]
fn suspended_warden_is_woken_for_a_start() {
    for setting in Setting::all() {
        let mut scene = Scene::open(setting);
        suspend(scene.warden());
        let since = Instant::now();
        let answer = scene.client.call("crash", json!({ "signal": 9 }));
        error(&answer, -32002, "backend_unavailable");
        lives_on::check_replacement(scene, setting, since);
    }
}

/// The same in the default mode, for a server in another workspace.
#[test]
fn suspended_warden_of_daemon_is_woken() {
    let house = House::new();
    let mut first = house.open("a");
    let server = server_of(&mut first);
    let family = tree::descendants(house.daemon().pid);
    suspend(family.iter().find(|process| process.name == "sb-warden").unwrap());
    let mut second = house.open("b");
    assert_ne!(server_of(&mut second), server);
    assert_eq!(server_of(&mut first), server, "nobody else notices");
}
