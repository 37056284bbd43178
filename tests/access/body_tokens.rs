//! Tokens in bodies, for clients that cannot set headers: only if the config allows it, and only for messages that
//! have one.

use super::token::{Place, create, kind};
use crate::http::served::{FAKE, Served, refused};
use serde_json::{Value, json};
use switchboard_testkit::http::{Web, call, hello};

fn serving(is_on: bool) -> (Served, Web) {
    let served = Served::set(json!({ "tokenInBody": is_on }));
    let web = served.web.without("Authorization");
    (served, web)
}

fn with(place: Place, token: &str, mut message: Value) -> String {
    place.put(&mut message["params"], token);
    message.to_string()
}

#[test]
fn body_token_does_not_count_by_default() {
    let (served, web) = serving(false);
    let token = create(&served.house, &["ci"]);
    for place in Place::BOTH {
        let knock = with(place, &token, hello("2025-11-25", json!({})));
        refused(web.post(FAKE, knock.clone()), 401);
        // Beside a valid header it is removed, and means nothing.
        let wrong = with(place, "swb_wrong", hello("2025-11-25", json!({})));
        assert_eq!(served.web.post(FAKE, wrong).send().status, 200);
    }
    served.check_not_forwarded("authToken");
    served.check_not_forwarded("swb_");
}

#[test]
fn body_token_serves_if_allowed() {
    let (served, web) = serving(true);
    let token = create(&served.house, &["ci"]);
    for place in Place::BOTH {
        let knock = || with(place, &token, hello("2025-11-25", json!({})));
        switchboard_testkit::patience::until_true("the token is known", || {
            web.post(FAKE, knock()).send().status == 200
        });
        let reply = web.post(FAKE, knock()).send();
        let session = reply.header("mcp-session-id").unwrap().to_owned();
        let post = |body: String| web.post(FAKE, body).header("Mcp-Session-Id", &session).send();
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": {} });
        assert_eq!(post(with(place, &token, note)).status, 202);
        let mut answer = post(with(place, &token, call(7, "echo", json!({ "a": 1 }))));
        assert_eq!(answer.json()["result"]["content"][0]["text"], r#"{"a":1}"#);
        // The session alone proves nothing.
        for body in [
            call(8, "echo", json!({ "is": "forbidden" })).to_string(),
            with(place, "swb_x", call(9, "echo", json!({ "is": "forbidden" }))),
        ] {
            let mut refusal = post(body);
            assert_eq!(refusal.status, 401);
            assert_eq!(kind(&refusal.json()), "unauthorized");
        }
        refused(web.get(FAKE).header("Mcp-Session-Id", &session), 401);
        refused(web.delete(FAKE).header("Mcp-Session-Id", &session), 401);
        let batch = json!([
            serde_json::from_str::<Value>(&with(place, &token, call(10, "echo", json!({})))).unwrap(),
            call(11, "echo", json!({}))
        ]);
        assert_eq!(post(batch.to_string()).json().as_array().unwrap().len(), 2, "one POST, one sender");
    }
    served.check_not_forwarded("authToken");
    served.check_not_forwarded(&token);
    served.check_not_forwarded("forbidden");
}

/// Without a token only so much of a body is read.
#[test]
fn unproven_body_is_limited() {
    let (served, web) = serving(true);
    let mut knock = hello("2025-11-25", json!({}));
    knock["params"]["_meta"] = json!({ "fill": "x".repeat(2 << 20) });
    assert!(refused(web.post(FAKE, knock.to_string()), 413).contains("Authorization"));
    assert_eq!(served.web.post(FAKE, knock.to_string()).send().status, 200, "with a header it may be longer");
    refused(web.get("/sse"), 401);
    refused(web.get("/readyz"), 401);
}

#[test]
fn body_token_has_its_rights() {
    let (served, web) = serving(true);
    let token = create(&served.house, &["none", "--servers", "nothing"]);
    let knock = || with(Place::Proxy, &token, hello("2025-11-25", json!({})));
    switchboard_testkit::patience::until_true("the token is known", || {
        web.post(FAKE, knock()).send().status != 401
    });
    refused(web.post(FAKE, knock()), 403);
}
