//! Audit: one line for each call of an audited client, in a private file that no flood can thin out.

use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, refused};
use crate::support::error;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use switchboard_testkit::http::{Talk, call, hello};
use switchboard_testkit::patience;

pub(super) fn parsed(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect()
}

/// The lines of the audit, once there are so many of them. Lines are written with a short delay.
#[track_caller]
pub(super) fn records(house: &House, count: usize) -> Vec<Value> {
    records_in(&house.state("logs/audit.jsonl"), count)
}

#[track_caller]
pub(crate) fn records_in(path: &Path, count: usize) -> Vec<Value> {
    let read = || fs::read_to_string(path).unwrap_or_default();
    let lines = patience::until(format_args!("{count} records, not {:?}", read()), || {
        Some(parsed(&read())).filter(|lines| lines.len() >= count)
    });
    assert_eq!(lines.len(), count, "{lines:?}");
    lines
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("audit");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    paths.sort();
    paths
}

#[test]
fn calls_over_http_are_recorded() {
    let served = Served::new();
    let talk = served.open();
    talk.call("echo", json!({ "text": "body-marker" }));
    talk.request("tools/list", json!({}));
    talk.request("resources/read", json!({ "uri": "file:///x" }));
    let lines = records(&served.house, 2);
    let expect = json!({
        "event": "call", "identity": "owner", "clientName": "testkit", "front": "http", "method": "tools/call",
        "server": "fake", "item": "echo", "backend": "backend-1#1", "result": "ok",
    });
    for (key, value) in expect.as_object().unwrap() {
        assert_eq!(lines[0][key], *value, "{}", lines[0]);
    }
    let time = lines[0]["time"].as_str().unwrap();
    assert!(time.len() == "2026-11-18T00:12:33.123Z".len() && time.ends_with('Z'), "{time}");
    for key in ["client", "ms", "requestBytes", "answerBytes"] {
        assert!(lines[0][key].as_f64().is_some_and(|number| number > 0.0), "{key} in {}", lines[0]);
    }
    assert_eq!((&lines[1]["method"], &lines[1]["item"]), (&json!("resources/read"), &json!("file:///x")));
    assert!(!lines[0].to_string().contains("body-marker"), "arguments are not recorded by default");
    let mode = fs::metadata(served.house.state("logs/audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Every way to a server, with the server's own names.
#[test]
fn every_route_is_recorded() {
    check_fronts(&[]);
}

pub(crate) fn check_fronts(options: &[&str]) {
    let file = json!({ "profiles": { "p": ["fake"] }, "audit": { "clients": "all" } });
    let served = Served::with(file, json!({}), options);
    for (path, tool) in [(FAKE, "echo"), ("/mcp", "fake__echo"), ("/profiles/p/mcp", "fake__echo")] {
        Talk::open(&served.web, path).call(tool, json!({}));
    }
    let mut stream = served.web.get("/sse").send();
    let to = stream.event().unwrap().data;
    let started = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for message in [hello("2024-11-05", json!({})), started, call(1, "fake__echo", json!({}))] {
        assert_eq!(served.web.post(&to, message.to_string()).send().status, 202);
    }
    while stream.message().unwrap()["id"] != 1 {}
    let mut window = served.house.open("a");
    window.call("echo", json!({}));
    assert_eq!(window.finish().code, Some(0));
    let mut window = served.house.program("a").args(["stdio", "--config"]).arg(served.house.config()).start();
    window.initialize();
    window.call("fake__echo", json!({}));
    assert_eq!(window.finish().code, Some(0));
    let lines = records(&served.house, 6);
    for line in &lines {
        assert_eq!(
            (&line["server"], &line["item"], &line["result"]),
            (&json!("fake"), &json!("echo"), &json!("ok"))
        );
    }
    let fronts: Vec<&Value> = lines.iter().map(|line| &line["front"]).collect();
    assert_eq!(fronts, ["http", "http", "http", "http", "stdio", "stdio"]);
}

#[test]
fn windows_are_recorded_on_request() {
    let house = House::new();
    let mut window = house.open("a");
    window.call("echo", json!({}));
    assert_eq!(window.finish().code, Some(0));
    house.check_empty(patience::LIMIT);
    assert!(!house.state("logs/audit.jsonl").exists());

    let house = House::with(json!({ "audit": { "clients": "all" } }), json!({}), &[]);
    for solo in [false, true] {
        let start = house.window("a");
        let mut window = if solo { start.arg("--solo") } else { start }.start();
        window.initialize();
        window.call("echo", json!({}));
        error(&window.call("crash", json!({})), -32002, "backend_unavailable");
        assert_eq!(window.finish().code, Some(0));
        house.check_empty(patience::LIMIT);
    }
    let lines = records(&house, 4);
    let seen: Vec<String> =
        lines.iter().map(|line| format!("{} {} {}", line["item"], line["result"], line["front"])).collect();
    let once = [r#""echo" "ok" "stdio""#, r#""crash" "backend_unavailable" "stdio""#];
    assert_eq!(seen, [once, once].concat());
    assert!(lines[0]["root"].as_str().unwrap().ends_with("/a"), "{}", lines[0]);
}

#[test]
fn reload_applies_changes() {
    check_reload(&[]);
}

/// `options` are those of the fake server.
pub(crate) fn check_reload(options: &[&str]) {
    let house = House::with(json!({}), json!({}), options);
    let mut window = house.open("a");
    let mut change = |audit: Value, call: &str| {
        let mut config: Value = serde_json::from_str(&fs::read_to_string(house.config()).unwrap()).unwrap();
        config["audit"] = audit;
        fs::write(house.config(), config.to_string()).unwrap();
        house.say(&["reload"]);
        window.call("echo", json!({ "text": call }));
    };
    change(json!({ "clients": "all" }), "first");
    records(&house, 1);
    let other = house.path("other/audit.log");
    change(json!({ "clients": "all", "arguments": true, "file": "other/audit.log" }), "second");
    let lines = records_in(&other, 1);
    assert_eq!(lines[0]["arguments"], json!({ "text": "second" }));
    change(json!({ "clients": "none" }), "third");
    // Its lines would have been written before those of the next change.
    change(json!({ "clients": "all", "file": "other/audit.log" }), "fourth");
    let lines = records_in(&other, 2);
    assert_eq!(lines[1].get("arguments"), None);
    records(&house, 1);
    assert_eq!(window.finish().code, Some(0));
}

#[test]
fn arguments_are_recorded_without_secrets() {
    let served = Served::with(json!({ "audit": { "arguments": true } }), json!({}), &[]);
    let talk = served.open();
    talk.call(
        "echo",
        json!({ "path": "/x", "apiKey": "k-very-secret-1", "text": "use ghp_abcdefghijklmnop" }),
    );
    talk.call("echo", json!({ "text": "x ".repeat(10_000) }));
    talk.call("echo", json!({ "text": "x ".repeat(100_000) }));
    let lines = records(&served.house, 3);
    let expect = json!({ "path": "/x", "apiKey": "[redacted]", "text": "use [redacted]" });
    assert_eq!(lines[0]["arguments"], expect);
    for line in &lines[1..] {
        assert_eq!(line["argumentsCut"], true);
        assert_eq!(line["arguments"].as_str().unwrap().len(), 4096);
    }
}

#[test]
fn refusals_are_recorded() {
    let served = Served::new();
    let web = served.web.without("Authorization");
    refused(web.post(FAKE, hello("2025-11-25", json!({})).to_string()), 401);
    refused(web.post(FAKE, "{}").header("Authorization", "Bearer swb_0123456789abcdef"), 401);
    refused(served.web.post(FAKE, "{}").header("Host", "evil.example"), 403);
    let lines = records(&served.house, 3);
    let results: Vec<&Value> = lines.iter().map(|line| &line["result"]).collect();
    assert_eq!(results, ["unauthorized", "unauthorized", "forbidden"]);
    for line in &lines {
        assert_eq!((&line["event"], &line["from"]), (&json!("refused"), &json!("this machine")), "{line}");
        assert!(!line.to_string().contains("swb_"), "{line}");
    }
}

/// Strangers must not be able to push the lines of clients out of the files.
#[test]
fn strangers_cannot_flood_the_audit() {
    let served = Served::new();
    served.open().call("echo", json!({}));
    let web = served.web.without("Authorization");
    for _ in 0..200 {
        refused(web.post(FAKE, "{}"), 401);
    }
    served.open().call("echo", json!({}));
    let path = served.house.state("logs/audit.jsonl");
    let lines = patience::until("the last call", || {
        let lines = parsed(&fs::read_to_string(&path).unwrap_or_default());
        let told: u64 = lines.iter().map(|line| line["lines"].as_u64().unwrap_or(1)).sum();
        (told >= 202).then_some(lines)
    });
    assert!(lines.len() < 40, "{} lines", lines.len());
    assert_eq!(lines.iter().filter(|line| line["event"] == "call").count(), 2);
}

#[test]
fn full_files_are_replaced() {
    const COUNT: u64 = 64;
    let audit = json!({ "arguments": true, "maxBytes": "64KiB", "keep": 2 });
    let served = Served::with(json!({ "audit": audit }), json!({}), &[]);
    let talk = served.open();
    let folder = served.house.state("logs");
    // Waits for each line, so that a file begins where the one before it is full.
    for number in 0..COUNT {
        talk.call("echo", json!({ "number": number, "text": "x".repeat(3500) }));
        let newest = format!("\"number\":{number},");
        patience::until_true("the line is written", || {
            files(&folder)
                .iter()
                .any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(&newest)))
        });
    }
    let paths = files(&folder);
    assert_eq!(paths.len(), 3, "{paths:?}");
    // Old files come first: `-` sorts before `.`.
    let texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for text in &texts[..2] {
        assert!((64 << 10..128 << 10).contains(&text.len()), "{} bytes", text.len());
    }
    let numbers: Vec<u64> =
        parsed(&texts.concat()).iter().map(|line| line["arguments"]["number"].as_u64().unwrap()).collect();
    let first = COUNT - numbers.len() as u64;
    assert_eq!(numbers, (first..COUNT).collect::<Vec<_>>(), "no gap and no repetition");
}

#[test]
fn full_disk_holds_up_nobody() {
    let served = Served::with(json!({ "audit": { "file": "/dev/full" } }), json!({}), &[]);
    let talk = served.open();
    for _ in 0..20 {
        assert!(talk.call("echo", json!({})).get("result").is_some());
    }
    let audit = patience::until("the failure in `status`", || {
        let audit = served.house.status()["daemons"][0]["audit"].clone();
        (audit["lost"].as_u64() == Some(20)).then_some(audit)
    });
    assert!(audit["error"].as_str().unwrap().contains("No space left"), "{audit}");
    let shown = served.house.say(&["status"]);
    assert!(shown.contains("The audit cannot be written to /dev/full: No space left"), "{shown}");
    served.program.wait_for_stderr("audit cannot be written");
    assert_eq!(served.program.stderr_so_far().matches("audit cannot be written").count(), 1, "told once");
}

#[test]
fn logs_shows_the_audit() {
    let served = Served::new();
    let none = served.house.run(&["logs", "--audit"]);
    assert!(none.code == Some(1) && none.stderr.contains("no call was recorded yet"), "{}", none.stderr);
    let talk = served.open();
    talk.call("echo", json!({}));
    let lines = records(&served.house, 1);
    assert_eq!(parsed(&served.house.say(&["logs", "--audit", "--json"])), lines);
    let shown = served.house.say(&["logs", "--audit"]);
    assert!(
        shown.contains("owner: tools/call fake echo: ok, ") && shown.contains("(http, testkit"),
        "{shown}"
    );

    let mut following = served.house.program("home").args(["logs", "--audit", "--json", "-f"]).start();
    assert_eq!(following.recv_json(), lines[0]);
    talk.call("work", json!({}));
    assert_eq!(following.recv_json()["item"], "work");
    drop(following);
}

/// The file of a daemon whose config is not the one that would be used here.
#[test]
fn logs_finds_the_daemons_file() {
    let served = Served::with(json!({ "audit": { "file": "own.jsonl" } }), json!({}), &[]);
    served.open().call("echo", json!({}));
    records_in(&served.house.path("own.jsonl"), 1);
    assert_eq!(parsed(&served.house.say(&["logs", "--audit", "--json"])).len(), 1);
}

#[test]
fn failed_tools_are_told_apart() {
    check_failures(&[]);
}

pub(crate) fn check_failures(options: &[&str]) {
    let served = Served::with(json!({}), json!({}), options);
    let talk = served.open();
    let result = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[],"isError":true}}"#;
    talk.call("say", json!({ "text": format!("{result}\n") }));
    let refusal = r#"{"jsonrpc":"2.0","id":%ID,"error":{"code":1,"message":"no"}}"#;
    talk.call("say", json!({ "text": format!("{refusal}\n") }));
    let lines = records(&served.house, 2);
    assert_eq!((&lines[0]["result"], &lines[1]["result"]), (&json!("tool_error"), &json!("server_error")));
}

/// The log sums up what comes too fast; the audit has every call.
#[test]
fn flood_is_recorded_whole() {
    const COUNT: usize = 4000;
    let limits = json!({ "maxInFlight": 10_000, "maxQueue": 10_000 });
    let house = House::with(json!({ "audit": { "clients": "all" } }), limits, &[]);
    let mut window = house.open("a");
    let calls = (0..COUNT).map(|id| call(id as u64, "echo", json!({})).to_string());
    let calls: Vec<String> = calls.collect();
    window.send(calls.join("\n"));
    (0..COUNT).for_each(|_| drop(window.recv()));
    assert_eq!(window.finish().code, Some(0));
    house.check_empty(patience::LIMIT);
    let lines = records(&house, COUNT);
    assert!(lines.iter().all(|line| line["event"] == "call" && line["result"] == "ok"));
}
