//! Several windows on all servers through the daemon, and leftovers after a kill.

use super::servers::{Servers, listed, pid, say, tools, with_tools};
use crate::support::error;
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

#[test]
fn two_windows_share_all_processes() {
    let servers = Servers::of(&["a", "b"]);
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    for tool in ["a__facts", "b__facts"] {
        assert_eq!(pid(&mut one, tool), pid(&mut other, tool));
    }
    assert_eq!(servers.launches(["a", "b"]), [1, 1]);
    assert_eq!(tools(&mut one), tools(&mut other));
    // A window with `--server a` uses the same process.
    let mut single = servers.shared().args(["--server", "a"]).start();
    single.initialize();
    assert_eq!(pid(&mut single, "facts"), pid(&mut one, "a__facts"));
    drop(one);
    assert_eq!(pid(&mut other, "a__facts"), servers.record("a").pid(1));
}

/// Both windows use the same ids; each gets its own answers.
#[test]
fn equal_ids_of_two_windows_stay_apart() {
    let servers = Servers::of(&["a", "b"]);
    let mut windows = [servers.open_shared(), servers.open_shared()];
    for round in 0..20 {
        let ids = windows.each_mut().map(|window| {
            ["a__echo", "b__echo"]
                .map(|tool| window.start_call(tool, json!({ "round": round, "tool": tool })))
        });
        assert_eq!(ids[0], ids[1]);
        for window in &mut windows {
            for (id, tool) in ids[0].iter().zip(["a__echo", "b__echo"]) {
                let answer = window.answer(*id);
                let echo: Value = serde_json::from_str(crate::support::text(&answer)).unwrap();
                assert_eq!(echo, json!({ "round": round, "tool": tool }));
            }
        }
    }
}

const LIVING: &str = r#"{
    "capabilities": { "tools": {}, "logging": {}, "resources": { "subscribe": true } },
    "tools": [{"name":"say"},{"name":"echo"}], "resources": [{"uri":"x://1","name":"1"}]
}"#;

fn living() -> Servers {
    Servers::none().and_offer("a", json!({}), LIVING).and_offer("b", json!({}), LIVING)
}

/// The server is told to unsubscribe after the last subscriber has left.
#[test]
fn server_unsubscribes_with_last_client() {
    let servers = living();
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    let uri = listed(&mut one, "resources", "uri").remove(0);
    for (client, uri) in [(&mut one, uri.as_str()), (&mut other, uri.as_str())] {
        let answer = client.request("resources/subscribe", json!({ "uri": uri }));
        assert!(answer.get("result").is_some(), "{answer}");
    }
    // A repeated subscription is allowed: servers must accept it.
    assert!(servers.told("a", "resources/subscribe") >= 1);
    assert_eq!(servers.told("b", "resources/subscribe"), 0);
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}"#;
    say(&mut one, "a__say", &[updated]);
    for client in [&mut one, &mut other] {
        assert_eq!(client.told("notifications/resources/updated")["params"]["uri"], json!(uri));
    }
    let answer = one.request("resources/unsubscribe", json!({ "uri": uri }));
    assert!(answer.get("result").is_some(), "{answer}");
    one.call("a__echo", json!({ "after": "one" }));
    assert_eq!(servers.told("a", "resources/unsubscribe"), 0, "the other still listens");
    other.request("resources/unsubscribe", json!({ "uri": uri }));
    servers.record("a").wait_for(1, "resources/unsubscribe");
    assert_eq!(servers.told("a", "resources/unsubscribe"), 1);
}

/// One client subscribes by the resource's own URI, the other by the proxy URI.
#[test]
fn updates_carry_each_clients_own_uri() {
    let servers =
        Servers::none().and_offer("a", json!({}), LIVING).and_offer("b", json!({}), &with_tools(&["echo"]));
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    let uri = listed(&mut one, "resources", "uri").remove(0);
    one.request("resources/subscribe", json!({ "uri": uri }));
    other.request("resources/subscribe", json!({ "uri": "x://1" }));
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}"#;
    say(&mut one, "a__say", &[updated]);
    assert_eq!(one.told("notifications/resources/updated")["params"]["uri"], json!(uri));
    assert_eq!(other.told("notifications/resources/updated")["params"]["uri"], "x://1");
}

/// A server has one log level, the lowest that a client requested; each client gets its own level.
#[test]
fn each_client_gets_its_own_log_level() {
    let servers = living();
    let (mut calm, mut curious) = (servers.open_shared(), servers.open_shared());
    for client in [&mut calm, &mut curious] {
        tools(client);
    }
    calm.call("a__echo", json!({}));
    calm.request("logging/setLevel", json!({ "level": "error" }));
    servers.record("a").wait_for(1, r#""level":"error""#);
    curious.request("logging/setLevel", json!({ "level": "debug" }));
    // The level is set at servers that the client uses.
    curious.call("a__echo", json!({}));
    servers.record("a").wait_for(1, r#""level":"debug""#);
    let log = |level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1}}}}"#
        )
    };
    say(&mut curious, "a__say", &[&log("debug"), &log("warning"), &log("error")]);
    let heard = |client: &mut Client| client.told("notifications/message")["params"]["level"].clone();
    assert_eq!(
        [heard(&mut curious), heard(&mut curious), heard(&mut curious)],
        ["debug", "warning", "error"]
    );
    assert_eq!(heard(&mut calm), "error", "the first that it hears");
}

