//! Discovery and lists of legacy servers for modern clients, alone and among others: valid, and without legacy tasks.

use super::guest::{Guest, on_every_route};
use crate::aggregate::servers::Servers;
use crate::http::served::Served;
use crate::isolation::routes::servers;
use serde_json::{Value, json};
use switchboard_testkit::client::Modern;
use switchboard_testkit::http;

/// A legacy server whose tools legacy clients may run as tasks.
const OFFER: &str = r#"{
    "capabilities": { "tools": { "listChanged": true }, "tasks": { "list": {}, "requests": { "tools": { "call": {} } } } },
    "tools": [{ "name": "echo", "execution": { "taskSupport": "optional" }, "n": 1.50 }, { "name": "say" }],
    "instructions": "be kind"
}"#;

#[track_caller]
fn check_discovery(answer: &Value) {
    let found = &answer["result"];
    assert_eq!(
        (&found["resultType"], &found["supportedVersions"]),
        (&json!("complete"), &json!(["2026-07-28"])),
        "{answer}"
    );
    assert!(found["ttlMs"].is_u64() && found["cacheScope"] == "private", "{answer}");
    assert_eq!(found["capabilities"]["tools"]["listChanged"], true, "{answer}");
    assert!(found["instructions"].as_str().is_some_and(|text| text.contains("be kind")), "{answer}");
    for legacy in ["protocolVersion", "serverInfo"] {
        assert_eq!(found.get(legacy), None, "{answer}");
    }
    assert_eq!(found["capabilities"].get("tasks"), None, "{answer}");
}

#[track_caller]
fn check_tools(tools: &[Value], name: &str) {
    let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{tools:?}"));
    assert_eq!(tool["n"], 1.5, "{tool}");
    assert!(tools.iter().all(|tool| tool.get("execution").is_none()), "{tools:?}");
}

#[test]
fn legacy_tasks_are_hidden() {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            let mut client = Guest::open(site);
            if site.route.is_to_one() {
                site.open_gate();
            }
            check_tools(&client.items("tools"), &site.route.tool("echo"));
            site.open_gate();
            client.call("echo", json!({}));
            check_discovery(&client.request("server/discover", json!({})));
            check_tools(&client.items("tools"), &site.route.tool("echo"));
        },
    );
}

/// With plain names, a single server introduces itself. A profile leaves one of two servers.
#[test]
fn single_plain_server_has_valid_discovery() {
    on_every_route(
        || servers(json!({}), OFFER).with("names", json!("plain")),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            check_tools(&client.items("tools"), "echo");
            check_discovery(&client.request("server/discover", json!({})));
        },
    );
    let plain = json!("plain");
    let servers = Servers::none().and_offer("a", json!({}), OFFER).with("names", plain.clone());
    for start in [servers.shared(), servers.start()] {
        let mut client = Modern::start(start);
        let found = client.discover();
        check_discovery(&found);
        assert_eq!(found["result"]["instructions"], "be kind");
        check_tools(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap(), "echo");
    }
    let offer = servers.path("offers/a").display().to_string();
    let served = Served::with(json!({ "names": plain }), json!({}), &["--offer", &offer]);
    let client = http::Modern::at(&served.web, "/mcp");
    check_discovery(&client.request("server/discover", json!({})));
    check_tools(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap(), "echo");
}

/// Legacy clients share the lists, and still see the tasks.
#[test]
fn legacy_clients_still_see_tasks() {
    let servers = Servers::none().and_offer("a", json!({}), OFFER);
    for start in [servers.shared(), servers.start()] {
        let mut modern = Modern::start(start);
        check_tools(
            modern.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap(),
            "a__echo",
        );
        let mut legacy = servers.shared().start();
        let welcome = legacy.initialize();
        assert!(welcome["capabilities"]["tasks"].is_object(), "{welcome}");
        let listed = legacy.request("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"][0]["execution"]["taskSupport"], "optional", "{listed}");
    }
}
