//! `switchboard demo`: it does what it shows and leaves nothing, however it ends. Also the example server
//! behind it.

use crate::support::{program, text};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// A demo with a PATH, an empty home and nothing else in its environment. `folder` identifies its processes
/// and files.
struct Demo {
    client: Client,
    temporary: PathBuf,
    folder: String,
}

impl Demo {
    /// In its own temporary folder.
    fn start() -> Self {
        Self::inside("t", |start| start)
    }

    fn inside(name: &str, dress: impl FnOnce(Start) -> Start) -> Self {
        let start = program();
        let temporary = start.scratch().folder(name);
        Self::dressed(temporary.clone(), dress(start.env("TMPDIR", temporary)))
    }

    fn dressed(temporary: PathBuf, start: Start) -> Self {
        let client = start.arg("demo").without_env("XDG_RUNTIME_DIR").start();
        let folder = format!("switchboard-demo-{}-", client.pid());
        Self { client, temporary, folder }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.client.unread_bytes()).into_owned()
    }

    /// All processes with the demo's folder in their command line.
    fn processes(&self) -> Vec<u32> {
        pids::with_text(&self.folder)
    }

    /// Windows that the demo opened, as an IDE would.
    fn windows(&self) -> Vec<u32> {
        self.processes().into_iter().filter(|&pid| pids::mentions(pid, "stdio")).collect()
    }

    /// Whether nothing of the demo runs. Checks twice: a process that starts another and ends during the
    /// first scan would hide both.
    fn has_no_process(&self) -> bool {
        self.processes().is_empty() && self.processes().is_empty()
    }

    /// Checks the exit code and an empty stderr; returns stdout.
    #[track_caller]
    fn finish(&mut self, code: i32) -> String {
        let end = self.client.finish();
        let shown = String::from_utf8(end.stdout).unwrap();
        assert_eq!((end.code, end.stderr.as_str()), (Some(code), ""), "{shown}");
        shown
    }

    /// Checks that no process, no folder of the demo and no file in the home is left.
    #[track_caller]
    fn check_nothing_left(&self) {
        patience::until_true(format_args!("no process; there are {:?}", self.processes()), || {
            self.has_no_process()
        });
        let paths = |folder: &Path| -> Vec<PathBuf> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let is_own = |path: &PathBuf| path.to_string_lossy().contains(&self.folder);
        assert_eq!(paths(&self.temporary).into_iter().find(is_own), None);
        assert_eq!(paths(&self.client.scratch().home()), Vec::<PathBuf>::new());
    }
}

#[track_caller]
fn check_shown(shown: &str) {
    for expected in [
        "initialize             switchboard-example, MCP 2025-11-25",
        "echo, add, wait, noise, crash",
        "add 19 + 23            42",
        "Both windows talk to the same process",
        "stdout line is not a message; quarantined",
        "error -32002, backend_unavailable",
        "it said:\n       fatal: the example's database is on fire",
        "are you there?",
        "error -32003, backend_timeout",
        "exit code 0 for each window",
        "before: 4, after: 0",
        "claude mcp add",
        "\"mcpServers\"",
        "\"servers\"",
        "[mcp_servers.everything]",
    ] {
        assert!(shown.contains(expected), "{expected:?} is missing in\n{shown}");
    }
    assert_eq!(shown.matches("\n    ok ").count(), 6, "{shown}");
}

#[test]
fn demo_shows_all_steps_and_leaves_nothing() {
    let mut demo = Demo::start();
    let shown = demo.finish(0);
    check_shown(&shown);
    assert!(shown.contains(env!("CARGO_BIN_EXE_switchboard")), "the path of the program\n{shown}");
    assert!(!shown.contains('\x1b'), "no colours where there is no terminal");
    // Only lines with the program's path may be longer.
    let long = shown
        .lines()
        .find(|line| line.chars().count() > 80 && !line.contains(env!("CARGO_BIN_EXE_switchboard")));
    assert_eq!(long, None);

    let numbers = shown.split_once("(pid ").map_or("", |(_, rest)| rest);
    let first: u32 = numbers.split(')').next().unwrap().parse().unwrap();
    let (_, second) = shown.split_once(&format!("{first} became ")).unwrap();
    let second: u32 = second.split(')').next().unwrap().parse().unwrap();
    for pid in [first, second] {
        assert!(!pids::is_alive(pid), "the server {pid}");
    }
    demo.check_nothing_left();
}

