//! Faulty servers beside a good one, which must not notice.

use super::servers::{Servers, listed, pid, tools, with_tools};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::Client;

const GOOD: &str = r#"{
    "tools": [{"name":"echo"},{"name":"facts"}], "prompts": [{"name":"p"}], "resources": [{"uri":"x://1","name":"1"}]
}"#;

/// A good server beside one with these keys and options.
fn beside(keys: Value, options: &[&str]) -> Servers {
    Servers::none().and_offer("good", json!({}), GOOD).and("bad", keys, options)
}

/// Checks that the good server is listed and works.
#[track_caller]
fn check_good(servers: &Servers, client: &mut Client) {
    let of_good =
        |names: Vec<String>| names.into_iter().filter(|name| name.starts_with("good__")).collect::<Vec<_>>();
    assert_eq!(of_good(tools(client)), ["good__echo", "good__facts"]);
    assert_eq!(of_good(listed(client, "prompts", "name")), ["good__p"]);
    assert!(listed(client, "resources", "name").contains(&"1".to_owned()));
    assert_eq!(pid(client, "good__facts"), servers.record("good").pid(1));
    let answer = client.request("resources/read", json!({ "uri": "x://1" }));
    assert!(answer.get("result").is_some(), "{answer}");
}

fn has_bad(client: &mut Client) -> bool {
    tools(client).iter().any(|name| name.starts_with("bad__"))
}

/// The server starts too slowly for the first attempt in either framing, and is retried automatically.
#[test]
fn slow_start_is_retried_in_either_framing() {
    let mut servers = beside(json!({}), &[]).with("listGrace", json!("500ms"));
    let gate = servers.path("gate");
    servers.put("bad", json!({ "startTimeout": "1s" }), &["--gate", gate.to_str().unwrap()]);
    let mut client = servers.open();
    check_good(&servers, &mut client);
    assert!(!has_bad(&mut client));
    // The server becomes ready while it is tried with the framing that it does not know.
    servers.record("bad").pid(2);
    fs::write(&gate, "").unwrap();
    client.told("notifications/tools/list_changed");
    assert!(has_bad(&mut client));
    assert!(client.call("bad__echo", json!({})).get("result").is_some());
    check_good(&servers, &mut client);
}

/// The server starts within its budget: the client's first request waits for it.
#[test]
fn server_within_its_budget_is_waited_for() {
    let mut servers = beside(json!({}), &[]);
    let gate = servers.path("gate");
    servers.put("bad", json!({}), &["--gate", gate.to_str().unwrap()]);
    let mut client = servers.start().start();
    let id = client.ask("initialize", switchboard_testkit::client::initialize_params());
    servers.record("bad").wait_for(1, "initialize");
    servers.record("good").wait_for(1, "initialize");
    fs::write(&gate, "").unwrap();
    assert!(client.answer(id).get("result").is_some());
    client.notify("notifications/initialized", json!({}));
    assert!(has_bad(&mut client));
}

#[test]
fn server_that_never_answers_is_left_out() {
    for options in [&["--silent"][..], &["--never-read"], &["--hang-on", "initialize"]] {
        let servers = beside(json!({ "startTimeout": "500ms" }), options);
        let mut client = servers.open();
        check_good(&servers, &mut client);
        assert!(!has_bad(&mut client), "{options:?}");
    }
}

/// The server answers `initialize` and nothing more.
#[test]
fn server_that_never_lists_is_left_out() {
    let servers = beside(json!({ "startTimeout": "500ms" }), &["--hang-on", "tools/list"]);
    let mut client = servers.open();
    check_good(&servers, &mut client);
}

#[test]
fn crashing_server_is_left_out() {
    for options in [
        &["--exit-at-start", "3", "--stderr", "no key"][..],
        &["--crash-on", "initialize"],
        &["--crash-on", "tools/list"],
    ] {
        let servers = beside(json!({}), options);
        let mut client = servers.open();
        check_good(&servers, &mut client);
        assert!(!has_bad(&mut client), "{options:?}");
    }
}

