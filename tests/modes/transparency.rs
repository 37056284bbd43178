//! Transparency: payloads pass byte for byte in both directions, and ids come back as spelled.

use super::MODE;
use crate::support::{escape_percent, greet, say_with_id, text};
use serde_json::json;
use switchboard_testkit::client::Client;

/// Values that JSON libraries tend to change.
const EXOTIC: &[&str] = &[
    r#"{}"#,
    r#"{ "b" : 1 ,  "a":2,	"c" : [ 1 , 2 ]  }"#,
    r#"{"n":[0.1,0.7,1.0,1.50,-0,-0.0,1e3,1E+2,1e400,123456789012345678901234567890,9007199254740993]}"#,
    r#"{"s":"\u0000\u001f\ud83d\ude00\/\u00e9é😀\"\\ \t%41"}"#,
    r#"{"lone":"\ud800","separators":"  ","bom":"﻿","del":""}"#,
    r#"{"same":1,"same":2,"":0," ":[]}"#,
    r#"{"id":5,"jsonrpc":"1.0","method":"x","error":null,"text":"\"id\":7,\"method\":\"y\""}"#,
    r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"},"own":[null,true,false]}}"#,
    r#"{"html":"</script><!--","sql":"';--","path":"C:\\x\\y","nl":"\n\r\n"}"#,
];

/// Legal ids in spellings that are easily lost.
const IDS: &[&str] = &[
    "1",
    "0",
    "-1",
    "1.5",
    "1.0",
    "1e3",
    "1E+2",
    "-0",
    "9007199254740993",
    "123456789012345678901234567890",
    r#""1""#,
    r#""""#,
    r#""a\"b\\c""#,
    r#""\u0041""#,
    r#""é😀""#,
    r#""tools/call""#,
    r#""\/""#,
    r#""switchboard/again/0""#,
    r#""switchboard/again/x""#,
    r#""switchboard-1""#,
    r#""ready?""#,
    "null",
];

#[test]
fn results_pass_byte_for_byte() {
    let mut client = MODE.greeted(&[]);
    for payload in EXOTIC {
        say_with_id(
            &client,
            "7",
            &format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{}}}"#, escape_percent(payload)),
        );
        assert_eq!(client.recv_text(), format!(r#"{{"jsonrpc":"2.0","id":7,"result":{payload}}}"#));
        let template = format!(
            r#" {{ "error" :{{"code":-1,"data":{},"message":"m"}} ,"id": %ID,"jsonrpc":"2.0" }}"#,
            escape_percent(payload)
        );
        say_with_id(&client, "7", &template);
        assert_eq!(
            client.recv_text(),
            format!(
                r#" {{ "error" :{{"code":-1,"data":{payload},"message":"m"}} ,"id": 7,"jsonrpc":"2.0" }}"#
            )
        );
    }
}

