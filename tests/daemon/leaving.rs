//! Clients that leave in the middle of a call: their requests are cancelled and their subscriptions end; no
//! other client notices.

use super::house::{House, server_of};
use crate::support::{fake_ide, saying};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// Two windows of one instance, each with a hanging call under the same id; then one leaves.
#[track_caller]
fn check(leave: impl FnOnce(Client)) {
    let house = House::new();
    let (mut one, mut other) = (house.open("a"), house.open("a"));
    for client in [&mut one, &mut other] {
        let subscribed = client.request("resources/subscribe", json!({ "uri": "memo://x" }));
        assert!(subscribed["result"].is_object(), "{subscribed}");
    }
    let left = one.start_call("hold", json!({ "label": "the one that goes" }));
    house.record().wait_for(1, "the one that goes");
    let kept = other.start_call("hold", json!({ "label": "the one that stays" }));
    assert_eq!(left, kept, "the ids are the same on purpose");
    let minted = id_of(&house.record().wait_for(1, "the one that goes"));
    house.record().wait_for(1, "the one that stays");
    leave(one);
    let cancelled = house.record().wait_for(1, "notifications/cancelled");
    let cancelled: Value = serde_json::from_str(&cancelled).unwrap();
    assert_eq!(cancelled["params"]["requestId"], minted);
    // The other window's subscription and call continue.
    other.call(
        "say",
        saying(
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://x"}}
{"jsonrpc":"2.0","id":%ID,"result":{}}"#,
        ),
    );
    other.told("notifications/resources/updated");
    assert!(other.call("release", json!({}))["result"].is_object());
    assert_eq!(other.answer(kept)["result"]["label"], "the one that stays");
    let unsubscribed = other.request("resources/unsubscribe", json!({ "uri": "memo://x" }));
    assert!(unsubscribed["result"].is_object());
    let heard = house.record().lines(1);
    let count = |text: &str| heard.iter().filter(|line| line.contains(text)).count();
    assert_eq!((count("cancelled"), count("resources/unsubscribe")), (1, 1), "{heard:#?}");
    assert_eq!(house.record().launches(), 1);
}

fn id_of(line: &str) -> Value {
    serde_json::from_str::<Value>(line).unwrap()["id"].clone()
}

#[test]
fn closed_input_cancels_its_requests() {
    check(|mut client| assert_eq!(client.finish().code, Some(0)));
}

#[test]
fn killed_attachment_cancels_its_requests() {
    check(|mut client| {
        client.signal(Word::Kill);
        client.wait_for_end();
    });
}

#[test]
fn leaving_client_is_unsubscribed() {
    let house = House::new();
    let (mut one, mut other) = (house.open("a"), house.open("a"));
    one.request("resources/subscribe", json!({ "uri": "memo://mine" }));
    one.signal(Word::Kill);
    one.wait_for_end();
    let heard = house.record().wait_for(1, "resources/unsubscribe");
    assert!(heard.contains("memo://mine"));
    assert!(other.call("echo", json!({}))["result"].is_object());
}

/// The pipe is never closed: only the death of the parent shows.
#[test]
fn killed_ide_with_leaked_pipe_is_noticed() {
    let house = House::new();
    let mut other = house.open("a");
    let server = server_of(&mut other);
    let folder = house.path("ide");
    fs::create_dir_all(&folder).unwrap();
    let words = vec![folder.clone().into_os_string(), "--leak".into(), "--".into()];
    let ide = house.window("a").behind(fake_ide(), |_| words).start();
    let number = |name: &str| {
        patience::until(name, || fs::read_to_string(folder.join(name)).ok()?.parse::<u32>().ok())
    };
    let (_, attachment, sibling) = (number("greeted"), number("program"), number("sibling"));
    assert_eq!(house.status()["daemons"][0]["clients"].as_array().unwrap().len(), 2);
    ide.signal(Word::Kill);
    patience::until_true("the attachment has gone", || !pids::is_alive(attachment));
    patience::until_true("the client has gone", || {
        house.status()["daemons"][0]["clients"].as_array().unwrap().len() == 1
    });
    assert!(pids::is_alive(sibling));
    pids::tell(sibling, Word::Kill);
    assert_eq!(server_of(&mut other), server);
}

/// Equal ids in two spellings, answered out of order.
#[test]
fn equal_ids_in_all_windows_never_mix() {
    let house = House::new();
    let mut windows: Vec<Client> = (0..6).map(|_| house.open("a")).collect();
    for (number, window) in windows.iter().enumerate() {
        for id in ["7", "\"7\""] {
            let label = format!("{number} {}", id.replace('"', "'"));
            let params =
                json!({ "name": "hold", "arguments": { "label": label }, "_meta": { "progressToken": 7 } });
            window.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#));
        }
    }
    patience::until_true("all are held", || {
        house.record().lines(1).iter().filter(|line| line.contains("hold")).count() == 12
    });
    let mut labels: Vec<String> = (0..6).flat_map(|n| [format!("{n} 7"), format!("{n} '7'")]).collect();
    labels.sort_by_key(|label| label.bytes().rev().collect::<Vec<_>>());
    assert_eq!(windows[3].call("release", json!({ "labels": labels }))["result"]["released"], 12);
    for (number, window) in windows.iter_mut().enumerate() {
        assert_eq!(window.answer(7)["result"]["label"], format!("{number} 7"));
        assert_eq!(window.answer("7")["result"]["label"], format!("{number} '7'"));
    }
}
