//! Clients and servers with and without `"jsonrpc":"2.0"`.

use crate::support::{configured, fake, greeted, say_with_id};
use serde_json::json;

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
