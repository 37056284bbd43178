//! MCP Apps: two servers with the same `ui://` address stay apart on every route to both, and a client of one
//! server sees the server's own words.

use super::filters::hidden;
use super::routes::{Guest, Route, SERVER, on_every_route, servers};
use crate::aggregate::servers::{Servers, say, tools};
use crate::support::error;
use serde_json::{Value, json};

/// One tool refers to a listed app in both forms, the other to an app that the server does not list.
pub(crate) const OFFER: &str = r#"{
    "capabilities": {
        "tools": {}, "resources": { "subscribe": true }, "extensions": { "io.modelcontextprotocol/ui": {} }
    },
    "tools": [
        { "name": "say", "_meta": { "ui": { "resourceUri": "ui://app/main", "n": 0.70 }, "ui/resourceUri": "ui:\/\/app/main" } },
        { "_meta": { "ui": { "resourceUri": "ui://app/unlisted", "visibility": ["app"] } }, "name": "more" }
    ],
    "resources": [
        { "name": "app", "uri": "ui://app/main", "_meta": { "ui": { "prefersBorder": true } } },
        { "name": "secret", "uri": "ui://app/secret" }
    ],
    "resourceTemplates": [{ "name": "page", "uriTemplate": "ui://page/{n}" }]
}"#;

/// The server under test beside another one with the same apps.
fn alike(keys: Value) -> Servers {
    servers(keys, OFFER).and_offer("other", json!({}), OFFER)
}

impl Route {
    /// URI of an app on this route.
    pub(crate) fn app(self, rest: &str) -> String {
        match self.is_to_one() {
            true => format!("ui://{rest}"),
            false => format!("ui://switchboard/{SERVER}/{rest}"),
        }
    }
}

pub(crate) fn ui() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } } })
}

/// A tool of the server under test.
#[track_caller]
fn tool(client: &mut Guest, name: &str) -> Value {
    let name = client.route.tool(name);
    let mut tools = client.items("tools").into_iter();
    tools.find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed"))
}

#[test]
fn app_is_found_by_its_tool() {
    on_every_route(
        || alike(json!({})),
        |site| {
            let mut client = site.open();
            let (main, unlisted) = (site.route.app("app/main"), site.route.app("app/unlisted"));
            let say = tool(&mut client, "say");
            assert_eq!(say["_meta"]["ui"], json!({ "resourceUri": main, "n": 0.70 }));
            assert_eq!(say["_meta"]["ui/resourceUri"], json!(main));
            let more = tool(&mut client, "more");
            assert_eq!(more["_meta"]["ui"], json!({ "resourceUri": unlisted, "visibility": ["app"] }));
            assert!(client.names("resources").contains(&main));
            let page = site.route.app("page/{n}");
            assert!(client.names("resourceTemplates").contains(&page));
            site.open_gate();
            let other = |site: &super::routes::Site| site.servers.told("other", "resources/read");
            for (said, own) in [
                (main, "ui://app/main"),
                (unlisted, "ui://app/unlisted"),
                (page.replace("{n}", "7"), "ui://page/7"),
            ] {
                let answer = client.request("resources/read", json!({ "uri": said }));
                assert_eq!(answer["result"]["contents"][0]["uri"], json!(said), "{answer}");
                assert_eq!((site.told(&format!(r#""uri":"{own}""#)), other(site)), (1, 0), "{said}");
            }
        },
    );
}

#[test]
fn result_refers_to_its_own_app() {
    on_every_route(
        || alike(json!({})),
        |site| {
            let mut client = site.open();
            // The client has seen the tools, as a host that shows apps has.
            tool(&mut client, "say");
            site.open_gate();
            let result = |[main, new]: [&str; 2]| {
                format!(
                    r#"{{"content":[{{"type":"resource","resource":{{"uri":"{new}","text":"\"uri\":\"ui://x\""}}}}],"_meta":{{"ui":{{"resourceUri":"{main}"}},"ui/resourceUri":"{main}","n":0.70}},"structuredContent":{{"resourceUri":"ui://x"}}}}"#
                )
            };
            let text = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{}}}\n",
                result(["ui://app/main", "ui://app/new"])
            );
            let answer = client.call("say", json!({ "text": text }));
            let expect = result([&site.route.app("app/main"), &site.route.app("app/new")]);
            assert_eq!(answer["result"], serde_json::from_str::<Value>(&expect).unwrap());
        },
    );
}

/// The client gets updates under the URI that it subscribed to.
#[test]
fn app_updates_use_the_shown_uri() {
    on_every_route(
        || alike(json!({})),
        |site| {
            let mut client = site.open();
            site.open_gate();
            let uri = site.route.app("app/main");
            let answer = client.request("resources/subscribe", json!({ "uri": uri }));
            assert!(answer.get("result").is_some(), "{answer}");
            client.have_said(&[
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"ui://app/main"}}"#,
            ]);
            let told = client.told("notifications/resources/updated");
            assert_eq!(told["params"]["uri"], json!(uri));
        },
    );
}