#[test]
fn params_pass_byte_for_byte() {
    let mut client = MODE.greeted(&[]);
    for (number, payload) in EXOTIC.iter().enumerate() {
        let before = format!(r#"{{"jsonrpc":"2.0","method":"test/{number}","x":{payload},"id": "#);
        let after = format!(r#" ,"params":{payload}}}"#);
        client.send(format!("{before}\"mine\"{after}"));
        assert_eq!(client.answer("mine")["error"], json!(null));
        let heard = client.record().wait_for(1, &format!("test/{number}"));
        let id = heard.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
        let Some(id) = id else { panic!("sent {before}…{after}\nheard {heard}") };
        assert!(!id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()), "{heard}");
    }
}

#[test]
fn notifications_pass_byte_for_byte() {
    let mut client = MODE.greeted(&[]);
    for (number, payload) in EXOTIC.iter().enumerate() {
        let line =
            format!(r#"{{"method":"notifications/test/{number}","params":{payload},"jsonrpc":"2.0"}}"#);
        client.send(&line);
        assert_eq!(client.record().wait_for(1, &format!("notifications/test/{number}")), line);
        // An answer follows, so that the call is over.
        let template = format!("{}\n{}", escape_percent(&line), r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#);
        say_with_id(&client, "7", &template);
        assert_eq!(client.recv_text(), line);
        assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    }
}

#[test]
fn ids_keep_their_spelling() {
    let mut client = MODE.greeted(&[]);
    let long = format!("\"{}\"", "x".repeat(5000));
    for id in IDS.iter().copied().chain([long.as_str()]) {
        say_with_id(&client, id, r#"{"result":{},"jsonrpc":"2.0","id":%ID}"#);
        assert_eq!(client.recv_text(), format!(r#"{{"result":{{}},"jsonrpc":"2.0","id":{id}}}"#));
    }
}

#[test]
fn respelled_id_is_recognised() {
    let mut client = MODE.greeted(&[]);
    for spelling in [r#""%ID""#, "%ID.0", " %ID "] {
        say_with_id(&client, r#""mine""#, &format!(r#"{{"jsonrpc":"2.0","id":{spelling},"result":1}}"#));
        assert_eq!(client.recv_text().replace(' ', ""), r#"{"jsonrpc":"2.0","id":"mine","result":1}"#);
    }
}

#[test]
fn two_requests_may_have_the_same_id() {
    let mut client = MODE.greeted(&[]);
    for _ in 0..2 {
        client.send(r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"hold"}}"#);
    }
    client.call("release", json!({}));
    for _ in 0..2 {
        assert_eq!(
            client.recv_json(),
            json!({ "jsonrpc": "2.0", "id": "same", "result": { "label": null } })
        );
    }
}

#[test]
fn unknown_methods_and_fields_pass() {
    let mut client = MODE.greeted(&[]);
    client.send(
        r#"{"jsonrpc":"2.0","id":"u","method":"vendor/never.heard","params":[1,{"a":2}],"extra":{"b":3}}"#,
    );
    let answer = client.answer("u");
    let heard = answer["result"]["heard"].as_str().unwrap();
    assert!(
        heard.ends_with(r#","method":"vendor/never.heard","params":[1,{"a":2}],"extra":{"b":3}}"#),
        "{heard}"
    );
    say_with_id(&client, "7", r#"{"jsonrpc":"2.0","id":%ID,"result":{"new":1},"vendor":[2]}"#);
    assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":7,"result":{"new":1},"vendor":[2]}"#);
}

#[test]
fn names_stay_unchanged() {
    let mut client = MODE.greeted(&[]);
    let tools = client.request("tools/list", json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.starts_with(&["echo", "say"]), "{names:?}");
    client.call("echo", json!({}));
    client.record().wait_for(1, r#""name":"echo""#);
}

#[test]
fn many_requests_in_one_write_are_answered() {
    const REQUESTS: usize = 500;
    let mut client = greet(MODE.wide());
    let line = |number: usize| {
        let params = format!(r#"{{"name":"echo","arguments":{{"n":{number}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":"r{number}","method":"tools/call","params":{params}}}"#) + "\n"
    };
    client.send_bytes((0..REQUESTS).map(line).collect::<String>());
    for number in 0..REQUESTS {
        let answer = client.answer(format!("r{number}"));
        assert_eq!(text(&answer), format!(r#"{{"n":{number}}}"#));
    }
}

#[test]
fn large_messages_pass_whole() {
    let mut client = MODE.greeted(&[]);
    for size in [1000, 16 << 10, 70_000, 300_000, 2 << 20] {
        let text = pattern(size);
        client
            .send(format!(r#"{{"id":"big","method":"test/big","params":{{"t":"{text}"}},"jsonrpc":"2.0"}}"#));
        let answer = client.answer("big");
        let heard = answer["result"]["heard"].as_str().unwrap();
        assert!(heard.ends_with(&format!(r#""params":{{"t":"{text}"}},"jsonrpc":"2.0"}}"#)), "{size}");
        check_big_answer(&mut client, size);
    }
}

fn check_big_answer(client: &mut Client, size: usize) {
    let id = client.start_call(
        "say",
        json!({ "text": r#"{"jsonrpc":"2.0","result":""#, "fill": size, "after": "\",\"id\":%ID}\n" }),
    );
    let expect = format!(r#"{{"jsonrpc":"2.0","result":"{}","id":{id}}}"#, "x".repeat(size));
    assert!(client.recv() == expect.as_bytes(), "{size}");
}

/// No two parts are the same, so a swapped or lost piece shows.
fn pattern(size: usize) -> String {
    let mut text: String = (0..).map(|n: u32| format!("{n} ")).take(size / 4 + 1).collect();
    text.truncate(size);
    text
}
