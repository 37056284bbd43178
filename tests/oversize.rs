//! Oversized messages: the request gets an error, the peer stays usable, memory stays bounded.

use crate::support::{configured, error, fake, gateway_pid, greet, greeted, log_with};
use serde_json::json;
use switchboard_testkit::client::{Client, Framing};
use switchboard_testkit::pids;

const MIB: usize = 1 << 20;
/// The default limit of a message.
const LIMIT: usize = 16 * MIB;

/// Sends a long message in pieces: `before`, `bytes` of text, `after`.
fn send_long(client: &Client, before: &str, bytes: usize, after: &str) {
    client.send_bytes(before);
    let block = vec![b'x'; MIB];
    for _ in 0..bytes / MIB {
        client.send_bytes(&block);
    }
    client.send_bytes(after);
}

/// Makes the server send a message with `bytes` of text.
fn say_long(client: &mut Client, before: &str, bytes: usize, after: &str) -> u64 {
    client.start_call("say", json!({ "text": before, "fill": bytes, "after": format!("{after}\n") }))
}

#[track_caller]
fn check_usable(client: &mut Client) {
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
}

#[track_caller]
fn check_memory(client: &Client, most: usize) {
    let peak = pids::peak_memory(gateway_pid(client)).unwrap() as usize;
    assert!(peak < most, "{} MiB", peak / MIB);
}

#[test]
fn oversized_request_is_answered() {
    let mut client = greeted(&[]);
    send_long(
        &client,
        r#"{"jsonrpc":"2.0","id":"first","method":"x","params":{"t":""#,
        LIMIT + MIB,
        "\"}}\n",
    );
    error(&client.answer("first"), -32603, "message_too_large");
    send_long(
        &client,
        r#"{"jsonrpc":"2.0","method":"x","params":{"id":5,"t":""#,
        LIMIT + MIB,
        "\"},\"id\":\"last\"}\n",
    );
    let answer = client.answer("last");
    let told = error(&answer, -32603, "message_too_large");
    assert_eq!(told["data"]["retryable"], false);
    assert!(told["data"]["hint"].as_str().unwrap().contains("maxMessageBytes"), "{told}");
    check_usable(&mut client);
    let heard = client.record().all_lines();
    assert_eq!(heard.len(), 3, "nothing of it reached the server");
}

#[test]
fn oversized_answer_ends_its_request() {
    let mut client = greeted(&[]);
    let first = say_long(&mut client, r#"{"jsonrpc":"2.0","id":%ID,"result":{"t":""#, LIMIT + MIB, "\"}}");
    error(&client.answer(first), -32603, "message_too_large");
    let last = say_long(
        &mut client,
        r#"{"result":{"id":5,"t":""#,
        LIMIT + MIB,
        "\"},\"jsonrpc\":\"2.0\",\"id\":%ID}",
    );
    error(&client.answer(last), -32603, "message_too_large");
    check_usable(&mut client);
    assert_eq!(client.record().launches(), 1);
}

/// Both directions; the memory in use does not depend on the length of the line.
#[test]
fn line_of_100_megabytes_costs_no_memory() {
    const LINE_BYTES: usize = 100_000_000;
    let mut client = greeted(&[]);
    send_long(&client, r#"{"jsonrpc":"2.0","method":"x","params":{"t":""#, LINE_BYTES, "\"},\"id\":\"a\"}\n");
    error(&client.answer("a"), -32603, "message_too_large");
    let id = say_long(&mut client, r#"{"result":{"t":""#, LINE_BYTES, "\"},\"jsonrpc\":\"2.0\",\"id\":%ID}");
    error(&client.answer(id), -32603, "message_too_large");
    check_usable(&mut client);
    check_memory(&client, 64 * MIB);
}

#[test]
fn body_of_100_megabytes_costs_no_memory() {
    const BODY_BYTES: usize = 100 * MIB;
    let mut client = greet(fake(&[]).framing(Framing::ContentLength));
    let (before, after) = (r#"{"jsonrpc":"2.0","method":"x","params":{"t":""#, "\"},\"id\":\"a\"}");
    let length = before.len() + BODY_BYTES + after.len();
    send_long(&client, &format!("Content-Length: {length}\r\n\r\n{before}"), BODY_BYTES, after);
    error(&client.answer("a"), -32603, "message_too_large");
    check_usable(&mut client);
    check_memory(&client, 40 * MIB);
}

#[test]
fn config_sets_the_size_limit() {
    let mut client = greet(configured(json!({ "maxMessageBytes": "2KiB" }), json!({}), &[]));
    let fits = client.call("echo", json!({ "t": "x".repeat(1800) }));
    assert!(fits["result"].is_object(), "{fits}");
    error(&client.call("echo", json!({ "t": "x".repeat(2048) })), -32603, "message_too_large");
    let id = say_long(&mut client, r#"{"jsonrpc":"2.0","id":%ID,"result":""#, 2048, "\"}");
    error(&client.answer(id), -32603, "message_too_large");
    check_usable(&mut client);

    let mut client = greet(configured(json!({ "maxMessageBytes": "40MiB" }), json!({}), &[]));
    let id = say_long(&mut client, r#"{"jsonrpc":"2.0","id":%ID,"result":""#, LIMIT + MIB, "\"}");
    let answer = client.recv();
    assert!(answer.starts_with(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"xx"#).as_bytes()));
    assert!(answer.len() > LIMIT + MIB);
}

#[test]
fn oversized_notification_is_dropped() {
    let mut client = greet(configured(json!({ "maxMessageBytes": "2KiB" }), json!({}), &[]));
    let long = "x".repeat(4096);
    client.send(format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"t":"{long}"}}}}"#));
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id), "no answer to a notification");
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":""#;
    client.start_call("say", json!({ "text": line, "fill": 4096, "after": "\"}\n{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":1}\n" }));
    assert_eq!(client.recv_json()["result"], 1);
    log_with(&client, "oversized message dropped");
    assert!(!client.record().all_lines().iter().any(|line| line.contains("notifications/x")));
}

/// The waiting server gets an error as well.
#[test]
fn server_requests_are_limited_too() {
    let mut client = greet(configured(json!({ "maxMessageBytes": "2KiB" }), json!({}), &[]));
    // The server's request is too long: the server gets the error.
    let call = client.ask(
        "tools/call",
        json!({ "name": "say", "arguments": {
            "text": r#"{"jsonrpc":"2.0","id":"big","method":"roots/list","params":{"t":""#,
            "fill": 4096,
            "after": "\"}}\n{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":1}\n",
        } }),
    );
    assert_eq!(client.answer(call)["result"], 1);
    let told = client.record().wait_for(1, r#""id":"big","error""#);
    assert!(told.contains("message_too_large"), "{told}");
    // The client's answer is too long: the server gets an error instead.
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    let id = client.told("roots/list")["id"].clone();
    client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(4096)));
    let answer = client.answer(call);
    assert!(crate::support::text(&answer).contains("message_too_large"), "{answer}");
}

#[test]
fn oversized_batch_answers_every_member() {
    let mut client = greet(configured(json!({ "maxMessageBytes": "2KiB" }), json!({}), &[]));
    let member = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":"m{id}","method":"ping","params":{{"t":"{}"}}}}"#, "x".repeat(500))
    };
    client.send(format!("[{}]", (0..6).map(member).collect::<Vec<_>>().join(",")));
    for id in 0..6 {
        error(&client.answer(format!("m{id}")), -32603, "message_too_large");
    }
}
