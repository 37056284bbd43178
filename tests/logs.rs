//! Logs: content and files. Logging never fails or delays anything.

use crate::support::{error, fake, greet, greeted, log_with, say_with_id, through};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;

/// Log files whose names start with `stem`.
fn files(client: &Client, stem: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(client.scratch().state("logs")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(stem)));
    paths
}

#[test]
fn each_request_is_one_line_in_a_daily_file() {
    let mut client = greeted(&[]);
    for _ in 0..3 {
        client.call("echo", json!({ "text": "body-marker" }));
    }
    client.request("tools/list", json!({}));
    error(&client.call("crash", json!({})), -32002, "backend_unavailable");
    client.request("ping", json!({}));
    assert_eq!(client.finish().code, Some(0));
    let [file] = &files(&client, "switchboard-")[..] else { panic!("{:?}", files(&client, "switchboard-")) };
    let name = file.file_name().unwrap().to_str().unwrap();
    let date = name.strip_prefix("switchboard-").and_then(|rest| rest.strip_suffix(".log")).unwrap();
    assert!(date.len() == 10 && date.bytes().all(|b| b.is_ascii_digit() || b == b'-'), "{name}");

    let log = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("answered")).collect();
    assert_eq!(lines.len(), 7, "{log}");
    assert_eq!(lines.iter().filter(|line| line.contains("tools/call")).count(), 4, "{log}");
    for line in &lines {
        for field in ["method=", "server=", "root=", "ms=", "outcome="] {
            assert!(line.contains(field), "{field} in {line}");
        }
        assert!(!line.contains("id="), "ids only at debug: {line}");
    }
    assert!(lines[5].contains("backend_unavailable"), "{log}");
    for word in ["spawned", "ready", "crashed", "restart scheduled", "draining", "stopping", "finished"] {
        assert!(log.contains(word), "{word} in {log}");
    }
    assert!(!log.contains("body-marker"), "bodies are not logged");
}

#[test]
fn lines_name_the_root() {
    let mut client = greet(through(&["--root", "."], &[]));
    client.finish();
    let root = client.scratch().path().display().to_string();
    assert!(log_with(&client, "answered").contains(&root));
}

#[test]
fn debug_level_logs_ids() {
    let mut client = greet(through(&["--log-level", "debug"], &[]));
    client.send(r#"{"jsonrpc":"2.0","id":"my-id","method":"ping"}"#);
    client.answer("my-id");
    let log = log_with(&client, "my-id");
    assert!(log.contains("routed"), "{log}");
}

#[test]
fn json_format_logs_json_lines() {
    let mut client = greet(through(&["--log-format", "json"], &[]));
    client.request("ping", json!({}));
    client.finish();
    let log = log_with(&client, "finished");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered: Vec<&Value> = lines.iter().filter(|line| line["message"] == "answered").collect();
    assert_eq!(answered.len(), 2, "{log}");
    assert_eq!(answered[1]["method"], "ping");
    assert_eq!((&answered[1]["level"], &answered[1]["outcome"]), (&json!("INFO"), &json!("ok")));
    assert!(answered[1]["ms"].is_number() && answered[1]["timestamp"].is_string(), "{log}");
}

#[test]
fn log_file_flag_replaces_the_daily_file() {
    let mut client = greet(through(&["--log-file", "own.log"], &[]));
    client.finish();
    let log = fs::read_to_string(client.scratch().join("own.log")).unwrap();
    assert!(log.contains("answered"), "{log}");
    assert!(files(&client, "switchboard-").is_empty());
}

#[test]
fn bodies_are_logged_on_request_redacted() {
    let mut client = greet(through(&["--log-bodies"], &[]));
    client.call("echo", json!({ "text": "body-marker", "apiKey": "k-very-secret-1" }));
    let log = log_with(&client, "body-marker");
    assert!(log.contains("[redacted]") && !log.contains("k-very-secret-1"), "{log}");
}

#[test]
fn server_stderr_has_its_own_file() {
    let mut client = greeted(&["--stderr", "starting up"]);
    client.call("complain", json!({ "text": "disk is slow, token=abc123" }));
    let end = client.finish();
    assert_eq!(end.stderr, "", "a server's words are not said aloud");
    let [file] = &files(&client, "fake-backend.stderr-")[..] else { panic!("no file") };
    let words = fs::read_to_string(file).unwrap();
    assert!(words.contains("starting up") && words.contains("disk is slow, token=[redacted]"), "{words}");
}

#[test]
fn stderr_gets_warnings_and_errors_only() {
    let mut client = greeted(&[]);
    client.call("echo", json!({}));
    client.request("tools/list", json!({}));
    assert_eq!(client.finish().stderr, "");

    let mut client = greeted(&[]);
    client.send("not json");
    client.recv();
    error(&client.call("crash", json!({ "stderr": "last words" })), -32002, "backend_unavailable");
    let end = client.finish();
    for line in end.stderr.lines() {
        assert!(line.contains("WARN") || line.contains("ERROR") || !line.contains("INFO"), "{}", end.stderr);
    }
    assert!(end.stderr.contains("bad message") && end.stderr.contains("crashed"), "{}", end.stderr);
}

/// A file replaces the state folder, so nothing can be written.
#[test]
fn unwritable_state_folder_is_harmless() {
    let start = fake(&[]);
    let file = start.scratch().file("in-the-way", "");
    let mut client = greet(start.env("SWITCHBOARD_STATE_DIR", file));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_harmless() {
    let mut client = greet(through(&["--log-file", "/dev/full", "--log-level", "debug"], &[]));
    for _ in 0..100 {
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// More warnings than a pipe holds, and no reader.
#[test]
fn stalled_stderr_reader_is_harmless() {
    let mut client = greet(fake(&[]).not_reading_stderr());
    for _ in 0..2000 {
        client.send("this is not json, and a warning says so on stderr");
    }
    for _ in 0..2000 {
        assert_eq!(client.recv_json()["error"]["code"], -32700);
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// A chatty server's stderr goes to its file, within limits, and does not block the server.
#[test]
fn chatty_server_is_not_blocked() {
    let mut client = greeted(&[]);
    let words = format!("{}\n", "w".repeat(99)).repeat(1000);
    for _ in 0..20 {
        assert_eq!(client.call("complain", json!({ "text": words }))["result"], json!({}));
    }
    patience::until_true("the words are written down", || !files(&client, "fake-backend.stderr-").is_empty());
}

/// Counters help to find a faulty server.
#[test]
fn late_answers_and_noise_are_counted() {
    let mut client = greeted(&[]);
    let template = r#"{"jsonrpc":"2.0","id":%ID,"result":1}
{"jsonrpc":"2.0","id":%ID,"result":2}
{"jsonrpc":"2.0","id":%ID,"result":3}
hello
hello"#;
    say_with_id(&client, "1", template);
    client.recv();
    client.finish();
    let log = log_with(&client, "finished");
    assert!(log.contains("late answer dropped"), "{log}");
    assert_eq!(log.matches("total=2").count(), 2, "two answers and two lines: {log}");
}

/// Logs may hold private data.
#[cfg(unix)]
#[test]
fn logs_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let mut client = greeted(&["--stderr", "words"]);
    client.finish();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(client.scratch().state("logs")), 0o700);
}
