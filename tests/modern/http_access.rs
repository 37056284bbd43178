//! Tokens and modern requests: rights, limits and revocation hold as for sessions.

use super::http_calls::served;
use crate::access::token::{kind, web_of};
use crate::http::served::{FAKE, Served};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Modern, Reply};
use switchboard_testkit::patience;

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn rights_hold_for_modern_requests() {
    let served = served();
    let web = web_of(&served, &["ci", "--tools", "echo"]);
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        // The owner's client must not lend its rights.
        Modern::at(&served.web, path).call(&format!("{prefix}facts"), json!({}));
        let modern = Modern::at(&web, path);
        assert_eq!(names(&modern.request("tools/list", json!({}))), [format!("{prefix}echo")]);
        assert_eq!(text(&modern.call(&format!("{prefix}echo"), json!({}))), "{}");
        let (_, mut reply) =
            modern.begin("tools/call", json!({ "name": format!("{prefix}facts"), "arguments": {} }));
        assert_eq!((reply.status, kind(&reply.json())), (403, "forbidden"));
    }
    let none = web_of(&served, &["none", "--servers", "other"]);
    let (_, mut reply) = Modern::at(&none, FAKE).begin("tools/list", json!({}));
    assert_eq!((reply.status, kind(&reply.json())), (403, "forbidden"));
}

#[test]
fn limits_hold_for_modern_requests() {
    let served = served();
    let web = web_of(&served, &["ci", "--rate", "2/h"]);
    let modern = Modern::at(&web, FAKE);
    for _ in 0..2 {
        assert_eq!(text(&modern.call("echo", json!({}))), "{}");
    }
    // Another declaration is the same identity.
    for modern in [&modern, &Modern::at(&web, FAKE).declaring(json!({ "sampling": {} }))] {
        let (_, mut reply) = modern.begin("tools/call", json!({ "name": "echo", "arguments": {} }));
        assert_eq!((reply.status, kind(&reply.json())), (429, "rate_limited"));
        assert!(reply.header("retry-after").is_some());
    }
    assert_eq!(text(&Modern::at(&served.web, FAKE).call("echo", json!({}))), "{}");
}

#[test]
fn revocation_ends_open_streams() {
    let served = served();
    let web = web_of(&served, &["ci"]);
    let modern = Modern::at(&web, FAKE);
    let owner = Modern::at(&served.web, FAKE);
    let wishes = json!({ "resourceSubscriptions": ["fake://a"] });
    let (_, mut stream) = modern.listen(wishes.clone());
    let (_, mut kept) = owner.listen(wishes);
    let (_, message) = modern.message("tools/call", json!({ "name": "hang", "arguments": {} }));
    let wire = modern.say(&message).begin();
    patience::until_true("the call is there", || {
        served.record().all_lines().iter().any(|line| line.contains("\"hang\""))
    });
    served.house.say(&["token", "revoke", "ci"]);
    while let Some(message) = stream.message() {
        assert!(message.get("error").is_some(), "{message}");
    }
    let mut reply = Reply::read(wire).unwrap();
    assert_eq!((reply.status, kind(&reply.json())), (401, "unauthorized"));
    assert_eq!(modern.begin("tools/list", json!({})).1.status, 401);
    owner.call("change", json!({ "uri": "fake://a" }));
    assert_eq!(kept.message().unwrap()["method"], "notifications/resources/updated");
}

/// Only the owner can name folders, also if nobody has asked for them.
#[test]
fn roots_of_others_are_hidden() {
    let served = served();
    let stranger = web_of(&served, &["ci"]);
    let told = |web, path, prefix: &str| {
        let modern = Modern::at(web, path);
        let responses = json!({ "r": { "roots": [{ "uri": "file:///secret" }] } });
        let params =
            json!({ "name": format!("{prefix}params"), "arguments": {}, "inputResponses": responses });
        text(&modern.request("tools/call", params)).to_owned()
    };
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        assert!(told(&served.web, path, prefix).contains(r#""roots":[{"uri":"file:///secret"}]"#));
        assert!(told(&stranger, path, prefix).contains(r#""roots":[]"#));
    }
}

/// Without authentication, parties are told apart by what they send.
#[test]
fn strangers_are_kept_apart() {
    let house = crate::daemon::house::House::with(json!({}), json!({}), &["--era", "modern"]);
    let served = Served::start(house, &["--no-auth"]);
    for (who, count) in [("alice", 1), ("bob", 2), ("alice", 2)] {
        let web = served.web.with("Authorization", &format!("Bearer {who}"));
        Modern::at(&web, FAKE).call("echo", json!({}));
        let known = served.house.status()["daemons"][0]["clients"].as_array().unwrap().len();
        assert_eq!(known, count, "{who}");
    }
}
