//! Audit on every route: one line for each call of a client, with the server's own names. The check takes clients and servers
//! of both eras, for `modern::legacy_rules` and `modern::audit`.

use super::audit::records_in;
use crate::aggregate::servers::Servers;
use crate::isolation::routes::{Make, Route, SERVER, Site, on_every_route, servers};
use serde_json::{Value, json};

/// A server whose clients are all recorded.
pub(crate) fn audited(servers: Make) -> Servers {
    let keys = json!({ "tools": { "deny": ["write*"], "rename": { "echo": "repeat" } } });
    let offer = r#"{ "tools": [{ "name": "echo" }, { "name": "say" }, { "name": "write" }],
        "resources": [{ "uri": "x://a", "name": "a" }] }"#;
    servers(keys, offer).with("audit", json!({ "clients": "all" }))
}

/// Has a client make requests, and checks their lines.
#[track_caller]
pub(crate) fn check_lines(site: &Site, mut request: impl FnMut(&str, Value) -> Value) {
    site.open_gate();
    let (route, line) = (site.route, r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[],"isError":true}}"#);
    let call = |tool: &str, arguments: Value| json!({ "name": route.tool(tool), "arguments": arguments });
    request("tools/list", json!({}));
    request("tools/call", call("repeat", json!({ "text": "body-marker" })));
    request("tools/call", call("say", json!({ "text": format!("{line}\n") })));
    request("tools/call", call("write", json!({})));
    request("resources/read", json!({ "uri": route.uri("x://a") }));
    let lines = records_in(&site.servers.state("logs/audit.jsonl"), 4);
    // A name among several servers that none of them has is recorded as the client said it. Profiles refuse what they do not
    // know in one way.
    let (write, of_write) =
        if route.is_to_one() { ("write", json!(SERVER)) } else { ("s__write", Value::Null) };
    let hidden = if route == Route::HttpProfile { "forbidden" } else { "unknown_name" };
    for (line, (method, server, item, result)) in lines.iter().zip([
        ("tools/call", json!(SERVER), "echo", "ok"),
        ("tools/call", json!(SERVER), "say", "tool_error"),
        ("tools/call", of_write, write, hidden),
        ("resources/read", json!(SERVER), "x://a", "ok"),
    ]) {
        let seen = [&line["method"], &line["server"], &line["item"], &line["result"]];
        assert_eq!(seen, [&json!(method), &server, &json!(item), &json!(result)], "{line}");
        let front = match route {
            Route::HttpOne | Route::HttpAll | Route::HttpProfile => "http",
            Route::WindowOne | Route::WindowAll | Route::SoloOne | Route::SoloAll => "stdio",
        };
        assert_eq!((&line["identity"], &line["front"]), (&json!("owner"), &json!(front)), "{line}");
    }
    let text = lines.iter().map(Value::to_string).collect::<String>();
    assert!(!text.contains("body-marker"), "{text}");
}

#[test]
fn calls_are_recorded_on_every_route() {
    check_routes(servers);
}

pub(crate) fn check_routes(servers: Make) {
    on_every_route(
        || audited(servers),
        |site| {
            let mut client = site.open();
            check_lines(site, |method, params| client.request(method, params));
        },
    );
}
