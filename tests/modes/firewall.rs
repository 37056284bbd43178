//! Stdout firewall: neither a server's stray output nor our own reaches the client.

use super::MODE;
use crate::support::{Mode, error, greet, log_with, say_with_id};
use serde_json::json;
use std::fs;

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":%ID,"result":{"a":{}}}"#;
const EXPECT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":{}}}"#;

/// Makes the server print `template`; checks that the client gets exactly the answer.
#[track_caller]
fn check_recovered(template: &str) {
    let mut client = MODE.greeted(&[]);
    say_with_id(&client, "1", template);
    assert_eq!(client.recv_text(), EXPECT, "{template}");
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]), "{template}");
}

#[test]
fn noise_between_messages_is_dropped() {
    for noise in [
        "Server started on port 3000",
        "\u{1b}[32mINFO\u{1b}[0m ready",
        r#"{"level":"info","msg":"hello"}"#,
        r#"{"level":30,"time":1,"id":5,"method":"GET","url":"/"}"#,
        r#"{"level":"error","id":1,"error":"boom"}"#,
        r#"[1,2,3]"#,
        r#"[]"#,
        r#""text""#,
        "42",
        "{",
        "}}}",
        "{not json}",
        "%FF%FE%00binary%80",
        r#"received {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
        r#"DEBUG -> {"method":"notifications/message","params":{}}"#,
        "Content-Length: nonsense",
        "    at Object.<anonymous> (/srv/index.js:1:1)",
    ] {
        check_recovered(&format!("{noise}\n{ANSWER}\n{noise}"));
    }
}

#[test]
fn message_glued_to_text_is_recovered() {
    for template in [
        format!("INFO ready {ANSWER}"),
        format!("progress: 50%%{ANSWER}"),
        format!("{ANSWER} done"),
        format!("{{}} [x] {ANSWER} {{y}}"),
        format!("%E9t%E9 {ANSWER}"),
        format!("\r\rspinner\r{ANSWER}"),
    ] {
        check_recovered(&template);
    }
}

#[test]
fn two_messages_on_one_line_are_split() {
    let mut client = MODE.greeted(&[]);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    say_with_id(&client, "1", &format!("{note}{ANSWER}"));
    assert_eq!(client.recv_text(), note);
    assert_eq!(client.recv_text(), EXPECT);
}

#[test]
fn noise_before_the_handshake_is_dropped() {
    let banner = "Welcome to fake 1.0\n{\"starting\":true}\n\nlistening on stdio\n";
    let mut client = greet(MODE.fake(&["--say", banner]));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.finish().stdout, b"");
}

/// Half a line at the server's end is no message; a whole message without its line end is one.
#[test]
fn last_line_of_a_dying_server_counts() {
    let mut client = MODE.greeted(&[]);
    let half = r#"{"jsonrpc":"2.0","id":%ID,"result":{"a":"#;
    let answer = client.call("crash", json!({ "stdout": half, "code": 3 }));
    assert!(
        matches!(answer["error"]["data"]["kind"].as_str(), Some("backend_unavailable" | "bad_answer")),
        "{answer}"
    );
    client.record().pid(2);
    let answer = client.call("crash", json!({ "stdout": "half a line of te", "code": 3 }));
    error(&answer, -32002, "backend_unavailable");
    log_with(&client, "half a line of te");
    let answer = client.call("crash", json!({ "stdout": ANSWER, "code": 3 }));
    assert_eq!(answer["result"], json!({ "a": {} }));
}

#[test]
fn quarantined_lines_are_logged_redacted() {
    let mut client = MODE.greeted(&[]);
    let secret = "GITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let long = "y".repeat(3000);
    say_with_id(&client, "1", &format!("first {secret}\nsecond {long}\n{ANSWER}"));
    assert_eq!(client.recv_text(), EXPECT);
    let log = log_with(&client, "second yyy");
    assert!(log.contains("first GITHUB_TOKEN=[redacted]"), "{log}");
    assert!(!log.contains("ghp_") && !log.contains(&"y".repeat(1000)), "{log}");
    assert!(log.contains("total=2") && log.contains("server=\"fake-backend\""), "{log}");
    let end = client.finish();
    let stderr = match MODE {
        Mode::Solo => end.stderr,
        Mode::Daemon => {
            assert_eq!(end.stderr, "", "the window has nothing to say about it");
            client.scratch().stop_daemons();
            fs::read_to_string(client.scratch().state("logs/daemon.stderr.log")).unwrap()
        }
    };
    assert_eq!(stderr.matches("is not a message").count(), 1, "said aloud once: {stderr}");
    assert!(!stderr.contains("ghp_"), "{stderr}");
}

/// Our descriptor 1 is not the client's, so no stray print reaches it, and the server inherits only its three
/// pipes.
#[cfg(target_os = "linux")]
#[test]
fn our_stdout_is_out_of_reach() {
    let mut client = MODE.greeted(&[]);
    let link = |fd: u32| fs::read_link(format!("/proc/{}/fd/{fd}", client.pid())).unwrap();
    assert_eq!(link(1), link(2), "descriptor 1 points at stderr");
    assert_eq!(link(0), std::path::Path::new("/dev/null"));
    let facts = client.call("facts", json!({}));
    let fds = facts["result"]["fds"].as_object().unwrap();
    // The fake backend itself opens its record.
    let foreign =
        fds.iter().filter(|(_, to)| !to.as_str().unwrap().ends_with(".heard")).map(|(fd, _)| fd.as_str());
    assert_eq!(foreign.collect::<Vec<_>>(), ["0", "1", "2"], "{fds:?}");
}
