//! Accepted and refused messages, and the errors for refused ones.

#![forbid(unsafe_code)]

use bytes::Bytes;
use proptest::prelude::*;
use switchboard_protocol::{
    Dialect, ErrorAnswer, Kind, Message, Method, Outgoing, Parsed, Part, Patch, RawId, parse,
};

fn message(text: &str) -> Message {
    match parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Parsed::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

fn kind(text: &str, expect: Kind) {
    assert_eq!(message(text).kind(), expect, "{text}");
}

/// Expects a refusal with this code and this id in the answer.
fn refused(text: impl AsRef<[u8]>, code: i32, id: Option<&str>) {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(text);
    match parse(Bytes::copy_from_slice(text)) {
        Err(broken) => {
            assert_eq!(broken.fault.code(), code, "{shown}: {:?}", broken.fault);
            assert_eq!(broken.id.map(|id| id.to_string()).as_deref(), id, "{shown}");
            let answer = ErrorAnswer::of_fault(broken.fault).to_bytes(&RawId::null(), Dialect::Standard);
            assert!(serde_json::from_slice::<serde_json::Value>(&answer).is_ok(), "{shown}");
        }
        Ok(parsed) => panic!("{shown}: accepted as {parsed:?}"),
    }
}

#[test]
fn kinds_of_messages_are_told_apart() {
    kind(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Kind::Request);
    kind(r#"{"method":"x","id":null}"#, Kind::Request);
    kind(r#" {"method":"notifications/initialized"} "#, Kind::Notification);
    kind(r#"{"id":1,"result":null}"#, Kind::Response { failed: false });
    kind(r#"{"id":1,"result":{},"error":null}"#, Kind::Response { failed: false });
    kind(r#"{"id":1,"error":{"code":-1}}"#, Kind::Response { failed: true });
    kind(r#"{"id":1,"result":null,"error":{"code":-1}}"#, Kind::Response { failed: true });
    kind(r#"{"id":1,"method":"x","params":[1,2],"unknown":{"a":[]}}"#, Kind::Request);
    assert_eq!(message(r#"{"id":1,"method":"tools\/call"}"#).method(), Method::ToolsCall);
}

#[test]
fn ids_keep_their_spelling() {
    for id in
        ["1", "-7", "1.50", "1e3", "12345678901234567890123", "\"a\"", "\"\"", r#""\u00e9\"""#, "null", "0"]
    {
        let text = format!(r#"{{"result":{{"id":0}},"id":{id}}}"#);
        assert_eq!(message(&text).id().unwrap().to_string(), id);
    }
}

#[test]
fn parts_are_found_in_any_order() {
    let text = r#"{"params":{"_meta":{"progressToken":"t","io.modelcontextprotocol\/related-task":{"taskId":"k"}},
        "name":"echo","arguments":{"name":"inner","_meta":{"progressToken":9}}},"id":3,"method":"tools/call"}"#;
    let message = message(text);
    let part = |part| message.part(part).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(part(Part::MetaProgressToken).as_deref(), Some("\"t\""));
    assert_eq!(part(Part::MetaRelatedTaskId).as_deref(), Some("\"k\""));
    assert_eq!(message.text(Part::Name).as_deref(), Some("echo"));
    assert_eq!(part(Part::Uri), None);
}

#[test]
fn not_json_is_parse_error() {
    refused("hello", -32700, None);
    refused("{", -32700, None);
    refused(r#"{"id":5,"method":"x","params":{"a":NaN}}"#, -32700, Some("5"));
    refused(r#"{"id":5,"method":"x"} trailing"#, -32700, Some("5"));
    refused(b"{\"id\":6,\"method\":\"x\",\"params\":{\"a\":\"\xe9\"}}", -32700, Some("6"));
    refused("12 apples", -32700, None);
    refused(r#"[{"id":1,"method":"x"},"#, -32700, Some("1"));
}

#[test]
fn bad_envelope_is_invalid_request() {
    refused("12", -32600, None);
    refused("\"text\"", -32600, None);
    refused("[]", -32600, None);
    refused("{}", -32600, None);
    refused(r#"{"id":1}"#, -32600, Some("1"));
    refused(r#"{"id":{"a":1},"method":"x"}"#, -32600, None);
    refused(r#"{"id":[1],"method":"x"}"#, -32600, None);
    refused(r#"{"id":true,"method":"x"}"#, -32600, None);
    refused(r#"{"id":1,"method":7}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"x","params":"text"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"x","result":1}"#, -32600, Some("1"));
    refused(r#"{"id":1,"result":1,"error":{}}"#, -32600, Some("1"));
    refused(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, -32600, Some("1"));
}

#[test]
fn second_spelling_of_a_key_is_refused() {
    refused(r#"{"id":1,"method":"a","method":"b"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"a","Method":"b"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"METHOD":"b"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"\u006dethod":"b"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method\u0000":"b"}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"a","re\u017fult":1}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}"#, -32600, Some("1"));
    refused(r#"{"id":1,"method":"tools/call","params":{"Name":"a","name":"b"}}"#, -32600, Some("1"));
    // Alone, a key that merely resembles one of ours is just another field.
    message(r#"{"id":1,"method":"x","params":{"Name":"a","NAME":"b"}}"#);
}

#[test]
fn batch_is_parsed_member_by_member() {
    let parsed = parse(Bytes::from_static(br#" [ {"id":1,"method":"a"} , {"method":"n"},7,{"id":2} ] "#));
    let Ok(Parsed::Batch(members)) = parsed else { panic!("{parsed:?}") };
    let kinds: Vec<_> =
        members.iter().map(|m| m.as_ref().map(|m| m.kind()).map_err(|b| b.fault.code())).collect();
    assert_eq!(kinds, [Ok(Kind::Request), Ok(Kind::Notification), Err(-32600), Err(-32600)]);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~é\\n\"\\\\]{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map("[a-z]{1,8}", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// With the original id back in place, the bytes are unchanged: nothing else was touched.
    #[test]
    fn replaced_id_can_be_restored(params in json(), id in "(0|[1-9][0-9]{0,25}|\"[a-z]{0,30}\")", minted: u64) {
        let params = serde_json::json!({ "arguments": params });
        let text = format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":{id}}}"#);
        let original = message(&text);
        let mut out = Outgoing::of(&original);
        out.replace(original.span(Part::Id), Patch::Id(RawId::from_number(minted)));
        let sent = message(std::str::from_utf8(&out.to_vec()).unwrap());
        prop_assert_eq!(RawId::minted(sent.part(Part::Id).unwrap()), Some(minted));
        let mut back = Outgoing::of(&sent);
        back.replace(sent.span(Part::Id), Patch::Id(original.id().unwrap()));
        prop_assert_eq!(back.to_vec(), text.into_bytes());
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(bytes.into());
    }
}
