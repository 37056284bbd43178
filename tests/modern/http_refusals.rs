//! Modern requests that break the rules of the transport get the status and the code of the specification.

use crate::http::served::{FAKE, Served};
use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Modern, Web};
use switchboard_testkit::message::{self, MODERN as VERSION, Profile};

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// Paths of Streamable HTTP.
const PATHS: [&str; 3] = ["/mcp", FAKE, "/profiles/some/mcp"];

fn served() -> Served {
    Served::with(json!({ "profiles": { "some": ["fake"] } }), json!({}), &[])
}

fn request(method: &str, params: Value) -> Value {
    message::request("mine", method, Profile::default().dress(params))
}

fn post(web: &Web, path: &str, message: &Value) -> Ask {
    Modern::at(web, path).say(message)
}

fn call() -> Value {
    request("tools/call", json!({ "name": "echo", "arguments": { "is": "forbidden" } }))
}

/// Checks the refusal of the request `mine`, and returns its error.
#[track_caller]
fn refused(ask: Ask, status: u16, code: i64) -> Value {
    let mut reply = ask.send();
    let answer = reply.json();
    let found = (reply.status, &answer["id"], &answer["error"]["code"]);
    assert_eq!(found, (status, &json!("mine"), &json!(code)), "{answer}");
    let error = &answer["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    assert!(error["data"]["hint"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    error.clone()
}

#[test]
fn headers_must_repeat_the_body() {
    let served = served();
    for path in PATHS {
        let ask = || post(&served.web, path, &call());
        for name in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"] {
            let error = refused(ask().without(name), 400, -32020);
            assert!(error["message"].as_str().unwrap().contains(name), "{error}");
            refused(ask().header(name, "other"), 400, -32020);
            refused(ask().also(name, "other"), 400, -32020);
        }
        refused(ask().header("Mcp-Method", "Tools/Call"), 400, -32020);
        refused(ask().header("Mcp-Name", "=?base64?b3RoZXI=?="), 400, -32020);
        refused(ask().header("Mcp-Name", "=?base64?%?="), 400, -32020);
        // A legacy version in the header beside a modern body is no way around the checks.
        refused(ask().header("MCP-Protocol-Version", "2025-11-25"), 400, -32020);
        for name in [json!(null), json!(["echo"])] {
            let mut nameless = call();
            nameless["params"]["name"] = name;
            refused(post(&served.web, path, &nameless).header("Mcp-Name", "echo"), 400, -32020);
        }
        // The version header of another version than the body's.
        let mut other = call();
        other["params"]["_meta"][VERSION_KEY] = json!("2099-01-01");
        refused(post(&served.web, path, &other).header("MCP-Protocol-Version", VERSION), 400, -32020);
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn declaration_must_be_complete() {
    let served = served();
    for path in PATHS {
        for (key, wrong) in [
            (VERSION_KEY, json!(7)),
            (CAPABILITIES_KEY, json!([])),
            (CAPABILITIES_KEY, json!("x")),
            (INFO_KEY, json!("x")),
            (INFO_KEY, json!({ "name": "x".repeat(65_536) })),
        ] {
            let mut message = call();
            message["params"]["_meta"][key] = wrong;
            let ask = post(&served.web, path, &message).header("MCP-Protocol-Version", VERSION);
            let error = refused(ask, 400, -32602);
            assert!(error["message"].as_str().unwrap().contains(key), "{error}");
        }
        for key in [VERSION_KEY, CAPABILITIES_KEY] {
            let mut message = call();
            message["params"]["_meta"].as_object_mut().unwrap().remove(key);
            let ask = post(&served.web, path, &message).header("MCP-Protocol-Version", VERSION);
            refused(ask, 400, -32602);
        }
        let mut bare = call();
        bare["params"].as_object_mut().unwrap().remove("_meta");
        refused(post(&served.web, path, &bare).header("MCP-Protocol-Version", VERSION), 400, -32602);
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn modern_initialize_is_unknown() {
    let served = served();
    for path in PATHS {
        let mut message = call();
        message["method"] = json!("initialize");
        refused(post(&served.web, path, &message).without("Mcp-Name"), 404, -32601);
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn unknown_version_is_refused_with_known_ones() {
    let served = served();
    for path in PATHS {
        for version in ["2099-01-01", "1999-01-01", "2025-11-25", "nonsense"] {
            let mut message = call();
            message["params"]["_meta"][VERSION_KEY] = json!(version);
            let error = refused(post(&served.web, path, &message), 400, -32022);
            assert_eq!(error["data"]["requested"], version);
            assert_eq!(error["data"]["supported"], json!([VERSION]), "{error}");
        }
        let mut bare = call();
        bare["params"].as_object_mut().unwrap().remove("_meta");
        let ask = post(&served.web, path, &bare).header("MCP-Protocol-Version", "2099-01-01");
        assert_eq!(refused(ask, 400, -32022)["data"]["requested"], "2099-01-01");
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn only_single_requests_are_taken() {
    let served = served();
    for path in PATHS {
        let one = post(&served.web, path, &call());
        let batch = json!([call()]).to_string();
        let ask = served.web.post(path, batch).header("MCP-Protocol-Version", VERSION);
        let mut reply = ask.send();
        let answer = reply.json();
        assert_eq!((reply.status, &answer[0]["error"]["code"]), (400, &json!(-32600)), "{answer}");
        let response = json!({ "jsonrpc": "2.0", "id": "mine", "result": {} }).to_string();
        let ask = served.web.post(path, response).header("MCP-Protocol-Version", VERSION);
        assert_eq!(ask.send().status, 400);
        let notice =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let mut reply =
            served.web.post(path, notice.to_string()).header("MCP-Protocol-Version", VERSION).send();
        assert_eq!((reply.status, reply.text().as_str()), (202, ""));
        // A stream is the only form of this answer.
        let listen = request("subscriptions/listen", json!({ "notifications": {} }));
        refused(post(&served.web, path, &listen).header("Accept", "application/json"), 406, -32600);
        drop(one);
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn other_methods_need_a_session() {
    let served = served();
    for path in PATHS {
        for ask in [served.web.get(path), served.web.delete(path)] {
            let reply = ask.header("MCP-Protocol-Version", VERSION).send();
            assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
        }
    }
    let talk = served.open();
    let mut own = talk.listen();
    assert_eq!((talk.end(), own.event().is_none()), (200, true));
}

/// Neither a token in the head nor one that is known: nothing of the body is looked at.
#[test]
fn strangers_are_refused_first() {
    let served = served();
    for path in PATHS {
        let ask = || post(&served.web, path, &call()).without("Mcp-Method");
        assert_eq!(ask().without("Authorization").send().status, 401);
        assert_eq!(ask().header("Authorization", "Bearer wrong").send().status, 401);
        assert_eq!(ask().header("Origin", "http://evil.test").send().status, 403);
        assert_eq!(ask().header("Content-Type", "text/plain").send().status, 415);
    }
    assert_eq!(post(&served.web, "/servers/nobody/mcp", &call()).send().status, 404);
    served.check_not_forwarded("forbidden");
}
