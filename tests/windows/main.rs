//! The Windows program under Wine: it serves, and leaves nothing, whichever process is killed. A Linux test that sees
//! Windows processes from outside: each is a process of this system too, with its arguments in its command
//! line, and SIGKILL ends it without a chance to clean up.
//!
//! Not run by `cargo test` alone: `scripts/windows` builds the executables, prepares Wine and passes their
//! paths in the environment.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what is not there fails the test, here as well as in a `#[test]`")]

mod ends;
mod ide;
mod shims;
mod trees;

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::wine;

/// A value that `scripts/windows` sets.
fn given(name: &str) -> PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: run scripts/windows")).into()
}

/// `switchboard.exe`, without arguments yet.
fn program() -> Start {
    Start::new(given("WINDOWS_EXECUTABLES").join("switchboard.exe"))
}

/// `switchboard.exe stdio -- fake-backend.exe …`. The scratch folder is in the command lines of all processes.
fn fake(options: &[&str]) -> Start {
    let start = program();
    let record = start.record();
    let log = start.scratch().join("log");
    start
        .args(["stdio", "--log-level", "info", "--log-file"])
        .arg(log)
        .arg("--")
        .arg(given("WINDOWS_EXECUTABLES").join("fake-backend.exe"))
        .arg("--record")
        .arg(record.folder())
        .args(options)
}

/// A client whose server has started two processes: one holds its pipes open, one does not.
#[track_caller]
fn with_family(start: Start) -> Client {
    let mut client = start.start();
    client.initialize();
    for quiet in [false, true] {
        let answer = client.call("spawn", json!({ "quiet": quiet }));
        assert!(answer["result"]["pid"].as_u64().unwrap() > 0, "{answer}");
    }
    patience::until_true("we, the server and its two", || processes(&client).len() == 4);
    client
}

/// Windows processes of this client, by their Unix ids.
fn processes(client: &Client) -> Vec<u32> {
    pids::with_text(&client.scratch().path().display().to_string())
}

/// The server and its children.
fn family(client: &Client) -> Vec<u32> {
    processes(client).into_iter().filter(|pid| *pid != client.pid()).collect()
}

/// The server itself, which is not one of the sleeping children.
fn server(client: &Client) -> u32 {
    let mut servers = family(client);
    servers.retain(|pid| !pids::mentions(*pid, "--never-read"));
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers[0]
}

/// Limit on the time that anything may be left: counted from the end of the process that was to end.
const LEFTOVERS_LIMIT: Duration = Duration::from_secs(2);

#[track_caller]
fn check_nothing_left(client: &Client) {
    check_gone(client.pid(), "everything of this test", || processes(client));
}

/// Waits for the end of a process, and then for the end of others within the limit.
#[track_caller]
fn check_gone(pid: u32, what: &str, others: impl Fn() -> Vec<u32>) {
    patience::until_true(format_args!("process {pid} has ended"), || !pids::is_alive(pid));
    check_soon_gone(Instant::now(), what, others);
}

#[track_caller]
fn check_soon_gone(since: Instant, what: &str, others: impl Fn() -> Vec<u32>) {
    let is_gone = || others().is_empty().then_some(());
    patience::before(since + LEFTOVERS_LIMIT, format_args!("{what} is gone, but {:?}", others()), is_gone);
}

/// Those of these processes that are alive.
fn alive(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|pid| pids::is_alive(*pid)).collect()
}

#[track_caller]
fn check_logged(client: &Client, text: &str) {
    let log = client.scratch().join("log");
    patience::until_true(format_args!("`{text}` in the log"), || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains(text))
    });
}

fn tool_names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn program_serves_and_ends() {
    let mut client = fake(&[]).start();
    assert_eq!(client.initialize()["serverInfo"]["name"], "fake-backend");
    assert!(tool_names(&client.request("tools/list", json!({}))).contains(&"echo"));
    let answer =
        client.call("echo", json!({ "text": "größer als 64 KiB: ".to_owned() + &"x".repeat(200_000) }));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().len() > 200_000);
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), Vec::new()), "{}", end.stderr);
    check_nothing_left(&client);
}

#[test]
fn server_noise_does_not_reach_the_client() {
    let mut client = fake(&["--say", "a stray line\n"]).start();
    client.initialize();
    client.wait_for_stderr("a stray line");
    assert!(client.finish().stdout.is_empty());
}

