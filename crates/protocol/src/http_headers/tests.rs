use super::*;
use crate::envelope::{Parsed, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

fn message(body: Value) -> Message {
    match parse(body.to_string().into()) {
        Ok(Parsed::One(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, mut params: Value) -> Message {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    message(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

#[test]
fn values_are_encoded_as_specified() {
    let check = |text: &str, expect: &str| {
        assert_eq!(encode(text), expect, "{text:?}");
        assert_eq!(decode(expect.as_bytes()).as_deref(), Some(text), "{expect:?}");
    };
    // The table of the specification.
    check("us-west1", "us-west1");
    check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    check(" padded ", "=?base64?IHBhZGRlZCA=?=");
    check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
    check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    // And its edges.
    check("a b", "a b");
    check("", "=?base64??=");
    check("a\tb", "=?base64?YQli?=");
    check("=?BASE64?eA==?=", "=?BASE64?eA==?=");
    assert_eq!(encode("=?base64?="), "=?base64?PT9iYXNlNjQ/PQ==?=");
}

#[test]
fn malformed_values_are_not_decoded() {
    for value in [
        "=?base64?eA=?=",
        "=?base64?eA==",
        "=?base64?e A=?=",
        "=?base64?eB==?=",
        "=?base64?/w==?=",
        "é",
        "a\rb",
    ] {
        let expect = (value == "=?base64?eA==").then_some(value);
        assert_eq!(decode(value.as_bytes()).as_deref(), expect, "{value:?}");
    }
}

proptest! {
    #[test]
    fn any_text_survives_a_header(text in any::<String>()) {
        let encoded = encode(&text);
        prop_assert!(is_safe(&encoded), "{encoded:?}");
        let decoded = decode(encoded.as_bytes());
        prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
    }
}

#[test]
fn standard_headers_repeat_the_body() {
    let check = |method: &str, params: Value, name: Option<&str>| {
        let headers = standard(&request(method, params));
        let value = |header| headers.iter().find(|(it, _)| *it == header).map(|(_, value)| value.as_str());
        assert_eq!(value(PROTOCOL_VERSION), Some("2026-07-28"), "{method}");
        assert_eq!((value(METHOD), value(NAME)), (Some(method), name), "{method}");
    };
    check("tools/call", json!({"name": "read"}), Some("read"));
    check("prompts/get", json!({"name": "grüß"}), Some("=?base64?Z3LDvMOf?="));
    check("resources/read", json!({"uri": "file:///a b", "name": "no"}), Some("file:///a b"));
    check("tasks/get", json!({"taskId": "t1"}), Some("t1"));
    check("tasks/update", json!({"taskId": "t1"}), Some("t1"));
    check("tasks/cancel", json!({"taskId": "t1"}), Some("t1"));
    check("tools/list", json!({"name": "ignored"}), None);
    check("tools/call", json!({"name": 7}), None);
}

#[test]
fn unsendable_values_are_left_out() {
    let headers = standard(&message(json!({"id": 1, "method": "a\nb", "params": {}})));
    assert_eq!(headers, []);
}

#[test]
fn standard_headers_are_compared() {
    let call = request("tools/call", json!({"name": "grüß"}));
    let full = [(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "=?base64?Z3LDvMOf?=")];
    let check = |changed: &str, value: Found<'static>, expect: Option<MismatchFault>| {
        let header = |name: &str| match full.iter().find(|(it, _)| *it == name) {
            _ if name == changed => value,
            Some((_, value)) => Found::One(value.as_bytes()),
            None => Found::Absent,
        };
        let fault = check_standard(&call, header).err();
        assert_eq!(fault.map(|it| (it.header, it.fault)), expect.map(|it| (changed.to_owned(), it)));
    };
    check("", Found::Absent, None);
    for header in [PROTOCOL_VERSION, METHOD, NAME] {
        check(header, Found::Absent, Some(MismatchFault::Missing));
        check(header, Found::Several, Some(MismatchFault::Repeated));
        check(header, Found::One(b"other"), Some(MismatchFault::Different));
    }
    // Header names ignore case, values do not.
    check(METHOD, Found::One(b"Tools/Call"), Some(MismatchFault::Different));
    check(NAME, Found::One(b"=?base64?*?="), Some(MismatchFault::Malformed));
    check(METHOD, Found::One(b"=?base64?dG9vbHMvY2FsbA==?="), Some(MismatchFault::Different));
}

#[test]
fn annotations_are_found_at_any_depth() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "page": {"type": "object", "properties": {"size": {"type": "integer", "x-mcp-header": "Page-Size"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        // A property of that name, and data, are no annotations.
        "x-mcp-header": {"type": "string", "default": {"x-mcp-header": 1}},
    }});
    let found = annotations(&schema).unwrap();
    let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.path.join("/"), it.kind)).collect();
    let expect = [
        ("Dry", "dry".to_owned(), ParamKind::Boolean),
        ("Page-Size", "page/size".to_owned(), ParamKind::Integer),
        ("Region", "region".to_owned(), ParamKind::String),
    ];
    assert!(expect.iter().all(|it| found.contains(it)) && found.len() == 3, "{found:?}");
}

#[test]
fn invalid_annotations_are_reported() {
    let check = |property: Value, expect: BadAnnotation| {
        let schema = json!({"properties": {"ok": {"type": "string", "x-mcp-header": "Ok"}, "p": property}});
        assert_eq!(annotations(&schema), Err(expect), "{schema}");
    };
    for name in [json!(""), json!("a b"), json!("a\r\nb"), json!("a:b"), json!("ü"), json!(1), json!(null)] {
        check(json!({"type": "string", "x-mcp-header": name}), BadAnnotation::BadName);
    }
    for kind in [json!("number"), json!("object"), json!("array"), json!(["string", "null"]), json!(null)] {
        check(json!({"type": kind, "x-mcp-header": "A"}), BadAnnotation::BadType);
    }
    check(json!({"type": "string", "x-mcp-header": "oK"}), BadAnnotation::Duplicate("oK".to_owned()));
    let annotated = json!({"type": "string", "x-mcp-header": "A"});
    for keyword in ["items", "not", "if", "additionalProperties"] {
        check(json!({ keyword: annotated }), BadAnnotation::Unreachable);
        check(json!({ keyword: {"properties": {"q": annotated}} }), BadAnnotation::Unreachable);
    }
    check(json!({"anyOf": [{"type": "string"}, annotated]}), BadAnnotation::Unreachable);
    check(json!({"$defs": {"d": annotated}}), BadAnnotation::Unreachable);
    assert_eq!(annotations(&json!({"type": "string", "x-mcp-header": "A"})), Err(BadAnnotation::Unreachable));
    assert_eq!(annotations(&json!(null)), Ok(Vec::new()));
}

fn annotated() -> Vec<ParamHeader> {
    let schema = json!({"properties": {
        "s": {"type": "string", "x-mcp-header": "S"},
        "o": {"properties": {"i": {"type": "integer", "x-mcp-header": "I"}}},
        "b": {"type": "boolean", "x-mcp-header": "B"},
    }});
    annotations(&schema).unwrap()
}

#[test]
fn arguments_become_headers() {
    let check = |arguments: &str, expect: &[(&str, &str)]| {
        let mut made = params(&annotated(), arguments.as_bytes());
        made.sort();
        let made: Vec<_> = made.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(made, expect, "{arguments}");
    };
    check(
        r#"{"s":"x","o":{"i":-7},"b":false}"#,
        &[("Mcp-Param-B", "false"), ("Mcp-Param-I", "-7"), ("Mcp-Param-S", "x")],
    );
    check(r#"{"s":null,"o":{"i":null},"b":null}"#, &[]);
    check(r#"{"s":{"x":1},"o":[1],"b":[]}"#, &[]);
    check(
        r#"{ "o" : { "i" : 42.0 } , "s" : "世" }"#,
        &[("Mcp-Param-I", "42"), ("Mcp-Param-S", "=?base64?5LiW?=")],
    );
    check(r#"{"o":{"i":9007199254740993}}"#, &[("Mcp-Param-I", "9007199254740993")]);
    check(r#"{"o":{"i":1e3}}"#, &[("Mcp-Param-I", "1000")]);
    check(r#"{"o":{"i":1.5}}"#, &[("Mcp-Param-I", "1.5")]);
    check(r#"{"\u0073":"first","s":"last"}"#, &[("Mcp-Param-S", "last")]);
    check("[]", &[]);
    check("{}", &[]);
}

#[test]
fn param_headers_are_compared() {
    let check = |arguments: &str, header: Found<'static>, expect: Option<MismatchFault>| {
        let header = |name: &str| if name == "Mcp-Param-I" { header } else { Found::Absent };
        let fault = check_params(&annotated(), arguments.as_bytes(), header).err().map(|it| it.fault);
        assert_eq!(fault, expect, "{arguments}");
    };
    let seven = r#"{"o":{"i":7}}"#;
    for equal in ["7", "7.0", "007", "7.00"] {
        check(seven, Found::One(equal.as_bytes()), None);
    }
    check(r#"{"o":{"i":7.0}}"#, Found::One(b"7"), None);
    check(r#"{"o":{"i":-0}}"#, Found::One(b"0"), None);
    for other in ["8", "-7", "7.5", "7e0", "", "7."] {
        check(seven, Found::One(other.as_bytes()), Some(MismatchFault::Different));
    }
    check(seven, Found::Absent, Some(MismatchFault::Missing));
    check(seven, Found::Several, Some(MismatchFault::Repeated));
    check(seven, Found::One(b"=?base64?!?="), Some(MismatchFault::Malformed));
    check("{}", Found::One(b"7"), Some(MismatchFault::Unexpected));
    check(r#"{"o":{"i":null}}"#, Found::One(b"7"), Some(MismatchFault::Unexpected));
    check("{}", Found::Absent, None);
}

proptest! {
    #[test]
    fn generated_params_pass_the_check(text in any::<String>(), number in any::<i64>(), flag in any::<bool>()) {
        let arguments = json!({"s": text, "o": {"i": number}, "b": flag}).to_string();
        let made = params(&annotated(), arguments.as_bytes());
        let header = |name: &str| match made.iter().find(|(it, _)| it == name) {
            Some((_, value)) => Found::One(value.as_bytes()),
            None => Found::Absent,
        };
        prop_assert_eq!(check_params(&annotated(), arguments.as_bytes(), header), Ok(()));
    }

    #[test]
    fn generated_headers_pass_the_check(name in any::<String>()) {
        let call = request("tools/call", json!({"name": name}));
        let made = standard(&call);
        let header = |name: &str| match made.iter().find(|(it, _)| *it == name) {
            Some((_, value)) => Found::One(value.as_bytes()),
            None => Found::Absent,
        };
        prop_assert_eq!(check_standard(&call, header), Ok(()));
    }
}

#[test]
fn arguments_of_a_call_are_found() {
    let call = request("tools/call", json!({"name": "a", "arguments": {"arguments": 1}}));
    assert_eq!(arguments(&call), Some(&br#"{"arguments":1}"#[..]));
    assert_eq!(arguments(&request("tools/call", json!({"name": "a"}))), None);
    assert_eq!(protocol_version(&message(json!({"id": 1, "method": "ping"}))), None);
}

#[test]
fn list_without_invalid_tools() {
    let good = r#"{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}"#;
    let bad = r#"{"name":"bad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#;
    let plain = r#"{ "name" : "plain" }"#;
    let check = |tools: &[&str], expect: Option<&[&str]>| {
        let list = |tools: &[&str]| {
            format!(r#"{{"id":1,"result":{{"ttlMs":5,"tools": [{}] ,"nextCursor":"n"}}}}"#, tools.join(", "))
        };
        let Ok(Parsed::One(answer)) = parse(list(tools).into()) else { panic!("no message") };
        let page = ToolList::of(&answer);
        let rest = page.rest.map(|rest| String::from_utf8(rest.bytes().to_vec()).unwrap());
        assert_eq!(rest, expect.map(list), "{tools:?}");
        page.tools.into_iter().map(|it| (it.tool, it.headers.len())).collect::<Vec<_>>()
    };
    let found = check(&[good, plain], None);
    assert_eq!(found, [("good".to_owned(), 1), ("plain".to_owned(), 0)]);
    check(&[bad, good], Some(&[good]));
    check(&[good, bad, plain, bad], Some(&[good, plain]));
    assert_eq!(check(&[bad], Some(&[])), []);
    assert_eq!(check(&[], None), []);
    let page = ToolList::of(&message(json!({"id": 1, "error": {"code": 1, "message": "tools"}})));
    assert!(page.tools.is_empty() && page.rest.is_none());
}
