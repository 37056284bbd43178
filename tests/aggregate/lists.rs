//! Merged lists: byte-exact items, whole or in pages.

use super::servers::{Servers, say, tools, with_tools};
use crate::support::error;
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::{Client, initialize_params};
use switchboard_testkit::patience;

/// One page, and the cursor of the next.
#[track_caller]
fn page(client: &mut Client, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    let answer = client.request("tools/list", params);
    let Some(items) = answer["result"]["tools"].as_array() else { panic!("no list: {answer}") };
    let names = items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    (names, answer["result"]["nextCursor"].as_str().map(str::to_owned))
}

/// Only the name differs from the server's item.
#[test]
fn list_items_keep_their_bytes() {
    let item = |name: &str| {
        format!(
            r#"{{ "x-own":0.70,"inputSchema":{{"type":"object","$defs":{{"ü":[1.0 , 2E3]}}}},  "name" : {name},"_meta":{{"b/c":-0.0,"a":"\u00e9\/"}},"title":null,"annotations":{{ }}}}"#
        )
    };
    let offer = format!(
        r#"{{"tools":[{}, {}]}}"#,
        item(r#""one""#),
        r#"{"name":"say","inputSchema":{},"description":"„ß“ 😀"}"#
    );
    let servers = Servers::none().and_offer("a", json!({}), &offer).and_offer("b", json!({}), &offer);
    let expect = |server: &str| {
        format!(
            r#"{},{{"name":"{server}__say","inputSchema":{{}},"description":"„ß“ 😀"}}"#,
            item(&format!(r#""{server}__one""#))
        )
    };
    // Once from the servers, once from the stored catalogue.
    for _ in 0..2 {
        let mut client = servers.open();
        client.send(r#"{"jsonrpc":"2.0","id":"x-1","method":"tools/list","params":{}}"#);
        let list = format!("{},{}", expect("a"), expect("b"));
        let answer = format!(r#"{{"jsonrpc":"2.0","id":"x-1","result":{{"tools":[{list}]}}}}"#);
        assert_eq!(client.recv_text(), answer);
    }
    assert_eq!(servers.launches(["a", "b"]), [1, 1]);
}

#[test]
fn pages_of_a_server_become_one_list() {
    let names: Vec<String> = (0..7).map(|n| format!("t{n}")).collect();
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut offer: Value = serde_json::from_str(&with_tools(&words)).unwrap();
    offer["pageSize"] = json!(3);
    let servers = Servers::of(&["b"]).and_offer("a", json!({}), &offer.to_string());
    let mut client = servers.open();
    let of_a: Vec<String> = tools(&mut client).into_iter().filter(|name| name.starts_with("a__")).collect();
    assert_eq!(of_a, names.iter().map(|name| format!("a__{name}")).collect::<Vec<_>>());
    assert_eq!(servers.told("a", "tools/list"), 3);
}

fn seven() -> Servers {
    Servers::none()
        .and_offer("a", json!({}), &with_tools(&["1", "2", "3", "say"]))
        .and_offer("b", json!({}), &with_tools(&["5", "6", "7"]))
        .with("pageSize", json!(3))
}

const SEVEN: [&str; 7] = ["a__1", "a__2", "a__3", "a__say", "b__5", "b__6", "b__7"];

#[test]
fn pages_hold_every_item_once() {
    let servers = seven();
    let mut client = servers.open();
    let (first, next) = page(&mut client, None);
    let (second, after) = page(&mut client, next.as_deref());
    let (third, end) = page(&mut client, after.as_deref());
    assert_eq!((first.len(), second.len(), third.len(), end), (3, 3, 1, None));
    assert_eq!([first, second, third].concat(), SEVEN);
    // A page can be requested again.
    assert_eq!(page(&mut client, after.as_deref()).0, ["b__7"]);
}

/// A client that is paging gets the rest of the old list, and a notification about the new one.
#[test]
fn list_change_keeps_open_pages_consistent() {
    let servers = seven();
    let mut client = servers.open();
    let (first, next) = page(&mut client, None);
    servers.offers("a", &with_tools(&["0", "say"]));
    say(&mut client, "a__say", &[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
    client.told("notifications/tools/list_changed");
    let (second, next) = page(&mut client, next.as_deref());
    let (third, _) = page(&mut client, next.as_deref());
    assert_eq!([first, second, third].concat(), SEVEN);
    let (first, next) = page(&mut client, None);
    let (second, end) = page(&mut client, next.as_deref());
    assert_eq!(
        ([first, second].concat(), end),
        (["a__0", "a__say", "b__5", "b__6", "b__7"].map(String::from).to_vec(), None)
    );
}

#[test]
fn stale_or_forged_cursor_is_refused() {
    let servers = seven();
    let mut client = servers.open();
    let (_, earlier) = page(&mut client, None);
    drop(client);
    let mut client = servers.open();
    let (_, own) = page(&mut client, None);
    let mut spoilt = own.clone().unwrap().into_bytes();
    spoilt[4] ^= 1;
    let spoilt = String::from_utf8(spoilt).unwrap();
    for cursor in [earlier.as_deref().unwrap(), &spoilt, "", "2", "eyJwYWdlIjoyfQ", "🙂"] {
        let answer = client.request("tools/list", json!({ "cursor": cursor }));
        error(&answer, -32602, "stale_cursor");
    }
    assert_eq!(page(&mut client, own.as_deref()).0, ["a__say", "b__5", "b__6"]);
}

/// Models' prompt caches hit only if the list has the same bytes every time.
#[test]
fn order_of_tools_is_stable() {
    let offers = [("a", ["m", "b"]), ("b", ["a", "z"]), ("c", ["z", "a"])];
    let mut servers = Servers::none();
    for (name, tools) in offers {
        let offer = servers.offers(name, &with_tools(&tools)).display().to_string();
        let gate = servers.path(&format!("{name}.gate")).display().to_string();
        servers = servers.and(name, json!({}), &["--offer", &offer, "--gate", &gate]);
    }
    let list = |client: &mut Client| {
        client.send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
        client.recv_text()
    };
    let mut seen = Vec::new();
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
        // As on the first start: nothing is stored.
        let _ = fs::remove_dir_all(servers.state("catalogue"));
        let mut client = servers.start().start();
        let hello =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params() });
        client.send(hello.to_string());
        for name in order {
            let before = servers.told(name, "tools/list");
            fs::write(servers.path(&format!("{name}.gate")), "").unwrap();
            patience::until_true("its list was requested", || servers.told(name, "tools/list") > before);
        }
        client.answer(1);
        client.notify("notifications/initialized", json!({}));
        seen.push(list(&mut client));
        for name in order {
            fs::remove_file(servers.path(&format!("{name}.gate"))).unwrap();
        }
        assert_eq!(client.finish().code, Some(0));
        // From the store; no server answers.
        let mut client = servers.open();
        seen.push(list(&mut client));
    }
    let names = ["a__m", "a__b", "b__a", "b__z", "c__z", "c__a"];
    let first: Value = serde_json::from_str(&seen[0]).unwrap();
    let listed = first["result"]["tools"].as_array().unwrap().iter();
    assert_eq!(listed.map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), names, "as configured");
    assert!(seen.iter().all(|list| *list == seen[0]), "{seen:#?}");
}
