//! Requests from a server to its client, with the ids of each side.

use super::MODE;
use crate::support::{greet, text};
use serde_json::{Value, json};

/// Makes the server send this request within a call; the call's answer shows the client's answer as the server
/// got it.
#[track_caller]
fn check(id: &str, method: &str, params: &str, answer: &str) {
    let mut client = MODE.greeted(&[]);
    let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    let call = client.start_call("ask", json!({ "id": id, "request": request }));
    let asked = client.recv_text();
    let ours = serde_json::from_str::<Value>(&asked).unwrap()["id"].to_string();
    assert_eq!(asked, format!(r#"{{"jsonrpc":"2.0","id":{ours},"method":"{method}","params":{params}}}"#));
    client.send(format!(r#"{{"jsonrpc":"2.0",{answer},"id":{ours}}}"#));
    let told = client.answer(call);
    assert_eq!(text(&told), format!(r#"{{"jsonrpc":"2.0",{answer},"id":{id}}}"#));
}

#[test]
fn server_requests_pass_both_ways() {
    check(
        "1",
        "sampling/createMessage",
        r#"{"messages":[{"role":"user"}],"maxTokens":100,"temperature":0.70}"#,
        r#""result":{"role":"assistant","model":"m","content":{"type":"text","text":"é"}}"#,
    );
    check(r#""r-1""#, "roots/list", "{}", r#""result":{"roots":[{"uri":"file:///a%20b"}]}"#);
    check(
        "0",
        "elicitation/create",
        r#"{"message":"Sure?","requestedSchema":{"type":"object"}}"#,
        r#""result":{"action":"accept","content":{"n":1.0}}"#,
    );
    check("-5", "ping", "{}", r#""result":{}"#);
    check("1.5", "vendor/ask", "[1]", r#""error":{"code":-32601,"message":"no such method","data":[1.0]}"#);
}

#[test]
fn server_and_client_may_use_equal_ids() {
    let mut client = MODE.greeted(&[]);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let arguments = json!({ "id": "1", "request": request });
    client.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask","arguments":{arguments}}}}}"#));
    let asked = client.told("roots/list");
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [] } }).to_string());
    let answer = client.answer(1);
    assert!(text(&answer).contains(r#""id":1,"#) || text(&answer).contains(r#""id":1}"#), "{answer}");
}

#[test]
fn unordered_answers_find_their_callers() {
    const CALLS: usize = 64;
    // Room for one more call, which releases the others.
    let mut client = greet(MODE.wide());
    let ids: Vec<u64> =
        (0..CALLS).map(|label| client.start_call("hold", json!({ "label": label }))).collect();
    // A fixed order: 37 and 64 have no common divisor.
    let order: Vec<usize> = (0..CALLS).map(|n| (n * 37 + 11) % CALLS).collect();
    client.start_call("release", json!({ "labels": order }));
    for label in &order {
        let answer = client.recv_json();
        assert_eq!((&answer["id"], &answer["result"]["label"]), (&json!(ids[*label]), &json!(label)));
    }
}

/// Each call makes the server send a request; the client answers the last one first.
#[test]
fn many_server_requests_do_not_mix() {
    const CALLS: usize = 64;
    let mut client = MODE.greeted(&[]);
    let mut calls = Vec::new();
    for number in 0..CALLS {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"q{number}","method":"elicitation/create","params":{{"n":{number}}}}}"#
        );
        calls.push(client.start_call("ask", json!({ "id": format!("\"q{number}\""), "request": request })));
    }
    let mut asked: Vec<Value> = (0..CALLS).map(|_| client.told("elicitation/create")).collect();
    asked.reverse();
    for question in &asked {
        let answer =
            json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "n": question["params"]["n"] } });
        client.send(answer.to_string());
    }
    for (number, call) in calls.into_iter().enumerate() {
        let told: Value = serde_json::from_str(text(&client.answer(call))).unwrap();
        assert_eq!((&told["id"], &told["result"]["n"]), (&json!(format!("q{number}")), &json!(number)));
    }
}

/// Requests over the limit are refused; the others are not affected.
#[test]
fn server_requests_over_limit_are_refused() {
    const LIMIT: usize = 256;
    let mut client = MODE.greeted(&[]);
    let lines: String = (0..LIMIT + 10)
        .map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"q{n}\",\"method\":\"roots/list\"}}\n"))
        .collect();
    client.start_call("say", json!({ "text": lines }));
    let first = client.told("roots/list");
    let refusal = client.record().wait_for(1, r#""id":"q256","error""#);
    assert!(refusal.contains("overloaded"), "{refusal}");
    client.send(json!({ "jsonrpc": "2.0", "id": first["id"], "result": {} }).to_string());
    client.record().wait_for(1, r#""id":"q0""#);
}
