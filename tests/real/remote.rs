//! Real servers over HTTP: the same messages through us as from the same server on stdio.

use super::elsewhere::Elsewhere;
use super::peers::{Link, Server};
use super::talk::{Talk, compare, hold, same_both_ways_in_any_order};
use crate::support::{program, text};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;

const EVERYTHING: [&str; 2] = ["streamableHttp", "sse"];
/// Prefix of every session id with fixed randomness; one digit follows.
const SESSION: &str = "00000000-0000-4000-8000-00000000000";
const PYTHON: [&str; 3] = ["streamable-http", "json", "sse"];

#[test]
fn lists_reads_and_calls_are_equal() {
    for mode in EVERYTHING {
        same_both_ways_in_any_order(&Server::everything_elsewhere(mode), |talk| {
            talk.greet(json!({}));
            talk.request("ping", json!({}));
            for list in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
                talk.request(list, json!({}));
            }
            talk.request("resources/read", json!({ "uri": "demo://resource/static/document/features.md" }));
            talk.request("resources/read", json!({ "uri": "demo://nowhere" }));
            talk.request("prompts/get", json!({ "name": "args-prompt", "arguments": { "city": "Zürich" } }));
            let reference = json!({ "type": "ref/prompt", "name": "completable-prompt" });
            let argument = json!({ "name": "department", "value": "S" });
            talk.request("completion/complete", json!({ "ref": reference, "argument": argument }));
            talk.call("echo", json!({ "message": "Grüße 😀" }));
            talk.call("get-sum", json!({ "a": 0.1, "b": 0.2 }));
            talk.call("get-tiny-image", json!({}));
            talk.call("no-such-tool", json!({}));
            talk.call("echo", json!({}));
        });
    }
}

#[test]
fn every_version_is_negotiated() {
    for mode in EVERYTHING {
        let server = Server::everything_elsewhere(mode);
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            same_both_ways_in_any_order(&server, |talk| {
                talk.greet_in(version, json!({}));
                talk.request("tools/list", json!({}));
            });
        }
    }
}

/// Compares both ways, apart from session ids and a log line about roots, which differ over HTTP.
#[track_caller]
fn same_but_for_sessions(server: &Server, script: impl Fn(&mut Talk)) {
    let plain = |frame: String| {
        let frame = match frame.find(SESSION) {
            Some(at) => format!("{}undefined{}", &frame[..at], &frame[at + SESSION.len() + 1..]),
            None => frame,
        };
        frame.replace(" - SessionId undefined", "").replace("from session undefined", "")
    };
    let [direct, through] = [Link::Direct, Link::Through].map(|link| {
        let heard = hold(server, link, &script).into_iter().filter(|frame| !frame.contains("Roots updated"));
        let mut heard: Vec<String> = heard.map(plain).collect();
        heard.sort();
        heard
    });
    compare(&direct, &through);
}

#[test]
fn progress_logs_and_updates_are_equal() {
    for mode in EVERYTHING {
        same_but_for_sessions(&Server::everything_elsewhere(mode), |talk| {
            talk.greet(json!({}));
            let meta = json!({ "progressToken": "tok" });
            let params = json!({ "name": "trigger-long-running-operation", "arguments": { "duration": 0.2, "steps": 4 }, "_meta": meta });
            talk.request("tools/call", params);
            talk.request("logging/setLevel", json!({ "level": "debug" }));
            let log = talk.ask("tools/call", json!({ "name": "toggle-simulated-logging", "arguments": {} }));
            talk.told("notifications/message");
            talk.answer(&log);
            talk.call("toggle-simulated-logging", json!({}));
            let uri = "demo://resource/dynamic/text/1";
            talk.request("resources/subscribe", json!({ "uri": uri }));
            let updates =
                talk.ask("tools/call", json!({ "name": "toggle-subscriber-updates", "arguments": {} }));
            talk.told("notifications/resources/updated");
            talk.answer(&updates);
            talk.call("toggle-subscriber-updates", json!({}));
        });
    }
}

#[test]
fn server_requests_are_equal() {
    for mode in EVERYTHING {
        same_but_for_sessions(&Server::everything_elsewhere(mode), |talk| {
            talk.greet(json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} }));
            talk.told("roots/list");
            talk.call_until("get-roots-list", "two%20words");
            talk.call("trigger-sampling-request", json!({ "prompt": "a sentence", "maxTokens": 20 }));
            talk.call("trigger-elicitation-request", json!({}));
        });
    }
}

#[test]
fn python_sdk_server_is_equal() {
    for mode in PYTHON {
        same_both_ways_in_any_order(&Server::python_elsewhere(mode), |talk| {
            talk.greet(json!({ "elicitation": {} }));
            for list in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
                talk.request(list, json!({}));
            }
            talk.call("add", json!({ "a": 1, "b": 41 }));
            talk.call("fail", json!({}));
            talk.request("resources/read", json!({ "uri": "demo://greeting/you" }));
            talk.request("prompts/get", json!({ "name": "review", "arguments": { "code": "x" } }));
            // A server that answers with one body cannot send other messages before.
            if mode != "json" {
                let meta = json!({ "progressToken": 7 });
                talk.request(
                    "tools/call",
                    json!({ "name": "work", "arguments": { "steps": 3 }, "_meta": meta }),
                );
                talk.call("ask", json!({}));
            }
        });
    }
}

fn start(servers: &Value, flags: &[&str]) -> Client {
    let start = program();
    let path = start.scratch().file("config.json", json!({ "mcpServers": servers }).to_string());
    start.arg("stdio").arg("--config").arg(path).args(flags).start()
}

#[test]
fn restarted_server_continues() {
    let everything = EVERYTHING.map(|mode| (Elsewhere::everything as fn(&str) -> Elsewhere, mode, "get-sum"));
    let python = PYTHON.map(|mode| (Elsewhere::python as fn(&str) -> Elsewhere, mode, "add"));
    for (make, mode, tool) in everything.into_iter().chain(python) {
        let (mut elsewhere, arguments) = (make(mode), json!({ "a": 1, "b": 2 }));
        let mut client = start(&json!({ "far": { "url": elsewhere.url() } }), &["--server", "far"]);
        client.initialize();
        let before = client.call(tool, arguments.clone());
        assert!(text(&before).contains('3'), "{before}");
        elsewhere.restart();
        let after = client.call(tool, arguments);
        assert_eq!(after["result"], before["result"], "{after}");
        assert_eq!(client.finish().code, Some(0));
    }
}

#[test]
fn several_remote_servers_as_one() {
    let [new, old] = EVERYTHING.map(Elsewhere::everything);
    let python = Elsewhere::python("streamable-http");
    let servers = json!({ "new": { "url": new.url() }, "old": { "type": "sse", "url": old.url() }, "py": { "type": "http", "url": python.url() } });
    let mut client = start(&servers, &[]);
    client.initialize();
    let list = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["new__echo", "old__echo", "py__add"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for server in ["new", "old"] {
        let answer = client.call(&format!("{server}__echo"), json!({ "message": server }));
        assert_eq!(text(&answer), format!("Echo: {server}"));
    }
    assert_eq!(text(&client.call("py__add", json!({ "a": 20, "b": 22 }))), "42");
    assert_eq!(client.finish().code, Some(0));
}
