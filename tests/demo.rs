//! `switchboard demo` shows what it promises, and the example server behind it is an honest one.

use crate::support::{program, text};
use serde_json::json;
use std::fs;
use switchboard_testkit::client::Client;
use switchboard_testkit::{patience, pids};

#[test]
fn the_demo_shows_what_it_promises_and_leaves_nothing() {
    let start = program();
    let temporary = start.scratch().folder("temporary");
    let mut client = start.arg("demo").env("TMPDIR", &temporary).env("TEMP", &temporary).start();
    let end = client.finish();
    let shown = String::from_utf8(end.stdout).unwrap();
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""), "{shown}");

    for expected in [
        "initialize             switchboard-example, MCP 2025-11-25",
        "echo, add, wait, noise, crash",
        "add 19 + 23            42",
        "printed something on stdout that is no message; kept back",
        "error -32002, backend_unavailable",
        "it said:\n       fatal: the example's database is on fire",
        "are you there?",
        "error -32003, backend_timeout",
        "switchboard ended with exit code 0",
        "before: 2, after: 0",
        "claude mcp add",
        "\"mcpServers\"",
        "\"servers\"",
        "[mcp_servers.everything]",
    ] {
        assert!(shown.contains(expected), "{expected:?} is missing in\n{shown}");
    }
    assert_eq!(shown.matches("\n    ok ").count(), 5, "{shown}");
    assert!(shown.contains(env!("CARGO_BIN_EXE_switchboard")), "the path of the program\n{shown}");
    assert!(!shown.contains('\x1b'), "no colours where there is no terminal");
    // Only what holds the program's own path may be longer.
    let long = shown
        .lines()
        .find(|line| line.chars().count() > 80 && !line.contains(env!("CARGO_BIN_EXE_switchboard")));
    assert_eq!(long, None);

    let numbers = shown.split_once("(pid ").map_or("", |(_, rest)| rest);
    let numbers: Vec<u32> =
        numbers.split_whitespace().take(3).flat_map(|word| word.trim_end_matches("),").parse()).collect();
    assert_eq!(numbers.len(), 2, "the server's pids\n{shown}");
    for pid in numbers {
        patience::until_true(format_args!("the end of {pid}"), || !pids::is_alive(pid));
    }
    let temporary = temporary.display().to_string();
    patience::until_true("no process knows the demo's folder", || pids::with_text(&temporary).is_empty());
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0, "the temporary folder is cleared");
}

// ---- the example server, without a gateway

fn example_server() -> Client {
    program().arg("example-server").start()
}

#[test]
fn the_version_that_the_client_wants_is_spoken_if_it_is_known() {
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
fn what_it_offers_can_be_used() {
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
fn what_it_does_not_offer_is_refused_with_the_right_code() {
    let mut server = example_server();
    server.initialize();
    let mut code = |method: &str, params| server.request(method, params)["error"]["code"].as_i64();
    assert_eq!(code("no/such/method", json!({})), Some(-32601));
    assert_eq!(code("tools/call", json!({ "name": "no-such-tool" })), Some(-32602));
    assert_eq!(code("tools/call", json!({})), Some(-32602));
    assert_eq!(code("resources/read", json!({ "uri": "example://nothing" })), Some(-32002));
    assert_eq!(code("prompts/get", json!({ "name": "no-such-prompt" })), Some(-32602));
    assert_eq!(code("prompts/get", json!({ "name": "greet" })), Some(-32602));
    // Wrong arguments are for the model to read.
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
fn waiting_reports_progress_and_can_be_cancelled() {
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
    // Others are served meanwhile.
    assert_eq!(text(&server.call("echo", json!({ "text": "still here" }))), "still here");
    server.notify("notifications/cancelled", json!({ "requestId": long }));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    let end = server.finish();
    assert_eq!((end.code, end.stdout), (Some(0), Vec::new()), "a cancelled request has no answer");
}

#[test]
fn it_misbehaves_only_when_asked_to() {
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
