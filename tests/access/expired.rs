//! Expiry: a token works until its time has come, and its sessions end then.

use super::token::{create, kind, web_of, with_variable};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, refused};
use serde_json::{Value, json};
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::patience;

#[test]
fn session_of_an_expired_token_ends() {
    let served = Served::new();
    let long = web_of(&served, &["long", "--expires", "30d"]);
    let short = web_of(&served, &["short", "--expires", "4s"]);
    let (kept, talk) = (Talk::open(&long, FAKE), Talk::open(&short, FAKE));
    let mut own = talk.listen();
    assert_eq!((own.status, own.event()), (200, None), "its stream ends by itself");
    refused(talk.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })), 401);
    refused(short.post(FAKE, hello("2025-11-25", json!({})).to_string()), 401);
    assert!(kept.call("echo", json!({})).get("result").is_some());
    let list: Value = serde_json::from_str(&served.house.say(&["token", "list", "--json"])).unwrap();
    assert_eq!((&list[0]["isExpired"], &list[1]["isExpired"]), (&json!(false), &json!(true)));
    assert!(served.house.say(&["token", "list"]).contains(", expired 2"));
}

#[test]
fn window_of_an_expired_token_is_cut_off() {
    let house = House::new();
    let token = create(&house, &["short", "--expires", "3s"]);
    let mut window = with_variable(house.window("home"), &token);
    window.initialize();
    let open = window.start_call("hang", json!({}));
    assert_eq!(kind(&window.answer(open)), "unauthorized");
    patience::until_true("calls are refused", || kind(&window.call("echo", json!({}))) == "unauthorized");
}
