//! Sessions with a remote server: headers, and lost sessions.

use super::{SECRET, far, finish, greeted};
use crate::support::text;
use serde_json::json;
use std::sync::Mutex;
use std::sync::mpsc;
use switchboard_testkit::patience;
use switchboard_testkit::web::{Web, mcp};

#[test]
fn requests_carry_token_session_and_version() {
    let web = Web::start(|seen, wire| mcp(seen, wire, "s-1"));
    let mut client = greeted(&web);
    client.request("tools/list", json!({}));
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    patience::until_true("the question for a stream", || web.count("GET") == 1);
    finish(client);
    let seen = web.seen();
    let methods: Vec<&str> = seen.iter().map(|seen| seen.what()).filter(|what| *what != "GET").collect();
    let (own, rest) = methods.split_at(4);
    assert_eq!(own, ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
    // Once the client has left, the lists may be requested once more, to be stored. Each request has its own
    // connection, so one that was under way when the session ended may arrive after DELETE.
    let (ends, lists): (Vec<&str>, Vec<&str>) = rest.iter().partition(|what| **what == "DELETE");
    assert_eq!(ends.len(), 1, "{methods:?}");
    assert!(lists.len() <= 3 && lists.iter().all(|what| what.ends_with("/list")), "{methods:?}");
    for seen in &seen {
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        let is_first = seen.what() == "initialize";
        assert_eq!(seen.header("mcp-session-id"), Some("s-1").filter(|_| !is_first), "{}", seen.what());
        let version = seen.header("mcp-protocol-version");
        assert_eq!(version.is_some(), !is_first, "{}", seen.what());
        if seen.method == "POST" {
            assert_eq!(seen.header("content-type"), Some("application/json"));
            assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
        }
    }
}

#[test]
fn lost_session_is_renewed_unnoticed() {
    // Loses the first session after its first call.
    let web = Web::start(|seen, wire| {
        let session = if lost(seen.what(), seen.before) { "s-2" } else { "s-1" };
        mcp(seen, wire, if seen.header("mcp-session-id") == Some("s-2") { "s-2" } else { session })
    });
    fn lost(what: &str, before: usize) -> bool {
        (what == "tools/call" || what == "initialize") && before > 0
    }
    let mut client = greeted(&web);
    client.request("logging/setLevel", json!({ "level": "warning" }));
    client.request("resources/subscribe", json!({ "uri": "a:b" }));
    client.request("resources/subscribe", json!({ "uri": "a:c" }));
    client.request("resources/unsubscribe", json!({ "uri": "a:c" }));
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    assert_eq!(text(&client.call("two", json!({}))), "two in s-2");
    let seen = web.seen();
    let again = seen.iter().rposition(|seen| seen.what() == "initialize").unwrap();
    let told: Vec<&str> =
        seen[again..].iter().map(|seen| seen.what()).filter(|what| *what != "GET").collect();
    assert_eq!(
        told,
        ["initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe", "tools/call"]
    );
    assert_eq!(seen[again].body["params"], seen[0].body["params"]);
    // The refused call was not executed.
    assert_eq!(web.count("tools/call"), 3);
    finish(client);
}

#[test]
fn server_that_keeps_no_session_is_given_up() {
    let web = Web::start(|seen, wire| match seen.what() {
        "tools/call" => wire.reply(404, &[], ""),
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    let answer = client.call("one", json!({}));
    let error = crate::support::error(&answer, -32002, "backend_unavailable");
    assert!(error["message"].as_str().unwrap().contains("loses every new session at once"), "{error}");
    assert_eq!(web.count("tools/call"), 2);
    finish(client);
}

#[test]
fn restarted_server_continues() {
    let web = Web::start(|seen, wire| mcp(seen, wire, "s-1"));
    let port = web.port();
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    drop(web);
    let web = Web::at(port, |seen, wire| mcp(seen, wire, "s-2"));
    assert_eq!(text(&client.call("one", json!({}))), "one in s-2");
    assert_eq!(web.count("tools/call"), 2, "once with the old session, once with the new one");
    finish(client);
}

#[test]
fn unreachable_server_is_told_and_retried() {
    let port = Web::start(|_, _| {}).port();
    let mut client = far(&format!("http://127.0.0.1:{port}/mcp"), json!({})).start();
    let answer = client.request("initialize", switchboard_testkit::client::initialize_params());
    let error = crate::support::error(&answer, -32001, "backend_spawn_failed");
    let told = error["message"].as_str().unwrap();
    assert!(
        told.contains(&format!("cannot reach http://127.0.0.1:{port}/mcp: Connection refused")),
        "{told}"
    );
    assert!(error["data"]["hint"].as_str().unwrap().contains("start the server, or check `url`"), "{error}");
    assert!(!told.contains("could not be started"), "{told}");
    assert_eq!(error["data"]["retryable"], true);
    let _web = Web::at(port, |seen, wire| mcp(seen, wire, "s-1"));
    client.initialize();
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    finish(client);
}

#[test]
fn server_messages_are_read_and_answered() {
    let (say, said) = mpsc::sync_channel::<&str>(8);
    let said = Mutex::new(said);
    let web = Web::start(move |seen, wire| match seen.what() {
        "GET" => {
            wire.begin_events(&[]);
            while let Ok(text) = said.lock().unwrap().recv() {
                wire.chunk(text);
            }
            wire.end_events();
        }
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    say.send("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\ndata: \"params\":{\"level\":\"error\",\"data\":1}}\n\n")
        .unwrap();
    let told = client.told("notifications/message");
    assert_eq!(told["params"], json!({ "level": "error", "data": 1 }));
    say.send(": nothing\n\nevent: ping\ndata: 1\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"method\":\"ping\"}\n\n").unwrap();
    let asked = client.told("ping");
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }).to_string());
    patience::until_true("the answer to a question of the server", || web.count("an answer") == 1);
    let answer = web.seen().into_iter().find(|seen| seen.what() == "an answer").unwrap();
    assert_eq!(answer.body["id"], "q-1");
    drop(say);
    finish(client);
}

/// Both have connections of their own, so the server's threads may note them in either order.
#[test]
fn cancellation_names_its_request() {
    let (release, released) = mpsc::sync_channel::<()>(8);
    let released = Mutex::new(released);
    let web = Web::start(move |seen, wire| match seen.what() {
        "tools/call" if seen.tool() == "slow" => {
            let _ = released.lock().unwrap().recv();
            mcp(seen, wire, "s-1");
        }
        "notifications/cancelled" => {
            mcp(seen, wire, "s-1");
            let _ = release.send(());
        }
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    let slow = client.start_call("slow", json!({}));
    client.notify("notifications/cancelled", json!({ "requestId": slow }));
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1", "others go on meanwhile");
    let is_seen = || web.count("notifications/cancelled") == 1 && web.count("tools/call") == 2;
    patience::until_true("the cancellation and both calls", is_seen);
    let seen = web.seen();
    let at = |what: &str| seen.iter().position(|seen| seen.what() == what && seen.tool() != "one").unwrap();
    assert_eq!(
        seen[at("notifications/cancelled")].body["params"]["requestId"],
        seen[at("tools/call")].body["id"]
    );
    finish(client);
}
