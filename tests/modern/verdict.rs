//! How the era of a server is found out, stored and shown.

use crate::aggregate::servers::Servers;
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
    assert_eq!(servers.record("a").launches(), 1);
    // A legacy client gets a process of its own.
    let mut legacy = servers.shared().args(["--server", "a"]).start();
    legacy.initialize();
    legacy.call("echo", json!({}));
    assert_eq!(client.request("tools/list", json!({}))["result"]["ttlMs"], 60_000);
    legacy.call("echo", json!({}));
    // Further windows share them.
    window(&servers, "a").call("echo", json!({}));
    let mut another = servers.shared().args(["--server", "a"]).start();
    another.initialize();
    another.call("echo", json!({}));
    assert_eq!(servers.record("a").launches(), 2, "one process per era");
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
fn legacy_server_serves_modern_clients() {
    let servers = Servers::none().and("a", json!({}), &["--wants-initialize"]);
    for _ in 0..2 {
        let mut client = window(&servers, "a");
        let found = client.discover();
        assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
        let answer = client.request("tools/list", json!({}));
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        client.call("echo", json!({}));
        let lines = servers.record("a").all_lines();
        let asked = lines.iter().filter(|line| line.contains("server/discover")).count();
        assert_eq!(asked, 1, "the second time, the verdict is known: {lines:?}");
    }
}

#[test]
fn modern_clients_see_servers_of_both_eras() {
    let servers = Servers::none().and("a", json!({}), &["--era", "modern"]).and("b", json!({}), &[]);
    let mut client = Modern::start(servers.shared());
    let found = client.discover();
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    client.call("a__echo", json!({}));
    client.call("b__echo", json!({}));
    let told = servers.record("b").all_lines();
    assert!(
        !told
            .iter()
            .any(|line| line.contains("io.modelcontextprotocol/clientCapabilities")
                && line.contains("tools/call")),
        "{told:?}"
    );
}
