//! Long streams over HTTP, and their ends: by the server, by us, by the client. A closed response is a cancelled request.

use super::http_calls::served;
use super::together::changing;
use crate::aggregate::servers::Servers;
use crate::http::served::{FAKE, Served, address};
use crate::isolation::routes::wrapped;
use serde_json::{Value, json};
use std::fs;
use std::sync::mpsc::sync_channel;
use std::thread;
use switchboard_testkit::http::{Modern, Reply, Web};
use switchboard_testkit::pids::Word;
use switchboard_testkit::{message, patience};

const PATHS: [(&str, &str); 2] = [(FAKE, ""), ("/mcp", "fake__")];

/// Cancellations that the server has seen.
fn cancellations(modern: &Modern, prefix: &str) -> Vec<Value> {
    let answer = modern.call(&format!("{prefix}cancellations"), json!({}));
    answer["result"]["cancelled"].as_array().unwrap().clone()
}

/// Number of cancellations that have reached a server.
fn heard(served: &Served) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains("notifications/cancelled")).count()
}

/// The subscription that an answer ends.
fn ended(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[test]
fn listen_carries_requested_notifications() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    let wishes = json!({ "resourceSubscriptions": ["fake://a"] });
    let (id, mut stream) = modern.listen(wishes.clone());
    let (other, mut second) = modern.listen(wishes);
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    for uri in ["fake://b", "fake://a"] {
        modern.call("change", json!({ "uri": uri }));
    }
    for (id, stream) in [(id, &mut stream), (other, &mut second)] {
        let notice = stream.message().unwrap();
        assert_eq!(
            (&notice["method"], &notice["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("fake://a"))
        );
        assert_eq!(*message::subscription(&notice), id, "{notice}");
    }
}

/// The next message of a stream with comments. They would defeat a read timeout, so a thread reads.
#[cfg(debug_assertions)]
#[track_caller]
fn message_between_comments(mut stream: Reply) -> (Value, Reply) {
    let (sender, told) = sync_channel(1);
    thread::spawn(move || {
        let message = stream.message();
        let _ = sender.send((message.unwrap(), stream));
    });
    told.recv_timeout(patience::LIMIT).expect("a message between the comments")
}

/// An idle subscription carries comments, so that no proxy closes it; messages still come between them.
#[cfg(debug_assertions)]
#[test]
fn idle_listens_are_kept_alive() {
    for (path, prefix) in PATHS {
        let servers = Servers::none();
        let offer = servers.offers("fake", &changing(&["change"])).display().to_string();
        let servers = servers.and("fake", json!({}), &["--era", "modern", "--offer", &offer]);
        let listen = ["serve", "--listen", "127.0.0.1:0", "--config"];
        let start = servers.program().env("SWITCHBOARD_KEEP_ALIVE", "20");
        let mut program = start.args(listen).arg(servers.config()).start();
        let web = Web::at(address(&mut program));
        let token = fs::read_to_string(servers.state("token")).unwrap();
        let web = web.with("Authorization", &format!("Bearer {}", token.trim()));
        let modern = Modern::at(&web, path);
        modern.request("tools/list", json!({}));
        let (id, mut stream) = modern.listen(json!({ "toolsListChanged": true }));
        assert_eq!(stream.header("x-accel-buffering"), Some("no"));
        for round in ["first", "second"] {
            for _ in 0..3 {
                assert_eq!(stream.some(4), b": \n\n");
            }
            // Among several servers, only a real change is told.
            servers.offers("fake", &changing(&["change", round]));
            modern.call(&format!("{prefix}change"), json!({ "list": "tools" }));
            let told;
            (told, stream) = message_between_comments(stream);
            let found = (&told["method"], message::subscription(&told));
            assert_eq!(found, (&json!("notifications/tools/list_changed"), &json!(id)), "{told}");
        }
    }
}

/// Log messages come in the response to the request that asked for them.
#[test]
fn log_messages_reach_their_request() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path).log_level("error");
        let params = json!({ "name": format!("{prefix}report"), "arguments": { "steps": 1 } });
        let (id, mut stream) = modern.begin("tools/call", params);
        let mut levels = Vec::new();
        let answer = loop {
            let told = stream.message().unwrap();
            match told["method"] == "notifications/message" {
                true => levels.push(told["params"]["level"].clone()),
                false => break told,
            }
        };
        assert_eq!((&answer["id"], levels.first()), (&json!(id), Some(&json!("error"))), "{answer}");
        // Without a level there are none.
        let params = json!({ "name": format!("{prefix}report"), "arguments": { "steps": 1 } });
        let (_, mut reply) = Modern::at(&served.web, path).begin("tools/call", params);
        assert!(!reply.is_stream() && reply.json().get("result").is_some());
    }
}

/// A resource of the server, as clients of a path know it.
fn resource(prefix: &str, uri: &str) -> String {
    if prefix.is_empty() { uri.to_owned() } else { wrapped("fake", uri) }
}

/// Filters of all subscriptions that the server got, and of those that are not cancelled.
fn listens(served: &Served) -> (usize, Vec<Value>) {
    let lines = served.record().all_lines();
    let said: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |method: &'static str| said.iter().filter(move |it| it["method"] == method);
    let is_open = |it: &&Value| {
        !of("notifications/cancelled").any(|cancelled| cancelled["params"]["requestId"] == it["id"])
    };
    let open = of("subscriptions/listen").filter(is_open).map(|it| it["params"]["notifications"].clone());
    (of("subscriptions/listen").count(), open.collect())
}

/// The resources that the server is listened to for.
fn heard_resources(served: &Served) -> Vec<Value> {
    let own = |filter: &Value| filter["resourceSubscriptions"].as_array().cloned().unwrap_or_default();
    listens(served).1.iter().flat_map(own).collect()
}

