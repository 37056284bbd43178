//! Sessions: begun by a handshake, bound to a path and a token, ended once.

use super::served::{FAKE, Served, refused};
use serde_json::json;
use switchboard_testkit::http::{Talk, call, hello};

/// Only single requests are served without one: `tests/modern/http_plain.rs`.
#[test]
fn batch_without_session_gets_a_hint() {
    let served = Served::new();
    let batch = json!([call(1, "echo", json!({ "is": "forbidden" }))]).to_string();
    let text = refused(served.web.post(FAKE, batch).send(), 400);
    assert!(text.contains("initialize"), "{text}");
    refused(served.web.get(FAKE).send(), 405);
    refused(served.web.delete(FAKE).send(), 405);
    served.check_not_forwarded("forbidden");
}

#[test]
fn unknown_session_is_not_found() {
    let served = Served::new();
    let talk = served.open();
    for other in ["", "nonsense", &"0".repeat(64), &talk.session[1..]] {
        let message = call(1, "echo", json!({ "is": "forbidden" })).to_string();
        let text = refused(served.web.post(FAKE, message).header("Mcp-Session-Id", other).send(), 404);
        assert!(text.contains("-32001"), "{text}");
        refused(served.web.get(FAKE).header("Mcp-Session-Id", other).send(), 404);
        refused(served.web.delete(FAKE).header("Mcp-Session-Id", other).send(), 404);
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn ended_session_is_not_found() {
    let served = Served::new();
    let (talk, other) = (served.open(), served.open());
    let mut stream = talk.listen();
    assert_eq!(talk.end(), 200);
    assert_eq!(stream.event(), None, "its stream ends with it");
    assert_eq!(talk.end(), 404);
    refused(talk.begin("echo", json!({})), 404);
    refused(talk.listen(), 404);
    refused(talk.resume("0-1"), 404);
    assert_eq!(other.call("echo", json!({}))["result"]["content"][0]["text"], "{}");
}

#[test]
fn call_of_an_ending_session_is_answered() {
    let served = Served::new();
    let talk = served.open();
    let wire = talk.say(&talk.call_of("hold", json!({})).1).begin();
    served.record().wait_for(1, "hold");
    assert_eq!(talk.end(), 200);
    let reply = switchboard_testkit::http::Reply::read(wire).unwrap();
    assert!(matches!(reply.status, 404 | 200), "{}", reply.status);
}

#[test]
fn session_is_bound_to_its_path() {
    let served = Served::new();
    let talk = served.open();
    for path in ["/mcp", "/servers/nobody/mcp", "/servers/fake/messages"] {
        let elsewhere = Talk::of(&served.web, path, &talk.session);
        refused(elsewhere.begin("echo", json!({ "is": "forbidden" })), 404);
    }
    let all = Talk::open(&served.web, "/mcp");
    let here = Talk::of(&served.web, FAKE, &all.session);
    refused(here.begin("echo", json!({ "is": "forbidden" })), 404);
    served.check_not_forwarded("forbidden");
}

/// Without authentication by us, a proxy in front may check tokens.
#[test]
fn session_is_bound_to_its_token() {
    let served = Served::start(crate::daemon::house::House::new(), &["--no-auth"]);
    let alice = Talk::open(&served.web.with("Authorization", "Bearer alice"), FAKE);
    let bob = Talk::of(&served.web.with("Authorization", "Bearer bob"), FAKE, &alice.session);
    refused(bob.begin("echo", json!({ "is": "forbidden" })), 404);
    refused(bob.listen(), 404);
    assert_eq!(bob.end(), 404);
    let nobody = Talk::of(&served.web, FAKE, &alice.session);
    refused(nobody.begin("echo", json!({ "is": "forbidden" })), 404);
    assert_eq!(
        alice.call("echo", json!({ "is": "allowed" }))["result"]["content"][0]["text"],
        r#"{"is":"allowed"}"#
    );
    served.check_not_forwarded("forbidden");
}

#[test]
fn unknown_protocol_version_is_refused() {
    let served = Served::new();
    let talk = served.open();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(talk.say(&ping).header("MCP-Protocol-Version", version).send().status, 200, "{version}");
    }
    assert_eq!(talk.say(&ping).without("MCP-Protocol-Version").send().status, 200);
    for version in ["", "1999-01-01", "2025-11-25, 2025-06-18", "nonsense"] {
        let text = refused(talk.say(&ping).header("MCP-Protocol-Version", version).send(), 400);
        assert!(text.contains("2025-11-25"), "{text}");
    }
}

/// The failed handshake leaves no session.
#[test]
fn failed_handshake_begins_no_session() {
    let served = Served::with(json!({ "serve": { "maxSessions": 1 } }), json!({}), &["--exit-at-start", "3"]);
    for _ in 0..3 {
        let mut reply = served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send();
        let answer = if reply.is_stream() { reply.message().unwrap() } else { reply.json() };
        assert!(answer["error"].is_object(), "{answer}");
        if reply.status == 200 && reply.is_stream() {
            // The handshake took so long that the head of the answer was sent first.
            let session = reply.header("mcp-session-id").unwrap().to_owned();
            served.web.delete(FAKE).header("Mcp-Session-Id", &session).send();
        }
    }
}
