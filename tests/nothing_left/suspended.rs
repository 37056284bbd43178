//! One of those who clean up is suspended, and cannot do anything. We notice, and do without it; and it does not
//! stay behind either.

use super::scene::Scene;
use super::setting::Setting;
use std::time::Instant;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;

#[track_caller]
fn check(who: impl Fn(&Scene) -> &Process, end: impl Fn(&Scene)) {
    for setting in Setting::all() {
        let mut scene = Scene::open(setting);
        who(&scene).tell(Word::Suspend);
        patience::until_true("it is suspended", || who(&scene).again().is_some_and(|now| now.is_stopped()));
        let since = Instant::now();
        end(&scene);
        scene.check_gone(since);
    }
}

#[test]
fn a_guard() {
    check(Scene::guard, |scene| scene.client.close_input());
}

#[test]
fn a_warden() {
    check(Scene::warden, |scene| scene.client.close_input());
}

#[test]
fn a_guard_when_we_are_killed() {
    check(Scene::guard, |scene| scene.us.tell(Word::Kill));
}
