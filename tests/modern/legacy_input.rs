//! Questions of a modern server to its legacy clients: on every route, they reach the client that made the call, if it
//! declares the capability and the config allows them. Tasks are in `known_tasks`.

use super::guest::servers;
use super::rules::{ASKING_OFFER, asking_capabilities, check_denied_input, denying_all, wanting};
use crate::access::audit::records_in;
use crate::access::limits::limit;
use crate::isolation::routes::{Guest, SERVER, on_every_route};
use crate::support::text;
use serde_json::{Value, json};

const OFFER: &str = r#"{ "tools": [{ "name": "input" }, { "name": "say" }, { "name": "echo" }] }"#;
const QUESTION: &str = "elicitation/create";

/// Calls the tool `input`, and answers all questions about it. Returns their number, and the answer to the call.
#[track_caller]
fn ask(client: &mut Guest, rounds: u32) -> (usize, Value) {
    let params = json!({ "name": client.route.tool("input"), "arguments": { "rounds": rounds } });
    let call = json!({ "jsonrpc": "2.0", "id": "asking", "method": "tools/call", "params": params });
    let given = json!({ "result": { "action": "accept", "content": { "name": "Ann" } } });
    let (asked, mut answers) = client.converse(&call, QUESTION, given);
    assert!(asked.iter().all(|question| question["params"]["message"] == "Who is it?"), "{asked:?}");
    (asked.len(), answers.remove(0))
}

/// Denied capabilities are not declared to the server.
#[test]
fn denied_questions_are_not_declared() {
    on_every_route(
        || servers(json!({ "asks": { "elicitation": "deny" } }), OFFER),
        |site| {
            site.open_gate();
            let mut client = site.open_with(json!({ "elicitation": {} }));
            let answer = client.call("input", json!({}));
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert_eq!(site.told(r#""elicitation":"#), 0);
        },
    );
}

#[test]
fn denied_questions_reach_no_client() {
    on_every_route(
        || servers(denying_all(), ASKING_OFFER),
        |site| {
            site.open_gate();
            let mut client = site.open_with(asking_capabilities());
            check_denied_input(site, "cannot be read", |tool, arguments| client.call(tool, arguments));
            let heard = client.everything();
            let question = heard.iter().find(|it| it.get("method").is_some() && it.get("id").is_some());
            assert_eq!(question, None);
        },
    );
}

/// A server that asks without end must not hold up its client.
#[test]
fn ninth_round_of_questions_fails_the_call() {
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            site.open_gate();
            let mut client = site.open_with(json!({ "elicitation": {} }));
            let (asked, answer) = ask(&mut client, 8);
            assert_eq!(asked, 8);
            let got: Value = serde_json::from_str(text(&answer)).unwrap();
            assert_eq!(got["inputResponses"]["who"]["content"]["name"], "Ann", "{answer}");
            assert_eq!(site.told("tools/call"), 9);
            let (asked, answer) = ask(&mut client, 9);
            assert_eq!(asked, 8);
            assert!(answer["error"]["message"].to_string().contains("asked for input 8 times"), "{answer}");
            assert_eq!(site.told("tools/call"), 18, "the last answers are sent");
            // The client and the server go on.
            assert_eq!(ask(&mut client, 1).0, 1);
        },
    );
}

/// A call that is sent again with the answers is still one call of the client.
#[test]
fn call_with_questions_counts_once() {
    on_every_route(
        || {
            let servers = servers(json!({ "limits": { "rate": "1/h" } }), OFFER);
            servers.with("audit", json!({ "clients": "all", "arguments": true }))
        },
        |site| {
            site.open_gate();
            let mut client = site.open_with(json!({ "elicitation": {} }));
            let (asked, answer) = ask(&mut client, 2);
            assert!(asked == 2 && answer.get("result").is_some(), "{answer}");
            assert_eq!(limit(&client.call("echo", json!({}))), Some("server".into()));
            assert_eq!(site.told("tools/call"), 3);
            let lines = records_in(&site.servers.state("logs/audit.jsonl"), 2);
            let seen = |line: &Value| [&line["server"], &line["item"], &line["result"]].map(Value::clone);
            assert_eq!(seen(&lines[0]), [json!(SERVER), json!("input"), json!("ok")]);
            assert_eq!(seen(&lines[1]), [json!(SERVER), json!("echo"), json!("rate_limited")]);
            // The user's answers are not recorded.
            assert_eq!(lines[0]["arguments"], json!({ "rounds": 2 }));
        },
    );
}

/// A server may ask for a capability that was not declared to it. Each case: what the client declares, what the server asks,
/// and the capability that the error names.
#[test]
fn undeclared_questions_fail_the_call() {
    let form = json!({ "method": QUESTION, "params": { "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": {} } } });
    let url =
        json!({ "method": QUESTION, "params": { "mode": "url", "message": "?", "url": "https://x.test/" } });
    let sampling =
        json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } });
    let roots = json!({ "method": "roots/list" });
    let cases = [
        (json!({}), &form, "elicitation.form"),
        (json!({}), &url, "elicitation.url"),
        (json!({}), &sampling, "sampling"),
        (json!({}), &roots, "roots"),
        (json!({ "elicitation": {} }), &url, "elicitation.url"),
        (json!({ "elicitation": { "form": {} } }), &url, "elicitation.url"),
        (json!({ "elicitation": { "url": {} } }), &form, "elicitation.form"),
        (json!({ "elicitation": {} }), &sampling, "sampling"),
    ];
    on_every_route(
        || servers(json!({}), OFFER),
        |site| {
            site.open_gate();
            for (declared, request, missing) in &cases {
                let mut client = site.open_with(declared.clone());
                let answer = client.call("say", wanting(&json!({ "one": request })));
                let said = format!("{declared} {request}: {answer}");
                assert_eq!(answer["result"]["isError"], true, "{said}");
                assert!(text(&answer).contains(missing), "{said}");
                let heard = client.everything();
                assert_eq!(heard.iter().find(|it| it["method"] == request["method"]), None, "{said}");
            }
        },
    );
}