/// The program does not exist.
#[test]
fn unstartable_server_is_left_out() {
    let servers = beside(json!({ "command": "/nowhere/at/all" }), &[]);
    let mut client = servers.open();
    check_good(&servers, &mut client);
    let answer = client.call("bad__echo", json!({}));
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("/nowhere/at/all"),
        "it says why: {answer}"
    );
}

/// The server is restarted, and the client is notified.
#[test]
fn server_returns_after_one_crash() {
    let servers = beside(json!({}), &["--exit-at-start", "3", "--faulty", "1"]);
    let mut client = servers.open();
    if !has_bad(&mut client) {
        client.told("notifications/tools/list_changed");
        assert!(has_bad(&mut client));
    }
    check_good(&servers, &mut client);
    assert!(client.call("bad__echo", json!({})).get("result").is_some());
}

#[test]
fn flooding_server_delays_no_other() {
    let servers = beside(json!({}), &["--flood", "20000"]);
    let mut client = servers.open();
    check_good(&servers, &mut client);
    let answer = client.call("bad__echo", json!({ "x": 1 }));
    assert!(answer.get("result").is_some(), "{answer}");
}

#[test]
fn printed_noise_does_no_harm() {
    let servers = beside(json!({}), &["--say", "Server ready on stdio!\nDebug: {\"x\": 1}\n"]);
    let mut client = servers.open();
    check_good(&servers, &mut client);
    assert!(has_bad(&mut client));
}

/// The server declares prompts and resources, but has none.
#[test]
fn false_capabilities_do_no_harm() {
    let lie = r#"{
        "capabilities": { "tools": {}, "prompts": {}, "resources": { "subscribe": true } },
        "tools": [{"name":"echo"}]
    }"#;
    let servers = Servers::none().and_offer("good", json!({}), GOOD).and_offer("bad", json!({}), lie);
    let mut client = servers.open();
    check_good(&servers, &mut client);
    assert!(has_bad(&mut client), "what it does have is there");
    assert_eq!(listed(&mut client, "prompts", "name"), ["good__p"]);
    assert_eq!(listed(&mut client, "resources", "name"), ["1"]);
}

#[test]
fn malformed_lists_do_no_harm() {
    for nonsense in [
        r#"{ "tools": { "echo": {} } }"#,
        r#"{ "tools": "many" }"#,
        r#"{ "tools": [1, null, {}, {"name":5}, [], {"name":"echo"}] }"#,
        r#"{ "tools": [{"name":"echo"},{"name":"echo"}] }"#,
        r#"{ "capabilities": 5, "tools": [] }"#,
        // An endless series of empty pages.
        r#"{ "pageSize": 0, "tools": [{"name":"echo"}] }"#,
    ] {
        let servers =
            Servers::none().and_offer("good", json!({}), GOOD).and_offer("bad", json!({}), nonsense);
        let mut client = servers.open();
        check_good(&servers, &mut client);
        let names = tools(&mut client);
        let of_bad = names.iter().filter(|name| name.starts_with("bad__")).count();
        assert!(of_bad <= 1, "{nonsense}: {names:?}");
    }
}

/// 50,000 tools, ten megabytes.
#[test]
fn fifty_thousand_tools_are_listed() {
    let tool =
        |n: usize| json!({ "name": format!("tool_{n}"), "description": "d".repeat(160), "inputSchema": {} });
    let mut many: Vec<Value> = (0..50_000).map(tool).collect();
    many.push(json!({ "name": "facts" }));
    let offer = json!({ "tools": many }).to_string();
    assert!(offer.len() > 10_000_000, "{}", offer.len());
    let servers = Servers::none().and_offer("good", json!({}), GOOD).and_offer("bad", json!({}), &offer);
    // A busy machine may need longer than the default to read ten megabytes.
    let servers = servers.with("listGrace", json!("2m"));
    let mut client = servers.open();
    check_good(&servers, &mut client);
    let names = tools(&mut client);
    assert_eq!(names.len(), 50_003);
    assert_eq!((names[0].as_str(), names[50_002].as_str()), ("bad__tool_0", "good__facts"));
    pid(&mut client, "bad__facts");
    assert_eq!(client.finish().code, Some(0));
    // The same from the stored catalogue.
    let mut client = servers.open();
    assert_eq!(tools(&mut client), names);
    assert_eq!(servers.launches(["good", "bad"]), [1, 1]);
}

