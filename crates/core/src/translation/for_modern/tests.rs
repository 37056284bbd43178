use super::*;
use crate::messages::own_message;
use proptest::prelude::*;
use switchboard_protocol::{Message, Method, Outgoing, Part, RawId};

fn message(text: &str) -> Message {
    own_message(text.to_owned().into()).unwrap_or_else(|| panic!("{text}"))
}

const DECLARED: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;

#[track_caller]
fn check_request(params: &str, expect: &str) {
    let said = message(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call"{params}}}"#));
    let found = as_legacy(said);
    let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call"{expect}}}"#);
    assert_eq!(String::from_utf8_lossy(found.bytes()), expect);
}

#[test]
fn only_the_declaration_is_removed() {
    check_request(
        &format!(r#","params":{{"_meta":{{{DECLARED}}},"name":"t"}}"#),
        r#","params":{"name":"t"}"#,
    );
    check_request(&format!(r#","params":{{"_meta":{{{DECLARED}}}}}"#), r#","params":{}"#);
    check_request(
        &format!(
            r#","params":{{ "name":"t", "_meta":{{"progressToken":7,{DECLARED},"traceparent":"00-x"}}}}"#
        ),
        r#","params":{ "name":"t", "_meta":{"progressToken":7,"traceparent":"00-x"}}"#,
    );
    check_request(
        &format!(
            r#","params":{{"name":"t","_meta":{{{DECLARED},"io.modelcontextprotocol/logLevel":"debug","a.b/c":1.50}}}}"#
        ),
        r#","params":{"name":"t","_meta":{"a.b/c":1.50}}"#,
    );
    check_request(
        r#","params":{"name":"t","requestState":"x","inputResponses":{"1":{}},"arguments":{"requestState":1},"task":{}}"#,
        r#","params":{"name":"t","arguments":{"requestState":1}}"#,
    );
    check_request("", "");
}

#[track_caller]
fn check_result(method: &str, result: &str, expect: &str) {
    let said = message(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    let mut out = Outgoing::of(&said);
    complete(&said, Method::from_name(method), &mut out);
    let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{expect}}}"#);
    assert_eq!(String::from_utf8_lossy(&out.to_vec()), expect);
}

#[test]
fn results_get_the_members_of_their_method() {
    const HINTS: &str = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    check_result("tools/call", r#"{"content":[]}"#, r#"{"resultType":"complete","content":[]}"#);
    check_result("tools/call", "{}", r#"{"resultType":"complete"}"#);
    check_result("completion/complete", r#"{ "x":1.0 }"#, r#"{ "resultType":"complete","x":1.0 }"#);
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"]
    {
        check_result(list, r#"{"a":[]}"#, &format!(r#"{{{HINTS},"a":[]}}"#));
    }
    check_result(
        "tools/list",
        r#"{"ttlMs":5}"#,
        r#"{"resultType":"complete","cacheScope":"private","ttlMs":5}"#,
    );
    // A client could continue none of these.
    for own in ["\"task\"", "\"input_required\"", "\"\\u0063omplete\"", "7", "{}"] {
        let (said, expect) = (r#"{"x":1.0,"resultType":OWN}"#, r#"{"x":1.0,"resultType":"complete"}"#);
        check_result("tools/call", &said.replace("OWN", own), expect);
    }
    check_result("tools/call", r#"{ "resultType" : "complete"}"#, r#"{ "resultType" : "complete"}"#);
    check_result("tools/call", "null", "null");
    check_result("tools/call", "[]", "[]");
}

#[test]
fn tools_lose_their_execution() {
    let list =
        |tools: &str| message(&format!(r#"{{"id":1,"result":{{"tools":[{tools}],"nextCursor":"x"}}}}"#));
    let with = list(r#"{"name":"a","execution":{"taskSupport":"optional"},"x":1.0},{ "name":"b" }"#);
    let without = without_execution(&with).unwrap();
    let expect = list(r#"{"name":"a","x":1.0},{ "name":"b" }"#);
    assert_eq!(without.bytes(), expect.bytes());
    assert!(without_execution(&list(r#"{"name":"a","description":"\"execution\""}"#)).is_none());
    assert!(without_execution(&expect).is_none());
}

#[track_caller]
fn check_error(error: &str, opens_urls: bool, expect: &str) {
    let said = message(&format!(r#"{{"id":1,"error":{error}}}"#));
    let mut out = Outgoing::of(&said);
    put_error_code(&said, opens_urls, &mut out);
    assert_eq!(String::from_utf8_lossy(&out.to_vec()), format!(r#"{{"id":1,"error":{expect}}}"#));
}

#[test]
fn errors_have_codes_of_their_era() {
    for (code, expect) in [
        ("-32002", "-32602"),
        ("-32042", "-32603"),
        ("-32042.00", "-32603"),
        ("-32020", "-32603"),
        ("-32099", "-32603"),
        ("-32001", "-32001"),
        ("-32601", "-32601"),
        ("7", "7"),
        ("null", "null"),
    ] {
        let error = |code: &str| format!(r#"{{ "code":{code},"message":"no","data":null}}"#);
        check_error(&error(code), true, &error(expect));
    }
}

#[test]
fn error_names_the_missing_capability() {
    let lacking = r#""requiredCapabilities":{"elicitation":{"url":{}}}"#;
    check_error(
        "{ \"code\":-32042,\n\"message\":\"m\",\"data\":{\n\"elicitations\" : [],\"n\":1.0} }",
        false,
        &format!(r#"{{"code":-32021,"message":"m","data":{{{lacking},"elicitations":[],"n":1.0}}}}"#),
    );
    check_error(
        r#"{"code":-32042,"data":"text"}"#,
        false,
        &format!(r#"{{"code":-32021,"data":{{{lacking}}}}}"#),
    );
    check_error(r#"{"code":-32002,"message":"no"}"#, false, r#"{"code":-32602,"message":"no"}"#);
}

#[test]
fn discovery_is_made_from_the_welcome() {
    let welcome = message(
        r#"{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"tasks":{},"logging":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"use it"}}"#,
    );
    let welcome = welcome.part(Part::Result).unwrap();
    let found = discovered(welcome).unwrap();
    let expect = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{"listChanged":true}},"instructions":"use it","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;
    assert_eq!(found, expect);
    assert!(logs(welcome));
    assert!(discovered(b"{}").unwrap().contains(r#""capabilities":{}"#) && !logs(b"{}"));
    assert_eq!(discovered(b"7"), None);
}

/// A server's JSON may contain line breaks, and becomes part of a message on one line.
#[test]
fn own_results_are_on_one_line() {
    let welcome = "{\n\"capabilities\":{\n\"tools\":{\r\n}\n},\"instructions\":\n\"a\\nb\"}";
    let found = discovered(welcome.as_bytes()).unwrap();
    assert!(!found.contains(['\n', '\r']) && found.contains(r#""a\nb""#), "{found}");
    let error = message(
        "{\"id\":1,\"error\":{\"code\":-32042,\"data\":{\"elicitations\":[{\n\"mode\":\"url\",\r\n\"url\":\"x:y\"}]}}}",
    );
    let asked = input_required(&url_requests(&error), "S");
    assert!(!asked.contains(['\n', '\r']) && asked.contains(r#""url":"x:y""#), "{asked}");
}

#[test]
fn question_becomes_part_of_the_answer() {
    let question = message(
        r#"{"id":"x","method":"elicitation/create","params":{"_meta":{"progressToken":1},"message":"sure?","n":1.0}}"#,
    );
    let request = InputRequest::of(&question, "7".to_owned()).unwrap();
    let expect = r#"{"resultType":"input_required","inputRequests":{"7":{"method":"elicitation/create","params":{"message":"sure?","n":1.0}}},"requestState":"S"}"#;
    assert_eq!(input_required(&[request], "S"), expect);
    let retry = message(
        r#"{"id":1,"method":"tools/call","params":{"inputResponses":{"7":{"action":"accept","content":{"n":1.50}}}}}"#,
    );
    let answers = Answers::of(&retry);
    assert_eq!(answers.to("7"), Some(r#"{"action":"accept","content":{"n":1.50}}"#));
    assert_eq!(answers.to("8"), None);
}

#[test]
fn url_error_becomes_a_question() {
    let error = message(
        r#"{"id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.test/","message":"m"}]}}}"#,
    );
    let expect = r#"{"resultType":"input_required","inputRequests":{"url0":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x.test/","message":"m"}}},"requestState":"S"}"#;
    assert_eq!(input_required(&url_requests(&error), "S"), expect);
    for data in ["{}", "null", r#"{"elicitations":[]}"#, r#"{"elicitations":[{"url":"x:y"},7]}"#] {
        let error = format!(r#"{{"id":1,"error":{{"code":-32042,"message":"m","data":{data}}}}}"#);
        assert!(url_requests(&message(&error)).is_empty(), "{data}");
    }
}

#[test]
fn notice_gets_the_id_of_its_subscription() {
    let id = RawId::from_bytes(b"\"a\"");
    let tag = r#""io.modelcontextprotocol/subscriptionId":"a""#;
    for (params, expect) in [
        (r#","params":{"uri":"x"}"#, format!(r#","params":{{"_meta":{{{tag}}},"uri":"x"}}"#)),
        (
            r#","params":{"_meta":{"t":1},"uri":"x"}"#,
            format!(r#","params":{{"_meta":{{{tag},"t":1}},"uri":"x"}}"#),
        ),
        ("", format!(r#","params":{{"_meta":{{{tag}}}}}"#)),
    ] {
        let method = "notifications/resources/updated";
        let notice = message(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#));
        let found = on_subscription(&notice, &id).unwrap();
        let expect = format!(r#"{{"jsonrpc":"2.0","method":"{method}"{expect}}}"#);
        assert_eq!(String::from_utf8_lossy(found.bytes()), expect);
    }
}

#[test]
fn continuation_has_the_same_digest() {
    let call = message(r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":2}}}"#);
    let same = message(
        r#"{"id":2,"method":"tools/call","params":{"arguments":{"b":2,"a":1},"_meta":{"x":1},"requestState":"s","inputResponses":{},"name":"t"}}"#,
    );
    assert_eq!(digest(&call), digest(&same));
    for other in [
        r#"{"id":1,"method":"prompts/get","params":{"name":"t","arguments":{"a":1,"b":2}}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"u","arguments":{"a":1,"b":2}}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":3}}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":2},"x":1}}"#,
    ] {
        assert_ne!(digest(&call), digest(&message(other)), "{other}");
    }
}

proptest! {
    /// Everything else keeps its bytes: numbers, order, spaces, unknown members.
    #[test]
    fn arguments_keep_their_bytes(arguments in r#"[a-z]{0,4}"#, number in any::<f64>(), spaces in " {0,3}") {
        let number = if number.is_finite() { format!("{number:e}") } else { "1.50".to_owned() };
        let own = format!(r#""arguments":{{"{arguments}":{spaces}{number},"__proto__":{{}}}},"name":"t","x-y":[{spaces}]"#);
        let said = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{{{DECLARED}}},{own}}}}}"#);
        let found = as_legacy(message(&said));
        let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{own}}}}}"#);
        prop_assert_eq!(String::from_utf8_lossy(found.bytes()), expect);
    }
}
