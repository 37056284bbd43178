//! Rules of the config for legacy clients of modern-only servers: on every route, at the first start and with stored lists.

use super::guest;
use crate::isolation::filters::{OFFER, check_lists, filters, hidden};
use crate::isolation::routes::on_every_route;
use serde_json::json;

#[test]
fn filters_hold() {
    on_every_route(
        || guest::servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            check_lists(&mut client);
            site.open_gate();
            client.call("facts", json!({}));
            check_lists(&mut client);
            for tool in ["write", "write_all", "echo"] {
                hidden(site.route, &client.call(tool, json!({})), -32602, "unknown_name");
                assert_eq!(site.told(&format!(r#""name":"{tool}""#)), 0);
            }
            let text = client.call("repeat", json!({ "x": 1 }));
            assert_eq!(text["result"]["content"][0]["text"], r#"{"x":1}"#, "{text}");
            let uri = site.route.uri("file:///p/.env");
            let read = client.request("resources/read", json!({ "uri": uri }));
            hidden(site.route, &read, -32002, "resource_not_found");
            assert!(client.read("file:///p/a").get("result").is_some());
        },
    );
}

/// Denied capabilities are not declared to the server.
#[test]
fn denied_questions_are_not_declared() {
    let offer = r#"{ "capabilities": { "tools": {} }, "tools": [{ "name": "input" }] }"#;
    on_every_route(
        || guest::servers(json!({ "asks": { "elicitation": "deny" } }), offer),
        |site| {
            let mut client = site.open();
            site.open_gate();
            let answer = client.call("input", json!({}));
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert_eq!(site.told(r#""elicitation":"#), 0);
        },
    );
}