#[test]
fn filters_hold_for_apps() {
    on_every_route(
        || alike(json!({ "resources": { "deny": ["ui://app/secret*"] } })),
        |site| {
            let mut client = site.open();
            assert!(!client.names("resources").contains(&site.route.app("app/secret")));
            site.open_gate();
            for rest in [
                "app/secret",
                "app/secret/2",
                "app/%73ecret",
                "app/x/../secret",
                "APP/Secret",
                // As another Switchboard behind the server would read it.
                "switchboard/inner/app/secret",
            ] {
                let answer = client.request("resources/read", json!({ "uri": site.route.app(rest) }));
                hidden(site.route, &answer, -32002, "resource_not_found");
            }
            assert_eq!(site.told("resources/read"), 0);
        },
    );
}

/// With `names: plain`, only the URI of the later server changes.
#[test]
fn plain_names_keep_apps_apart() {
    let servers = Servers::none()
        .and_offer("a", json!({}), OFFER)
        .and_offer("b", json!({}), OFFER)
        .with("names", json!("plain"));
    let mut client = servers.open_with(ui());
    let list = client.request("tools/list", json!({}));
    let all = list["result"]["tools"].as_array().unwrap().iter();
    let uris: Vec<&str> = all.map(|tool| tool["_meta"]["ui"]["resourceUri"].as_str().unwrap()).collect();
    let unlisted = |server| format!("ui://switchboard/{server}/app/unlisted");
    assert_eq!(
        uris,
        ["ui://app/main", &unlisted("a"), "ui://switchboard/b/app/main", &unlisted("b")],
        "an unlisted app could be of either"
    );
    for (at, uri) in uris.iter().enumerate() {
        let server = ["a", "a", "b", "b"][at];
        let before = servers.told(server, "resources/read");
        let answer = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(answer["result"]["contents"][0]["uri"], json!(uri), "{answer}");
        assert_eq!(servers.told(server, "resources/read"), before + 1, "{uri}");
    }
}

/// A host may read an app by the server's own URI, where it is clear.
#[test]
fn own_uri_is_answered_as_asked() {
    let servers = Servers::none().and_offer("a", json!({}), OFFER).and("b", json!({}), &[]);
    let mut client = servers.open_with(ui());
    let answer = client.request("resources/read", json!({ "uri": "ui://app/main" }));
    assert_eq!(answer["result"]["contents"][0]["uri"], json!("ui://app/main"), "{answer}");
}

#[test]
fn one_server_keeps_its_words() {
    let servers = Servers::none().and_offer("a", json!({}), OFFER).and_offer("b", json!({}), OFFER);
    let mut client = servers.start().args(["--server", "a"]).start();
    client.initialize();
    for (method, part) in [
        (
            "tools/list",
            r#"{ "name": "say", "_meta": { "ui": { "resourceUri": "ui://app/main", "n": 0.70 }, "ui/resourceUri": "ui:\/\/app/main" } }"#,
        ),
        ("resources/list", r#"{ "name": "secret", "uri": "ui://app/secret" }"#),
        ("resources/templates/list", r#"{ "name": "page", "uriTemplate": "ui://page/{n}" }"#),
    ] {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#));
        let list = client.recv_text();
        assert!(list.contains(part), "{list}");
    }
}

#[test]
fn rights_hold_for_apps() {
    let servers = Servers::none()
        .and_offer("a", json!({}), OFFER)
        .and_offer("b", json!({}), OFFER)
        .with("profiles", json!({ "narrow": { "resources": { "deny": ["ui://app/secret"] } } }));
    let mut client = servers.start().args(["--profile", "narrow"]).start();
    client.initialize();
    let list = client.request("resources/list", json!({})).to_string();
    assert!(list.contains("ui://switchboard/b/app/main") && !list.contains("secret"), "{list}");
    for uri in ["ui://switchboard/b/app/secret", "ui://switchboard/b/app/%73ecret", "ui://app/secret"] {
        let answer = client.request("resources/read", json!({ "uri": uri }));
        error(&answer, -32603, "forbidden");
    }
    assert_eq!((servers.told("a", "resources/read"), servers.told("b", "resources/read")), (0, 0));
}

#[test]
fn another_app_is_a_change_of_the_tool() {
    let servers =
        Servers::none().and_offer("a", json!({ "pinning": "hold" }), OFFER).and_offer("b", json!({}), OFFER);
    let mut client = servers.open();
    assert_eq!(tools(&mut client), ["a__say", "a__more", "b__say", "b__more"]);
    servers.offers("a", &OFFER.replace("app/unlisted", "app/other"));
    say(&mut client, "a__say", &[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), ["a__say", "b__say", "b__more"]);
}
