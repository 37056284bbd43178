//! Backpressure: with peers that do not read or that flood, memory stays bounded, every request is answered,
//! and dropped messages are counted.

use crate::daemon::house::House;
use crate::support::{configured, error, fake, gateway_pid, greet, greeted, log_with, wide};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, initialize_params};
use switchboard_testkit::pids;

const MIB: usize = 1 << 20;
/// The outbox limit (64 MiB), twice for messages being assembled, and the program itself.
const MOST: usize = 160 * MIB;

#[track_caller]
fn check_memory(client: &Client) {
    let peak = pids::peak_memory(gateway_pid(client)).unwrap() as usize;
    assert!(peak < MOST, "{} MiB", peak / MIB);
}

/// A call with an answer of this many bytes.
fn big_answer(client: &mut Client, bytes: usize) -> u64 {
    let text = r#"{"jsonrpc":"2.0","id":%ID,"result":""#;
    client.start_call("say", json!({ "text": text, "fill": bytes, "after": "\"}\n" }))
}

/// Numbers of results and of errors of this kind. Checks that every request got one of them.
#[track_caller]
fn count(client: &mut Client, ids: &[u64], kind: &str) -> (usize, usize) {
    let answers: Vec<Value> = ids.iter().map(|id| client.answer(*id)).collect();
    let refused = answers.iter().filter(|answer| answer["error"]["data"]["kind"] == kind).count();
    let served = answers.iter().filter(|answer| answer.get("result").is_some()).count();
    let other = answers
        .iter()
        .find(|answer| answer.get("result").is_none() && answer["error"]["data"]["kind"] != kind);
    assert!(other.is_none(), "{other:?}");
    (served, refused)
}

#[test]
fn client_that_does_not_read_gets_errors() {
    const ANSWERS: usize = 85;
    let mut client = wide().not_reading().start();
    client.ask("initialize", initialize_params());
    let ids: Vec<u64> = (0..ANSWERS).map(|_| big_answer(&mut client, MIB)).collect();
    // The server is not blocked: it has answered everything when it gets the last message.
    client.notify("notifications/last", json!({}));
    client.record().wait_for(1, "notifications/last");
    log_with(&client, "client_too_slow");
    check_memory(&client);
    client.start_reading();
    let (served, refused) = count(&mut client, &ids, "client_too_slow");
    assert!(served >= 50 && refused >= 10, "{served} served, {refused} refused");
    assert_eq!(client.request("ping", json!({}))["result"], json!({}), "it is served again");
    check_memory(&client);
}

#[test]
fn flood_to_a_stalled_client_is_bounded() {
    const COUNT: usize = 500;
    let mut client = fake(&[]).not_reading().start();
    client.ask("initialize", initialize_params());
    let flood = client.start_call("flood", json!({ "count": COUNT, "bytes": 100_000 }));
    client.notify("notifications/after", json!({}));
    client.record().wait_for(1, "notifications/after");
    log_with(&client, "notifications dropped");
    check_memory(&client);
    client.start_reading();
    assert_eq!(client.answer(flood)["result"]["done"], true, "the answer is not among what was dropped");
    let id = client.ask("ping", json!({}));
    let mut received = Vec::new();
    loop {
        let message = client.recv_json();
        match message.get("id") {
            Some(answered) if *answered == json!(id) => break,
            Some(_) => {}
            None => received.push(message["params"]["number"].as_u64().unwrap()),
        }
    }
    assert!(received.len() < COUNT && received.is_sorted(), "{} arrived", received.len());
    assert_eq!(received[0], 0);
}

/// A client that keeps up gets everything in order.
#[test]
fn flood_to_a_reading_client_arrives_whole() {
    const COUNT: u64 = 20_000;
    let mut client = greeted(&[]);
    let flood = client.start_call("flood", json!({ "count": COUNT, "bytes": 100 }));
    for number in 0..COUNT {
        assert_eq!(client.recv_json()["params"]["number"], json!(number));
    }
    assert_eq!(client.answer(flood)["result"]["done"], true);
    check_memory(&client);
}

