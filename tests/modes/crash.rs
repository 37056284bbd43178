//! Crashes: waiting requests get the cause at once, safe ones are retried, others are not, and the client
//! continues with another process unnoticed.

use super::MODE;
use crate::support::{error, greet, log_with, program};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;
use switchboard_testkit::pids::{self, Word};

#[track_caller]
fn check_alive(client: &mut Client) {
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn pending_call_gets_the_crash_cause() {
    for (how, expect) in [
        (json!({ "code": 3 }), "exit code 3"),
        (json!({ "code": 0 }), "exit code 0"),
        (json!({ "signal": 9 }), "signal 9 (SIGKILL)"),
        (json!({ "signal": 11 }), "signal 11 (SIGSEGV)"),
        (json!({ "abort": true }), "signal 6 (SIGABRT)"),
    ] {
        let mut client = MODE.greeted(&[]);
        let answer = client.call("crash", how);
        let told = error(&answer, -32002, "backend_unavailable");
        assert!(told["message"].as_str().unwrap().contains(expect), "{told}");
        assert_eq!(
            (&told["data"]["server"], &told["data"]["retryable"]),
            (&json!("fake-backend"), &json!(true))
        );
        check_alive(&mut client);
    }
}

#[test]
fn last_output_is_in_the_error() {
    let mut client = MODE.greeted(&[]);
    let words = "Traceback:\n  File x, line 3\nValueError: password=hunter2 is wrong\n";
    let answer = client.call("crash", json!({ "code": 1, "stderr": words }));
    let told = error(&answer, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("ValueError"), "{told}");
    assert!(told["data"]["stderr"].as_str().unwrap().contains("line 3"), "{told}");
    assert!(!answer.to_string().contains("hunter2"), "secrets are masked: {answer}");

    // Some servers print errors on stdout, where they are not messages.
    let answer = client.call("crash", json!({ "code": 1, "stdout": "fatal: token=abc123 refused\n" }));
    let told = error(&answer, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("fatal:"), "{told}");
    assert_eq!(told["data"]["stdout"], "fatal: token=[redacted] refused");
}

#[test]
fn error_names_server_and_root() {
    let start = MODE.through(&["--root", "."], &[]);
    let root = start.scratch().path().display().to_string();
    let mut client = greet(start);
    let answer = client.call("crash", json!({}));
    let data = &error(&answer, -32002, "backend_unavailable")["data"];
    assert_eq!((&data["server"], &data["root"]), (&json!("fake-backend"), &json!(root)), "{data}");
    assert!(data["hint"].is_string() && data["retryable"].is_boolean(), "{data}");
}

#[test]
fn all_pending_requests_are_answered() {
    let mut client = MODE.greeted(&[]);
    let held: Vec<u64> = (0..20).map(|label| client.start_call("hold", json!({ "label": label }))).collect();
    let crash = client.start_call("crash", json!({ "signal": 9 }));
    for id in held.into_iter().chain([crash]) {
        error(&client.answer(id), -32002, "backend_unavailable");
    }
    check_alive(&mut client);
}

/// The server's record counts: only the process that died of the call received it.
#[test]
fn call_is_never_sent_twice() {
    let mut client = MODE.greeted(&[]);
    for number in 0..3 {
        let answer = client.call("crash", json!({ "code": 1, "mark": format!("crash-{number}") }));
        error(&answer, -32002, "backend_unavailable");
        check_alive(&mut client);
    }
    let heard = client.record().all_lines();
    let calls: Vec<&String> = heard.iter().filter(|line| line.contains("tools/call")).collect();
    assert_eq!((calls.len(), client.record().launches()), (3, 4), "{calls:?}");
    for number in 0..3 {
        assert_eq!(calls.iter().filter(|line| line.contains(&format!("crash-{number}"))).count(), 1);
    }
}

#[test]
fn lists_and_reads_are_retried() {
    for method in ["tools/list", "resources/read", "prompts/get", "resources/list"] {
        let mut client = MODE.greeted(&["--crash-on", method, "--faulty", "1"]);
        let answer = client.request(method, json!({ "uri": "x:/", "name": "n" }));
        assert!(answer["result"].is_object(), "{method}: {answer}");
        assert_eq!(client.record().launches(), 2);
        log_with(&client, "request sent again");
    }
}

#[test]
fn retry_happens_only_once() {
    let mut client = MODE.greeted(&["--crash-on", "tools/list", "--faulty", "2"]);
    error(&client.request("tools/list", json!({})), -32002, "backend_unavailable");
    assert_eq!(client.record().all_lines().iter().filter(|line| line.contains("tools/list")).count(), 2);
    let answer = client.request("tools/list", json!({}));
    assert!(answer["result"].is_object(), "the third process is well: {answer}");
}

#[test]
fn retry_after_crash_can_be_off() {
    let server = json!({ "retryAfterCrash": "off" });
    let mut client =
        greet(MODE.configured(json!({}), server, &["--crash-on", "tools/list", "--faulty", "1"]));
    error(&client.request("tools/list", json!({})), -32002, "backend_unavailable");
    assert!(client.request("tools/list", json!({}))["result"].is_object());
}

/// The new process gets the client's handshake, and the client does not notice.
#[test]
fn handshake_is_replayed() {
    let mut client = MODE.fake(&[]).start();
    let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"é","version":"1.0"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":1}}}"#;
    client.send(initialize);
    client.recv();
    client.send(initialized);
    error(&client.call("crash", json!({})), -32002, "backend_unavailable");
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id), "the second greeting is not for the client");
    let without_id = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value["id"] = json!("i");
        value.to_string()
    };
    let heard = client.record().lines(2);
    assert_eq!(without_id(&heard[0]), without_id(initialize));
    assert!(
        heard[0].contains(r#""params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"#),
        "{heard:?}"
    );
    assert_eq!(heard[1], initialized);
    assert!(heard[2].contains("ping"), "{heard:?}");
}

