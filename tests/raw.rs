//! `--raw`: bytes pass unchanged, only the process is managed.

use crate::support::{fake_backend, program};
use serde_json::json;
use switchboard_testkit::client::{End, Start};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::{patience, record::Record};

fn raw(command: &[&str]) -> Start {
    program().args(["stdio", "--raw", "--"]).args(command)
}

/// Raw mode with a grace period short enough to wait for.
fn raw_with_grace(grace: &str, command: &[&str]) -> Start {
    let start = program();
    let config = start.scratch().file("config.json", json!({ "shutdownGrace": grace }).to_string());
    start.args(["stdio", "--raw", "--config"]).arg(config).arg("--").args(command)
}

fn run(command: &[&str]) -> End {
    raw(command).start().finish()
}

#[test]
fn bytes_pass_unchanged_both_ways() {
    let every: Vec<u8> = (0..=255).collect();
    let mut bytes = every.repeat(4000);
    bytes.extend_from_slice(b"{\"jsonrpc\":\"1.0\"}\r\n\xEF\xBB\xBF\n\n no end");
    let mut client = raw(&["cat"]).start();
    client.send_bytes(&bytes);
    let end = client.finish();
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    assert!(end.stdout == bytes, "{} bytes came back of {}", end.stdout.len(), bytes.len());
}

#[test]
fn large_output_passes_whole() {
    const OUTPUT_BYTES: usize = 20_000_000;
    let end = run(&["head", "-c", &OUTPUT_BYTES.to_string(), "/dev/zero"]);
    assert_eq!((end.code, end.stdout.len()), (Some(0), OUTPUT_BYTES));
}

#[test]
fn exit_code_is_the_commands() {
    assert_eq!(run(&["sh", "-c", "exit 0"]).code, Some(0));
    assert_eq!(run(&["sh", "-c", "exit 42"]).code, Some(42));
    assert_eq!(run(&["sh", "-c", "kill -9 $$"]).code, Some(128 + 9));
    assert_eq!(run(&["sh", "-c", "kill -TERM $$"]).code, Some(128 + 15));
}

#[test]
fn failed_exec_has_shell_exit_codes() {
    let end = run(&["no-such-command-x"]);
    assert_eq!(end.code, Some(127));
    assert!(end.stderr.contains("no-such-command-x") && end.stderr.contains("hint:"), "{}", end.stderr);
    let start = program();
    let plain = start.scratch().file("plain", "x");
    let end = start.args(["stdio", "--raw", "--"]).arg(plain).start().finish();
    assert_eq!(end.code, Some(126));
    assert!(end.stderr.contains("chmod +x"), "{}", end.stderr);
    assert_eq!(end.stdout, b"");
}

#[test]
fn stderr_is_inherited() {
    let end = run(&["sh", "-c", "echo one >&2; echo two; echo three >&2"]);
    assert_eq!((end.stderr.as_str(), &end.stdout[..]), ("one\nthree\n", &b"two\n"[..]));
}

/// However quickly the command ends, its last output arrives.
#[test]
fn output_before_the_end_arrives() {
    for _ in 0..20 {
        let end = run(&["sh", "-c", "head -c 100000 /dev/zero; echo last >&2; exit 3"]);
        assert_eq!((end.code, end.stdout.len(), end.stderr.as_str()), (Some(3), 100_000, "last\n"));
    }
}

#[test]
fn command_that_ignores_eof_is_ended() {
    let mut client = raw_with_grace("100ms", &["sleep", "300"]).start();
    assert_eq!(client.finish().code, Some(128 + 15), "after the grace it is terminated");
    let mut client =
        raw_with_grace("100ms", &["sh", "-c", "trap '' TERM; echo up; while :; do sleep 300; done"]).start();
    assert_eq!(client.recv(), b"up");
    assert_eq!(client.finish().code, Some(128 + 9), "after another it is killed");
}

/// A client that closes its input and then sends signals is in a hurry.
#[test]
fn signals_after_eof_end_it_sooner() {
    let stubborn = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 300; done"];
    let mut client = raw_with_grace("1h", &stubborn).start();
    assert_eq!(client.recv(), b"up");
    client.close_input();
    patience::until_true("the end", || {
        client.signal(Word::Terminate);
        client.has_ended()
    });
    assert_eq!(client.wait_for_end().code, Some(128 + 9));
}

#[test]
fn signal_ends_the_command() {
    // At once, without waiting for the effect of the end of its input.
    let mut client = raw_with_grace("1h", &["sh", "-c", "echo up; exec sleep 300"]).start();
    assert_eq!(client.recv(), b"up");
    client.signal(Word::Terminate);
    assert_eq!(client.wait_for_end().code, Some(128 + 15));
    // The second signal ends it at once.
    let mut client =
        raw_with_grace("1h", &["sh", "-c", "trap '' TERM; echo up; while :; do sleep 300; done"]).start();
    assert_eq!(client.recv(), b"up");
    client.signal(Word::Interrupt);
    patience::until_true("the end", || {
        client.signal(Word::Interrupt);
        client.has_ended()
    });
    assert_eq!(client.wait_for_end().code, Some(128 + 9));
}

#[test]
fn mcp_server_works_in_raw_mode() {
    let start = program();
    let record = start.record();
    let start = start.args(["stdio", "--raw", "--"]).arg(fake_backend()).arg("--record").arg(record.folder());
    let mut client = start.start();
    client.initialize();
    let facts = client.call("facts", json!({}));
    assert_eq!(facts["id"], 2);
    assert_eq!(facts["result"]["env"]["MCP_STDIO_MODE"], "true");
    assert_eq!(Record::in_folder(record.folder()).lines(1).len(), 3, "ids and all as they were sent");
    assert!(record.lines(1)[0].contains("\"id\":1"));
    assert_eq!(client.finish().code, Some(0));
    assert!(!pids::is_alive(record.pid(1)));
}
