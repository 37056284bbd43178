//! Missing resources: descriptors, processes, `/proc`, a writable state folder. The result is a clear error,
//! or reduced service with a log line; nothing is left either way.

use super::scene::Scene;
use super::setting::{NOBODY, Setting, USUAL, User, are_root};
use crate::support::log_with;
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;
use switchboard_testkit::client::{Start, initialize_params};
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;

/// Result of a start under a limit.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Greeted,
    /// An error with its cause. The program continues.
    Refused(String),
    /// The program ended with a message.
    Ended(String),
    /// Any other outcome, which fails the test.
    Wrong(String),
}

/// Starts the program under a limit and checks that nothing is left of it.
#[track_caller]
fn under(limit: &str, start: Start) -> Outcome {
    let start = start.behind(Path::new("prlimit"), |_| vec![OsString::from(limit)]);
    let mut client = start.start();
    let us = Process::look(client.pid()).unwrap();
    client.ask("initialize", initialize_params());
    let outcome = match client.recv_or_end() {
        Some(frame) => {
            let answer: serde_json::Value = serde_json::from_slice(&frame).unwrap();
            match answer.get("error") {
                None => Outcome::Greeted,
                Some(error) if error["data"]["kind"].is_string() => {
                    // The program continues: the next request is answered too.
                    client.request("ping", json!({}));
                    Outcome::Refused(error.to_string())
                }
                Some(error) => Outcome::Wrong(error.to_string()),
            }
        }
        None => {
            let end = client.wait_for_end();
            match end.code {
                Some(1..=3) if !end.stderr.trim().is_empty() => Outcome::Ended(end.stderr),
                _ => Outcome::Wrong(format!("{end:?}")),
            }
        }
    };
    let mut scene = Scene::look(client, us);
    let since = Instant::now();
    scene.client.close_input();
    scene.check_gone(since);
    outcome
}

/// Checks that a low limit gives a clear error, a sufficient one works, and none in between is `Wrong`.
#[track_caller]
fn check<const N: usize>(limits: [u32; N], outcome: impl Fn(u32) -> Outcome) {
    let outcomes = limits.map(|limit| (limit, outcome(limit)));
    let wrong: Vec<_> = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Wrong(_))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(outcomes.first().is_some_and(|(_, outcome)| *outcome != Outcome::Greeted), "{outcomes:#?}");
    assert!(outcomes.last().is_some_and(|(_, outcome)| *outcome == Outcome::Greeted), "{outcomes:#?}");
}

#[test]
fn few_descriptors_give_a_clear_error() {
    check([6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 64], |most| {
        under(&format!("--nofile={most}:{most}"), USUAL.start(&[]))
    });
}

/// The limit counts all processes of a user, so the program runs as a separate user.
#[test]
fn few_processes_give_a_clear_error() {
    if !are_root() {
        // Only root can become another user.
        return;
    }
    let usual = Setting { user: User::Root, ..USUAL };
    check([1, 2, 3, 4, 5, 6, 8, 12, 40], |most| {
        under(&format!("--nproc={most}:{most}"), usual.start(&[]).user(NOBODY + 1))
    });
}

/// A hand-made jail. Some layers are missing then, and the log says so.
#[test]
fn missing_proc_is_tolerated() {
    let setting = Setting { user: if are_root() { User::Root } else { User::Unprivileged }, ..USUAL };
    let line = r#"mount -t tmpfs none /proc && exec "$@""#;
    let flags: &[&str] = if are_root() { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let start = setting.start(&[]).behind(Path::new("unshare"), |_| {
        flags.iter().chain(&["sh", "-c", line, "sh"]).map(OsString::from).collect()
    });
    let mut scene = Scene::greet(start);
    log_with(&scene.client, "/proc");
    let since = Instant::now();
    scene.client.close_input();
    assert_eq!(scene.client.wait_for_end().code, Some(0));
    scene.check_gone(since);
}

/// Not even root can make a folder there.
#[test]
fn unwritable_state_folder_is_tolerated() {
    for setting in Setting::all() {
        let start = setting.start(switchboard_testkit::zoo::EIGHT);
        let mut scene = Scene::greet(start.env("SWITCHBOARD_STATE_DIR", "/sys/switchboard"));
        scene.client.wait_for_stderr("/sys/switchboard");
        let since = Instant::now();
        scene.us.tell(Word::Kill);
        scene.check_gone(since);
    }
}
