//! Linger: unused backends end after a while, whatever their `idleTtl`, and then the daemon.

use super::house::{House, server_of};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::pids;

/// Extra delay that a busy machine may cause.
const SLACK: Duration = Duration::from_secs(5);
/// Time that a daemon without backends waits for another client.
const LAST: Duration = Duration::from_secs(1);

#[test]
fn linger_overrides_idle_ttl() {
    for idle_ttl in [json!("1h"), json!(0)] {
        let house = House::with(json!({ "linger": "1s" }), json!({ "idleTtl": idle_ttl }), &[]);
        let mut client = house.open("a");
        let server = server_of(&mut client);
        let since = Instant::now();
        client.finish();
        while pids::is_alive(server) {
            assert!(since.elapsed() < Duration::from_secs(1) + SLACK, "idleTtl {idle_ttl}");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(since.elapsed() > Duration::from_millis(900), "idleTtl {idle_ttl}: {:?}", since.elapsed());
        house.check_empty(LAST + SLACK);
    }
}

#[test]
fn window_returning_in_time_reuses_server() {
    let house = House::with(json!({ "linger": "20s" }), json!({}), &[]);
    let mut client = house.open("a");
    let server = server_of(&mut client);
    client.finish();
    let mut next = house.open("a");
    assert_eq!(server_of(&mut next), server);
    next.finish();
    house.say(&["daemon", "stop", "--config", house.config().to_str().unwrap()]);
}

#[test]
fn zero_linger_stops_servers_at_once() {
    let house = House::with(json!({ "linger": 0 }), json!({ "idleTtl": "1h" }), &[]);
    let mut client = house.open("a");
    let mut stays = house.open("b");
    let (server, other) = (server_of(&mut client), server_of(&mut stays));
    client.finish();
    house.wait_for_servers(1);
    assert!(!pids::is_alive(server));
    assert_eq!(server_of(&mut stays), other);
    let since = Instant::now();
    stays.finish();
    house.check_empty(LAST + SLACK);
    assert!(since.elapsed() < LAST + SLACK);
}

/// No server, guard, warden, daemon or file is left.
#[test]
fn fifty_clients_leave_nothing() {
    let house = House::with(json!({ "linger": "200ms" }), json!({}), &[]);
    for number in 0..50 {
        let mut client = house.open(["a", "b", "c"][number % 3]);
        assert!(client.call("echo", json!({ "n": number }))["result"].is_object());
        assert_eq!(client.finish().code, Some(0));
    }
    assert!(house.daemons().len() <= 1);
    house.check_empty(Duration::from_millis(200) + LAST + SLACK);
    assert!(house.files().iter().all(|end| end == "lock" || end == "start"), "{:?}", house.files());
}

/// The same with killed clients, some of them within a call.
#[test]
fn fifty_killed_clients_leave_nothing() {
    let house = House::with(json!({ "linger": "200ms" }), json!({}), &[]);
    for number in 0..50 {
        let mut client = house.window("a").start();
        if number % 5 != 0 {
            client.initialize();
        }
        if number % 2 == 0 {
            client.start_call("hang", json!({}));
        }
        client.signal(pids::Word::Kill);
        client.wait_for_end();
    }
    house.check_empty(Duration::from_millis(200) + LAST + SLACK * 2);
    assert!(house.files().iter().all(|end| end == "lock" || end == "start"), "{:?}", house.files());
}

#[test]
fn daemon_without_clients_ends() {
    let house = House::new();
    let config = house.config().to_str().unwrap();
    let mut daemon = house.program("home").args(["daemon", "--config", config]).start();
    let end = daemon.wait_for_end();
    assert_eq!((end.code, &end.stdout[..]), (Some(0), &b""[..]), "{}", end.stderr);
    assert_eq!(house.files(), Vec::<String>::new());
}
