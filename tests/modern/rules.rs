//! Rules of the config on every route of a modern client: filters, `asks` and limits, at the first start and from the
//! stored catalogue. The checks are functions of how the server is made, for `translated_rules`.

use super::guest::{Guest, on_every_route, servers};
use crate::access::limits::limit;
use crate::isolation::filters::{self, OFFER, filters};
use crate::isolation::routes::{Make, Route, SERVER, Site};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::patience;

/// Checks the error for a hidden name.
#[track_caller]
fn hidden<'a>(route: Route, answer: &'a Value, kind: &str) -> &'a Value {
    filters::hidden(route, answer, -32602, kind)
}

#[track_caller]
fn check_lists(client: &mut Guest) {
    let route = client.route;
    assert_eq!(client.names("tools"), ["say", "repeat", "facts", "change"].map(|name| route.tool(name)));
    assert_eq!(client.names("prompts"), [route.tool("greet")]);
    assert_eq!(client.names("resources"), ["file:///p/a", "file:///p/b"].map(|uri| route.uri(uri)));
    assert_eq!(client.names("resourceTemplates"), [route.template("db://{id}")]);
}

#[track_caller]
pub(super) fn check_ok(answer: &Value) {
    assert!(answer.get("result").is_some(), "{answer}");
}

/// Checks that none of these words has reached the server, which has received a later call.
#[track_caller]
fn check_not_forwarded<const N: usize>(site: &Site, client: &mut Guest, words: [&str; N]) {
    check_ok(&client.call("facts", json!({ "mark": "the last one" })));
    assert_eq!(site.told("the last one"), 1);
    for word in words {
        assert_eq!(site.told(word), 0, "{word}");
    }
}

#[test]
fn lists_are_filtered() {
    check_filtered_lists(servers);
}

pub(super) fn check_filtered_lists(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            // A client of one server gets the lists of the server itself; for others they come from the store.
            if site.route.is_to_one() {
                site.open_gate();
            }
            let mut client = Guest::open(site);
            check_lists(&mut client);
            // Again, from the server itself.
            site.open_gate();
            check_ok(&client.call("facts", json!({})));
            check_lists(&mut client);
        },
    );
}

#[test]
fn renamed_items_work() {
    check_renamed_items(servers);
}

pub(super) fn check_renamed_items(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            assert_eq!(text(&client.call("repeat", json!({ "x": 1 }))), r#"{"x":1}"#);
            let name = site.route.tool("greet");
            check_ok(&client.request("prompts/get", json!({ "name": name })));
            let reference = json!({ "type": "ref/prompt", "name": name });
            let argument = json!({ "name": "a", "value": "" });
            check_ok(
                &client.request("completion/complete", json!({ "ref": reference, "argument": argument })),
            );
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

pub(super) fn check_hidden_names(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            for tool in ["write", "write_all", "echo"] {
                let answer = client.call(tool, json!({}));
                let told = hidden(site.route, &answer, "unknown_name");
                assert!(told["message"].to_string().contains(&site.route.tool(tool)), "{answer}");
                assert!(!told["data"]["nearest"].to_string().contains("write"), "{answer}");
            }
            for prompt in ["secret", "hello"] {
                let name = site.route.tool(prompt);
                hidden(site.route, &client.request("prompts/get", json!({ "name": name })), "unknown_name");
                let params = json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": {} });
                hidden(site.route, &client.request("completion/complete", params), "unknown_name");
            }
            check_not_forwarded(site, &mut client, ["write", "echo", "secret", "hello"]);
        },
    );
}

#[test]
fn hidden_resources_are_not_found() {
    check_hidden_resources(servers);
}

