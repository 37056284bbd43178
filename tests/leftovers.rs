//! Leftovers of a solo program: however it ends, neither the server nor its children are left. `nothing_left`
//! tests SIGKILL.

use crate::support::{Mode, error, fake, fake_backend, greet, program};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// A client whose server has started two processes: one holds its pipes open, one does not.
fn with_family(start: Start) -> (Client, Vec<u32>) {
    let mut client = greet(start);
    let mut family = vec![client.record().pid(1)];
    for quiet in [false, true] {
        let answer = client.call("spawn", json!({ "quiet": quiet }));
        family.push(answer["result"]["pid"].as_u64().unwrap() as u32);
    }
    assert!(family.iter().all(|pid| pids::is_alive(*pid)), "{family:?}");
    (client, family)
}

#[track_caller]
fn check_gone(family: &[u32]) {
    patience::until_true(format_args!("{family:?} are gone"), || {
        !family.iter().any(|pid| pids::is_alive(*pid))
    });
}

fn short(server: Value, options: &[&str]) -> Start {
    Mode::Solo.configured(json!({ "shutdownGrace": "200ms" }), server, options)
}

/// Ends the program with `end` and checks for leftovers.
#[track_caller]
fn check_end(start: Start, end: impl Fn(&mut Client)) {
    let (mut client, family) = with_family(start);
    end(&mut client);
    assert_eq!(client.wait_for_end().code, Some(0));
    check_gone(&family);
    let scratch = format!("{}/", client.scratch().path().display());
    assert_eq!(pids::with_text(&scratch), Vec::<u32>::new(), "nothing of this test is left");
}

#[test]
fn end_of_input_leaves_nothing() {
    check_end(fake(&[]), |client| client.close_input());
}

#[test]
fn signal_leaves_nothing() {
    for word in [Word::Terminate, Word::Interrupt, Word::HangUp] {
        check_end(fake(&[]), |client| client.signal(word));
    }
}

/// The server ignores the end of its input: SIGTERM comes at once, not after the grace period.
#[cfg(unix)]
#[test]
fn signal_skips_the_wait_for_eof() {
    for word in [Word::Terminate, Word::Interrupt, Word::HangUp] {
        let start = short(json!({ "shutdownGrace": "1h" }), &["--ignore-eof"]);
        check_end(start, |client| client.signal(word));
    }
}

#[test]
fn second_signal_leaves_nothing() {
    check_end(short(json!({ "shutdownGrace": "1h" }), &["--ignore-eof"]), |client| {
        client.start_call("hang", json!({}));
        client.signal(Word::Terminate);
        while client.request("ping", json!({})).get("error").is_none() {}
        client.signal(Word::Terminate);
    });
}

#[test]
fn exit_leaves_nothing() {
    check_end(fake(&["--ignore-eof"]), |client| client.send(r#"{"jsonrpc":"2.0","method":"exit"}"#));
}

#[test]
fn shutdown_and_exit_leave_nothing() {
    check_end(fake(&[]), |client| {
        client.request("shutdown", json!({}));
        client.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    });
}

#[test]
fn server_that_ignores_eof_is_ended() {
    check_end(short(json!({}), &["--ignore-eof"]), |client| client.close_input());
}

#[cfg(unix)]
#[test]
fn server_that_ignores_signals_is_ended() {
    let start = program();
    let record = start.record();
    let command = [
        &fake_backend().display().to_string(),
        "--record",
        &record.folder().display().to_string(),
        "--ignore-eof",
    ]
    .map(|word| format!("'{word}'"))
    .join(" ");
    let server = json!({ "command": "sh", "args": ["-c", format!("trap '' TERM INT HUP; exec {command}")] });
    let file = json!({ "shutdownGrace": "200ms", "mcpServers": { "fake": server } });
    let path = start.scratch().file("config.json", file.to_string());
    check_end(Mode::Solo.window(start, &path), |client| client.close_input());
}

/// A launcher: the shell and the server both end.
#[cfg(unix)]
#[test]
fn server_behind_a_shell_is_ended() {
    let start = program();
    let record = start.record();
    let line = r#""$@"; echo the shell goes on >&2"#;
    let start = start
        .args(["stdio", "--", "sh", "-c", line, "sh"])
        .arg(fake_backend())
        .arg("--record")
        .arg(record.folder());
    check_end(start, |client| client.close_input());
}

#[test]
fn crash_leaves_nothing() {
    for how in [json!({ "code": 1 }), json!({ "signal": 9 })] {
        let (mut client, family) = with_family(fake(&[]));
        error(&client.call("crash", how), -32002, "backend_unavailable");
        check_gone(&family);
        assert_eq!(client.request("ping", json!({}))["result"], json!({}), "the next one serves");
    }
}

#[test]
fn restart_leaves_nothing() {
    let server = json!({ "timeout": "1s", "onTimeout": "restart" });
    let (mut client, family) = with_family(short(server, &["--ignore-eof"]));
    error(&client.call("hang", json!({})), -32003, "backend_timeout");
    client.record().pid(2);
    check_gone(&family);
}

#[test]
fn unanswered_handshake_leaves_nothing() {
    let server = json!({ "startTimeout": "300ms", "shutdownGrace": "100ms" });
    let mut client = Mode::Solo.configured(json!({}), server, &["--silent", "--ignore-eof"]).start();
    error(&client.request("initialize", json!({})), -32003, "backend_timeout");
    let both = [client.record().pid(1), client.record().pid(2)];
    check_gone(&both);
}

#[test]
fn suspended_server_is_ended() {
    check_end(short(json!({}), &[]), |client| {
        pids::tell(client.record().pid(1), Word::Suspend);
        client.close_input();
    });
}

#[test]
fn raw_command_is_ended() {
    let start = program();
    let record = start.record();
    let start = start.args(["stdio", "--raw", "--"]).arg(fake_backend()).arg("--record").arg(record.folder());
    check_end(start, |client| client.close_input());
}

/// The client has closed both ends.
#[test]
fn vanished_client_leaves_nothing() {
    let mut client = fake(&[]).not_reading().start();
    let pid = client.record().pid(1);
    client.close_output();
    client.ask("ping", json!({}));
    assert_eq!(client.wait_for_end().code, Some(0));
    check_gone(&[pid]);
}
