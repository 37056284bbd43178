//! Sharing: one set of backends for all windows, one per folder and environment.

use super::house::{House, server_of};
use serde_json::json;
use std::sync::Barrier;
use switchboard_testkit::client::Client;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::tree::Process;

#[test]
fn windows_on_one_folder_share_a_process() {
    let house = House::with(json!({}), json!({}), &["--greeting", GREETING]);
    let mut one = house.window("a").start();
    let welcome = one.initialize();
    house.record().wait_for(1, "initialized");
    let mut other = house.window("a").start();
    assert_eq!(other.initialize(), welcome, "it hears what the first one heard");
    assert_eq!(server_of(&mut one), server_of(&mut other));
    assert_eq!(house.record().launches(), 1);
    let heard = house.record().lines(1);
    assert_eq!(
        heard.iter().filter(|line| line.contains("initialize")).count(),
        2,
        "one handshake: {heard:?}"
    );
    house.daemon();
}

const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":%ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"f\u00e9","version":"%PID"},"instructions":"a\/b"}}"#,
    "\n"
);

#[test]
fn each_folder_has_one_process() {
    let house = House::new();
    let [mut a, mut b, mut c] = ["a", "b", "a"].map(|folder| house.open(folder));
    let [of_a, of_b, of_c] = [&mut a, &mut b, &mut c].map(server_of);
    assert_eq!(of_a, of_c);
    assert_ne!(of_a, of_b);
    assert_eq!(house.record().launches(), 2);
    let cwd = |client: &mut Client| client.call("facts", json!({}))["result"]["cwd"].clone();
    assert_eq!((cwd(&mut a), cwd(&mut b)), (json!(house.path("a")), json!(house.path("b"))));
    house.daemon();
}

#[test]
fn variable_not_passed_on_keeps_sharing() {
    let house = House::with(json!({}), json!({ "inheritEnv": "safe" }), &[]);
    let mut one = house.window("a").env("SOME_WINDOW", "1").start();
    let mut other = house.window("a").env("SOME_WINDOW", "2").start();
    one.initialize();
    other.initialize();
    assert_eq!(server_of(&mut one), server_of(&mut other));
    let env = one.call("facts", json!({}))["result"]["env"].clone();
    assert_eq!(env.get("SOME_WINDOW"), None);
}

#[test]
fn variable_passed_on_splits_processes() {
    let house = House::with(json!({}), json!({ "passEnv": ["SOME_WINDOW"] }), &[]);
    let mut one = house.window("a").env("SOME_WINDOW", "1").start();
    let mut other = house.window("a").env("SOME_WINDOW", "2").start();
    one.initialize();
    other.initialize();
    let value = |client: &mut Client| client.call("facts", json!({}))["result"]["env"]["SOME_WINDOW"].clone();
    assert_eq!((value(&mut one), value(&mut other)), (json!("1"), json!("2")));
}

#[test]
fn twenty_windows_start_one_daemon() {
    let house = House::new();
    let barrier = Barrier::new(20);
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let mut client = house.open("a");
                    assert!(client.call("echo", json!({}))["result"].is_object());
                    client
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    house.daemon();
    assert_eq!(house.record().launches(), 1);
    let status = house.status();
    assert_eq!(status["daemons"].as_array().unwrap().len(), 1);
    assert_eq!(status["daemons"][0]["clients"].as_array().unwrap().len(), 20);
    assert_eq!(status["daemons"][0]["servers"][0]["instances"][0]["clients"], 20, "{status:#}");
    for client in &clients {
        assert_eq!(client.stderr_so_far(), "");
    }
}

/// Signals to the group, as from a closed terminal or a client that ends its servers by group.
#[test]
fn daemon_has_its_own_group_and_session() {
    let house = House::new();
    let mut first = house.window("a").own_group().start();
    first.initialize();
    let daemon = house.daemon();
    let mut second = house.open("a");
    let server = server_of(&mut second);
    assert_ne!(ids(first.pid()), ids(daemon.pid));
    let (group, session) = ids(daemon.pid);
    assert_eq!(group, daemon.pid);
    assert_ne!(session, ids(first.pid()).1);
    for word in [Word::HangUp, Word::Interrupt, Word::Kill] {
        pids::tell_group(first.pid(), word);
    }
    first.wait_for_end();
    assert_eq!(server_of(&mut second), server, "nobody else notices");
    assert!(daemon.is_alive());
}

/// Process group and session of a process.
fn ids(pid: u32) -> (u32, u32) {
    assert!(Process::look(pid).is_some(), "{pid} is there");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<u32> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .skip(2)
        .take(2)
        .map(|n| n.parse().unwrap())
        .collect();
    (fields[0], fields[1])
}