#[test]
fn demo_ignores_the_users_settings() {
    let mut demo = Demo::inside("t", |start| {
        let start = start.env("SWITCHBOARD_SOLO", "1").env("SWITCHBOARD_CONFIG", "/no/such/file");
        start.env("SWITCHBOARD_LOG", "error").env("SWITCHBOARD_ROOT", "/no/such/folder")
    });
    check_shown(&demo.finish(0));
    demo.check_nothing_left();
}

#[test]
fn demo_needs_neither_home_nor_tmpdir() {
    let start = program().without_env("HOME").without_env("TMPDIR");
    let mut demo = Demo::dressed("/tmp".into(), start);
    check_shown(&demo.finish(0));
    demo.check_nothing_left();
}

/// The folder's path is too long for a socket: another one is found, and removed as well.
#[test]
fn demo_works_where_paths_are_long() {
    let mut demo = Demo::inside(&"x".repeat(100), |start| start);
    check_shown(&demo.finish(0));
    demo.check_nothing_left();
}

#[test]
fn two_demos_run_at_once() {
    let mut demos = [Demo::start(), Demo::start()];
    for demo in &mut demos {
        check_shown(&demo.finish(0));
        demo.check_nothing_left();
    }
}

/// Moments at which the demo is disturbed, from before the daemon's start to the hanging call.
const MOMENTS: [&str; 4] = ["", "1. The IDE", "3. A server", "5. A call"];

#[test]
fn interrupted_demo_leaves_nothing() {
    for (word, moment) in
        [Word::Interrupt, Word::Terminate, Word::HangUp].into_iter().cycle().zip(MOMENTS.repeat(3))
    {
        let mut demo = Demo::start();
        // Before its first output, the signal itself ends it.
        patience::until_true(format_args!("`{moment}` is shown"), || {
            let shown = demo.shown();
            shown.contains("(one daemon)") && shown.contains(moment)
        });
        demo.client.signal(word);
        let shown = demo.finish(130);
        assert!(shown.contains("FAILED: interrupted by SIG"), "{word:?} at `{moment}`: {shown}");
        demo.check_nothing_left();
    }
}

/// The folder stays, but every process ends.
#[test]
fn killed_demo_leaves_no_process() {
    for moment in MOMENTS {
        let demo = Demo::start();
        patience::until_true(format_args!("`{moment}` is shown"), || {
            demo.shown().contains(moment) && !demo.processes().is_empty()
        });
        demo.client.signal(Word::Kill);
        patience::until_true("everything that was started ends", || demo.has_no_process());
    }
}

/// A step fails when its window dies within it. The cause is shown, and everything is removed.
#[test]
fn failed_demo_leaves_nothing() {
    let mut demo = Demo::start();
    // The daemon runs, and the first window has several requests left: whenever the windows die, one of them fails.
    patience::until_true("the third step", || demo.shown().contains("3. A server"));
    for window in demo.windows() {
        pids::tell(window, Word::Kill);
    }
    let shown = demo.finish(1);
    assert!(shown.contains("FAILED: "), "{shown}");
    demo.check_nothing_left();
}

// ---- the example server, without a gateway

fn example_server() -> Client {
    program().arg("example-server").start()
}

#[test]
fn example_server_negotiates_the_version() {
    for (wanted, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut server = example_server();
        let answer = server.request("initialize", json!({ "protocolVersion": wanted, "capabilities": {} }));
        assert_eq!(answer["result"]["protocolVersion"], spoken);
        assert_eq!(server.finish().code, Some(0));
    }
}

