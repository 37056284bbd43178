//! Filters: `allow`, `deny` and `rename` of an entry hold on every route to the server, also for stored
//! lists, and as soon as a reload sets them. The checks are functions of how the server is made, for `modern::legacy_rules`.

use super::routes::{Guest, Make, Route, SERVER, Site, on_every_route, servers};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::patience;

pub(crate) const OFFER: &str = r#"{
    "capabilities": { "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true }, "completions": {} },
    "tools": [
        { "name": "write_all", "n": 0.70 }, { "name": "say" }, { "x": 1.0, "name": "echo" }, { "name": "write" }, { "name": "facts" },
        { "name": "change" }
    ],
    "prompts": [{ "name": "secret" }, { "name": "hello" }],
    "resources": [
        { "name": "a", "uri": "file:///p/a" }, { "name": "env", "uri": "file:///p/.env" }, { "name": "b", "uri": "file:///p/b" }
    ],
    "resourceTemplates": [{ "name": "e", "uriTemplate": "file:///{name}.env" }, { "name": "t", "uriTemplate": "db://{id}" }],
    "pageSize": 2
}"#;

pub(crate) fn filters() -> Value {
    json!({
        "tools": { "deny": ["write*"], "rename": { "echo": "repeat" } },
        "prompts": { "allow": ["hello"], "rename": { "hello": "greet" } },
        "resources": { "deny": ["*.env"] },
    })
}

/// Checks the error for a hidden name. A profile restricts rights, and then all refusals are the same.
#[track_caller]
pub(crate) fn hidden<'a>(route: Route, answer: &'a Value, code: i64, kind: &str) -> &'a Value {
    match route {
        Route::HttpProfile => error(answer, -32603, "forbidden"),
        _ => error(answer, code, kind),
    }
}

/// Checks the filtered lists of a route.
#[track_caller]
fn check_lists(client: &mut Guest) {
    let route = client.route;
    assert_eq!(client.names("tools"), ["say", "repeat", "facts", "change"].map(|name| route.tool(name)));
    assert_eq!(client.names("prompts"), [route.tool("greet")]);
    assert_eq!(client.names("resources"), ["file:///p/a", "file:///p/b"].map(|uri| route.uri(uri)));
    assert_eq!(client.names("resourceTemplates"), [route.template("db://{id}")]);
}

#[test]
fn lists_are_filtered() {
    check_filtered_lists(servers);
}

pub(crate) fn check_filtered_lists(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            check_lists(&mut client);
            // Again, from the server itself.
            site.open_gate();
            client.call("facts", json!({}));
            check_lists(&mut client);
        },
    );
}

#[test]
fn renamed_items_work() {
    check_renamed_items(servers);
}

pub(crate) fn check_renamed_items(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            assert_eq!(
                client.call("repeat", json!({ "x": 1 }))["result"]["content"][0]["text"],
                r#"{"x":1}"#
            );
            let (name, reference) = (site.route.tool("greet"), json!({ "type": "ref/prompt" }));
            let answer = client.request("prompts/get", json!({ "name": name }));
            assert!(answer.get("result").is_some(), "{answer}");
            let mut params = json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
            params["ref"]["name"] = json!(name);
            let answer = client.request("completion/complete", params);
            assert!(answer.get("result").is_some(), "{answer}");
            assert_eq!(site.told(r#""name":"echo""#), 1);
            assert_eq!(site.told(r#""name":"hello""#), 2);
        },
    );
}

/// The same error as for an unknown name, and it names no hidden item.
#[test]
fn hidden_names_are_unknown() {
    check_hidden_names(servers);
}

pub(crate) fn check_hidden_names(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            client.names("tools");
            site.open_gate();
            for tool in ["write", "write_all", "echo"] {
                let answer = client.call(tool, json!({}));
                let told = hidden(site.route, &answer, -32602, "unknown_name");
                assert!(told["message"].to_string().contains(&site.route.tool(tool)), "{answer}");
                assert!(!told["data"]["nearest"].to_string().contains("write"), "{answer}");
            }
            for prompt in ["secret", "hello"] {
                let name = site.route.tool(prompt);
                let answer = client.request("prompts/get", json!({ "name": name }));
                hidden(site.route, &answer, -32602, "unknown_name");
                let params = json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": {} });
                hidden(site.route, &client.request("completion/complete", params), -32602, "unknown_name");
            }
            check_not_forwarded(site, &mut client, ["write", "echo", "secret", "hello"]);
        },
    );
}

