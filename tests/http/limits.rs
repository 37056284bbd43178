//! Nothing is without a limit, and nobody is stopped by somebody else.

use super::served::{FAKE, Served, refused};
use crate::support::text;
use serde_json::json;
use std::io::{Read, Write};
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::patience;

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let served = Served::with(json!({ "maxMessageBytes": "64KiB" }), json!({}), &[]);
    let talk = served.open();
    let (_, message) = talk.call_of("echo", json!({ "is": "forbidden", "fill": "x".repeat(70_000) }));
    let said = refused(talk.say(&message), 413);
    assert!(said.contains("maxMessageBytes"), "{said}");
    assert!(text(&talk.call("echo", json!({ "fill": "x".repeat(60_000) }))).len() > 60_000);
    served.check_unheard("forbidden");
}

#[test]
fn ten_mebibytes_pass_both_ways() {
    let served = Served::new();
    let talk = served.open();
    let fill = "x".repeat(10 << 20);
    assert_eq!(text(&talk.call("echo", json!({ "fill": fill }))).len(), fill.len() + r#"{"fill":""}"#.len());
    // The same out of a stream.
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
    let begin =
        format!("{progress}\n{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{{\"content\":[{{\"text\":\"");
    let answer = talk.call("say", json!({ "text": begin, "fill": 10 << 20, "after": "\"}]}}\n" }));
    assert_eq!(text(&answer).len(), 10 << 20);
}

#[test]
fn there_are_no_more_sessions_than_may_be() {
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

/// As soon as the first is over, there is room for the second.
#[test]
fn a_session_that_nobody_uses_ends() {
    let served = Served::set(json!({ "maxSessions": 1, "sessionTtl": "200ms" }));
    let talk = served.open();
    another(&served);
    refused(talk.begin("echo", json!({})), 404);
}

#[test]
fn a_session_whose_client_has_left_its_stream_ends() {
    let served = Served::set(json!({ "maxSessions": 1, "sessionTtl": "200ms" }));
    let talk = served.open();
    drop(talk.listen());
    another(&served);
    refused(talk.begin("echo", json!({})), 404);
}

#[test]
fn a_session_with_a_stream_or_a_call_does_not_end() {
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

/// A session more than there was room for.
#[track_caller]
fn another(served: &Served) {
    patience::until_true("there is room for another", || {
        served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send().status == 200
    });
}

/// Heads that do not end, and connections on which nothing is said, from the beginning or after an answer.
#[test]
fn those_who_take_their_time_hinder_nobody_and_are_not_waited_for() {
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
    // And one whose body does not come.
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

/// It takes longer than anybody may be silent, and is not silence.
#[test]
fn who_reads_slowly_gets_all() {
    const LONG: usize = 12 << 20;
    let served = Served::new();
    let talk = served.open();
    let message = json!({
        "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": { "name": "echo", "arguments": { "fill": "x".repeat(LONG) } },
    });
    let mut connection = served.web.connect();
    connection.write_all(&talk.say(&message).to_bytes()).unwrap();
    let mut piece = vec![0; LONG / 40];
    let mut got = 0;
    // Half a second each.
    while got < LONG {
        connection.read_exact(&mut piece[..(LONG - got).min(LONG / 40)]).unwrap();
        got += (LONG - got).min(LONG / 40);
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}

#[test]
fn two_hundred_sessions_are_one_process() {
    let served = Served::new();
    let talks: Vec<Talk> = (0..200).map(|_| served.open()).collect();
    for (number, talk) in talks.iter().enumerate() {
        assert_eq!(text(&talk.call("echo", json!({ "n": number }))), format!(r#"{{"n":{number}}}"#));
    }
    assert_eq!(served.record().launches(), 1);
    assert_eq!(served.house.servers().len(), 1);
}

#[test]
fn a_thousand_idle_sessions_hinder_nobody() {
    let served = Served::new();
    let talks: Vec<Talk> = (0..1000).map(|_| served.open()).collect();
    assert_eq!(served.record().launches(), 1);
    for talk in [&talks[0], &talks[999], &served.open()] {
        assert_eq!(text(&talk.call("echo", json!({}))), "{}");
    }
}