/// Refusals always have room, so a client that does not read them must not be read from either.
#[test]
fn client_that_only_writes_is_blocked() {
    const REQUESTS: usize = 4000;
    let house = House::new();
    let mut other = house.open("a");
    let mut client = house.window("a").not_reading().start();
    // Each refusal repeats this id: 200 MiB together, of which 128 MiB may wait.
    let id = "x".repeat(50 << 10);
    for number in 0..REQUESTS {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":"{number}{id}","method":"server/discover"}}"#));
    }
    // Between two answers to this client, the daemon has time to read from the other.
    for _ in 0..2 * REQUESTS {
        other.request("ping", json!({}));
    }
    assert!(!client.is_sent(), "all requests were read, though no refusal was");
    client.start_reading();
    client.sent();
}

/// The server answers once and then reads nothing: requests without room are refused, the others expire.
#[test]
fn server_that_does_not_read_is_bounded() {
    let server = json!({ "timeout": "2s", "onTimeout": "keep", "shutdownGrace": "100ms" });
    let mut client = greet(configured(json!({}), server, &["--ignore-eof"]));
    client.call("deaf", json!({}));
    let big = "x".repeat(MIB);
    let ids = 1001..1081;
    for id in ids.clone() {
        client
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"t":"{big}"}}}}"#));
    }
    let answers: Vec<Value> = ids.clone().map(|id| client.answer(id)).collect();
    let of_kind =
        |kind: &str| answers.iter().filter(|answer| answer["error"]["data"]["kind"] == kind).count();
    let (overloaded, expired) = (of_kind("overloaded"), of_kind("backend_timeout"));
    assert_eq!(overloaded + expired, ids.len(), "every request is answered");
    assert!(overloaded >= 10 && expired >= 50, "{overloaded} refused, {expired} expired");
    check_memory(&client);
    // Notifications to the server are counted and dropped.
    for _ in 0..3 {
        client
            .send(format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"t":"{big}{big}"}}}}"#));
    }
    log_with(&client, "notifications dropped");
    check_memory(&client);
}

/// The server never reads a byte. The client gets an error within the start timeout.
#[test]
fn server_that_never_reads_blocks_nobody() {
    let times = json!({ "startTimeout": "300ms", "timeout": "1s", "shutdownGrace": "100ms" });
    let mut client = configured(json!({ "shutdownGrace": "100ms" }), times, &["--never-read"]).start();
    let first = client.ask("initialize", initialize_params());
    let ids: Vec<u64> =
        (0..5).map(|_| client.start_call("echo", json!({ "t": "x".repeat(MIB / 2) }))).collect();
    error(&client.answer(first), -32003, "backend_timeout");
    for id in ids {
        assert!(client.answer(id)["error"].is_object());
    }
    assert_eq!(client.finish().code, Some(0));
}

/// Requests over the limit are refused at once, all others are answered.
#[test]
fn requests_over_the_limit_are_refused() {
    const LIMIT: usize = 4096;
    let mut client = greet(wide());
    let line = |n: usize| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"h{n}\",\"method\":\"tools/call\",\"params\":{{\"name\":\"hold\",\"arguments\":{{\"label\":{n}}}}}}}\n"
        )
    };
    client.send_bytes((0..LIMIT + 10).map(line).collect::<String>());
    for n in LIMIT..LIMIT + 10 {
        error(&client.answer(format!("h{n}")), -32603, "overloaded");
    }
    // Room is free again as soon as a request is answered.
    client.notify("notifications/cancelled", json!({ "requestId": "h0" }));
    let release = client.start_call("release", json!({}));
    for n in 1..LIMIT {
        assert_eq!(client.answer(format!("h{n}"))["result"]["label"], n);
    }
    assert_eq!(client.answer(release)["result"]["released"], LIMIT);
    check_memory(&client);
}

/// Requests that wait for a restart are limited.
#[test]
fn queue_during_a_restart_is_limited() {
    const PINGS: usize = 400;
    let mut client = greeted(&[]);
    for _ in 0..3 {
        error(&client.call("crash", json!({})), -32002, "backend_unavailable");
    }
    let lines = (0..PINGS).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"w{n}\",\"method\":\"ping\"}}\n"));
    client.send_bytes(lines.collect::<String>());
    let answers: Vec<Value> = (0..PINGS).map(|n| client.answer(format!("w{n}"))).collect();
    let served = answers.iter().filter(|answer| answer.get("result").is_some()).count();
    let refused = answers.iter().filter(|answer| answer["error"]["data"]["kind"] == "overloaded").count();
    assert_eq!(served + refused, PINGS);
    assert!(served >= 256, "{served} served");
}