#[test]
fn kill_leaves_nothing() {
    let client = with_family(fake(&["--ignore-eof"]));
    check_logged(&client, "job of Switchboard: active; job per server: active");
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

/// Without the server's own job, the job around us ends the processes.
#[test]
fn kill_leaves_nothing_without_a_guard() {
    let start = program();
    let record = start.record();
    let server = json!({
        "command": given("WINDOWS_EXECUTABLES").join("fake-backend.exe"),
        "args": ["--record", record.folder(), "--ignore-eof"],
        "guard": "off",
    });
    let config = start.scratch().file("config.json", json!({ "mcpServers": { "fake": server } }).to_string());
    let client = with_family(start.args(["stdio", "--solo", "--server", "fake", "--config"]).arg(config));
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

#[test]
fn orderly_end_leaves_nothing() {
    let mut client = with_family(fake(&[]));
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn orderly_end_stops_a_stubborn_server() {
    let mut client = with_family(fake(&["--ignore-eof"]));
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn killed_server_ends_with_its_children() {
    let mut client = with_family(fake(&[]));
    let (before, server) = (family(&client), server(&client));
    pids::tell(server, Word::Kill);
    check_gone(server, "the server's family", || alive(&before));
    // The program is still there, and restarts the server.
    patience::until_true("it serves again", || client.call("echo", json!({})).get("result").is_some());
    assert!(!client.has_ended());
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn crashed_server_ends_with_its_children() {
    let mut client = with_family(fake(&[]));
    let before = family(&client);
    client.start_call("crash", json!({ "code": 3 }));
    patience::until_true("the server's family is gone", || !before.iter().any(|pid| pids::is_alive(*pid)));
    assert!(!client.has_ended());
    check_logged(&client, "ended=\"fake-backend.exe, fake-backend.exe\"");
}

/// Most servers are started by npm's `.cmd` files, with `cmd.exe` between us and the server.
#[test]
fn batch_file_starts_a_server() {
    let start = program();
    let (record, server) = (start.record(), given("WINDOWS_EXECUTABLES").join("fake-backend.exe"));
    let script = format!("@\"Z:{}\" %*\r\n", server.display().to_string().replace('/', "\\"));
    start.scratch().file("shim.cmd", script);
    let shim = start.scratch().join("shim");
    let mut client = start.args(["stdio", "--"]).arg(shim).arg("--record").arg(record.folder()).start();
    client.initialize();
    assert!(tool_names(&client.request("tools/list", json!({}))).contains(&"echo"));
    assert!(!family(&client).is_empty());
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

/// A real server under a real `node.exe`.
#[test]
fn real_node_server_works() {
    let node = given("WINDOWS_NODE");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/real/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    );
    // The last argument means nothing to the server; it identifies its process.
    let start = program().env("NODE_SKIP_PLATFORM_CHECK", "1");
    let scratch = start.scratch().path().to_owned();
    let start = start.args(["stdio", "--pass-env", "NODE_SKIP_PLATFORM_CHECK", "--"]).arg(node);
    let mut client = start.args([script, "stdio"]).arg(scratch).start();
    client.initialize();
    assert!(tool_names(&client.request("tools/list", json!({}))).contains(&"get-sum"));
    let answer = client.call("get-sum", json!({ "a": 2, "b": 40 }));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("42"), "{answer}");
    assert!(!family(&client).is_empty());
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

/// A real server that works on Windows paths.
#[test]
fn real_filesystem_server_works() {
    let node = given("WINDOWS_NODE");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/real/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    );
    let start = program().env("NODE_SKIP_PLATFORM_CHECK", "1");
    let folder = start.scratch().folder("größer als nötig");
    fs::write(folder.join("note.txt"), "from a Windows path").unwrap();
    let shown = wine::path(&folder);
    let start = start.args(["stdio", "--pass-env", "NODE_SKIP_PLATFORM_CHECK", "--"]).arg(node);
    let mut client = start.args([script, &shown]).start();
    client.initialize();
    let answer = client.call("read_text_file", json!({ "path": format!(r"{shown}\note.txt") }));
    assert_eq!(answer["result"]["content"][0]["text"], "from a Windows path", "{answer}");
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}
