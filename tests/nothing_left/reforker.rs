//! Reforker: a daemon that becomes a new process every millisecond, too fast for listing and killing. It is
//! caught every time.

use super::next_start::next;
use super::scene::{Scene, check_gone};
use super::setting::{Guard, Setting};
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

#[track_caller]
fn check(rounds: u32, end: impl Fn(&Scene)) {
    for setting in Setting::all() {
        for _ in 0..rounds {
            round(setting.start(&["--stubborn", "--with", "reforker"]), &["reforker", "server"], &[], &end);
        }
    }
}

#[track_caller]
fn round(start: Start, before: &[&str], after: &[&str], end: impl Fn(&Scene)) {
    let scene = Scene::greet(start);
    assert_eq!(scene.zoo(1).living(), before);
    let since = Instant::now();
    end(&scene);
    let is_kept = |name: &String| after.contains(&name.as_str());
    check_gone(since, || scene.zoo(1).living().into_iter().filter(|name| !is_kept(name)).collect());
    assert_eq!(scene.zoo(1).living(), after);
}

#[test]
fn reforker_ends_at_an_orderly_end() {
    check(3, |scene| scene.client.close_input());
}

#[test]
fn reforker_ends_when_we_are_killed() {
    check(3, |scene| scene.us.tell(Word::Kill));
}

/// The hardest case: its new parent, the warden, has other children and cannot wait until it has none.
#[test]
fn reforker_ends_when_guard_is_killed() {
    check(8, |scene| scene.guard().tell(Word::Kill));
}

/// Without a parent that could tell when it has ended.
#[test]
fn reforker_ends_after_warden_then_guard() {
    check(2, |scene| {
        scene.warden().tell(Word::Kill);
        patience::until_true("the warden is dead", || !scene.warden().is_alive());
        scene.guard().tell(Word::Kill);
    });
}

#[test]
fn next_start_ends_the_reforker() {
    for setting in Setting::all().filter(|setting| setting.guard == Guard::Auto) {
        for _ in 0..3 {
            let scene = Scene::greet(setting.start(&["--stubborn", "--with", "reforker"]));
            scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
            let since = Instant::now();
            let mut next = next(setting, &scene.client.scratch().home());
            check_gone(since, || scene.zoo(1).living());
            next.finish();
        }
    }
}

/// With a kept child, the guard cannot wait until it has none left.
#[test]
fn reforker_ends_beside_a_kept_process() {
    for setting in Setting::all().filter(|setting| setting.guard == Guard::Auto) {
        for end in [Word::Terminate, Word::Kill] {
            let options = ["--stubborn", "--with", "reforker", "--with", "adb"];
            let start = setting.start_with(json!({}), json!({ "keep": ["adb"] }), &options);
            round(start, &["adb", "reforker", "server"], &["adb"], |scene| scene.us.tell(end));
        }
    }
}
