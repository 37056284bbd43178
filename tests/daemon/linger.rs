//! What nobody needs any more goes: the backends after a while, whatever their own time, and then the daemon.

use super::house::{House, server_of};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::pids;

/// How much later than promised a busy machine may be.
const SLACK: Duration = Duration::from_secs(5);
/// How long a daemon without backends waits for another client.
const LAST: Duration = Duration::from_secs(1);

#[test]
fn backends_go_after_the_linger_whatever_their_own_time() {
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
fn a_window_that_comes_back_in_time_finds_its_server() {
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
fn no_linger_is_at_once() {
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

/// Fifty times open and close, and nothing is left: no server, guard, warden, daemon; and no file.
#[test]
fn nothing_is_left_of_fifty_clients() {
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

/// The same with clients that are killed, some of them in the middle of a call.
#[test]
fn nothing_is_left_of_fifty_killed_clients() {
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

/// One that nobody came to.
#[test]
fn a_daemon_that_nobody_needs_ends() {
    let house = House::new();
    let config = house.config().to_str().unwrap();
    let mut daemon = house.program("home").args(["daemon", "--config", config]).start();
    let end = daemon.wait_for_end();
    assert_eq!((end.code, &end.stdout[..]), (Some(0), &b""[..]), "{}", end.stderr);
    assert_eq!(house.files(), Vec::<String>::new());
}
