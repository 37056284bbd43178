//! Revocation ends every open session of the token, on every route, and no other.

use super::token::{Place, create, kind, showing, web_of, with_variable};
use crate::daemon::house::{House, Relayed};
use crate::http::served::{FAKE, Served, refused, token};
use serde_json::json;
use std::fs;
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::patience;

#[test]
fn sessions_end_on_every_path() {
    let served = Served::start(House::with(json!({ "profiles": { "p": ["fake"] } }), json!({}), &[]), &[]);
    let (ci, qa) = (web_of(&served, &["ci"]), web_of(&served, &["qa"]));
    let paths = [FAKE, "/mcp", "/profiles/p/mcp"];
    let mine: Vec<(Talk, _)> = paths
        .map(|path| Talk::open(&ci, path))
        .map(|talk| {
            let own = talk.listen();
            (talk, own)
        })
        .into();
    let others = paths.map(|path| Talk::open(&qa, path));
    let mut legacy = ci.get("/sse").send();
    let to = legacy.event().unwrap().data;
    served.house.say(&["token", "revoke", "ci"]);
    for (talk, mut own) in mine {
        assert_eq!(own.event(), None, "its stream ends");
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        refused(talk.say(&ping), 401);
        refused(talk.listen(), 401);
        assert_eq!(talk.end(), 401);
    }
    assert_eq!(legacy.event(), None);
    refused(ci.post(&to, hello("2024-11-05", json!({})).to_string()), 401);
    for path in paths {
        refused(ci.post(path, hello("2025-11-25", json!({})).to_string()), 401);
    }
    for (talk, path) in others.iter().zip(paths) {
        let tool = if path == FAKE { "echo" } else { "fake__echo" };
        assert!(talk.call(tool, json!({})).get("result").is_some(), "{path}: others go on");
    }
    let status = served.house.status();
    let clients = status["daemons"][0]["clients"].as_array().unwrap();
    assert!(clients.iter().all(|client| client["identity"] != "ci"), "{status}");
}

/// The owner's token can be replaced; local windows have none, and stay.
#[test]
fn owner_token_can_be_replaced() {
    let served = Served::new();
    let mut window = served.house.open("home");
    let talk = served.open();
    let mut own = talk.listen();
    let before = token(&served.house);
    fs::remove_file(served.house.state("token")).unwrap();
    assert_eq!(own.event(), None, "its stream ends");
    refused(served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()), 401);
    let after = served.house.say(&["token", "show"]).trim().to_owned();
    assert!(after != before && after == token(&served.house));
    let web = served.web.with("Authorization", &format!("Bearer {after}"));
    patience::until_true("the new one counts", || web.get("/readyz").send().status == 200);
    assert!(Talk::open(&web, FAKE).call("echo", json!({})).get("result").is_some());
    assert!(window.call("echo", json!({})).get("result").is_some());
}

/// A window stays open and is told why nothing works any more.
#[track_caller]
fn check_window(house: &House, mut window: Client, others: &mut Client, start: u32) {
    let open = window.start_call("hang", json!({ "label": "of the revoked" }));
    house.record().wait_for(start, "of the revoked");
    house.say(&["token", "revoke", "ci"]);
    assert_eq!(kind(&window.answer(open)), "unauthorized");
    for _ in 0..2 {
        assert_eq!(kind(&window.call("echo", json!({ "is": "forbidden" }))), "unauthorized");
    }
    assert_eq!(window.request("ping", json!({}))["result"], json!({}));
    assert!(others.call("echo", json!({})).get("result").is_some());
    assert!(!house.record().all_lines().iter().any(|line| line.contains("forbidden")));
}

#[test]
fn window_with_a_variable_is_cut_off() {
    let house = House::new();
    let token = create(&house, &["ci"]);
    let mut owner = house.open("home");
    let mut window = with_variable(house.window("home"), &token);
    window.initialize();
    check_window(&house, window, &mut owner, 2);
}

#[test]
fn window_with_a_message_is_cut_off() {
    for place in Place::BOTH {
        let house = House::new();
        let token = create(&house, &["ci"]);
        let mut owner = house.open("home");
        let mut window = house.window("home").start();
        assert!(window.request("initialize", showing(place, &token)).get("result").is_some());
        check_window(&house, window, &mut owner, 2);
    }
}

/// A window that relays its messages gets errors too; a solo program ends.
#[test]
fn relayed_and_solo_windows_are_cut_off() {
    let house = Relayed::new();
    let make = |start: Start| {
        let said = house.say(&["token", "create", "ci"]);
        let mut window = with_variable(start, said.split_whitespace().last().unwrap());
        window.initialize();
        window
    };
    let mut window = make(house.window("home"));
    house.say(&["token", "revoke", "ci"]);
    patience::until_true("calls are refused", || window.call("echo", json!({})).get("error").is_some());
    drop(window);
    let mut solo = make(house.window("home").arg("--solo"));
    let open = solo.start_call("hang", json!({}));
    house.record().wait_for(2, "\"hang\"");
    house.say(&["token", "revoke", "ci"]);
    assert_eq!(kind(&solo.answer(open)), "unauthorized");
    assert_eq!(solo.wait_for_end().code, Some(0));
}
