//! Log flags of a window: they apply to its messages, even when the daemon already runs and serves other
//! windows.

use super::house::House;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;

/// A running daemon and its first window.
fn with_daemon() -> (House, Client) {
    let house = House::new();
    let first = house.open("first");
    (house, first)
}

#[track_caller]
fn greeted(start: Start) -> Client {
    let mut client = start.start();
    client.initialize();
    client
}

#[track_caller]
fn wait_for(file: &Path, text: &str) -> String {
    patience::until(format_args!("{text} in {}", file.display()), || {
        fs::read_to_string(file).ok().filter(|log| log.contains(text))
    })
}

/// The whole log of the daemon.
fn daily(house: &House) -> String {
    let files = fs::read_dir(house.state("logs")).into_iter().flatten().flatten();
    let own = files.filter(|file| file.file_name().to_string_lossy().starts_with("switchboard-"));
    own.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect()
}

/// Whether the log has a debug line about this method's route.
fn is_routed(house: &House, method: &str) -> bool {
    daily(house).lines().any(|line| line.contains("routed") && line.contains(method))
}

#[test]
fn window_log_file_gets_its_own_messages() {
    let (house, mut first) = with_daemon();
    // A relative path starts at the window's folder, not the daemon's.
    let flags = ["--log-file", "own.log", "--log-level", "debug", "--log-format", "json", "--log-bodies"];
    let mut window = greeted(house.window("second").args(flags));
    first.call("echo", json!({ "text": "of the first" }));
    window.call("echo", json!({ "text": "of the second" }));
    // The line about the answer comes last.
    let log = wait_for(&house.path("second/own.log"), "\"answered\",\"method\":\"tools/call\"");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |message: &str| lines.iter().filter(|line| line["message"] == message).count();
    assert_eq!(has("answered"), 2, "its handshake and its call: {log}");
    assert!(has("routed") >= 1, "{log}");
    let said: Vec<&str> = lines.iter().filter_map(|line| line["body"].as_str()).collect();
    assert_eq!(said.iter().filter(|body| body.contains("of the second")).count(), 2, "both ways: {log}");
    assert!(!log.contains("of the first"), "{log}");
    // The other window's lines stay in the daily log, without bodies or ids.
    patience::until_true("the first one's call", || daily(&house).contains("tools/call"));
    let daily = daily(&house);
    assert!(!daily.contains("routed") && !daily.contains("body="), "{daily}");
}

#[test]
fn window_log_level_applies_to_its_messages() {
    for (name, value) in [("SWITCHBOARD_LOG", "debug"), ("MCP_PROXY_LOG", "debug"), ("", "")] {
        let (house, mut first) = with_daemon();
        let start = match name {
            "" => house.window("second").args(["--log-level", "debug"]),
            name => house.window("second").env(name, value),
        };
        let mut window = greeted(start);
        first.request("x/first", json!({}));
        window.request("x/second", json!({}));
        patience::until_true("where it went", || is_routed(&house, "x/second"));
        assert!(!is_routed(&house, "x/first"), "{name}: {}", daily(&house));
        // The extra lines end with the window.
        window.finish();
        first.request("x/later", json!({}));
        patience::until_true("a line", || daily(&house).contains("x/later"));
        assert!(!is_routed(&house, "x/later"), "{name}: {}", daily(&house));
    }
}

#[test]
fn window_log_on_stderr_needs_solo() {
    let (house, _first) = with_daemon();
    let mut window = greeted(house.window("second").args(["--log-file", "-"]));
    let end = window.finish();
    assert!(end.stderr.contains("--log-file -") && end.stderr.contains("--solo"), "{}", end.stderr);
    let mut alone = greeted(house.window("third").args(["--solo", "--log-file", "-"]));
    let end = alone.finish();
    assert!(end.stderr.contains("INFO answered"), "{}", end.stderr);
}

/// A folder cannot be a log file; the window is served nevertheless.
#[test]
fn unwritable_log_file_is_a_warning() {
    let (house, _first) = with_daemon();
    for flags in [&[][..], &["--solo"]] {
        let mut window = greeted(house.window("second").args(["--log-file", "."]).args(flags));
        assert!(window.call("echo", json!({})).get("result").is_some());
        let end = window.finish();
        assert!(end.stderr.contains("warning: cannot write the log file"), "{flags:?}: {}", end.stderr);
    }
}

#[test]
fn daemon_logs_to_stderr_as_json() {
    let house = House::new();
    let flags = ["daemon", "--log-file", "-", "--log-format", "json", "--config"];
    let mut daemon = house.program("home").args(flags).arg(house.config()).start();
    patience::until_true("a daemon", || !house.files().is_empty());
    let mut window = house.open("w");
    window.call("echo", json!({}));
    window.finish();
    let end = daemon.finish();
    let lines: Vec<Value> = end.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.iter().any(|line| line["message"] == "answered"), "{}", end.stderr);
    assert!(!house.state("logs").join("switchboard").exists() && daily(&house).is_empty());
}
