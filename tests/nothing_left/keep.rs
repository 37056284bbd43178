//! `keep`: named processes survive, whichever process dies; the rest ends. Not with a namespace, whose end kills
//! everything in it.

use super::scene::{Scene, check_gone};
use super::setting::{Guard, Setting};
use crate::support::fake_backend;
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;
use switchboard_testkit::zoo;

fn options() -> Vec<&'static str> {
    [zoo::EIGHT, &["--with", "adb"]].concat()
}

fn settings() -> impl Iterator<Item = Setting> {
    Setting::all().filter(|setting| setting.guard == Guard::Auto)
}

/// The kept process, which the test ends.
struct KeptProcess(Process);

impl Drop for KeptProcess {
    fn drop(&mut self) {
        self.0.tell(Word::Kill);
    }
}

/// The scene and the process to be kept.
#[track_caller]
fn open(start: Start) -> (Scene, KeptProcess) {
    let scene = Scene::greet(start);
    let kept = KeptProcess(scene.only("adb").clone());
    assert!(scene.zoo(1).living().contains(&"adb".to_owned()));
    (scene, kept)
}

/// Checks that all but the kept process are gone.
#[track_caller]
fn check_only_kept_is_left(scene: &Scene, kept: &KeptProcess, since: Instant) {
    let others: Vec<&Process> = scene.family.iter().filter(|process| process.pid != kept.0.pid).collect();
    check_gone(since, || {
        let alive = others.iter().filter(|process| process.is_alive()).map(|process| process.name.clone());
        let living = scene.zoo(1).living().into_iter().filter(|name| name != "adb");
        alive.chain(living).collect()
    });
    assert!(kept.0.is_alive(), "it was to be kept");
}

#[test]
fn keep_survives_an_orderly_end() {
    for setting in settings() {
        let (mut scene, kept) = open(setting.start_with(json!({}), json!({ "keep": ["adb"] }), &options()));
        let since = Instant::now();
        scene.client.close_input();
        assert_eq!(scene.client.wait_for_end().code, Some(0));
        check_only_kept_is_left(&scene, &kept, since);
    }
}

#[test]
fn keep_survives_our_kill() {
    for setting in settings() {
        let start = setting.start_with(json!({}), json!({ "keep": ["adb"] }), &options());
        let (scene, kept) = open(start);
        let since = Instant::now();
        scene.us.tell(Word::Kill);
        check_only_kept_is_left(&scene, &kept, since);
    }
}

#[test]
fn keep_flag_is_honoured() {
    for setting in settings() {
        let start = crate::support::program();
        let record = start.record();
        let backend = start.scratch().lend(fake_backend());
        let start = start.args(["stdio", "--keep", "nothing-else", "--keep", "adb", "--"]);
        let start = start.arg(backend).arg("--record").arg(record.folder()).args(options());
        let (scene, kept) = open(setting.dressed(start));
        let since = Instant::now();
        scene.us.tell(Word::Kill);
        check_only_kept_is_left(&scene, &kept, since);
    }
}

/// The next start does not take the kept process for a leftover.
#[test]
fn keep_survives_the_next_start() {
    for setting in settings() {
        let (scene, kept) = open(setting.start_with(json!({}), json!({ "keep": ["adb"] }), &options()));
        scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
        patience::until_true("we are dead", || !scene.us.is_alive());
        let mut next = setting.start(&[]).home(scene.client.scratch().home()).start();
        let since = Instant::now();
        next.initialize();
        check_only_kept_is_left(&scene, &kept, since);
        next.finish();
        assert!(kept.0.is_alive(), "it was to be kept");
    }
}

#[test]
fn unnamed_processes_are_not_kept() {
    for setting in settings() {
        let (mut scene, _kept) =
            open(setting.start_with(json!({}), json!({ "keep": ["ad", "adbd"] }), &options()));
        let since = Instant::now();
        scene.us.tell(Word::Kill);
        scene.check_gone(since);
    }
}