#[test]
fn list_change_reaches_both_windows() {
    let servers = Servers::none().and_offer("a", json!({}), &with_tools(&["say"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["say"]),
    );
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    tools(&mut one);
    tools(&mut other);
    servers.offers("a", &with_tools(&["say", "new"]));
    say(&mut one, "a__say", &[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
    for client in [&mut one, &mut other] {
        client.told("notifications/tools/list_changed");
        assert_eq!(tools(client), ["a__say", "a__new", "b__say"]);
    }
}

// ---- config reload

/// A server may be missing from a list in between; a notification follows when it is back.
#[track_caller]
fn wait_for_tools(client: &mut Client, expect: &[&str]) {
    loop {
        client.told("notifications/tools/list_changed");
        if tools(client) == expect {
            return;
        }
    }
}

#[track_caller]
fn reload(servers: &Servers) {
    servers.say(&["reload"]);
}

#[test]
fn reload_adds_a_server() {
    let mut servers = Servers::none().and_offer("a", json!({}), &with_tools(&["facts"]));
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["a__facts"]);
    let before = pid(&mut client, "a__facts");
    let offer = servers.offers("b", &with_tools(&["echo"])).display().to_string();
    servers.put("b", json!({}), &["--offer", &offer]);
    reload(&servers);
    wait_for_tools(&mut client, &["a__facts", "b__echo"]);
    assert!(client.call("b__echo", json!({})).get("result").is_some());
    assert_eq!(pid(&mut client, "a__facts"), before);
}

#[test]
fn reload_removes_a_server() {
    let mut servers = Servers::none().and_offer("a", json!({}), &with_tools(&["facts"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["echo", "facts"]),
    );
    let mut client = servers.open_shared();
    tools(&mut client);
    let gone = pid(&mut client, "b__facts");
    servers.remove("b");
    reload(&servers);
    wait_for_tools(&mut client, &["a__facts"]);
    error(&client.call("b__echo", json!({})), -32602, "unknown_name");
    patience::until_true("its process has gone", || !pids::is_alive(gone));
}

#[test]
fn reload_changes_a_server() {
    let mut servers = Servers::none().and_offer("a", json!({}), &with_tools(&["facts"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["facts"]),
    );
    let mut client = servers.open_shared();
    tools(&mut client);
    let before = ["a__facts", "b__facts"].map(|tool| pid(&mut client, tool));
    let offer = servers.offers("b", &with_tools(&["facts", "new"])).display().to_string();
    servers.put("b", json!({ "env": { "X": "1" } }), &["--offer", &offer]);
    reload(&servers);
    wait_for_tools(&mut client, &["a__facts", "b__facts", "b__new"]);
    let after = ["a__facts", "b__facts"].map(|tool| pid(&mut client, tool));
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
}

#[test]
fn reload_changes_a_filter() {
    let mut servers = Servers::none().and_offer("a", json!({}), &with_tools(&["facts", "echo"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["facts"]),
    );
    let mut client = servers.open_shared();
    tools(&mut client);
    let before = pid(&mut client, "a__facts");
    let offer = servers.path("offers/a").display().to_string();
    servers.put(
        "a",
        json!({ "tools": { "deny": ["echo"], "rename": { "facts": "truth" } } }),
        &["--offer", &offer],
    );
    reload(&servers);
    wait_for_tools(&mut client, &["a__truth", "b__facts"]);
    assert_eq!(pid(&mut client, "a__truth"), before, "it need not be started anew for that");
    error(&client.call("a__echo", json!({})), -32602, "unknown_name");
}

#[test]
fn bad_config_changes_nothing() {
    let servers = Servers::none().and_offer("a", json!({}), &with_tools(&["facts"]));
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["a__facts"]);
    fs::write(servers.config(), "{ not JSON").unwrap();
    patience::until_true("it was seen", || servers.log().contains("config.json"));
    assert_eq!(tools(&mut client), ["a__facts"]);
    pid(&mut client, "a__facts");
}

// ---- kills

/// Starts both servers, with one child process each.
#[track_caller]
fn with_family(servers: &Servers, client: &mut Client) {
    for tool in ["a__spawn", "b__spawn"] {
        let answer = client.call(tool, json!({ "quiet": true }));
        assert!(answer["result"]["pid"].is_u64(), "{answer}");
    }
    assert!(servers.processes().len() >= 5, "{:#?}", servers.processes());
}

/// Dropping `servers` checks for leftovers.
#[test]
fn killed_solo_window_leaves_nothing() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    with_family(&servers, &mut client);
    client.signal(Word::Kill);
    assert_eq!(client.wait_for_end().code, None);
}

#[test]
fn killed_daemon_window_leaves_nothing() {
    let servers = Servers::of(&["a", "b"]);
    let (mut one, mut other) = (servers.open_shared(), servers.open_shared());
    with_family(&servers, &mut one);
    one.signal(Word::Kill);
    assert_eq!(one.wait_for_end().code, None);
    assert!(other.call("a__echo", json!({})).get("result").is_some());
}

#[test]
fn killed_daemon_leaves_nothing() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open_shared();
    with_family(&servers, &mut client);
    let status: Value = serde_json::from_str(&servers.say(&["status", "--json"])).unwrap();
    let daemon = status["daemons"][0]["pid"].as_u64().unwrap() as u32;
    let before = ["a", "b"].map(|name| servers.record(name).pid(1));
    pids::tell(daemon, Word::Kill);
    patience::until_true("its servers have gone", || !before.iter().any(|&pid| pids::is_alive(pid)));
    // The window continues with another daemon.
    let answer = client.call("b__echo", json!({}));
    let answer = if answer.get("error").is_some() { client.call("b__echo", json!({})) } else { answer };
    assert!(answer.get("result").is_some(), "{answer}");
    assert!(!tools(&mut client).is_empty());
}
