//! Clients and servers with and without `"jsonrpc":"2.0"`.

use crate::support::{Mode, configured, fake, greeted, say_with_id, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Modern};
use switchboard_testkit::patience;
use switchboard_testkit::record::Record;
use switchboard_testkit::web::{Web, mcp};

#[test]
fn bare_client_is_answered_bare() {
    let mut client = fake(&[]).start();
    client.send(r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#);
    let greeting = client.recv_text();
    assert!(greeting.starts_with(r#"{"id":1,"result":{"#), "{greeting}");
    client.send(r#"{"method":"notifications/initialized"}"#);
    client.send(r#"{"id":"p","method":"ping"}"#);
    assert_eq!(client.recv_text(), r#"{"id":"p","result":{}}"#);
    // Our own errors follow the dialect too.
    client.send(r#"{"id":2,"method":"server/discover"}"#);
    let error = client.recv_text();
    assert!(error.starts_with(r#"{"id":2,"error":"#), "{error}");
    let heard = client.record().all_lines();
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard.iter().all(|line| line.starts_with(r#"{"jsonrpc":"2.0","#)), "{heard:?}");
}

#[test]
fn client_that_sends_jsonrpc_gets_it_back() {
    let mut client = greeted(&["--bare"]);
    let answer = client.request("ping", json!({}));
    assert_eq!(answer["jsonrpc"], "2.0");
    // Once seen, the member is always sent, even if the client omits it later.
    client.send(r#"{"id":"p","method":"ping"}"#);
    assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
}

#[test]
fn bare_servers_messages_get_jsonrpc() {
    let mut client = greeted(&["--bare"]);
    say_with_id(&client, "1", r#"{"method":"notifications/message","params":{"level":"info","data":"x"}}"#);
    assert_eq!(
        client.recv_text(),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#
    );
    client.start_call("ask", json!({ "id": "5", "request": r#"{"id":5,"method":"roots/list"}"# }));
    assert_eq!(client.told("roots/list")["jsonrpc"], "2.0");
}

#[test]
fn config_can_fix_the_dialect() {
    let mut client = configured(json!({ "dialect": "bare" }), json!({}), &[]).start();
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(client.recv_text(), r#"{"id":1,"result":{}}"#);

    let mut client = configured(json!({ "dialect": "standard" }), json!({}), &[]).start();
    client.send(r#"{"id":1,"method":"ping"}"#);
    assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

/// Uses a server in every way that leads to messages of ours: forwarded ones, answers, cancellations.
fn use_all(client: &mut Client, prefix: &str) {
    client.initialize();
    let tool = |name: &str| format!("{prefix}{name}");
    assert!(client.request("tools/list", json!({})).get("result").is_some());
    assert_eq!(text(&client.call(&tool("echo"), json!({ "jsonrpc": "2.0" }))), r#"{"jsonrpc":"2.0"}"#);
    let ask = json!({ "id": "5", "request": r#"{"id":5,"method":"roots/list"}"# });
    let call = client.start_call(&tool("ask"), ask);
    let question = client.told("roots/list");
    client.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [] } }).to_string());
    client.answer(call);
}

#[track_caller]
fn check_bare(record: &Record) {
    let heard = record.all_lines();
    let own = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    assert!(heard.len() > 4, "{heard:?}");
    assert!(heard.iter().all(|line| own(line).get("jsonrpc").is_none()), "{heard:?}");
    let echo = r#""arguments":{"jsonrpc":"2.0"}"#;
    assert!(heard.iter().any(|line| line.contains(echo)), "only the envelope changes: {heard:?}");
}

#[test]
fn bare_server_gets_no_jsonrpc() {
    for mode in [Mode::Solo, Mode::Daemon] {
        let mut client = mode.configured(json!({}), json!({ "dialect": "bare" }), &["--bare"]).start();
        use_all(&mut client, "");
        check_bare(&client.record());
    }
}

#[test]
fn standard_is_the_default_for_servers() {
    for entry in [json!({}), json!({ "dialect": "auto" }), json!({ "dialect": "standard" })] {
        let mut client = configured(json!({}), entry, &["--bare"]).start();
        use_all(&mut client, "");
        let heard = client.record().all_lines();
        assert!(heard.iter().all(|line| line.contains(r#""jsonrpc":"2.0""#)), "{heard:?}");
    }
}

/// The file's key is about clients, the entry's about the server.
#[test]
fn both_dialects_are_independent() {
    let mut client = configured(json!({ "dialect": "bare" }), json!({}), &[]).start();
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(client.recv_text().starts_with(r#"{"id":1,"#));
    let heard = client.record().all_lines();
    assert!(heard.iter().all(|line| line.contains(r#""jsonrpc":"2.0""#)), "{heard:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn bare_server_among_others() {
    use crate::aggregate::servers::Servers;
    let servers =
        Servers::none().and("old", json!({ "dialect": "bare" }), &["--bare"]).and("new", json!({}), &[]);
    for mut client in [servers.start().start(), servers.shared().start()] {
        use_all(&mut client, "old__");
        assert!(client.call("new__echo", json!({})).get("result").is_some());
    }
    check_bare(&servers.record("old"));
    let heard = servers.record("new").all_lines();
    assert!(heard.iter().all(|line| line.contains(r#""jsonrpc":"2.0""#)), "{heard:?}");
}

/// What a modern client can say, and cancel. Returns when the server has heard of it all.
fn use_modern(client: &mut Modern, record: &Record, prefix: &str) {
    client.profile.capabilities = json!({ "elicitation": { "form": {} } });
    let tool = |name: &str| format!("{prefix}{name}");
    assert!(client.discover().get("result").is_some());
    assert!(client.request("tools/list", json!({})).get("result").is_some());
    assert_eq!(text(&client.call(&tool("echo"), json!({ "jsonrpc": "2.0" }))), r#"{"jsonrpc":"2.0"}"#);
    let input = json!({ "name": tool("input"), "arguments": { "kind": "form" } });
    let given = json!({ "who": { "action": "decline" } });
    let answer = client.request_with_input("tools/call", input, &given);
    assert_eq!(answer["result"]["structuredContent"]["inputResponses"], given, "{answer}");
    let listen = client.ask("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let call = client.start_call(&tool("hang"), json!({ "label": "hung" }));
    patience::until_true("it hangs", || record.all_lines().iter().any(|line| line.contains("hung")));
    [listen, call].into_iter().for_each(|id| client.cancel(id));
    let is_cancelled = |line: &String| line.contains("notifications/cancelled");
    patience::until_true("it is cancelled", || record.all_lines().iter().any(is_cancelled));
}

#[test]
fn bare_modern_server_gets_no_jsonrpc() {
    let keys = json!({ "dialect": "bare", "era": "modern" });
    for mode in [Mode::Solo, Mode::Daemon] {
        let start = mode.configured(json!({}), keys.clone(), &["--bare", "--era", "modern"]);
        let record = start.record();
        let mut client = Modern::start(start);
        use_modern(&mut client, &record, "");
        check_bare(&record);
    }
}

/// With our own subscription and the lists that we fetch.
#[cfg(target_os = "linux")]
#[test]
fn bare_modern_server_among_others() {
    use crate::aggregate::servers::Servers;
    let keys = json!({ "dialect": "bare", "era": "modern" });
    let servers = Servers::none().and("old", keys, &["--bare", "--era", "modern"]);
    let servers = servers.and("new", json!({}), &["--era", "modern"]);
    for start in [servers.start(), servers.shared()] {
        let mut client = Modern::start(start);
        use_modern(&mut client, &servers.record("old"), "old__");
        assert!(client.call("new__echo", json!({})).get("result").is_some());
    }
    check_bare(&servers.record("old"));
    assert!(servers.told("old", "subscriptions/listen") > 0, "ours");
    let heard = servers.record("new").all_lines();
    assert!(heard.iter().all(|line| line.contains(r#""jsonrpc":"2.0""#)), "{heard:?}");
}

/// A legacy client, whose messages are translated.
#[test]
fn bare_modern_server_of_a_legacy_client() {
    for mode in [Mode::Solo, Mode::Daemon] {
        let keys = json!({ "dialect": "bare", "era": "modern" });
        let mut client = mode.configured(json!({}), keys, &["--bare", "--era", "modern"]).start();
        client.initialize();
        assert!(client.request("tools/list", json!({})).get("result").is_some());
        assert_eq!(text(&client.call("echo", json!({ "jsonrpc": "2.0" }))), r#"{"jsonrpc":"2.0"}"#);
        client.call("echo", json!({}));
        check_bare(&client.record());
    }
}

/// Also the messages that restore a lost session, which are not the core's.
#[test]
fn bare_remote_server_gets_no_jsonrpc() {
    let web = Web::start(|seen, wire| {
        let is_lost = seen.header("mcp-session-id") == Some("s-1") && seen.tool() == "lose";
        match is_lost {
            true => wire.reply(404, &[], ""),
            false => mcp(seen, wire, if seen.header("mcp-session-id").is_some() { "s-2" } else { "s-1" }),
        }
    });
    let mut client = crate::remote::far(&web.url("/mcp"), json!({ "dialect": "bare" })).start();
    client.initialize();
    client.request("resources/subscribe", json!({ "uri": "a:b" }));
    client.call("lose", json!({}));
    client.call("one", json!({}));
    let posted: Vec<Value> = web.seen().into_iter().map(|seen| seen.body).filter(Value::is_object).collect();
    assert!(posted.len() > 5, "{posted:#?}");
    assert!(posted.iter().filter(|body| body["method"] == "initialize").count() > 1, "{posted:#?}");
    assert!(posted.iter().all(|body| body.get("jsonrpc").is_none()), "{posted:#?}");
}
