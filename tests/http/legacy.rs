//! HTTP+SSE: one stream for everything to the client, and a path for its messages.

use super::served::{Served, refused};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, call, hello};
use switchboard_testkit::patience;

/// A client's stream and its message endpoint.
#[track_caller]
fn open(served: &Served, path: &str) -> (Reply, String) {
    let mut stream = served.web.get(path).send();
    assert_eq!((stream.status, stream.kind()), (200, "text/event-stream"));
    let first = stream.event().unwrap();
    assert_eq!(first.kind.as_deref(), Some("endpoint"));
    (stream, first.data)
}

#[track_caller]
fn say(served: &Served, to: &str, message: &Value) {
    assert_eq!(served.web.post(to, message.to_string()).send().status, 202, "{message}");
}

#[test]
fn all_messages_come_on_the_stream() {
    let served = Served::new();
    for (path, tool) in [("/servers/fake/sse", "work"), ("/sse", "fake__work")] {
        let (mut stream, to) = open(&served, path);
        say(&served, &to, &hello("2024-11-05", json!({})));
        assert_eq!(stream.message().unwrap()["id"], "hello");
        say(&served, &to, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        say(&served, &to, &call(1, tool, json!({ "steps": 2, "ms": 0 })));
        for _ in 0..2 {
            assert_eq!(stream.message().unwrap()["method"], "notifications/progress");
        }
        let answer = stream.message().unwrap();
        assert_eq!((&answer["id"], text(&answer)), (&json!(1), "worked"));
    }
}

#[test]
fn session_ends_with_its_stream() {
    let served = Served::set(json!({ "maxSessions": 1 }));
    let (stream, to) = open(&served, "/servers/fake/sse");
    drop(stream);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    patience::until_true("it is over", || served.web.post(&to, ping.clone()).send().status == 404);
    open(&served, "/servers/fake/sse");
}

#[test]
fn messages_need_the_sessions_path() {
    let served = Served::new();
    let (_stream, to) = open(&served, "/servers/fake/sse");
    let say = call(1, "echo", json!({ "is": "forbidden" })).to_string();
    refused(served.web.post("/servers/fake/messages", say.clone()), 404);
    refused(served.web.post("/servers/fake/messages?session=0", say.clone()), 404);
    refused(served.web.post(&to.replace("/servers/fake", ""), say.clone()), 404);
    refused(served.web.post(&to, say.clone()).without("Authorization"), 401);
    refused(served.web.post(&to, say.clone()).header("Content-Type", "text/plain"), 415);
    refused(served.web.get(&to), 405);
    refused(served.web.post("/sse", say), 405);
    served.check_not_forwarded("forbidden");
}