#[test]
fn example_server_offers_work() {
    let mut server = example_server();
    server.initialize();
    assert_eq!(text(&server.call("echo", json!({ "text": "hé" }))), "hé");
    let sum = server.call("add", json!({ "a": 1, "b": 2.5 }));
    assert_eq!(sum["result"]["structuredContent"], json!({ "sum": 3.5 }));
    assert_eq!(text(&server.call("wait", json!({ "seconds": 0 }))), "waited 0 s");

    let resources = server.request("resources/list", json!({}));
    let uri = &resources["result"]["resources"][0]["uri"];
    let status = server.request("resources/read", json!({ "uri": uri }));
    let status = status["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(status).unwrap(),
        json!({ "pid": server.pid(), "calls": 3 })
    );

    let prompts = server.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "greet");
    let prompt = server.request("prompts/get", json!({ "name": "greet", "arguments": { "name": "Ada" } }));
    assert!(prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("Ada"));
    assert_eq!(server.finish().code, Some(0));
}

#[test]
fn example_server_refuses_with_right_codes() {
    let mut server = example_server();
    server.initialize();
    let mut code = |method: &str, params| server.request(method, params)["error"]["code"].as_i64();
    assert_eq!(code("no/such/method", json!({})), Some(-32601));
    assert_eq!(code("tools/call", json!({ "name": "no-such-tool" })), Some(-32602));
    assert_eq!(code("tools/call", json!({})), Some(-32602));
    assert_eq!(code("resources/read", json!({ "uri": "example://nothing" })), Some(-32002));
    assert_eq!(code("prompts/get", json!({ "name": "no-such-prompt" })), Some(-32602));
    assert_eq!(code("prompts/get", json!({ "name": "greet" })), Some(-32602));
    // Wrong arguments are reported to the model, as tool errors.
    for (tool, arguments) in
        [("echo", json!({})), ("add", json!({ "a": "1", "b": 2 })), ("wait", json!({ "seconds": -1 }))]
    {
        assert_eq!(server.call(tool, arguments)["result"]["isError"], true, "{tool}");
    }
    server.send("{ this is not JSON");
    assert_eq!(server.recv_json()["error"]["code"], -32700);
    server.send(r#"{"jsonrpc":"2.0","id":"x"}"#);
    assert_eq!(server.answer("x")["error"]["code"], -32600);
    server.send(
        r#"[{"id":"a","method":"ping"},{"method":"notifications/initialized"},{"id":"b","method":"ping"}]"#,
    );
    let batch = server.recv_json();
    assert_eq!((&batch[0]["id"], &batch[1]["id"], &batch[2]), (&json!("a"), &json!("b"), &json!(null)));
}

#[test]
fn example_wait_has_progress_and_cancel() {
    let mut server = example_server();
    server.initialize();
    let params =
        json!({ "name": "wait", "arguments": { "seconds": 0.05 }, "_meta": { "progressToken": "mine" } });
    let id = server.ask("tools/call", params);
    for step in 1..=10 {
        let progress = server.told("notifications/progress");
        assert_eq!(progress["params"], json!({ "progressToken": "mine", "progress": step, "total": 10 }));
    }
    assert_eq!(text(&server.answer(id)), "waited 0.05 s");

    let long = server.start_call("wait", json!({ "seconds": 600 }));
    // Other calls are served meanwhile.
    assert_eq!(text(&server.call("echo", json!({ "text": "still here" }))), "still here");
    server.notify("notifications/cancelled", json!({ "requestId": long }));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    let end = server.finish();
    assert_eq!((end.code, end.stdout), (Some(0), Vec::new()), "a cancelled request has no answer");
}

#[test]
fn example_server_misbehaves_only_on_demand() {
    let mut server = example_server();
    server.initialize();
    let id = server.start_call("noise", json!({}));
    assert_eq!(server.recv_text(), "[info] cache warmed");
    assert!(text(&server.answer(id)).contains("does not belong on stdout"));
    server.start_call("noise", json!({ "glued": true }));
    assert!(server.recv_text().starts_with("[info] cache warmed {"));
    server.start_call("crash", json!({}));
    let end = server.wait_for_end();
    assert_eq!(end.code, Some(3));
    assert!(end.stderr.contains("on fire"), "{}", end.stderr);
}
