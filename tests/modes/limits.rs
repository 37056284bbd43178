//! Limits on the state that is kept for a client.

use super::MODE;
use crate::support::error;
use serde_json::json;
use switchboard_testkit::client::Client;

#[track_caller]
fn check_subscribed(client: &mut Client, uri: &str, is_granted: bool) {
    let answer = client.request("resources/subscribe", json!({ "uri": uri }));
    if is_granted {
        return assert!(answer.get("result").is_some(), "{answer}");
    }
    let told = error(&answer, -32603, "overloaded");
    assert!(told["message"].as_str().unwrap().contains("too many subscriptions"), "{told}");
    assert_eq!(told["data"]["hint"], "unsubscribe from other resources first");
}

#[test]
fn subscriptions_of_a_client_are_limited() {
    let mut client = MODE.greeted(&[]);
    for number in 0..60 {
        check_subscribed(&mut client, &format!("memo://{number}/{}", "x".repeat(1 << 20)), false);
    }
    let long = |name: &str| format!("memo://{name}/{}", "x".repeat(600_000));
    check_subscribed(&mut client, &long("a"), true);
    check_subscribed(&mut client, &long("b"), false);
    client.request("resources/unsubscribe", json!({ "uri": long("a") }));
    check_subscribed(&mut client, &long("b"), true);
    for number in 1..1024 {
        check_subscribed(&mut client, &format!("memo://{number}"), true);
    }
    check_subscribed(&mut client, "memo://1024", false);
    let heard = client.record().all_lines();
    assert_eq!(heard.iter().filter(|line| line.contains("resources/subscribe")).count(), 1025);
}

/// Some of our processes use these methods themselves; clients still get an answer.
#[test]
fn our_own_methods_are_answered() {
    let mut client = MODE.greeted(&[]);
    for method in ["switchboard/alive", "switchboard/servers", "switchboard/other"] {
        assert!(client.request(method, json!({})).get("result").is_some(), "{method}");
    }
}
