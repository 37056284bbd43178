//! Clients that make a handshake, with servers that are spoken to in the modern era only: through us they are told the same as
//! a modern client of the same SDK directly, apart from what only one of the eras has.

use super::pairs::{Backend, alone, at_home, entry, window};
use super::peers::{SDKS, Sdk, Steps};
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use crate::support::fake_backend;
use serde_json::{Value, json};

/// Steps of which the eras have different ones, or different words for the same.
const OF_ONE_ERA: [&str; 6] = ["discover", "server", "ping", "version", "listens", "told"];

/// Members that only results of the modern era have. The Python SDK adds some of them to its own objects in both.
const MODERN_MEMBERS: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol/serverInfo"];

/// A conversation without what only one of the eras has.
fn of_both_eras(steps: &Steps) -> Steps {
    steps.map(|name, value| match OF_ONE_ERA.contains(&name) {
        true => None,
        false => {
            let mut value = value.clone();
            strip(&mut value);
            Some(value)
        }
    })
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !MODERN_MEMBERS.contains(&name.as_str()));
            members.values_mut().for_each(strip);
            members.retain(|name, value| name != "_meta" || *value != json!({}));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[track_caller]
fn compare(what: &str, through: &Steps, directly: &Steps) {
    let differences = of_both_eras(through).differences(&of_both_eras(directly));
    assert!(differences.is_empty(), "{what}: through us\n  {}", differences.join("\n  "));
}

/// Over stdio with each server alone, and over HTTP.
#[track_caller]
fn check(client: Sdk, backend: Backend) {
    let mut servers = serde_json::Map::new();
    let mut elsewhere = Vec::new();
    for server in SDKS {
        let (mut entry, running) = entry(server, backend);
        entry["era"] = json!("modern");
        servers.insert(server.name().to_owned(), entry);
        elsewhere.extend(running);
    }
    let house = House::with(json!({ "mcpServers": servers }), json!({}), &[]);
    for server in SDKS {
        let target = window(&house, &["--server", server.name()]);
        let steps = client.talk(&target, |start| at_home(&house, start).env("ERA", "legacy"));
        compare(&format!("{client:?} over stdio with {server:?}"), &steps, client.directly(server));
    }
    let served = Served::start(house, &[]);
    for server in SDKS {
        let url = format!("http://127.0.0.1:{}/servers/{}/mcp", served.web.port(), server.name());
        let token = token(&served.house);
        let steps = client.talk(&[url.into()], |start| start.env("TOKEN", &token).env("ERA", "legacy"));
        compare(&format!("{client:?} over HTTP with {server:?}"), &steps, client.directly(server));
    }
}

/// The server beside a legacy and a modern one.
#[track_caller]
fn check_aggregated(client: Sdk) {
    for server in SDKS {
        let (mut entry, _) = entry(server, Backend::Stdio);
        entry["era"] = json!("modern");
        let old = json!({ "command": fake_backend() });
        let new = json!({ "command": fake_backend(), "args": ["--era", "modern"] });
        let servers = json!({ "mcpServers": { "peer": entry, "old": old, "new": new } });
        let house = House::with(servers, json!({}), &[]);
        let dress = |start| at_home(&house, start).env("PREFIX", "peer__").env("ERA", "legacy");
        let steps = client.talk(&window(&house, &[]), dress);
        let what = format!("{client:?} with an aggregate of {server:?}");
        compare(&what, &alone("peer__", &steps), &alone("", client.directly(server)));
    }
}

#[test]
fn legacy_python_uses_modern_servers() {
    check(Sdk::Python, Backend::Stdio);
}

#[test]
fn legacy_typescript_uses_modern_servers() {
    check(Sdk::TypeScript, Backend::Stdio);
}

#[test]
fn legacy_rust_uses_modern_servers() {
    check(Sdk::Rust, Backend::Stdio);
}

#[test]
fn legacy_python_uses_modern_http() {
    check(Sdk::Python, Backend::Http);
}

#[test]
fn legacy_typescript_uses_modern_http() {
    check(Sdk::TypeScript, Backend::Http);
}

#[test]
fn legacy_rust_uses_modern_http() {
    check(Sdk::Rust, Backend::Http);
}

#[test]
fn legacy_python_sees_old_and_new() {
    check_aggregated(Sdk::Python);
}

#[test]
fn legacy_typescript_sees_old_and_new() {
    check_aggregated(Sdk::TypeScript);
}

#[test]
fn legacy_rust_sees_old_and_new() {
    check_aggregated(Sdk::Rust);
}