/// From the second time on, the list is spliced from a sealed file in memory, whole or in pages, between other
/// messages.
#[test]
fn repeated_long_list_is_identical() {
    let tool = |n: usize| json!({ "name": format!("tool_{n}"), "description": format!("{n}-").repeat(90) });
    let many: Vec<Value> = (0..3_000).map(tool).collect();
    let offer = json!({ "tools": many }).to_string();
    for page in [10_000, 1_400] {
        let servers = Servers::none().and_offer("good", json!({}), GOOD).and_offer("many", json!({}), &offer);
        let servers = servers.with("pageSize", json!(page));
        let mut client = servers.open();
        check_good(&servers, &mut client);
        let once = tools(&mut client);
        assert_eq!(once.len(), page.min(3_002));
        assert_eq!(tools(&mut client), once);
        let asked: Vec<(u64, u64)> =
            (0..6).map(|_| (client.ask("tools/list", json!({})), client.ask("ping", json!({})))).collect();
        let first = client.request("tools/list", json!({}))["result"].clone();
        for (list, ping) in asked {
            assert_eq!(client.answer(list)["result"], first);
            assert_eq!(client.answer(ping)["result"], json!({}));
        }
        let listed = first["tools"].as_array().unwrap();
        let sent = |name: &str| many.iter().find(|tool| name.strip_prefix("many__") == tool["name"].as_str());
        let is_as_sent = |tool: &Value| {
            sent(tool["name"].as_str().unwrap()).is_none_or(|sent| sent["description"] == tool["description"])
        };
        assert!(listed.iter().all(is_as_sent));
        assert_eq!(client.finish().code, Some(0));
    }
}

/// A list over the message size limit counts as missing.
#[test]
fn list_over_the_size_limit_is_left_out() {
    let offer = json!({ "tools": [{ "name": "echo", "description": "d".repeat(70_000) }] }).to_string();
    let servers = Servers::none()
        .and_offer("good", json!({}), GOOD)
        .and_offer("bad", json!({ "startTimeout": "2s" }), &offer)
        .with("maxMessageBytes", json!("64KiB"));
    let mut client = servers.open();
    check_good(&servers, &mut client);
    assert!(!has_bad(&mut client));
}

/// The handshake succeeds nevertheless.
#[test]
fn handshake_succeeds_when_all_servers_fail() {
    let servers = Servers::none().and("a", json!({}), &["--exit-at-start", "1"]).and(
        "b",
        json!({ "startTimeout": "500ms" }),
        &["--silent"],
    );
    let mut client = servers.start().start();
    assert_eq!(client.initialize()["serverInfo"]["name"], "switchboard");
    assert_eq!(tools(&mut client), Vec::<String>::new());
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    let answer = client.call("a__echo", json!({}));
    assert!(answer.get("error").is_some(), "{answer}");
    assert_eq!(client.finish().code, Some(0));
}

/// Only the requests that the crashed server worked on fail.
#[test]
fn crash_fails_only_its_own_requests() {
    let servers = Servers::none().and_offer("good", json!({}), &with_tools(&["hold", "release"])).and(
        "bad",
        json!({}),
        &[],
    );
    let mut client = servers.open();
    let held = client.start_call("good__hold", json!({ "label": 1 }));
    servers.record("good").wait_for(1, "hold");
    let crashed = client.call("bad__crash", json!({ "code": 7 }));
    crate::support::error(&crashed, -32002, "backend_unavailable");
    client.call("good__release", json!({}));
    assert_eq!(client.answer(held)["result"]["label"], 1);
    assert!(client.call("bad__echo", json!({})).get("result").is_some(), "it is started again");
    assert_eq!(servers.launches(["good", "bad"]), [1, 2]);
}
