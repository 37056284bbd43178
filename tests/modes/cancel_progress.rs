//! Cancellation and progress: each side uses its own ids and tokens.

use super::MODE;
use crate::support::{log_with, say_with_id, text};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;

/// The server's id of the call that contains this text.
fn id_at_server(client: &Client, text: &str) -> Value {
    let line = client.record().wait_for(1, text);
    serde_json::from_str::<Value>(&line).unwrap()["id"].clone()
}

#[test]
fn cancel_carries_the_servers_id() {
    let mut client = MODE.greeted(&[]);
    client.send(r#"{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"hold","arguments":{"label":"c1"}}}"#);
    let theirs = id_at_server(&client, "c1");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"user \u00e9","requestId":"mine"}}"#);
    let heard = client.record().wait_for(1, "notifications/cancelled");
    let expect = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"reason":"user \u00e9","requestId":{theirs}}}}}"#
    );
    assert_eq!(heard, expect);
    log_with(&client, "cancelled");
    // Client and server are free again.
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
}

/// An id in another spelling is another id.
#[test]
fn cancel_of_an_unknown_id_is_dropped() {
    let mut client = MODE.greeted(&[]);
    client.send(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"hold","arguments":{"label":"c2"}}}"#);
    client.record().wait_for(1, "c2");
    for id in ["77", r#""5""#, "5.0", "null", "1"] {
        client.send(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#);
    assert_eq!(client.call("release", json!({}))["result"]["released"], 1);
    assert_eq!(client.answer(5)["result"]["label"], "c2");
    let heard = client.record().all_lines();
    assert!(!heard.iter().any(|line| line.contains("cancelled")), "{heard:?}");
}

/// The request has been answered, so the server is not told.
#[test]
fn late_cancel_is_dropped() {
    let mut client = MODE.greeted(&[]);
    let id = client.start_call("echo", json!({}));
    client.answer(id);
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    client.request("ping", json!({}));
    assert!(!client.record().all_lines().iter().any(|line| line.contains("cancelled")));
}

#[test]
fn servers_cancel_carries_the_clients_id() {
    let mut client = MODE.greeted(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"theirs-1","method":"sampling/createMessage","params":{}}"#;
    client.start_call("ask", json!({ "id": "\"theirs-1\"", "request": request }));
    let id = client.told("sampling/createMessage")["id"].clone();
    say_with_id(
        &client,
        "99",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"theirs-1","reason":"r"}}"#,
    );
    let told = client.recv_text();
    assert_eq!(
        told,
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#
        )
    );
}

#[test]
fn progress_carries_the_clients_token() {
    let mut client = MODE.greeted(&[]);
    for token in ["7", "\"p-7\"", "\"\\u0041/é\"", "0", "1.5", "123456789012345678901234567890"] {
        let template = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":0.50,"message":"half"}}
{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
        let arguments = json!({ "text": format!("{template}\n") });
        client.send(format!(
            r#"{{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{{"_meta":{{"x":1,"progressToken":{token}}},"name":"say","arguments":{arguments}}}}}"#
        ));
        let progress = client.recv_text();
        let expect = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.50,"message":"half"}}}}"#
        );
        assert_eq!(progress, expect);
        assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":"c","result":{}}"#);
    }
}

/// Two calls with the same token, and a token equal to another call's id: each gets its own.
#[test]
fn equal_tokens_of_calls_do_not_mix() {
    let mut client = MODE.greeted(&[]);
    for (id, token) in [("100", "1"), ("1", "100"), ("2", "2")] {
        let template = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":%TOKEN,"progress":1,"of":{id}}}}}"#
        );
        let arguments = json!({ "text": format!("{template}\n") });
        client.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"say","arguments":{arguments},"_meta":{{"progressToken":{token}}}}}}}"#
        ));
        let progress = client.recv_json();
        assert_eq!(
            (progress["params"]["progressToken"].to_string(), progress["params"]["of"].to_string()),
            (token.into(), id.into())
        );
    }
}

/// Progress without a client's token is dropped; a token that the server made up passes to its only client.
#[test]
fn unknown_server_tokens_pass_unchanged() {
    let mut client = MODE.greeted(&[]);
    let template = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%ID,"progress":2}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"foreign","progress":0.10}}"#;
    say_with_id(&client, "1", template);
    assert_eq!(client.recv_json()["id"], 1);
    assert_eq!(
        client.recv_text(),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"foreign","progress":0.10}}"#
    );
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id), "nothing came between");
}

#[test]
fn progress_after_the_answer_is_passed_on() {
    let mut client = MODE.greeted(&[]);
    for token in ["7", "\"p-7\"", "1.5"] {
        let template = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":0.50}}"#;
        let arguments = json!({ "text": format!("{template}\n") });
        client.send(format!(
            r#"{{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{{"_meta":{{"progressToken":{token}}},"name":"say","arguments":{arguments}}}}}"#
        ));
        assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":"c","result":{}}"#);
        let expect = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.50}}}}"#
        );
        assert_eq!(client.recv_text(), expect);
    }
}

/// The other direction: the client reports progress on a request of the server.
#[test]
fn clients_progress_carries_servers_token() {
    let mut client = MODE.greeted(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"_meta":{"progressToken":"theirs"},"messages":[]}}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    let asked = client.told("sampling/createMessage");
    let token = asked["params"]["_meta"]["progressToken"].clone();
    client.notify("notifications/progress", json!({ "progressToken": token, "progress": 1 }));
    let unknown = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":0.20}}"#;
    client.send(unknown);
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }).to_string());
    assert_eq!(text(&client.answer(call)), r#"{"id":"q","jsonrpc":"2.0","result":{}}"#);
    let heard = client.record().wait_for(1, "notifications/progress");
    assert!(heard.contains(r#""progressToken":"theirs""#), "{heard}");
    assert_eq!(client.record().wait_for(1, "\"mine\""), unknown);
}