#[test]
fn closed_listen_is_cancelled() {
    for (path, prefix) in PATHS {
        let served = served();
        let modern = Modern::at(&served.web, path);
        let (_, stream) = modern.listen(json!({ "resourceSubscriptions": [resource(prefix, "fake://a")] }));
        patience::until_true("the server is listened to", || heard_resources(&served) == ["fake://a"]);
        drop(stream);
        patience::until_true("the server hears of it", || heard_resources(&served).is_empty());
        let seen = cancellations(&modern, prefix);
        assert!(seen.iter().any(|seen| seen["listen"] == true), "{path}: {seen:?}");
    }
}

/// Many closed responses leave the party behind them with the same client, and so with its process.
#[test]
fn closed_responses_keep_the_process() {
    for (path, prefix) in PATHS {
        let served = Served::with(json!({}), json!({ "scope": "client" }), &["--era", "modern"]);
        let modern = Modern::at(&served.web, path);
        let pid = || {
            let facts = modern.call(&format!("{prefix}facts"), json!({}));
            facts["result"]["pid"].as_u64().unwrap_or_else(|| panic!("{facts}"))
        };
        let before = pid();
        for round in 0..40 {
            drop(modern.listen(json!({ "toolsListChanged": true })));
            let label = format!("<{round}>");
            let call = json!({ "name": format!("{prefix}hang"), "arguments": { "label": label } });
            let response = modern.say(&modern.message("tools/call", call).1).begin();
            let is_there = || served.record().all_lines().iter().any(|line| line.contains(&label));
            patience::until_true("the call is there", is_there);
            drop(response);
        }
        assert_eq!(pid(), before, "{path}");
    }
}

#[test]
fn server_ends_a_listen() {
    for how in ["result", "cancelled"] {
        let served = served();
        let modern = Modern::at(&served.web, FAKE);
        let (id, mut stream) = modern.listen(json!({ "resourceSubscriptions": ["fake://a"] }));
        modern.call("unlisten", json!({ "how": how }));
        let last = stream.message().unwrap();
        match how {
            "result" => assert_eq!((&last["id"], ended(&last)), (&json!(id), &json!(id)), "{last}"),
            _ => assert!(last["id"] == id || last["params"]["requestId"] == id, "{last}"),
        }
        assert_eq!(stream.message(), None, "{how}");
    }
}

/// Among several servers, Switchboard listens again, and its clients' subscriptions stay.
#[test]
fn server_ends_our_listen() {
    for how in ["result", "cancelled"] {
        let served = served();
        let modern = Modern::at(&served.web, "/mcp");
        let shown = resource("fake__", "fake://a");
        let (id, mut stream) = modern.listen(json!({ "resourceSubscriptions": [shown] }));
        patience::until_true("the server is listened to", || heard_resources(&served) == ["fake://a"]);
        let before = listens(&served).0;
        modern.call("fake__unlisten", json!({ "how": how }));
        patience::until_true("it is listened to again", || listens(&served).0 > before);
        modern.call("fake__change", json!({ "uri": "fake://a" }));
        let told = stream.message().unwrap();
        let found = (&told["method"], &told["params"]["uri"], message::subscription(&told));
        let method = json!("notifications/resources/updated");
        assert_eq!(found, (&method, &json!(shown), &json!(id)), "{how}: {told}");
    }
}

#[test]
fn shutdown_ends_listens_in_order() {
    let mut served = served();
    let open: Vec<_> = PATHS
        .into_iter()
        .map(|(path, _)| Modern::at(&served.web, path).listen(json!({ "toolsListChanged": true })))
        .collect();
    served.program.signal(Word::Terminate);
    for (id, mut stream) in open {
        let last = stream.message().unwrap();
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(id), &json!("complete")), "{last}");
        assert_eq!(*ended(&last), id, "{last}");
        assert_eq!(stream.message(), None);
    }
    let end = served.program.wait_for_end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
}

#[test]
fn closed_response_cancels_the_call() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        // One path is the end of the other.
        let label = format!("<{path}>");
        let arguments = json!({ "label": label });
        let (_, message) =
            modern.message("tools/call", json!({ "name": format!("{prefix}hang"), "arguments": arguments }));
        let wire = modern.say(&message).begin();
        patience::until_true("the call is there", || {
            served.record().all_lines().iter().any(|line| line.contains("\"hang\"") && line.contains(&label))
        });
        let before = heard(&served);
        drop(wire);
        patience::until_true("the server hears of it", || heard(&served) == before + 1);
        let seen = cancellations(&modern, prefix);
        assert!(seen.iter().any(|seen| seen["label"] == label.as_str()), "{seen:?}");
        // The id is free again for the client, and the answer is that of the new request.
        let mut again = message.clone();
        again["params"]["name"] = json!(format!("{prefix}echo"));
        let answer = modern.say(&again).send().json();
        assert_eq!(answer["result"]["content"][0]["text"], arguments.to_string(), "{answer}");
    }
}

/// Legacy: a lost connection cancels nothing.
#[test]
fn closed_response_of_a_session_is_no_cancel() {
    let served = Served::with(json!({}), json!({ "scope": "global", "state": "none" }), &["--era", "dual"]);
    let talk = served.open();
    let (_, message) = talk.call_of("hang", json!({ "label": "kept" }));
    let wire = talk.say(&message).begin();
    served.record().wait_for(1, "kept");
    drop(wire);
    assert_eq!(talk.call("echo", json!({}))["result"]["content"][0]["text"], "{}");
    assert!(!served.record().all_lines().iter().any(|line| line.contains("notifications/cancelled")));
}
