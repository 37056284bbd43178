//! Resources: the owning server, by proxy URI and by the resource's own URI.

use super::servers::{Servers, heard, listed, say};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::client::Client;

const TWO: [(&str, &str); 2] = [
    (
        "docs",
        r#"{
            "capabilities": { "tools": {}, "resources": { "subscribe": true } },
            "tools": [{ "name": "say" }],
            "resources": [
                { "name": "one", "uri": "file:///a b", "x": 0.70 }, { "name": "same", "uri": "x://same" },
                { "name": "widget", "uri": "ui://widget/1" }
            ],
            "resourceTemplates": [{ "name": "t", "uriTemplate": "doc://{id}/{+path}" }, { "name": "s", "uriTemplate": "y://{id}" }]
        }"#,
    ),
    (
        "files",
        r#"{
            "capabilities": { "tools": {}, "resources": { "subscribe": true } },
            "tools": [{ "name": "say" }],
            "resources": [{ "name": "two", "uri": "x://two" }, { "name": "same", "uri": "x://same" }],
            "resourceTemplates": [{ "name": "s", "uriTemplate": "y://{id}" }]
        }"#,
    ),
];

fn two() -> Servers {
    TWO.iter().fold(Servers::none(), |servers, (name, offer)| servers.and_offer(name, json!({}), offer))
}

#[track_caller]
fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({ "uri": uri }))
}

/// Checks which of the two servers was asked, and with which URI.
#[track_caller]
fn check(servers: &Servers, client: &mut Client, said: &str, owner: &str, uri: &str) {
    let before = ["docs", "files"].map(|name| servers.told(name, "resources/read"));
    let answer = read(client, said);
    assert_eq!(heard(&answer)["params"]["uri"], uri, "{said}");
    let after = ["docs", "files"].map(|name| servers.told(name, "resources/read"));
    let asked = if after[0] > before[0] { "docs" } else { "files" };
    assert_eq!((asked, after[0] + after[1]), (owner, before[0] + before[1] + 1), "{said}");
}

#[test]
fn resource_is_read_by_proxy_or_own_uri() {
    let servers = two();
    let mut client = servers.open();
    client.send(r#"{"jsonrpc":"2.0","id":7,"method":"resources/list"}"#);
    let list = client.recv_text();
    let first = r#"{ "name": "one", "uri": "proxy://resource/ZG9jcwpmaWxlOi8vL2EgYg", "x": 0.70 }"#;
    assert!(list.contains(first), "only the URI is another: {list}");
    let uris = listed(&mut client, "resources", "uri");
    assert_eq!(uris.len(), 5);
    assert_eq!(uris.iter().filter(|uri| uri.starts_with("proxy://resource/")).count(), 4, "{uris:?}");
    check(&servers, &mut client, &uris[0], "docs", "file:///a b");
    check(&servers, &mut client, &uris[1], "docs", "x://same");
    check(&servers, &mut client, &uris[3], "files", "x://two");
    check(&servers, &mut client, &uris[4], "files", "x://same");
    check(&servers, &mut client, "file:///a b", "docs", "file:///a b");
    check(&servers, &mut client, "x://two", "files", "x://two");
}

#[test]
fn app_keeps_its_scheme() {
    let servers = two();
    let mut client = servers.open();
    let public = "ui://switchboard/docs/widget/1";
    assert!(listed(&mut client, "resources", "uri").contains(&public.to_owned()));
    check(&servers, &mut client, public, "docs", "ui://widget/1");
    check(&servers, &mut client, "ui://widget/1", "docs", "ui://widget/1");
}

#[test]
fn template_is_expanded_by_either_uri() {
    let servers = two();
    let mut client = servers.open();
    let templates = listed(&mut client, "resourceTemplates", "uriTemplate");
    let expect = [
        "proxy://template/docs/doc://{id}/{+path}",
        "proxy://template/docs/y://{id}",
        "proxy://template/files/y://{id}",
    ];
    assert_eq!(templates, expect);
    check(&servers, &mut client, "proxy://template/docs/doc://7/p/q?r", "docs", "doc://7/p/q?r");
    check(&servers, &mut client, "proxy://template/files/y://7", "files", "y://7");
    check(&servers, &mut client, "doc://7/p/q", "docs", "doc://7/p/q");
}

#[test]
fn ambiguous_or_unknown_uri_is_an_error() {
    let servers = two();
    let mut client = servers.open();
    for uri in ["x://same", "y://7"] {
        let answer = read(&mut client, uri);
        let told = error(&answer, -32002, "resource_not_found");
        assert_eq!(told["data"]["servers"], json!(["docs", "files"]), "{answer}");
    }
    let wrapped_for_nobody = "proxy://resource/bm9ib2R5Cng6Ly95"; // nobody, x://y
    error(&read(&mut client, wrapped_for_nobody), -32002, "resource_not_found");
    assert_eq!((servers.told("docs", "resources/read"), servers.told("files", "resources/read")), (0, 0));
}

/// An unwrapped URI of two servers would be refused as ambiguous when the client reads it.
#[test]
fn result_wraps_only_ambiguous_uris() {
    let servers = two();
    let mut client = servers.open();
    let uris = listed(&mut client, "resources", "uri");
    let answer = |[uri, app]: [&str; 2], id: &str| {
        let links = format!(
            r#"[{{"type":"resource_link","uri":"{uri}","size":1.0}}, {{"type":"resource","resource":{{"uri":"x://two","text":"\"uri\":\"x://same\""}}}},{{"uri":"{app}"}},{{"uri":"other://x"}}]"#
        );
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{links},"n":0.70}}}}"#)
    };
    let id = client.start_call(
        "files__say",
        json!({ "text": format!("{}\n", answer(["x://same", "ui://widget/1"], "%ID")) }),
    );
    let told = client.recv_text();
    assert_eq!(told, answer([&uris[4], "ui://switchboard/files/widget/1"], &id.to_string()));
    // The wrapped URI can be read.
    check(&servers, &mut client, &uris[4], "files", "x://same");
    // The answer to a read uses the same URI.
    let read = read(&mut client, &uris[4]);
    assert_eq!(read["result"]["contents"][0]["uri"], json!(uris[4]), "{read}");
}

/// The client gets updates under the URI that it subscribed to.
#[test]
fn updates_use_the_subscribed_uri() {
    let servers = two();
    let mut client = servers.open();
    let uris = listed(&mut client, "resources", "uri");
    let updated = |uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"title":"t","uri":"{uri}","x":0.70}}}}"#
        )
    };
    for (said, server, own) in [
        (&*uris[0], "docs", "file:///a b"),
        (&*uris[4], "files", "x://same"),
        ("x://two", "files", "x://two"),
    ] {
        let answer = client.request("resources/subscribe", json!({ "uri": said }));
        assert_eq!(heard(&answer)["params"]["uri"], own);
        say(&mut client, &format!("{server}__say"), &[&updated(own)]);
        let told = client.told("notifications/resources/updated");
        assert_eq!(told["params"], json!({ "title": "t", "uri": said, "x": 0.70 }), "{said}");
        let answer = client.request("resources/unsubscribe", json!({ "uri": said }));
        assert!(answer.get("result").is_some(), "{answer}");
        servers.record(server).wait_for(1, "resources/unsubscribe");
    }
    let told = |name, method| servers.told(name, method);
    assert_eq!((told("docs", "resources/subscribe"), told("files", "resources/subscribe")), (1, 2));
    assert_eq!((told("docs", "resources/unsubscribe"), told("files", "resources/unsubscribe")), (1, 2));
}
