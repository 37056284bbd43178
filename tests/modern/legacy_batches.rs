//! Batches of clients of 2025-03-26 at modern servers, on every route, at the first start and with stored lists. No later
//! version has batches, so the server gets each member alone.

use super::guest::servers;
use crate::isolation::routes::{self, Guest, Route, SERVER, Site};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::patience;

const VERSION: &str = "2025-03-26";
const OFFER: &str =
    r#"{ "tools": [{ "name": "echo" }, { "name": "input" }, { "name": "hang" }, { "name": "crash" }] }"#;

fn open(site: &Site, route: Route) -> Guest {
    site.open_version(route, VERSION, json!({ "elicitation": {} }))
}

fn on_every_route(check: impl Fn(&mut Site) + Sync) {
    routes::on_routes(&Route::ALL, |route, visit| {
        let ask = |site: &Site, route: Route| {
            let mut client = open(site, route);
            client.names("tools");
            client
        };
        check(&mut Site::with(*route, visit, servers(json!({}), OFFER), ask));
    });
}

/// A call of a tool, as a member of a batch.
fn call(client: &Guest, id: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": client.route.tool(tool), "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn request(id: &str, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method })
}

/// The questions about a batch, and the answers to it by their ids. The client accepts each question.
#[track_caller]
fn answers(client: &mut Guest, batch: &[Value]) -> (Vec<Value>, Value) {
    let given = json!({ "result": { "action": "accept", "content": { "name": "Ann" } } });
    let (asked, answers) = client.converse(&json!(batch), "elicitation/create", given);
    let by_id = answers.into_iter().map(|answer| (answer["id"].as_str().unwrap().to_owned(), answer));
    (asked, Value::Object(by_id.collect()))
}

/// Each message to the server is a whole modern request.
#[track_caller]
fn check_heard(site: &Site) {
    for line in site.servers.record(SERVER).all_lines() {
        let message: Value = serde_json::from_str(&line).unwrap();
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let is_handshake = message["method"] == "initialize";
        let is_whole = message.get("id").is_none() || is_handshake || version == "2026-07-28";
        assert!(message.is_object() && is_whole, "{line}");
    }
}

#[test]
fn members_are_answered_as_a_batch() {
    on_every_route(|site| {
        let mut client = open(site, site.route);
        site.open_gate();
        let aside = json!({ "jsonrpc": "2.0", "method": "notifications/aside" });
        let batch = [
            call(&client, "one", "echo", &json!({ "n": 1 })),
            request("ping", "ping"),
            aside,
            request("lists", "tools/list"),
            request("odd", "no/such"),
            call(&client, "two", "echo", &json!({ "n": 2 })),
        ];
        let (_, found) = answers(&mut client, &batch);
        for (id, said) in [("one", r#"{"n":1}"#), ("two", r#"{"n":2}"#)] {
            assert_eq!(found[id]["result"]["content"][0]["text"], said, "{found}");
            assert!(found[id]["result"].get("resultType").is_none(), "{found}");
        }
        assert_eq!(found["ping"]["result"], json!({}), "{found}");
        let listed = found["lists"]["result"]["tools"].to_string();
        assert!(listed.contains(&site.route.tool("input")), "{found}");
        assert!(found["lists"]["result"].get("ttlMs").is_none(), "{found}");
        assert!(found["odd"].get("error").or(found["odd"].get("result")).is_some(), "{found}");
        assert_eq!(site.told("tools/call"), 2);
        check_heard(site);
    });
}

/// The question is sent alone, and the batch waits for the answer.
#[test]
fn member_may_ask_its_client() {
    on_every_route(|site| {
        let mut client = open(site, site.route);
        site.open_gate();
        let batch = [
            call(&client, "asks", "input", &json!({ "rounds": 2 })),
            call(&client, "echo", "echo", &json!({})),
        ];
        let (asked, found) = answers(&mut client, &batch);
        assert_eq!(asked.len(), 2, "{asked:?}");
        let said = found["asks"]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("Ann"), "{found}");
        assert_eq!(found["echo"]["result"]["content"][0]["text"], "{}");
        assert_eq!(site.told("tools/call"), 4);
        check_heard(site);
    });
}

/// A cancelled member has no answer, and delays no other.
#[test]
fn cancelled_member_delays_no_other() {
    on_every_route(|site| {
        let mut client = open(site, site.route);
        site.open_gate();
        client.call("echo", json!({}));
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "hangs" } });
        let hanging = call(&client, "hangs", "hang", &json!({}));
        let (_, found) = answers(&mut client, &[hanging, cancel, request("ping", "ping")]);
        assert_eq!(found, json!({ "ping": { "jsonrpc": "2.0", "id": "ping", "result": {} } }));
        patience::until_true("the server hears of it", || site.told("notifications/cancelled") == 1);
        check_heard(site);
    });
}

#[test]
fn crash_answers_all_members() {
    on_every_route(|site| {
        let mut client = open(site, site.route);
        site.open_gate();
        client.call("echo", json!({}));
        let batch = [
            call(&client, "hangs", "hang", &json!({})),
            call(&client, "asks", "input", &json!({ "rounds": 2 })),
            call(&client, "crashes", "crash", &json!({ "code": 4 })),
        ];
        let (_, found) = answers(&mut client, &batch);
        for id in ["hangs", "crashes"] {
            error(&found[id], -32002, "backend_unavailable");
        }
        assert!(found["asks"].get("error").is_some(), "{found}");
        patience::until_true("another process", || client.call("echo", json!({})).get("result").is_some());
    });
}
