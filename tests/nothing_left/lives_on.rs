//! Partial deaths. Guard or server: open requests get an error, the whole backend ends, and a fresh one
//! serves the next request. Warden: only the next guard notices.

use super::scene::Scene;
use super::setting::Setting;
use crate::support::text;
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::{self, Process};
use switchboard_testkit::zoo;

#[track_caller]
pub(super) fn check(setting: Setting, hurt: impl FnOnce(&Scene)) {
    let mut scene = Scene::open(setting);
    scene.check_complete(setting, 1);
    let pending = scene.client.start_call("hang", json!({}));
    scene.client.record().wait_for(1, "hang");
    let since = Instant::now();
    hurt(&scene);
    let answer = scene.client.answer(pending);
    assert!(answer.get("error").is_some(), "{answer}");
    check_replacement(scene, setting, since);
}

/// The server crashes, and its children end with it.
#[track_caller]
pub(super) fn check_crash(setting: Setting) {
    let mut scene = Scene::open(setting);
    scene.check_complete(setting, 1);
    let since = Instant::now();
    let answer = scene.client.call("crash", json!({ "signal": 9 }));
    assert!(answer.get("error").is_some(), "{answer}");
    check_replacement(scene, setting, since);
}

/// A guard works without its warden; the next guard gets a new warden.
#[track_caller]
pub(super) fn check_warden(setting: Setting) {
    let mut scene = Scene::open(setting);
    scene.check_complete(setting, 1);
    let held = scene.client.start_call("hold", json!({ "label": "held" }));
    scene.warden().tell(Word::Kill);
    patience::until_true("the warden is dead", || !scene.warden().is_alive());
    scene.client.call("release", json!({}));
    assert_eq!(scene.client.answer(held)["result"]["label"], "held", "who waits is not disturbed");
    assert_eq!(scene.zoo(1).living(), zoo::NAMES, "nor is the backend");
    let since = Instant::now();
    let answer = scene.client.call("crash", json!({ "signal": 9 }));
    assert!(answer.get("error").is_some(), "{answer}");
    check_replacement(scene, setting, since);
}

#[track_caller]
pub(super) fn check_replacement(mut scene: Scene, setting: Setting, since: Instant) {
    // The warden looks after other backends too, and stays if it can.
    let backend: Vec<Process> =
        scene.family.iter().filter(|process| process.name != "sb-warden").cloned().collect();
    scene.check_these_gone(since, &backend, 1);
    assert_eq!(text(&scene.client.call("echo", json!({ "still": "there" }))), r#"{"still":"there"}"#);
    scene.look_again();
    scene.check_complete(setting, 2);
    let us = scene.us.pid;
    patience::until_true(format_args!("no zombie is left: {:#?}", tree::descendants(us)), || {
        !tree::descendants(us).iter().any(Process::is_zombie)
    });
    let since = Instant::now();
    scene.client.close_input();
    assert_eq!(scene.client.wait_for_end().code, Some(0));
    scene.check_gone(since);
}
