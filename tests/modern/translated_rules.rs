//! Modern clients of servers that speak only the legacy era: the rules of `rules`, and those for questions, on every route, at
//! the first start and from the stored catalogue. Rights are in `rights`.

use super::guest::{Guest, on_every_route};
use super::paused::{ACCEPT, answered, asking, continued, is_paused};
use super::rules;
use crate::access::limits::limit;
use crate::isolation::routes::{SERVER, servers};
use crate::support::{error, text};
use serde_json::{Value, json};

const OFFER: &str = r#"{ "tools": [{ "name": "ask" }, { "name": "echo" }] }"#;

/// The lines that a server has to print: a notification, and the answer to the call.
fn saying(notice: &Value) -> Value {
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    json!({ "text": format!("{notice}\n{answer}\n") })
}

fn announce(client: &mut Guest, uri: &str) {
    let method = "notifications/resources/updated";
    let notice = json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } });
    rules::check_ok(&client.call("say", saying(&notice)));
}

#[test]
fn lists_are_filtered() {
    rules::check_filtered_lists(servers);
}

#[test]
fn renamed_items_work() {
    rules::check_renamed_items(servers);
}

#[test]
fn hidden_names_are_unknown() {
    rules::check_hidden_names(servers);
}

#[test]
fn hidden_resources_are_not_found() {
    rules::check_hidden_resources(servers);
}

#[test]
fn hidden_resources_are_not_announced() {
    rules::check_hidden_announcements(servers, announce);
}

#[test]
fn reload_applies_filters_and_announces() {
    rules::check_reload(servers);
}

#[test]
fn limits_hold() {
    rules::check_limits(servers);
}

#[test]
fn changed_tools_are_held_back() {
    rules::check_changed_tools(servers);
}

#[test]
fn change_of_a_list_is_announced() {
    let offer = |tools: &str| {
        format!(r#"{{ "capabilities": {{ "tools": {{ "listChanged": true }} }}, "tools": [{tools}] }}"#)
    };
    on_every_route(
        || servers(json!({}), &offer(r#"{ "name": "say" }"#)),
        |site| {
            site.open_gate();
            let mut client = Guest::open(site);
            client.names("tools");
            let (mut listening, agreed) =
                client.listen(json!({ "toolsListChanged": true, "promptsListChanged": true })).unwrap();
            assert_eq!(agreed["toolsListChanged"], true, "{agreed}");
            site.servers.offers(SERVER, &offer(r#"{ "name": "say" }, { "name": "new" }"#));
            let notice = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            rules::check_ok(&client.call("say", saying(&notice)));
            assert_eq!(client.hear(&mut listening)["method"], "notifications/tools/list_changed");
            assert_eq!(client.names("tools"), ["say", "new"].map(|name| site.route.tool(name)));
        },
    );
}

/// Denied capabilities are not declared. A server that asks nevertheless gets an error, without a pause.
#[test]
fn denied_questions_do_not_pause() {
    let asks = json!({ "asks": { "sampling": "deny", "elicitation": "deny", "roots": "deny" } });
    on_every_route(
        || servers(asks.clone(), OFFER),
        |site| {
            site.open_gate();
            let capabilities = json!({ "sampling": {}, "elicitation": {}, "roots": {}, "experimental": {} });
            let mut client = Guest::declaring(site, capabilities);
            for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
                let answer = client.call("ask", asking(77, method));
                assert!(!is_paused(&answer), "{answer}");
                let told: Value = serde_json::from_str(text(&answer)).unwrap();
                assert_eq!(told["error"]["code"], -32601, "{method}: {told}");
            }
            for word in ["\"sampling\":", "\"elicitation\":", "\"roots\":"] {
                assert_eq!(site.told(word), 0, "{word}");
            }
        },
    );
}

/// Denying one kind of question does not affect the others.
#[test]
fn other_questions_still_pause() {
    on_every_route(
        || servers(json!({ "asks": { "sampling": "deny" } }), OFFER),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, json!({ "sampling": {}, "elicitation": {} }));
            let denied = client.call("ask", asking(77, "sampling/createMessage"));
            assert!(text(&denied).contains("-32601"), "{denied}");
            let params =
                json!({ "name": site.route.tool("ask"), "arguments": asking(78, "elicitation/create") });
            let paused = client.request("tools/call", params.clone());
            let answer = client.request("tools/call", continued(&params, &paused, &ACCEPT));
            assert_eq!(answered(&answer)["action"], "accept");
        },
    );
}

/// A question without the client's capability does not pause the call either.
#[test]
fn undeclared_questions_do_not_pause() {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, json!({ "sampling": {} }));
            let answer = client.call("ask", asking(77, "elicitation/create"));
            assert!(text(&answer).contains("-32601"), "{answer}");
        },
    );
}

/// A continuation belongs to a call that was already counted.
#[test]
fn continuation_does_not_count_to_limits() {
    on_every_route(
        || servers(json!({ "limits": { "rate": "1/h" } }), OFFER),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, json!({ "elicitation": {} }));
            let params =
                json!({ "name": site.route.tool("ask"), "arguments": asking(77, "elicitation/create") });
            let paused = client.request("tools/call", params.clone());
            assert!(is_paused(&paused), "{paused}");
            assert_eq!(limit(&client.call("echo", json!({}))), Some("server".into()));
            let answer = client.request("tools/call", continued(&params, &paused, &ACCEPT));
            assert_eq!(answered(&answer)["action"], "accept");
            // A call with a used state counts.
            let replayed = client.request("tools/call", continued(&params, &paused, &ACCEPT));
            error(&replayed, -32602, "input_expired");
            assert_eq!(limit(&client.call("ask", asking(77, "elicitation/create"))), Some("server".into()));
            assert_eq!(site.told("tools/call"), 1);
        },
    );
}