pub(super) fn check_hidden_resources(servers: Make) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            let (uri, template) =
                (site.route.uri("file:///p/.env"), site.route.template("file:///{name}.env"));
            for uri in [&*uri, &*site.route.template("file:///p/.env"), "file:///p/.env"] {
                let answer = client.request("resources/read", json!({ "uri": uri }));
                hidden(site.route, &answer, "resource_not_found");
            }
            for uri in [uri, template] {
                let params = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": {} });
                let answer = client.request("completion/complete", params);
                hidden(site.route, &answer, "resource_not_found");
            }
            check_not_forwarded(site, &mut client, [".env"]);
            check_ok(&client.read("file:///p/a"));
        },
    );
}

/// Hidden resources cannot be listened to: a client of one server is refused, an aggregate one gets the rest.
#[test]
fn hidden_resources_are_not_announced() {
    check_hidden_announcements(servers, |client, uri| {
        check_ok(&client.call("change", json!({ "uri": uri, "unasked": true })));
    });
}

/// `announce` has the server say that a resource has changed.
pub(super) fn check_hidden_announcements(servers: Make, announce: impl Fn(&mut Guest, &str) + Sync) {
    on_every_route(
        || servers(filters(), OFFER),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            check_ok(&client.call("facts", json!({})));
            let uris = ["file:///p/.env", "file:///p/a"].map(|uri| site.route.uri(uri));
            let open = match client.listen(json!({ "resourceSubscriptions": uris })) {
                Err(refusal) => {
                    hidden(site.route, &refusal, "resource_not_found");
                    client.listen(json!({ "resourceSubscriptions": [uris[1]] }))
                }
                Ok((_, agreed)) if agreed["resourceSubscriptions"].to_string().contains(&uris[0]) => {
                    panic!("{agreed}")
                }
                Ok(open) => Ok(open),
            };
            let mut listening = open.unwrap().0;
            // The server's own subscription exists once a change arrives.
            patience::until_true("the server knows of it", || site.told("file:///p/a") > 0);
            for uri in ["file:///p/.env", "file:///p/a"] {
                announce(&mut client, uri);
            }
            let told = client.hear(&mut listening);
            assert_eq!(
                (&told["method"], &told["params"]["uri"]),
                (&json!("notifications/resources/updated"), &json!(uris[1])),
                "{told}"
            );
            let lines = site.servers.record(SERVER).all_lines();
            let asks =
                |line: &str| line.contains("subscriptions/listen") || line.contains("resources/subscribe\"");
            let is_leak = |line: &&String| asks(line) && line.contains(".env");
            assert_eq!(lines.iter().find(is_leak), None);
        },
    );
}

#[test]
fn reload_applies_filters_and_announces() {
    check_reload(servers);
}

pub(super) fn check_reload(servers: Make) {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            // Without a daemon, the config is read once.
            if matches!(site.route, Route::SoloOne | Route::SoloAll) {
                return;
            }
            let mut client = Guest::open(site);
            site.open_gate();
            check_ok(&client.call("write", json!({})));
            let (mut listening, _) = client.listen(json!({ "toolsListChanged": true })).unwrap();
            client.names("tools");
            site.servers.edit(SERVER, &filters());
            assert_eq!(client.hear(&mut listening)["method"], "notifications/tools/list_changed");
            check_lists(&mut client);
            hidden(site.route, &client.call("write_all", json!({})), "unknown_name");
            assert_eq!(site.told("write_all"), 0);
        },
    );
}

/// A modern server that speaks up for itself: what is denied is neither declared to it nor delivered.
#[test]
fn denied_input_reaches_no_client() {
    on_every_route(
        || servers(denying_all(), ASKING_OFFER),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, asking_capabilities());
            check_denied_input(site, "asks.", |tool, arguments| client.call(tool, arguments));
        },
    );
}

pub(super) const ASKING_OFFER: &str = r#"{ "tools": [{ "name": "say" }, { "name": "params" }] }"#;

pub(super) fn denying_all() -> Value {
    json!({ "asks": { "sampling": "deny", "elicitation": "deny", "roots": "deny" } })
}

pub(super) fn asking_capabilities() -> Value {
    json!({ "sampling": {}, "elicitation": {}, "roots": {}, "experimental": {} })
}

