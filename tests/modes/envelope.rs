//! Invalid messages: the waiting side always gets an error.

use super::MODE;
use crate::support::{error, escape_percent, say_with_id};
use serde_json::{Value, json};

/// Invalid client messages, with the code and the id of the answer.
#[test]
fn broken_client_messages_are_answered() {
    let mut client = MODE.greeted(&[]);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"x","params":{}{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let cases: &[(&[u8], i64, Value)] = &[
        (b"hello", -32700, json!(null)),
        (b"{", -32700, json!(null)),
        (br#"{"jsonrpc":"2.0","id":5,"method":"x""#, -32700, json!(5)),
        (br#"{"jsonrpc":"2.0","id":"a","method":"x","params":{"n":NaN}}"#, -32700, json!("a")),
        (br#"{"jsonrpc":"2.0","id":6,"method":"x","params":{"n":Infinity}}"#, -32700, json!(6)),
        (br#"{"jsonrpc":"2.0","id":7,"method":"x",}"#, -32700, json!(7)),
        (br#"{'jsonrpc':'2.0','id':7}"#, -32700, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"x\",\"params\":{\"s\":\"caf\xe9\"}}", -32700, json!(8)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"x\",\"params\":{\"s\":\"\xed\xa0\x80\"}}",
            -32700,
            json!(8),
        ),
        (b"\xff\xfe{\x00}\x00", -32700, json!(null)),
        (br#"{"jsonrpc":"2.0","id":8,"method":"x"} trailing"#, -32700, json!(8)),
        (br#"{"jsonrpc":"2.0","id":01,"method":"x"}"#, -32700, json!(null)),
        (b"12", -32600, json!(null)),
        (b"\"text\"", -32600, json!(null)),
        (b"null", -32600, json!(null)),
        (b"{}", -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":10}"#, -32600, json!(10)),
        (br#"{"jsonrpc":"1.0","id":11,"method":"x"}"#, -32600, json!(11)),
        (br#"{"jsonrpc":2.0,"id":11,"method":"x"}"#, -32600, json!(11)),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"x"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":12,"method":5}"#, -32600, json!(12)),
        (br#"{"jsonrpc":"2.0","id":13,"method":"x","params":"text"}"#, -32600, json!(13)),
        (br#"{"jsonrpc":"2.0","id":14,"method":"x","result":{}}"#, -32600, json!(14)),
        (br#"{"jsonrpc":"2.0","id":15,"method":"x","method":"y"}"#, -32600, json!(15)),
        (br#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":16,"method":"x"}"#, -32600, json!(16)),
        (br#"{"jsonrpc":"2.0","id":17,"method":"x","Method":"y"}"#, -32600, json!(17)),
        (br#"{"jsonrpc":"2.0","id":18,"ID":19,"method":"x"}"#, -32600, json!(18)),
        (br#"{"jsonrpc":"2.0","id":20,"method":"x","metho\u0064":"y"}"#, -32600, json!(20)),
        (br#"{"jsonrpc":"2.0","id":21,"method":"x","params":{},"Params":{}}"#, -32600, json!(21)),
        (
            br#"{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            -32600,
            json!(22),
        ),
        (
            br#"{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
            -32600,
            json!(23),
        ),
        (deep.as_bytes(), -32700, json!(9)),
    ];
    for (bytes, code, id) in cases {
        client.send(bytes);
        let answer = client.recv_json();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (id, &json!(code)), "{shown}\n{answer}");
        assert_eq!(
            (&answer["jsonrpc"], &answer["error"]["data"]["kind"]),
            (&json!("2.0"), &json!("bad_message"))
        );
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}), "it is still usable");
    let heard = client.record().all_lines();
    assert_eq!(heard.len(), 3, "none of it reached the server: {heard:?}");
}

/// Only one of two ids can be answered; either will do.
#[test]
fn request_with_two_ids_is_answered() {
    let mut client = MODE.greeted(&[]);
    client.send(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#);
    let answer = client.recv_json();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!([json!(1), json!(2), json!(null)].contains(&answer["id"]), "{answer}");
}

/// Invalid server answers: the client gets an error.
#[test]
fn broken_server_answers_fail_requests() {
    let mut client = MODE.greeted(&[]);
    for template in [
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"n":NaN}}"#,
        r#"{"result":{"n":-Infinity},"jsonrpc":"2.0","id":%ID}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"s":"caf%E9"}}"#,
        r#"{"jsonrpc":"2.0","result":{"s":"%FF%FE"},"id":%ID}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{},"Result":{}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{},"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"3.0","id":%ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"a":1,}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"a":"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"a":"unclosed}}"#,
    ] {
        say_with_id(&client, "\"w\"", template);
        let answer = client.answer("w");
        error(&answer, -32603, "bad_answer");
        assert_eq!(answer["error"]["data"]["server"], "fake-backend", "{template}");
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}), "it is still usable");
}

/// Answers that lack or disguise a part of their envelope, or share their line with others.
#[test]
fn incomplete_answers_fail_requests() {
    let mut client = MODE.greeted(&[]);
    for template in [
        r#"{"jsonrpc":"2.0","id":%ID}"#,
        r#"{"jsonrpc":"2.0","\u0069d":%ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","Id":%ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"\u0072esult":{}}"#,
        r#"{"jsonrpc":"2.0","id":[%ID],"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"[info] {"jsonrpc":"2.0","id":%ID,"result":{"n":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":%ID}{"jsonrpc":"2.0","id":987654,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":987654,"result":{}}{"jsonrpc":"2.0","id":%ID,"result":"#,
    ] {
        say_with_id(&client, "\"w\"", template);
        let answer = client.answer("w");
        assert_eq!(answer["error"]["data"]["kind"], "bad_answer", "{template}\n{answer}");
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}), "it is still usable");
}

#[test]
fn broken_server_requests_are_refused() {
    let mut client = MODE.greeted(&[]);
    for (number, broken) in [
        r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"n":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"roots/list","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"roots/list","params":7}"#,
    ]
    .iter()
    .enumerate()
    {
        let id = client.start_call("ask", json!({ "id": "\"q\"", "request": escape_percent(broken) }));
        let answer = client.answer(id);
        let told: Value = serde_json::from_str(crate::support::text(&answer)).unwrap();
        assert_eq!(told["id"], "q", "{number}");
        assert!(matches!(told["error"]["code"].as_i64(), Some(-32700 | -32600)), "{told}");
    }
}

/// The server must not keep waiting.
#[test]
fn clients_broken_answer_becomes_an_error() {
    let mut client = MODE.greeted(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    let asked = client.told("roots/list");
    client.send(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"n":NaN}}}}"#, asked["id"]));
    let answer = client.answer(call);
    let told: Value = serde_json::from_str(crate::support::text(&answer)).unwrap();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!("q"), &json!(-32700)), "{told}");
}

#[test]
fn error_with_null_id_ends_the_only_request() {
    let mut client = MODE.greeted(&[]);
    say_with_id(
        &client,
        "5",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
    );
    assert_eq!(
        client.recv_text(),
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32700,"message":"Parse error"}}"#
    );
}

#[test]
fn error_without_id_ends_the_only_request() {
    let mut client = MODE.greeted(&[]);
    let error = r#""jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#;
    say_with_id(&client, "5", &format!("{{{error}"));
    assert_eq!(client.recv_text(), format!(r#"{{"id":5,{error}"#));
}

#[test]
fn unexpected_answers_are_dropped() {
    let mut client = MODE.greeted(&[]);
    let twice = r#"{"jsonrpc":"2.0","id":%ID,"result":{"first":true}}
{"jsonrpc":"2.0","id":%ID,"result":{"first":false}}
{"jsonrpc":"2.0","id":987654,"result":{}}
{"jsonrpc":"2.0","id":"never","result":{}}
{"jsonrpc":"2.0","id":null,"result":{}}"#;
    say_with_id(&client, "1", twice);
    assert_eq!(client.recv_json()["result"]["first"], true);
    // Unexpected answers of a client are dropped as well.
    client.send(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#);
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id), "nothing came between");
    let heard = client.record().all_lines();
    assert!(!heard.iter().any(|line| line.contains(":77,") || line.contains("\"x\"")), "{heard:?}");
}
