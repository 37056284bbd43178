//! Legacy clients of modern-only servers, without a setting in the config. `remote` has the counterpart with modern
//! clients; clients of the SDKs are in `tests/real/modern/translated.rs`.

use super::remote::{modern, wait_for_close, web};
use crate::aggregate::servers::Servers;
use crate::remote::{far, finish};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Modern};
use switchboard_testkit::patience;
use switchboard_testkit::web::Web;

fn alone() -> Servers {
    Servers::none().and("a", json!({}), &["--era", "modern"])
}

#[track_caller]
fn window(servers: &Servers, arguments: &[&str]) -> Client {
    let mut client = servers.shared().args(arguments).start();
    client.initialize();
    client
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect()
}

#[test]
fn modern_only_server_is_detected() {
    let servers = alone();
    let mut client = window(&servers, &["--server", "a"]);
    let listed = client.request("tools/list", json!({}));
    assert!(names(&listed).contains(&"echo") && listed["result"].get("ttlMs").is_none(), "{listed}");
    assert_eq!(text(&client.call("echo", json!({ "text": "x" }))), r#"{"text":"x"}"#);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let status = servers.say(&["status"]);
    assert!(status.contains("speaks modern MCP only") && !status.contains("last error"), "{status}");
    assert_eq!(client.finish().code, Some(0));
}

/// Another daemon, which knows only what was stored.
#[test]
fn second_start_skips_the_handshake() {
    let servers = alone();
    for (start, handshakes) in [1, 1, 1].into_iter().enumerate() {
        let mut client = servers.start().args(["--server", "a"]).start();
        client.initialize();
        client.call("echo", json!({}));
        assert_eq!(client.finish().code, Some(0));
        assert_eq!(servers.told("a", r#""initialize""#), handshakes, "start {start}");
    }
}

#[test]
fn restarted_server_stays_in_use() {
    let servers = alone();
    let mut client = window(&servers, &["--server", "a"]);
    client.call("echo", json!({}));
    let crash = client.call("crash", json!({}));
    assert!(crash.get("error").is_some(), "{crash}");
    assert_eq!(text(&client.call("echo", json!({ "n": 2 }))), r#"{"n":2}"#);
    assert_eq!((servers.record("a").launches(), servers.told("a", r#""initialize""#)), (2, 1));
}

/// A modern client of the same server gets its own process, and the server does not count as legacy.
#[test]
fn both_eras_use_one_server() {
    let servers = alone();
    let mut legacy = window(&servers, &["--server", "a"]);
    legacy.call("echo", json!({}));
    let start = servers.shared().args(["--server", "a"]);
    let mut modern = Modern::start(start);
    assert_eq!(modern.request("tools/list", json!({}))["result"]["ttlMs"], 60_000);
    legacy.call("echo", json!({}));
    modern.call("echo", json!({}));
    window(&servers, &["--server", "a"]).call("echo", json!({}));
    assert_eq!(servers.record("a").launches(), 2);
}

#[test]
fn dual_server_gets_the_handshake() {
    let servers = Servers::none().and("a", json!({}), &["--era", "dual"]);
    let start = servers.shared().args(["--server", "a"]);
    let mut modern = Modern::start(start);
    modern.call("echo", json!({}));
    let windows = [0, 1].map(|_| window(&servers, &["--server", "a"]));
    for mut legacy in windows {
        legacy.call("echo", json!({}));
    }
    modern.call("echo", json!({}));
    assert_eq!(servers.told("a", r#""initialize""#), 1);
    assert_eq!(servers.record("a").launches(), 2, "one process per era");
}

#[test]
fn modern_server_beside_others_is_detected() {
    for start in 0..2 {
        let servers = alone().and("b", json!({}), &[]).and("c", json!({}), &["--era", "dual"]);
        let mut client = match start {
            0 => window(&servers, &[]),
            _ => servers.open(),
        };
        for tool in ["a__echo", "b__echo", "c__echo"] {
            assert_eq!(text(&client.call(tool, json!({ "n": 1 }))), r#"{"n":1}"#);
        }
        let listed = client.request("tools/list", json!({}));
        for tool in ["a__echo", "b__echo", "c__echo"] {
            assert!(names(&listed).contains(&tool), "{listed}");
        }
    }
}

#[test]
fn update_reaches_its_subscriber() {
    let keys = json!({ "scope": "global", "state": "none" });
    let servers = Servers::none().and("a", keys, &["--era", "modern"]);
    let mut windows = [window(&servers, &["--server", "a"]), window(&servers, &["--server", "a"])];
    let subscribe = |windows: &mut [Client; 2], window: usize, method: &str, uri: &str| {
        let answer = windows[window].request(&format!("resources/{method}"), json!({ "uri": uri }));
        assert_eq!(answer["result"], json!({}), "{answer}");
    };
    // Each client changes the other's resource. A misdelivered update would arrive before the next one.
    let change = |windows: &mut [Client; 2], window: usize, uri: &str, is_heard: bool| {
        let answer = windows[1 - window].call("change", json!({ "uri": uri }));
        assert!(answer.get("result").is_some(), "{answer}");
        if is_heard {
            let told = windows[window].told("notifications/resources/updated");
            assert_eq!(told["params"], json!({ "uri": uri }), "window {window}");
        }
    };
    subscribe(&mut windows, 0, "subscribe", "x://0");
    subscribe(&mut windows, 1, "subscribe", "x://1");
    for _ in 0..2 {
        change(&mut windows, 0, "x://0", true);
        change(&mut windows, 1, "x://1", true);
    }
    subscribe(&mut windows, 0, "unsubscribe", "x://0");
    change(&mut windows, 0, "x://0", false);
    subscribe(&mut windows, 0, "subscribe", "x://2");
    change(&mut windows, 0, "x://2", true);
    change(&mut windows, 1, "x://1", true);
    assert_eq!(servers.launches(["a"]), [1]);
    let lines = servers.record("a").all_lines();
    let last = lines.iter().rfind(|it| it.contains("subscriptions/listen")).unwrap();
    assert!(last.contains("x://1") && last.contains("x://2") && !last.contains("x://0"), "{last}");
}

#[test]
fn remote_modern_server_is_detected() {
    let (web, closed) = web();
    let mut client = far(&web.url("/mcp"), json!({})).start();
    client.initialize();
    assert_eq!(names(&client.request("tools/list", json!({}))), ["sql", "hang"]);
    assert_eq!(text(&client.call("sql", json!({ "region": "west" }))), "west");
    let id = client.start_call("hang", json!({}));
    patience::until_true("the call is there", || web.count("tools/call") >= 2);
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    wait_for_close(&closed);
    assert_eq!((web.count("initialize"), web.count("notifications/cancelled")), (1, 0));
    finish(client);
    for seen in web.seen().iter().filter(|seen| seen.body["method"] != "initialize") {
        assert_eq!((seen.method.as_str(), seen.header("mcp-session-id")), ("POST", None));
        assert_eq!(seen.header("mcp-method"), seen.body["method"].as_str());
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    }
}

/// Servers that stop reading before the id refuse differently.
#[test]
fn remote_refusals_are_recognised() {
    let error =
        |code: i32| json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": "no" } });
    for (status, code) in [(400, -32020), (400, -32022), (400, -32602), (404, -32601)] {
        let closed = std::sync::Arc::default();
        let web = Web::start(move |seen, wire| match seen.what() {
            "initialize" => wire.json(status, &[], &error(code)),
            _ => modern(seen, wire, &closed),
        });
        let mut client = far(&web.url("/mcp"), json!({})).start();
        client.initialize();
        assert_eq!(text(&client.call("sql", json!({ "region": "west" }))), "west", "{status} {code}");
        finish(client);
    }
}

#[test]
fn commands_use_modern_servers() {
    let servers = alone().and("b", json!({}), &[]);
    let config = servers.config().display().to_string();
    for _ in 0..2 {
        let listed = servers.say(&["tools", "--config", &config]);
        assert!(listed.contains("a__echo") && listed.contains("b__echo"), "{listed}");
        let listed = servers.say(&["tools", "--config", &config, "--server", "a"]);
        assert!(listed.lines().any(|line| line.starts_with("echo")), "{listed}");
        for tool in ["a__echo", "b__echo"] {
            let said = servers.say(&["call", "--config", &config, tool, "text=hello"]);
            assert!(said.contains("hello"), "{said}");
        }
    }
}