#[test]
fn hidden_resources_are_not_found() {
    check_hidden_resources(servers);
}

pub(crate) fn check_hidden_resources(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            let (uri, template) =
                (site.route.uri("file:///p/.env"), site.route.template("file:///{name}.env"));
            for uri in [&*uri, &*site.route.template("file:///p/.env"), "file:///p/.env"] {
                for method in ["read", "subscribe", "unsubscribe"] {
                    let answer = client.request(&format!("resources/{method}"), json!({ "uri": uri }));
                    hidden(site.route, &answer, -32002, "resource_not_found");
                }
            }
            for uri in [uri, template] {
                let params = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": {} });
                let answer = client.request("completion/complete", params);
                hidden(site.route, &answer, -32002, "resource_not_found");
            }
            check_not_forwarded(site, &mut client, [".env"]);
            assert!(client.read("file:///p/a").get("result").is_some());
        },
    );
}

/// Checks that none of these words has reached the server, which has received a later call.
#[track_caller]
fn check_not_forwarded<const N: usize>(site: &Site, client: &mut Guest, words: [&str; N]) {
    let answer = client.call("facts", json!({ "mark": "the last one" }));
    assert!(answer.get("result").is_some(), "{answer}");
    assert_eq!(site.told("the last one"), 1);
    for word in words {
        assert_eq!(site.told(word), 0, "{word}");
    }
}

/// Unrequested notifications of a server are filtered too.
#[test]
fn hidden_resources_are_not_announced() {
    check_hidden_announcements(servers);
}

pub(crate) fn check_hidden_announcements(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            let uri = site.route.uri("file:///p/a");
            let answer = client.request("resources/subscribe", json!({ "uri": uri }));
            assert!(answer.get("result").is_some(), "{answer}");
            for uri in ["file:///p/.env", "file:///p/a"] {
                client.announce(json!({ "uri": uri, "unasked": true }));
            }
            assert_eq!(client.told("notifications/resources/updated")["params"]["uri"], uri);
        },
    );
}

/// An allowed template admits its expansions; the server is asked for its templates if needed.
#[test]
fn allowed_templates_are_expanded() {
    check_allowed_templates(servers);
}

pub(crate) fn check_allowed_templates(servers: Make) {
    on_every_route(
        || servers(json!({ "resources": { "allow": ["db://{id}"] } }), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            let read = |client: &mut Guest, uri: &str| {
                client.request("resources/read", json!({ "uri": client.route.template(uri) }))
            };
            let answer = read(&mut client, "db://7");
            assert!(answer.get("result").is_some(), "{answer}");
            for uri in ["db://7/8", "file:///p/a", "file:///x.env"] {
                hidden(site.route, &read(&mut client, uri), -32002, "resource_not_found");
            }
            assert_eq!(site.told("resources/read"), 1);
        },
    );
}

#[test]
fn reload_applies_filters_and_announces() {
    check_reload(servers);
}

pub(crate) fn check_reload(servers: Make) {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            // Without a daemon, the config is read once.
            if matches!(site.route, Route::SoloOne | Route::SoloAll) {
                return;
            }
            let mut client = site.open();
            client.names("tools");
            site.open_gate();
            assert!(client.call("write", json!({})).get("result").is_some());
            site.servers.edit(SERVER, &filters());
            client.told("notifications/tools/list_changed");
            check_lists(&mut client);
            hidden(site.route, &client.call("write_all", json!({})), -32602, "unknown_name");
            assert_eq!(site.told("write_all"), 0);
            // Removing the filters shows everything again.
            let none = json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": {} });
            site.servers.edit(SERVER, &none);
            client.told("notifications/tools/list_changed");
            patience::until_true("it is there again", || {
                client.call("write_all", json!({})).get("result").is_some()
            });
        },
    );
}
