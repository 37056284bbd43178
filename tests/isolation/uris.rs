//! URIs: resource filters compare their meaning, subscriptions their strings, in every spelling.

use super::filters::hidden;
use super::routes::{Guest, on_every_route, servers};
use serde_json::json;

const OFFER: &str = r#"{
    "capabilities": { "tools": {}, "resources": { "subscribe": true } },
    "tools": [{ "name": "say" }],
    "resources": [{ "name": "a", "uri": "file:///docs/a.md" }, { "name": "e", "uri": "file:///docs/.env" }],
    "resourceTemplates": [{ "name": "t", "uriTemplate": "file:///{+path}" }]
}"#;

#[track_caller]
fn check_refused(client: &mut Guest, uri: &str) {
    for said in [client.route.uri(uri), client.route.template(uri), uri.to_owned()] {
        let answer = client.request("resources/read", json!({ "uri": said }));
        hidden(client.route, &answer, -32002, "resource_not_found");
    }
}

#[test]
fn disguised_uris_are_denied() {
    on_every_route(
        || servers(json!({ "resources": { "deny": ["*.env"] } }), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            for uri in [
                "file:///docs/.env",
                "file:///docs/.%65nv",
                "file:///docs/%2Eenv",
                "file:///docs/.%2565nv",
                "file:///docs/.env?x",
                "file:///docs/.env#",
                "file:///docs/.env%00",
                "file:///docs/.env\0.md",
                "file:///docs/.env;v=1",
                "file:///docs/.env/",
                "file:///docs/.env.",
                "file:///docs/.env/x/..",
                "FILE:///docs/.ENV",
                "proxy://resource/eApmaWxlOi8vL2RvY3MvLmVudg", // x, file:///docs/.env
                "proxy://template/x/file:///docs/.%65nv",
            ] {
                check_refused(&mut client, uri);
            }
            let escaped = r#"{"uri":"file:\/\/\/docs\/\u002eenv"}"#;
            let answer = client.request_text("resources/read", escaped);
            hidden(site.route, &answer, -32002, "resource_not_found");
            assert_eq!(site.told("resources/read"), 0);
            // The server gets the client's own spelling.
            let uri = "file:///docs/%61.md?raw#x";
            assert!(client.read(uri).get("result").is_some());
            assert_eq!(site.told(uri), 1);
        },
    );
}

#[test]
fn disguised_uris_are_not_allowed() {
    on_every_route(
        || servers(json!({ "resources": { "allow": ["file:///docs/*", "*.txt"] } }), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            for uri in [
                "file:///docs/../secret",
                "file:///docs/%2e%2e/secret",
                "file:///docs/..%2fsecret",
                "file:///docs/%252e%252e/secret",
                "file:///docs/..;/secret",
                "file:///docs//../secret",
                "file:///docs/..\\secret",
                "file:///secret?.txt",
                "file:///secret#.txt",
                "file:///secret%00.txt",
                "file:///secret",
            ] {
                check_refused(&mut client, uri);
            }
            assert_eq!(site.told("resources/read"), 0);
            for uri in ["file:///docs/a%20b.md", "file:///docs/x/../a.md", "file:///a.txt"] {
                let answer = client.read(uri);
                assert!(answer.get("result").is_some(), "{uri}: {answer}");
            }
        },
    );
}

/// Two JSON spellings of one string are the same URI.
#[test]
fn updates_reach_every_spelling() {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            let mut client = site.open();
            let mut other = site.open();
            site.open_gate();
            let uri = "file:///docs/caf\u{e9}";
            let spelled = |uri: &str| {
                let quoted = json!(uri).to_string().replace('/', "\\/").replace('\u{e9}', "\\u00e9");
                format!(r#"{{"uri":{quoted}}}"#)
            };
            let said = site.route.template(uri);
            let answer = client.request_text("resources/subscribe", &spelled(&said));
            assert!(answer.get("result").is_some(), "{answer}");
            // A second client uses the process, so messages are not simply sent to the only one.
            other.have_said(&[]);
            let method = "notifications/resources/updated";
            let plain = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"uri":"{uri}"}}}}"#);
            client.have_said(&[&plain]);
            assert_eq!(client.told(method)["params"]["uri"], json!(said));
            let escaped = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, spelled(uri));
            client.have_said(&[&escaped]);
            assert_eq!(client.told(method)["params"]["uri"], json!(said));
        },
    );
}
