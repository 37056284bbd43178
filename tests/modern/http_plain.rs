//! Requests of clients that know neither a handshake nor a modern declaration: each is one exchange.

use crate::access::token::{kind, web_of};
use crate::http::served::{FAKE, Served};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Modern, Reply, Web, call};
use switchboard_testkit::message;

const PATHS: [(&str, &str); 3] = [("/mcp", "fake__"), (FAKE, ""), ("/profiles/some/mcp", "fake__")];

fn served() -> Served {
    Served::with(json!({ "profiles": { "some": ["fake"] } }), json!({}), &[])
}

#[track_caller]
fn answered(web: &Web, path: &str, message: &Value) -> Value {
    let mut reply = web.post(path, message.to_string()).send();
    let answer = reply.json();
    assert_eq!(
        (reply.status, reply.kind(), reply.header("mcp-session-id")),
        (200, "application/json", None),
        "{answer}"
    );
    answer
}

#[test]
fn plain_requests_are_served() {
    let served = served();
    for (path, prefix) in PATHS {
        let listed = answered(&served.web, path, &message::request("list", "tools/list", json!({})));
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == format!("{prefix}echo")), "{listed}");
        let called = answered(&served.web, path, &call(1, &format!("{prefix}echo"), json!({ "path": path })));
        assert_eq!(text(&called), json!({ "path": path }).to_string());
        let notice = message::notification("notifications/initialized", json!({})).to_string();
        assert_eq!(served.web.post(path, notice).send().status, 202);
        // An unknown method is an answer like any other, as in the legacy era.
        assert_eq!(answered(&served.web, path, &message::request(2, "no/such", json!({})))["id"], 2);
        let version = served.web.with("MCP-Protocol-Version", "2025-06-18");
        answered(&version, path, &message::request("list", "tools/list", json!({})));
    }
    // The server gets a handshake of the oldest version, made by us.
    let heard = served.record().all_lines();
    let hello = heard.iter().find(|line| line.contains("\"initialize\"")).unwrap();
    assert!(hello.contains("2024-11-05"), "{hello}");
}

#[test]
fn plain_requests_have_the_tokens_rights() {
    let served = served();
    let web = web_of(&served, &["ci", "--tools", "echo"]);
    for (path, prefix) in PATHS {
        answered(&served.web, path, &call(1, &format!("{prefix}facts"), json!({})));
        assert_eq!(text(&answered(&web, path, &call(1, &format!("{prefix}echo"), json!({})))), "{}");
        let mut reply = web.post(path, call(1, &format!("{prefix}facts"), json!({})).to_string()).send();
        assert_eq!((reply.status, kind(&reply.json())), (403, "forbidden"));
    }
}

/// A server's question has no client to go to; the call still ends.
#[test]
fn plain_client_cannot_be_asked() {
    let served = served();
    let answer = answered(&served.web, FAKE, &call(1, "ask", crate::http::served::asking()));
    assert_eq!(answer["id"], 1, "{answer}");
}

#[test]
fn modern_requests_can_be_turned_off() {
    let served = Served::with(json!({ "clientEra": "legacy" }), json!({}), &["--era", "dual"]);
    for path in ["/mcp", FAKE] {
        let (id, mut reply) = Modern::at(&served.web, path).begin("server/discover", json!({}));
        let answer = reply.json();
        // No modern error: a client that speaks both eras makes a handshake then.
        assert_eq!(
            (reply.status, &answer["id"], &answer["error"]["code"]),
            (400, &json!(id), &json!(-32600)),
            "{answer}"
        );
        answered(&served.web, path, &message::request("list", "tools/list", json!({})));
    }
    assert_eq!(text(&served.open().call("echo", json!({}))), "{}");
}

/// The stream of HTTP+SSE is a session; its messages need no handshake either.
#[test]
fn plain_requests_are_served_on_a_stream() {
    let served = served();
    let limited = web_of(&served, &["ci", "--tools", "echo"]);
    for (path, prefix) in [("/servers/fake/sse", ""), ("/sse", "fake__")] {
        let open = |web: &Web| {
            let mut stream = web.get(path).send();
            let to = stream.event().unwrap();
            assert_eq!(to.kind.as_deref(), Some("endpoint"));
            (stream, to.data)
        };
        let ask = |web: &Web, (stream, to): &mut (Reply, String), message: &Value| {
            assert_eq!(web.post(to, message.to_string()).send().status, 202, "{message}");
            let answer = stream.message().unwrap();
            assert_eq!(answer["id"], message["id"], "{answer}");
            answer
        };
        let mut line = open(&served.web);
        let listed = ask(&served.web, &mut line, &message::request("list", "tools/list", json!({})));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        assert!(tools.iter().any(|tool| tool["name"] == format!("{prefix}facts")), "{listed}");
        let echo = call(1, &format!("{prefix}echo"), json!({ "path": path }));
        assert_eq!(text(&ask(&served.web, &mut line, &echo)), json!({ "path": path }).to_string());
        // A handshake may still follow.
        let hello = message::initialize_params("late", "2024-11-05", json!({}));
        let greeted = ask(&served.web, &mut line, &message::request(2, "initialize", hello));
        assert_eq!(greeted["result"]["protocolVersion"], "2024-11-05", "{greeted}");
        let mut line = open(&limited);
        assert_eq!(text(&ask(&limited, &mut line, &echo)), json!({ "path": path }).to_string());
        let facts = call(2, &format!("{prefix}facts"), json!({}));
        assert_eq!(kind(&ask(&limited, &mut line, &facts)), "forbidden");
    }
    let heard = served.record().all_lines();
    let is_plain = |line: &&String| line.contains("\"initialize\"") && line.contains("\"unknown\"");
    assert!(heard.iter().any(|line| is_plain(&line)), "the server gets a handshake of ours: {heard:?}");
}