/// Arguments for `say`: the server wants this input.
pub(super) fn wanting(requests: &Value) -> Value {
    let result = json!({ "resultType": "input_required", "inputRequests": requests });
    json!({ "text": format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{result}}}{}"#, '\n') })
}

/// `malformed` is said of denied input beside some that cannot be read.
#[track_caller]
pub(super) fn check_denied_input(site: &Site, malformed: &str, mut call: impl FnMut(&str, Value) -> Value) {
    let params = call("params", json!({}));
    let declared: Value = serde_json::from_str(text(&params)).unwrap();
    let declared = &declared["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*declared, json!({ "experimental": {} }));
    for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
        let request = json!({ "method": method, "params": { "mark": "denied" } });
        for (requests, said) in [
            (json!({ "one": request }), "asks."),
            (json!({ "one": request, "two": 7 }), malformed),
            (json!({ "zero": { "method": 7 }, "one": request }), malformed),
        ] {
            let answer = call("say", wanting(&requests));
            let told = answer["error"].to_string();
            assert!(told.contains(said) && !answer.to_string().contains("mark"), "{answer}");
        }
    }
    for word in ["\"sampling\":", "\"elicitation\":", "\"roots\":"] {
        let lines = site.servers.record(SERVER).all_lines();
        let own = lines.iter().find(|line| line.contains(word) && !line.contains("\"say\""));
        assert_eq!(own, None, "{word}");
    }
}

#[test]
fn limits_hold() {
    check_limits(servers);
}

pub(super) fn check_limits(servers: Make) {
    let offer = r#"{ "tools": [{ "name": "echo" }], "prompts": [{ "name": "p" }],
        "resources": [{ "uri": "x://a", "name": "a" }] }"#;
    on_every_route(
        || servers(json!({ "limits": { "rate": "3/h" } }), offer),
        |site| {
            let mut client = Guest::open(site);
            site.open_gate();
            client.names("tools");
            assert_eq!(limit(&client.call("echo", json!({}))), None);
            assert_eq!(limit(&client.read("x://a")), None);
            let prompt = json!({ "name": site.route.tool("p") });
            assert_eq!(limit(&client.request("prompts/get", prompt)), None);
            assert_eq!(limit(&client.call("echo", json!({}))), Some("server".into()));
            assert_eq!(limit(&client.read("x://a")), Some("server".into()));
            // Another declaration does not help, and lists are not limited.
            let mut other = Guest::declaring(site, json!({ "sampling": {} }));
            other.names("tools");
            // A window of its own process has limits of its own.
            let is_solo = matches!(site.route, Route::SoloOne | Route::SoloAll);
            let expect = if is_solo { None } else { Some("server".into()) };
            assert_eq!(limit(&other.call("echo", json!({ "other": 1 }))), expect);
            assert_eq!(site.told("tools/call"), if is_solo { 2 } else { 1 });
        },
    );
}

/// A tool whose definition has changed since it was approved is held back, from the first call to a new process on.
#[test]
fn changed_tools_are_held_back() {
    check_changed_tools(servers);
}

pub(super) fn check_changed_tools(servers: Make) {
    let offer = |what: &str| {
        format!(
            r#"{{ "tools": [{{ "name": "echo" }}, {{ "name": "crash" }}, {{ "name": "read", "description": "{what}" }}] }}"#
        )
    };
    on_every_route(
        || servers(json!({ "pinning": "hold" }), &offer("Read a file")),
        |site| {
            site.open_gate();
            let mut client = Guest::open(site);
            let tools = ["echo", "crash", "read"].map(|name| site.route.tool(name));
            assert_eq!(client.names("tools"), tools);
            check_ok(&client.call("echo", json!({})));
            site.servers.offers(SERVER, &offer("Read and send a file"));
            client.call("crash", json!({}));
            error(&client.call("read", json!({ "mark": "held back" })), -32603, "forbidden");
            assert_eq!(client.names("tools"), tools[..2]);
            assert_eq!(site.told("held back"), 0);
        },
    );
}
