//! Limits of the HTTP front, and clients that must not block others.

use super::served::{FAKE, Served, refused};
use crate::support::text;
use serde_json::json;
use std::io::{Read, Write};
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::patience;

#[test]
fn body_over_the_limit_is_refused() {
    let served = Served::with(json!({ "maxMessageBytes": "64KiB" }), json!({}), &[]);
    let talk = served.open();
    let (_, message) = talk.call_of("echo", json!({ "is": "forbidden", "fill": "x".repeat(70_000) }));
    let said = refused(talk.say(&message), 413);
    assert!(said.contains("maxMessageBytes"), "{said}");
    assert!(text(&talk.call("echo", json!({ "fill": "x".repeat(60_000) }))).len() > 60_000);
    served.check_not_forwarded("forbidden");
}

#[test]
fn ten_mebibytes_pass_both_ways() {
    let served = Served::new();
    let talk = served.open();
    let fill = "x".repeat(10 << 20);
    assert_eq!(text(&talk.call("echo", json!({ "fill": fill }))).len(), fill.len() + r#"{"fill":""}"#.len());
    // The same through a stream.
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
    let begin =
        format!("{progress}\n{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{{\"content\":[{{\"text\":\"");
    let answer = talk.call("say", json!({ "text": begin, "fill": 10 << 20, "after": "\"}]}}\n" }));
    assert_eq!(text(&answer).len(), 10 << 20);
}

#[test]
fn max_sessions_is_enforced() {
    let served = Served::set(json!({ "maxSessions": 2 }));
    let (one, two) = (served.open(), served.open());
    for path in [FAKE, "/mcp"] {
        let said = refused(served.web.post(path, hello("2025-11-25", json!({})).to_string()), 503);
        assert!(said.contains("maxSessions"), "{said}");
    }
    refused(served.web.get("/sse"), 503);
    assert_eq!(text(&one.call("echo", json!({}))), "{}");
    assert_eq!(two.end(), 200);
    served.open();
}

/// The end of the first session makes room for the second.
#[test]
fn idle_session_ends() {
    let served = Served::set(json!({ "maxSessions": 1, "sessionTtl": "200ms" }));
    let talk = served.open();
    another(&served);
    refused(talk.begin("echo", json!({})), 404);
}

#[test]
fn session_ends_after_its_stream_is_closed() {
    let served = Served::set(json!({ "maxSessions": 1, "sessionTtl": "200ms" }));
    let talk = served.open();
    drop(talk.listen());
    another(&served);
    refused(talk.begin("echo", json!({})), 404);
}

/// A cancelled call has no answer that anyone could wait for.
#[test]
fn cancelled_call_keeps_no_session() {
    let served = Served::set(json!({ "maxSessions": 1, "sessionTtl": "200ms" }));
    let talk = served.open();
    let (id, call) = talk.call_of("hang", json!({}));
    let response = talk.say(&call).begin();
    let told = |word: &str| served.record().all_lines().iter().any(|line| line.contains(word));
    patience::until_true("the call is there", || told("\"hang\""));
    talk.notify("notifications/cancelled", json!({ "requestId": id }));
    drop(response);
    another(&served);
    refused(talk.begin("echo", json!({})), 404);
}

#[test]
fn busy_session_does_not_end() {
    let served = Served::set(json!({ "maxSessions": 3, "sessionTtl": "200ms" }));
    let (listening, calling) = (served.open(), served.open());
    let _stream = listening.listen();
    let _call = calling.begin("hold", json!({}));
    let idle = served.open();
    another(&served);
    refused(idle.begin("echo", json!({})), 404);
    assert_eq!(text(&listening.call("echo", json!({}))), "{}");
    assert_eq!(calling.call("release", json!({}))["result"]["released"], 1);
}

/// Waits until there is room for one more session.
#[track_caller]
fn another(served: &Served) {
    patience::until_true("there is room for another", || {
        served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send().status == 200
    });
}

/// Unfinished request heads and silent connections, from the start or after an answer.
#[test]
fn slow_connections_block_nobody_and_close() {
    let served = Served::new();
    let heads = [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        "PRI /what-is-not-a-preface-though-it-begins-like-one",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    let mut slow: Vec<_> = (0..200)
        .map(|number| {
            let mut connection = served.web.connect();
            connection.write_all(heads[number % heads.len()].as_bytes()).unwrap();
            connection
        })
        .collect();
    // A connection whose body never arrives.
    let mut body = served.web.connect();
    let ask = served.web.post(FAKE, " ".repeat(1000)).to_bytes();
    body.write_all(&ask[..ask.len() - 500]).unwrap();
    let talk = served.open();
    assert_eq!(text(&talk.call("echo", json!({}))), "{}");
    for (number, connection) in slow.iter_mut().enumerate() {
        let mut rest = Vec::new();
        let end = connection.read_to_end(&mut rest);
        assert!(
            end.is_ok() || end.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset),
            "{:?} is still waited for",
            heads[number % heads.len()]
        );
    }
    assert_eq!(text(&talk.call("echo", json!({}))), "{}");
}

/// Slow reading may take longer than the idle timeout allows silence.
#[test]
fn slow_reader_gets_everything() {
    const ANSWER_BYTES: usize = 12 << 20;
    let served = Served::new();
    let talk = served.open();
    let message = json!({
        "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": { "name": "echo", "arguments": { "fill": "x".repeat(ANSWER_BYTES) } },
    });
    let mut connection = served.web.connect();
    connection.write_all(&talk.say(&message).to_bytes()).unwrap();
    let mut piece = vec![0; ANSWER_BYTES / 40];
    let mut got = 0;
    // Half a second for each piece.
    while got < ANSWER_BYTES {
        connection.read_exact(&mut piece[..(ANSWER_BYTES - got).min(ANSWER_BYTES / 40)]).unwrap();
        got += (ANSWER_BYTES - got).min(ANSWER_BYTES / 40);
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}

#[test]
fn two_hundred_sessions_share_a_process() {
    let served = Served::new();
    let talks: Vec<Talk> = (0..200).map(|_| served.open()).collect();
    for (number, talk) in talks.iter().enumerate() {
        assert_eq!(text(&talk.call("echo", json!({ "n": number }))), format!(r#"{{"n":{number}}}"#));
    }
    assert_eq!(served.record().launches(), 1);
    assert_eq!(served.house.servers().len(), 1);
}

#[test]
fn thousand_idle_sessions_block_nobody() {
    let served = Served::new();
    let talks: Vec<Talk> = (0..1000).map(|_| served.open()).collect();
    assert_eq!(served.record().launches(), 1);
    for talk in [&talks[0], &talks[999], &served.open()] {
        assert_eq!(text(&talk.call("echo", json!({}))), "{}");
    }
}
