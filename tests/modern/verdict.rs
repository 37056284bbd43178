//! How the era of a server is found out, stored and shown.

use crate::aggregate::servers::Servers;
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::client::Modern;

fn window(servers: &Servers, server: &str) -> Modern {
    Modern::start(servers.shared().args(["--server", server]))
}

fn learnt(servers: &Servers) -> Value {
    let status: Value = serde_json::from_str(&servers.say(&["status", "--json"])).unwrap();
    status["daemons"][0]["servers"][0]["learnt"].clone()
}

#[test]
fn server_of_both_eras_is_found() {
    let servers = Servers::none().and("a", json!({}), &["--era", "dual"]);
    let mut client = window(&servers, "a");
    assert_eq!(client.discover()["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(client.request("tools/list", json!({}))["result"]["ttlMs"], 60_000);
    assert!(learnt(&servers).to_string().contains("speaks modern MCP"), "{}", learnt(&servers));
    // A legacy client gets a process of its own.
    let mut legacy = servers.shared().args(["--server", "a"]).start();
    legacy.initialize();
    legacy.call("echo", json!({}));
    assert_eq!(client.request("tools/list", json!({}))["result"]["ttlMs"], 60_000);
}

#[test]
fn server_of_the_modern_era_is_found() {
    let servers = Servers::none().and("a", json!({}), &["--era", "modern"]);
    let mut client = window(&servers, "a");
    client.call("echo", json!({}));
    let status = servers.say(&["status"]);
    assert!(!status.contains("last error"), "{status}");
    assert_eq!(servers.record("a").launches(), 1, "the process that was asked serves the client");
    // The second start knows.
    Modern::start(servers.start().args(["--server", "a"])).call("echo", json!({}));
    assert_eq!(servers.record("a").launches(), 2);
}

#[test]
fn legacy_server_makes_clients_fall_back() {
    let servers = Servers::none().and("a", json!({}), &["--wants-initialize"]);
    let mut launches = Vec::new();
    for _ in 0..2 {
        let mut client = window(&servers, "a");
        error(&client.discover(), -32601, "method_not_found");
        let refused = client.request("tools/list", json!({}));
        assert_eq!(error(&refused, -32022, "unsupported_version")["data"]["supported"][0], "2025-11-25");
        client.initialize();
        let id = client.ask_raw("tools/call", r#"{"name":"echo","arguments":{}}"#);
        assert!(client.answer(id)["result"].is_object());
        launches.push(servers.record("a").launches());
    }
    assert_eq!(launches[0], 2, "one that ended on the question, one for the client");
    assert_eq!(launches[1], 2, "the verdict is known");
}

#[test]
fn one_legacy_server_decides_for_all() {
    let servers = Servers::none().and("a", json!({}), &["--era", "modern"]).and("b", json!({}), &[]);
    let mut client = Modern::start(servers.shared());
    error(&client.discover(), -32601, "method_not_found");
    client.initialize();
}
