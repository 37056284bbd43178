//! Every way to end the program, for each user and each guard.

use super::bystanders::Bystanders;
use super::scene::Scene;
use super::setting::{Guard, Setting, User};
use super::{killed_client, lives_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use switchboard_testkit::client::Start;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::zoo;

/// Cases that run at a time: most of each is waiting.
const AT_A_TIME: usize = 3;
/// Time that a client gives us between the end of our input and SIGKILL, as Codex does.
const CODEX_GRACE: Duration = Duration::from_millis(50);

type Case = (&'static str, fn(Setting));

const CASES: &[Case] = &[
    ("we are killed", |setting| killed(setting, |scene| scene.us.tell(Word::Kill))),
    ("we abort", |setting| killed(setting, |scene| scene.us.tell(Word::Abort))),
    ("our group is killed", |setting| {
        killed(setting, |scene| pids::tell_group(scene.us.pid, Word::Kill));
    }),
    ("we and the guard are killed", |setting| {
        killed(setting, |scene| scene.kill_in_one_instant(&[&scene.us, scene.guard()]));
    }),
    ("we and the warden are killed", |setting| {
        killed(setting, |scene| scene.kill_in_one_instant(&[&scene.us, scene.warden()]));
    }),
    ("we, the warden and the guard are killed", all_three_killed),
    ("we are killed in the middle of an orderly end", |setting| {
        killed(setting, |scene| {
            scene.client.close_input();
            // Not a wait for a fact: the client gives us this long.
            std::thread::sleep(CODEX_GRACE);
            scene.us.tell(Word::Kill);
        });
    }),
    ("our input ends", |setting| ended(setting, |scene| scene.client.close_input())),
    ("we are told to terminate", |setting| ended(setting, |scene| scene.us.tell(Word::Terminate))),
    ("we are interrupted", |setting| ended(setting, |scene| scene.us.tell(Word::Interrupt))),
    ("the client is killed", |setting| killed_client::check(setting, &[])),
    ("the client is killed, and another holds our input", |setting| {
        killed_client::check(setting, &["--leak"]);
    }),
    ("the guard is killed", |setting| lives_on::check(setting, |scene| scene.guard().tell(Word::Kill))),
    ("the warden is killed", lives_on::check_warden),
    ("the warden and the guard are killed", |setting| {
        lives_on::check(setting, |scene| scene.kill_in_one_instant(&[scene.warden(), scene.guard()]));
    }),
    ("the server is killed", lives_on::check_crash),
    ("we are killed while we pass bytes", |setting| {
        killed_from(setting, setting.start_by_flags(&["--raw"]), |scene| scene.us.tell(Word::Kill));
    }),
    ("our input ends while we pass bytes", |setting| {
        killed_from(setting, setting.start_by_flags(&["--raw"]), |scene| scene.client.close_input());
    }),
    ("the first of the namespace is killed", |setting| inside(setting, "sb-init")),
    ("the second of the namespace is killed", |setting| inside(setting, "sb-parent")),
];

#[track_caller]
fn killed(setting: Setting, kill: impl FnOnce(&Scene)) {
    killed_from(setting, setting.start(zoo::EIGHT), kill);
}

#[track_caller]
fn killed_from(setting: Setting, start: Start, kill: impl FnOnce(&Scene)) {
    let mut scene = Scene::greet(start);
    scene.check_complete(setting, 1);
    let since = Instant::now();
    kill(&scene);
    scene.check_gone(since);
}

#[track_caller]
fn ended(setting: Setting, end: impl FnOnce(&Scene)) {
    let mut scene = Scene::open(setting);
    scene.check_complete(setting, 1);
    let since = Instant::now();
    end(&scene);
    assert_eq!(scene.client.wait_for_end().code, Some(0));
    scene.check_gone(since);
}

/// Without a namespace, the next start cleans up (`next_start`).
fn all_three_killed(setting: Setting) {
    match setting.guard {
        Guard::Auto => {}
        Guard::Strict => killed(setting, |scene| {
            scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
        }),
    }
}

fn inside(setting: Setting, name: &str) {
    match setting.guard {
        Guard::Auto => {}
        Guard::Strict => lives_on::check(setting, |scene| scene.only(name).tell(Word::Kill)),
    }
}

/// Runs all cases, a few at a time, and then names those that failed.
fn check(setting: Setting) {
    if !setting.is_possible() {
        return say(format_args!("{setting:?} is left out: this machine does not allow it"));
    }
    let bystanders = Bystanders::gather(setting, None);
    let left = Mutex::new(CASES.iter());
    let failed = Mutex::new(Vec::new());
    let run_cases = || {
        loop {
            let next = left.lock().unwrap().next();
            let Some((name, case)) = next else { return };
            let since = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                case(setting);
                bystanders.check_untouched();
            }));
            say(format_args!("{setting:?}: {name}: {:?}", since.elapsed()));
            if outcome.is_err() {
                failed.lock().unwrap().push(*name);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(run_cases);
        }
    });
    bystanders.check_untouched();
    assert_eq!(failed.into_inner().unwrap(), Vec::<&str>::new(), "these failed, {setting:?}");
}

/// Output for people who run the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own words")]
fn say(words: std::fmt::Arguments<'_>) {
    eprintln!("{words}");
}

#[test]
fn nothing_left_as_root() {
    check(Setting { user: User::Root, guard: Guard::Auto });
}

#[test]
fn nothing_left_as_root_strict() {
    check(Setting { user: User::Root, guard: Guard::Strict });
}

#[test]
fn nothing_left_unprivileged() {
    check(Setting { user: User::Unprivileged, guard: Guard::Auto });
}

#[test]
fn nothing_left_unprivileged_strict() {
    check(Setting { user: User::Unprivileged, guard: Guard::Strict });
}
