//! Config files of other users, or writable by everybody: they name commands that would run as the reader, so
//! every route refuses them, with the command that fixes it.

use super::are_root;
use crate::daemon::house::House;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use switchboard_testkit::patience;

const ANOTHER: u32 = 54321;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Commands that read a config file and end.
const COMMANDS: [&[&str]; 7] = [
    &["check"],
    &["tools"],
    &["call", "fake__echo"],
    &["explain", "--method", "tools/list"],
    &["daemon"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["forget", "fake"],
];

/// Checks that every route refuses the file, with these words.
#[track_caller]
fn check_refused(house: &House, words: &[&str]) {
    let config = house.config().to_str().unwrap();
    for command in COMMANDS {
        let end = house.run(&[command, &["--config", config]].concat());
        assert_ne!(end.code, Some(0), "{command:?}");
        for word in words {
            assert!(end.stderr.contains(word), "{command:?}: no {word:?} in {}", end.stderr);
        }
    }
    // A client gets the same error.
    let mut window = house.window("a").start();
    let answer = window.request("initialize", switchboard_testkit::client::initialize_params());
    for word in words {
        assert!(answer["error"].to_string().contains(word), "no {word:?} in {answer}");
    }
    assert_eq!(window.finish().code, Some(3));
    assert_eq!(house.record().launches(), 0, "nothing was started");
}

#[test]
fn world_writable_file_is_refused() {
    let house = House::new();
    set_mode(house.config(), 0o666);
    let command = format!("chmod o-w '{}'", house.config().display());
    check_refused(&house, &["everyone can write", &command]);
    // The named command helps.
    set_mode(house.config(), 0o664);
    let mut window = house.window("a").start();
    window.initialize();
    window.wait_for_stderr("chmod g-w");
    assert_eq!(window.finish().code, Some(0));
}

#[test]
fn other_users_file_is_refused() {
    if !are_root() {
        // Only root can give a file away.
        return;
    }
    let house = House::new();
    chown(house.config(), Some(ANOTHER), None).unwrap();
    check_refused(&house, &["belongs to uid 54321", "sudo chown 0 '", "--config-owner 54321"]);
    // For a file mounted into a container. The daemon accepts it too.
    let mut window = house.window("a").args(["--config-owner", "54321"]).start();
    window.initialize();
    assert!(window.call("echo", json!({})).get("result").is_some());
    house.daemon();
    let tools =
        house.say(&["tools", "--config-owner", "54321", "--config", house.config().to_str().unwrap()]);
    assert!(tools.contains("fake__echo"), "{tools}");
    assert_eq!(window.finish().code, Some(0));
}

#[test]
fn symlink_is_judged_by_its_target() {
    let house = House::new();
    let real = house.path("real.json");
    fs::rename(house.config(), &real).unwrap();
    symlink(&real, house.config()).unwrap();
    let mut window = house.open("a");
    assert_eq!(window.stderr_so_far(), "");
    assert_eq!(window.finish().code, Some(0));
    house.check_empty(patience::LIMIT);
    fs::remove_dir_all(house.path("record")).unwrap();
    fs::create_dir(house.path("record")).unwrap();
    set_mode(&real, 0o646);
    check_refused(&house, &["everyone can write"]);
}

/// Running servers stay as they are.
#[test]
fn reload_refuses_a_world_writable_file() {
    let house = House::new();
    let mut window = house.open("a");
    let before = fs::read_to_string(house.config()).unwrap();
    let draft = house.path("draft");
    fs::write(&draft, before.replace("fake", "evil")).unwrap();
    set_mode(&draft, 0o666);
    fs::rename(&draft, house.config()).unwrap();
    let end = house.run(&["reload"]);
    assert_ne!(end.code, Some(0));
    assert!(end.stderr.contains("everyone can write"), "{}", end.stderr);
    assert!(window.call("echo", json!({})).get("result").is_some());
    assert!(!house.status().to_string().contains("evil"));
    assert_eq!(window.finish().code, Some(0));
}

#[test]
fn readable_token_file_is_closed() {
    let house = House::new();
    let token = house.say(&["token", "show"]);
    let path = house.state("token");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    set_mode(&path, 0o644);
    assert_eq!(house.say(&["token", "show"]), token);
    assert_eq!(mode(), 0o600);
    // Another user may have written the token.
    set_mode(&path, 0o666);
    let end = house.run(&["token", "show"]);
    assert_ne!(end.code, Some(0));
    assert!(end.stderr.contains("can write to it") && end.stderr.contains("remove it"), "{}", end.stderr);
}

/// A command line is served without the refused file's `defaults`, with a warning.
#[test]
fn refused_defaults_cause_a_warning() {
    let house = House::new();
    let own = house.path("home/.config/switchboard/config.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, r#"{ "defaults": { "timeout": "1h" } }"#).unwrap();
    set_mode(&own, 0o666);
    let mut window =
        house.program("a").args(["stdio", "--", crate::support::fake_backend().to_str().unwrap()]).start();
    window.initialize();
    window.wait_for_stderr("`defaults` are ignored");
    window.wait_for_stderr("chmod o-w");
    assert_eq!(window.finish().code, Some(0));
}
