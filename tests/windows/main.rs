//! The Windows program under Wine: that it serves, and that nothing is left behind, whoever is killed. A Linux
//! test that looks at Windows processes from the outside: each is a process of this system too, with its words
//! in its command line, and SIGKILL ends it without a chance to clean up.
//!
//! Not among the tests that `cargo test` runs by itself: `scripts/windows` builds the executables, prepares Wine
//! and says in the environment where they are.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what is not there fails the test, here as well as in a `#[test]`")]

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// A value that `scripts/windows` gives.
fn given(name: &str) -> PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: run scripts/windows")).into()
}

/// `switchboard.exe`, to be given its arguments.
fn program() -> Start {
    Start::new(given("WINE"))
        .env("WINEPREFIX", given("WINEPREFIX"))
        .env("WINEDEBUG", "-all")
        .arg(given("WINDOWS_EXECUTABLES").join("switchboard.exe"))
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

/// A client whose server has started two processes of its own: one holds its pipes open, one does not.
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

/// All Windows processes of this client's, by their Unix numbers.
fn processes(client: &Client) -> Vec<u32> {
    pids::with_text(&client.scratch().path().display().to_string())
}

/// The server, and what it started.
fn family(client: &Client) -> Vec<u32> {
    processes(client).into_iter().filter(|pid| *pid != client.pid()).collect()
}

/// The server itself: the one that was not started to sleep.
fn server(client: &Client) -> u32 {
    let mut servers = family(client);
    servers.retain(|pid| !pids::mentions(*pid, "--never-read"));
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers[0]
}

#[track_caller]
fn check_nothing_left(client: &Client) {
    patience::until_true("nothing of this test is left", || processes(client).is_empty());
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
fn it_serves_and_ends() {
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
fn what_a_server_prints_does_not_reach_the_client() {
    let mut client = fake(&["--say", "a stray line\n"]).start();
    client.initialize();
    client.wait_for_stderr("a stray line");
    assert!(client.finish().stdout.is_empty());
}

#[test]
fn we_are_killed() {
    let client = with_family(fake(&["--ignore-eof"]));
    check_logged(&client, "job around us: active; job per server: active");
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

/// Without a job of the server's own, it is the job around us that ends them.
#[test]
fn we_are_killed_and_the_server_has_no_guard() {
    let start = program();
    let record = start.record();
    let server = json!({
        "command": given("WINDOWS_EXECUTABLES").join("fake-backend.exe"),
        "args": ["--record", record.folder(), "--ignore-eof"],
        "guard": "off",
    });
    let config = start.scratch().file("config.json", json!({ "mcpServers": { "fake": server } }).to_string());
    let client = with_family(start.args(["stdio", "--server", "fake", "--config"]).arg(config));
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

#[test]
fn an_orderly_end() {
    let mut client = with_family(fake(&[]));
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn an_orderly_end_of_a_server_that_does_not_heed_it() {
    let mut client = with_family(fake(&["--ignore-eof"]));
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn a_server_killed_alone_takes_its_family_along_and_nobody_else() {
    let mut client = with_family(fake(&[]));
    let before = family(&client);
    pids::tell(server(&client), Word::Kill);
    patience::until_true("the server's family is gone", || !before.iter().any(|pid| pids::is_alive(*pid)));
    // We are still there, and start it anew.
    patience::until_true("it serves again", || client.call("echo", json!({})).get("result").is_some());
    assert!(!client.has_ended());
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn a_server_that_ends_by_itself_takes_its_family_along() {
    let mut client = with_family(fake(&[]));
    let before = family(&client);
    client.start_call("crash", json!({ "code": 3 }));
    patience::until_true("the server's family is gone", || !before.iter().any(|pid| pids::is_alive(*pid)));
    assert!(!client.has_ended());
    check_logged(&client, "ended=\"fake-backend.exe, fake-backend.exe\"");
}

/// Most servers are started by a `.cmd` file of npm's, in which `cmd.exe` stands between us and the server.
#[test]
fn a_batch_file() {
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
fn node() {
    let Some(node) = std::env::var_os("WINDOWS_NODE") else {
        eprintln!("skipped: scripts/windows could not get node.exe");
        return;
    };
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/real/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    );
    // What comes last means nothing to the server, and lets us find it.
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
