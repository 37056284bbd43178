//! What a server asks of its client travels to it and back, with the ids of each side.

use super::MODE;
use crate::support::{greet, text};
use serde_json::{Value, json};

/// The server sends this request from within a call; the client answers; the call's answer shows what the
/// server was told.
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
fn sampling_roots_and_elicitation_pass_in_both_directions() {
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
fn a_server_and_its_client_may_use_the_same_ids() {
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
fn calls_answered_in_disorder_find_their_callers() {
    const MANY: usize = 64;
    // One more releases them.
    let mut client = greet(MODE.wide());
    let ids: Vec<u64> = (0..MANY).map(|label| client.start_call("hold", json!({ "label": label }))).collect();
    // A fixed disorder: 37 and 64 have no common divisor.
    let order: Vec<usize> = (0..MANY).map(|n| (n * 37 + 11) % MANY).collect();
    client.start_call("release", json!({ "labels": order }));
    for label in &order {
        let answer = client.recv_json();
        assert_eq!((&answer["id"], &answer["result"]["label"]), (&json!(ids[*label]), &json!(label)));
    }
}

/// Many calls at once, each of which makes the server ask; the client answers the last question first.
#[test]
fn many_questions_at_once_are_not_mixed_up() {
    const MANY: usize = 64;
    let mut client = MODE.greeted(&[]);
    let mut calls = Vec::new();
    for number in 0..MANY {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"q{number}","method":"elicitation/create","params":{{"n":{number}}}}}"#
        );
        calls.push(client.start_call("ask", json!({ "id": format!("\"q{number}\""), "request": request })));
    }
    let mut asked: Vec<Value> = (0..MANY).map(|_| client.told("elicitation/create")).collect();
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

/// More questions than are allowed at a time: the server is told, the others are not disturbed.
#[test]
fn too_many_open_questions_are_refused_to_the_server() {
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
