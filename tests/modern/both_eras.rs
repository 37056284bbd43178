//! A legacy and a modern client share one process of a legacy server.

use crate::daemon::house::House;
use crate::pool::census::Census;
use crate::support::text;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::client::{Client, Modern};
use switchboard_testkit::message::initialize_params;

/// Two windows of one folder, legacy and modern, in this order.
fn windows(house: &House, flags: &[&str], modern_first: bool) -> (Client, Modern) {
    let start = || house.program("w").arg("stdio").args(flags).arg("--config").arg(house.config());
    let legacy = || {
        let mut client = start().start();
        // Clients share a process only with the same version. For modern clients, the server gets this one.
        let params = initialize_params("testkit", "2025-11-25", json!({}));
        assert!(client.request("initialize", params).get("result").is_some());
        client.notify("notifications/initialized", json!({}));
        client
    };
    let modern = |tool: &str| {
        let mut client = Modern::start(start());
        assert!(client.call(tool, json!({})).get("result").is_some());
        client
    };
    let tool = if flags.is_empty() { "fake__echo" } else { "echo" };
    if modern_first {
        let modern = modern(tool);
        return (legacy(), modern);
    }
    let mut legacy = legacy();
    legacy.call(tool, json!({}));
    let modern = modern(tool);
    (legacy, modern)
}

fn pid(answer: &Value) -> u64 {
    answer["result"]["pid"].as_u64().unwrap_or_else(|| panic!("no facts: {answer}"))
}

#[test]
fn clients_of_both_eras_share_a_process() {
    for flags in [&["--server", "fake"][..], &[]] {
        for modern_first in [true, false] {
            for is_known in [true, false] {
                check_shared(flags, modern_first, is_known);
            }
        }
    }
}

/// `is_known`: whether the era of the server is known. Otherwise another process gets `server/discover`, and ends.
fn check_shared(flags: &[&str], modern_first: bool, is_known: bool) {
    let keys = if is_known { json!({ "era": "legacy" }) } else { json!({}) };
    let house = House::with(json!({}), keys, &[]);
    let [facts, echo] = if flags.is_empty() { ["fake__facts", "fake__echo"] } else { ["facts", "echo"] };
    // The folder of the record identifies the processes of this test.
    let census = Census::of(house.path("record").display(), Duration::from_millis(2));
    let (mut legacy, mut modern) = windows(&house, flags, modern_first);
    assert_eq!(pid(&legacy.call(facts, json!({}))), pid(&modern.call(facts, json!({}))));
    assert_eq!(text(&legacy.call(echo, json!({ "n": 1 }))), r#"{"n":1}"#);
    let answer = modern.call(echo, json!({ "n": 2 }));
    assert_eq!((text(&answer), &answer["result"]["resultType"]), (r#"{"n":2}"#, &json!("complete")));
    assert!(legacy.call(echo, json!({}))["result"].get("resultType").is_none());
    let heard = house.record().all_lines();
    assert_eq!(heard.iter().filter(|line| line.contains("\"initialize\"")).count(), 1);
    assert_eq!(house.servers().len(), 1);
    assert_eq!(legacy.finish().code, Some(0));
    assert_eq!(modern.finish().code, Some(0));
    let count = census.finish();
    assert!(count.looks > 1 && (!is_known || count.most <= 1), "{flags:?}, {modern_first}: {count:?}");
}
