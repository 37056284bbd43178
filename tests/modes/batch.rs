//! Batches: split for the server, answered as a batch.

use super::MODE;
use crate::support::{error, gateway_pid};
use serde_json::{Value, json};
use switchboard_testkit::pids;

fn sorted(mut batch: Value) -> Vec<Value> {
    let mut members = std::mem::take(batch.as_array_mut().unwrap());
    members.sort_by_key(|member| member["id"].to_string());
    members
}

#[test]
fn batch_is_answered_as_a_batch() {
    let mut client = MODE.greeted(&[]);
    client.send(
        r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}, {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}]"#,
    );
    let members = sorted(client.recv_json());
    assert_eq!(members.len(), 2);
    assert_eq!(members[0], json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
    assert_eq!(members[1]["result"]["content"][0]["text"], r#"{"n":1}"#);
    let heard = client.record().all_lines();
    assert!(heard.iter().all(|line| line.starts_with('{')), "the server sees single messages: {heard:?}");
    assert!(heard.iter().any(|line| line == r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), "{heard:?}");
}

#[test]
fn broken_members_get_their_own_errors() {
    let mut client = MODE.greeted(&[]);
    client.send(r#"[1,{"jsonrpc":"2.0","id":"a","method":"ping"},{"id":"b","foo":1},{"jsonrpc":"2.0","id":"c","method":"server/discover"}]"#);
    let members = sorted(client.recv_json());
    let codes: Vec<_> = members.iter().map(|m| (m["id"].clone(), m["error"]["code"].clone())).collect();
    let expect =
        [("a", json!(null)), ("b", json!(-32600)), ("c", json!(-32601))].map(|(id, code)| (json!(id), code));
    assert_eq!(codes[..3], expect);
    assert_eq!(codes[3], (json!(null), json!(-32600)));
}

#[test]
fn empty_or_broken_batch_is_one_error() {
    let mut client = MODE.greeted(&[]);
    for (batch, code) in
        [("[]", -32600), (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}"#, -32700), ("[,]", -32700)]
    {
        client.send(batch);
        assert_eq!(client.recv_json()["error"]["code"], code, "{batch}");
    }
}

#[test]
fn batch_of_notifications_has_no_answer() {
    let mut client = MODE.greeted(&[]);
    client.send(
        r#"[{"jsonrpc":"2.0","method":"notifications/one"},{"jsonrpc":"2.0","method":"notifications/two"}]"#,
    );
    client.record().wait_for(1, "notifications/two");
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id));
}

/// Only the batch waits for its slowest member.
#[test]
fn other_requests_do_not_wait_for_a_batch() {
    let mut client = MODE.greeted(&[]);
    client.send(
        r#"[{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"hold"}},{"jsonrpc":"2.0","id":"quick","method":"ping"}]"#,
    );
    let id = client.ask("ping", json!({}));
    assert_eq!(client.recv_json()["id"], json!(id));
    let release = client.start_call("release", json!({}));
    let batch = sorted(client.recv_json());
    assert_eq!([&batch[0]["id"], &batch[1]["id"]], [&json!("quick"), &json!("slow")]);
    assert_eq!(client.answer(release)["result"]["released"], 1);
}

#[test]
fn crash_answers_all_members_of_a_batch() {
    let mut client = MODE.greeted(&[]);
    client.send(
        r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"hang"}},{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"crash","arguments":{"code":4}}}]"#,
    );
    let members = sorted(client.recv_json());
    assert_eq!(members[0]["result"], json!({}));
    error(&members[1], -32002, "backend_unavailable");
    error(&members[2], -32002, "backend_unavailable");
}

#[test]
fn servers_batch_is_split() {
    let mut client = MODE.greeted(&[]);
    let template = r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":%ID,"result":{"in":"batch"}}]"#;
    crate::support::say_with_id(&client, "1", template);
    assert_eq!(client.recv_json()["params"]["data"], 1);
    assert_eq!(client.recv_json(), json!({ "jsonrpc": "2.0", "id": 1, "result": { "in": "batch" } }));
}

/// A member takes two bytes and its error some hundred: a batch must not fill the memory.
#[test]
fn oversized_batch_is_one_error() {
    let mut client = MODE.greeted(&[]);
    client.send(format!("[{}1]", "1,".repeat(500_000)));
    let answer = client.recv_json();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    assert!(pids::peak_memory(gateway_pid(&client)).unwrap() < 64 << 20);
    let many: Vec<String> =
        (0..1000).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect();
    client.send(format!("[{}]", many.join(",")));
    assert_eq!(client.recv_json().as_array().unwrap().len(), 1000);
}
