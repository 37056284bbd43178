//! Paused calls of modern clients at a legacy server, on every route: answered, continued with an invalid state, abandoned,
//! and ended by the death of the server.

use super::guest::{Guest, on_every_route};
use crate::aggregate::servers::Servers;
use crate::isolation::routes::{SERVER, Site, servers};
use crate::support::{error, text};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

pub(super) static ACCEPT: LazyLock<Value> =
    LazyLock::new(|| json!({ "action": "accept", "content": { "name": "Ann" } }));

/// Arguments for the tool `ask`.
pub(super) fn asking(id: u32, method: &str) -> Value {
    let params =
        json!({ "message": "Who is it?", "requestedSchema": { "type": "object", "properties": {} } });
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    json!({ "id": id.to_string(), "request": request.to_string() })
}

pub(super) fn is_paused(answer: &Value) -> bool {
    answer["result"]["resultType"] == "input_required"
}

/// The parameters that continue a paused call, with this answer to each question.
#[track_caller]
pub(super) fn continued(params: &Value, paused: &Value, answer: &Value) -> Value {
    assert!(is_paused(paused), "{paused}");
    let requests = paused["result"]["inputRequests"].as_object().unwrap();
    let responses: Map<String, Value> = requests.keys().map(|key| (key.clone(), answer.clone())).collect();
    let mut params = params.clone();
    params["inputResponses"] = Value::Object(responses);
    params["requestState"] = paused["result"]["requestState"].clone();
    params
}

/// The result that the tool `ask` got from its client.
#[track_caller]
pub(super) fn answered(answer: &Value) -> Value {
    serde_json::from_str::<Value>(text(answer)).unwrap()["result"].clone()
}

fn asked(keys: Value) -> Servers {
    servers(keys, r#"{ "tools": [{ "name": "ask" }, { "name": "echo" }, { "name": "facts" }] }"#)
}

fn open(site: &Site) -> Guest {
    Guest::declaring(site, json!({ "elicitation": {}, "sampling": {} }))
}

/// Parameters of a call that asks.
fn call(site: &Site, id: u32) -> Value {
    json!({ "name": site.route.tool("ask"), "arguments": asking(id, "elicitation/create") })
}

/// Continues with these parameters, and expects a refusal.
#[track_caller]
fn expired(client: &mut Guest, params: Value) {
    error(&client.request("tools/call", params), -32602, "input_expired");
}

#[test]
fn answered_call_continues() {
    on_every_route(
        || asked(json!({})),
        |site| {
            site.open_gate();
            let mut client = open(site);
            for (id, method) in [(77, "elicitation/create"), (78, "sampling/createMessage")] {
                let params = json!({ "name": site.route.tool("ask"), "arguments": asking(id, method) });
                let paused = client.request("tools/call", params.clone());
                let request = paused["result"]["inputRequests"].as_object().unwrap().values().next().unwrap();
                assert_eq!(
                    (&request["method"], &request["params"]["message"]),
                    (&json!(method), &json!("Who is it?"))
                );
                let answer = client.request("tools/call", continued(&params, &paused, &ACCEPT));
                assert_eq!(answered(&answer), *ACCEPT, "{answer}");
                assert_eq!(answer["result"]["resultType"], "complete");
            }
            // The server got two calls, without members of the modern era.
            assert_eq!((site.told("\"tools/call\""), site.told("requestState")), (2, 0));
        },
    );
}

#[test]
fn state_is_valid_once_for_one_call() {
    on_every_route(
        || asked(json!({})),
        |site| {
            site.open_gate();
            let mut client = open(site);
            let params = call(site, 77);
            let paused = client.request("tools/call", params.clone());
            let good = continued(&params, &paused, &ACCEPT);
            let mut forged = good.clone();
            let state = good["requestState"].as_str().unwrap();
            let first = if state.starts_with('A') { "B" } else { "A" };
            forged["requestState"] = json!(format!("{first}{}", &state[1..]));
            let mut other = good.clone();
            other["arguments"]["ms"] = json!(1);
            let mut renamed = good.clone();
            renamed["name"] = json!(site.route.tool("echo"));
            for wrong in [forged, other, renamed] {
                expired(&mut client, wrong);
            }
            let answer = client.request("tools/call", good.clone());
            assert_eq!(answered(&answer), *ACCEPT);
            expired(&mut client, good);
            assert_eq!((site.told("\"tools/call\""), site.told("\"action\":\"accept\"")), (1, 1));
        },
    );
}

#[test]
fn abandoned_call_is_cancelled() {
    on_every_route(
        || asked(json!({ "inputTimeout": "300ms" })),
        |site| {
            site.open_gate();
            let mut client = open(site);
            let params = call(site, 77);
            let paused = client.request("tools/call", params.clone());
            assert!(is_paused(&paused), "{paused}");
            patience::until_true("the call is cancelled", || site.told("notifications/cancelled") == 1);
            assert_eq!(site.told("\"action\":\"cancel\""), 1);
            expired(&mut client, continued(&params, &paused, &ACCEPT));
            // The server gets further calls.
            assert!(client.call("facts", json!({})).get("result").is_some());
            assert_eq!(site.told("\"action\":\"accept\""), 0);
        },
    );
}

#[test]
fn server_death_ends_a_paused_call() {
    on_every_route(
        || asked(json!({})),
        |site| {
            site.open_gate();
            let mut client = open(site);
            let params = call(site, 77);
            let paused = client.request("tools/call", params.clone());
            assert!(is_paused(&paused), "{paused}");
            let record = site.servers.record(SERVER);
            let killed = record.pid(record.launches());
            pids::tell(killed, Word::Kill);
            // Once another process answers, the death of the first one has been handled.
            patience::until_true("another process serves", || {
                client.call("facts", json!({}))["result"]["pid"]
                    .as_u64()
                    .is_some_and(|pid| pid != u64::from(killed))
            });
            expired(&mut client, continued(&params, &paused, &ACCEPT));
            assert_eq!(site.told("\"action\":"), 0);
        },
    );
}