#[test]
fn idle_server_is_restarted_after_a_crash() {
    let mut client = MODE.greeted(&[]);
    pids::tell(client.record().pid(1), Word::Kill);
    let second = client.record().pid(2);
    let facts = client.call("facts", json!({}));
    assert_eq!(facts["result"]["pid"], json!(second));
}

#[test]
fn request_of_a_dead_server_is_cancelled() {
    let mut client = MODE.greeted(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    let id = client.told("elicitation/create")["id"].clone();
    pids::tell(client.record().pid(1), Word::Kill);
    error(&client.answer(call), -32002, "backend_unavailable");
    assert_eq!(client.told("notifications/cancelled")["params"]["requestId"], id);
    // The late answer is ignored.
    client.send(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string());
    check_alive(&mut client);
    assert_eq!(client.record().lines(2).iter().filter(|line| line.contains("\"q\"")).count(), 0);
}

/// After more than five crashes in a minute, requests fail at once and say when the next attempt is.
#[test]
fn repeated_crashes_open_the_breaker() {
    let mut client = MODE.greeted(&[]);
    let mut last = Value::Null;
    for _ in 0..7 {
        last = client.call("crash", json!({ "code": 5 }));
        error(&last, -32002, "backend_unavailable");
    }
    assert!(last["error"]["data"]["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{last}");
    assert!(last["error"]["message"].as_str().unwrap().contains("exit code 5"), "{last}");
    error(&client.request("tools/list", json!({})), -32002, "backend_unavailable");
    assert_eq!(client.record().launches(), 6, "the first, and five restarts");
    log_with(&client, "crashes too often");
    assert_eq!(client.finish().code, Some(0));
}

#[cfg(unix)]
#[test]
fn failed_spawn_is_retried_on_next_request() {
    let start = program();
    let path = start.scratch().join("later");
    let mut client = start.args(["stdio", "--"]).arg(&path).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("later"), "{told}");
    // Not a copy: a freshly written file may still be "busy" in a child of another test.
    std::os::unix::fs::symlink(crate::support::fake_backend(), &path).unwrap();
    client.initialize();
    check_alive(&mut client);
}

#[test]
fn early_crash_names_the_cause() {
    let mut client = MODE.fake(&["--stderr", "cannot open database", "--exit-at-start", "7"]).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("exit code 7") && message.contains("cannot open database"), "{told}");
    // The client may retry.
    error(&client.request("initialize", json!({})), -32001, "backend_spawn_failed");
    assert_eq!(client.finish().code, Some(0));
}

/// Only the first process is broken.
#[test]
fn second_initialize_may_succeed() {
    let mut client = MODE.fake(&["--exit-at-start", "7", "--faulty", "1"]).start();
    let first = client.request("initialize", json!({}));
    if first.get("error").is_some() {
        error(&first, -32001, "backend_spawn_failed");
        client.initialize();
    }
    check_alive(&mut client);
}

/// A server that runs but cannot serve counts as dead.
#[test]
fn server_with_closed_streams_is_ended() {
    for tool in ["mute", "close"] {
        let mut client = MODE.greeted(&[]);
        let first = client.record().pid(1);
        let call = client.start_call(tool, json!({}));
        if tool == "close" {
            client.told("notifications/closed");
        }
        // A closed input shows at the next write.
        let other = client.start_call("echo", json!({ "x": 1 }));
        for id in [call, other] {
            let answer = client.answer(id);
            let told = error(&answer, -32002, "backend_unavailable");
            assert!(told["message"].as_str().unwrap().contains("closed its std"), "{tool}: {told}");
        }
        check_alive(&mut client);
        assert!(!pids::is_alive(first));
    }
}

/// All requests and the end of input at once, to a server that crashes: all are answered, and the program
/// ends.
#[test]
fn crash_at_eof_answers_all_requests() {
    let mut client = MODE.fake(&["--crash-on", "tools/list"]).start();
    let ids = [
        client.ask("initialize", switchboard_testkit::client::initialize_params()),
        client.ask("tools/list", json!({})),
        client.ask("ping", json!({})),
        client.start_call("echo", json!({})),
    ];
    client.close_input();
    let answers = ids.map(|id| client.answer(id));
    assert!(answers[0]["result"].is_object(), "{answers:?}");
    assert!(answers[1..].iter().all(|answer| answer["error"].is_object()), "{answers:?}");
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}
