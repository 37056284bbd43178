//! Whether we live, and whether calls would be served.

use super::served::Served;
use crate::support::fake_backend;
use serde_json::{Value, json};
use switchboard_testkit::http::Talk;
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

fn ready(served: &Served) -> (u16, Value) {
    let mut reply = served.web.get("/readyz").send();
    (reply.status, reply.json())
}

/// Somebody who wants all servers, and so needs each of them.
#[track_caller]
fn guest(served: &Served) -> Talk {
    let talk = Talk::open(&served.web, "/mcp");
    talk.request("tools/list", json!({}));
    talk
}

#[test]
fn it_lives_and_is_ready() {
    let served = Served::new();
    let mut reply = served.web.without("Authorization").get("/healthz").send();
    assert_eq!((reply.status, reply.json()), (200, json!({ "status": "ok" })));
    assert_eq!(ready(&served).0, 200, "nobody has needed a server yet");
    served.open();
    assert_eq!(ready(&served).0, 200);
    assert_eq!(served.web.post("/healthz", "").send().status, 405);
}

#[test]
fn it_is_not_ready_when_all_servers_fail() {
    let served = Served::with(json!({}), json!({}), &["--exit-at-start", "3"]);
    let _guest = guest(&served);
    patience::until_true("it is not ready", || ready(&served).0 == 503);
    assert_eq!(ready(&served).1["failing"], json!(["fake"]));
    assert_eq!(served.web.get("/healthz").send().status, 200, "it lives all the same");
}

#[test]
fn it_is_not_ready_when_a_required_server_fails() {
    for (is_required, code) in [(true, 503), (false, 200)] {
        let scratch = Scratch::new();
        let entry =
            |name: &str| json!({ "command": fake_backend(), "args": ["--record", scratch.folder(name)] });
        let mut bad = entry("bad");
        bad["args"].as_array_mut().unwrap().extend([json!("--exit-at-start"), json!("3")]);
        bad["required"] = json!(is_required);
        let served =
            Served::with(json!({ "mcpServers": { "good": entry("good"), "bad": bad } }), json!({}), &[]);
        Talk::open(&served.web, "/servers/good/mcp");
        assert_eq!(ready(&served).0, 200);
        let _guest = guest(&served);
        patience::until_true("it is seen to fail", || ready(&served).1["failing"] == json!(["bad"]));
        assert_eq!(ready(&served).0, code);
    }
}
