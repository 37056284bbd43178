//! Orderly end of the daemon: open requests may still be answered, later requests go to the next daemon, and
//! no server delays the end.

use super::house::{House, server_of};
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

/// Longer than a test: waiting it out fails the test.
const ENDLESS_GRACE: &str = "1h";

/// Tells the daemon to end and waits until it has begun to; from then on it takes no new clients.
#[track_caller]
fn end(house: &House) {
    let socket = house.socket();
    house.daemon().tell(Word::Terminate);
    is_ending(&socket);
}

#[track_caller]
fn is_ending(socket: &Path) {
    patience::until_true("the end has begun", || !socket.exists());
}

/// A window has an open call while its daemon ends: another daemon answers its next requests.
#[track_caller]
fn check_next_request(
    grace: &str,
    time: u32,
    ask: impl FnOnce(&mut Client),
    is_answer: impl Fn(&Value) -> bool,
) {
    let house = House::with(json!({ "shutdownGrace": grace }), json!({}), &[]);
    let mut window = house.open("a");
    let old = server_of(&mut window);
    let open = window.start_call("work", json!({ "steps": 1, "ms": time }));
    house.record().wait_for(1, "work");
    end(&house);
    ask(&mut window);
    let answer = window.answer(open);
    assert!(is_answer(&answer), "{answer}");
    assert_ne!(server_of(&mut window), old);
    assert_eq!(window.unread_bytes(), b"", "every request has one answer");
    assert_eq!(window.stderr_so_far(), "");
    assert_eq!(window.finish().code, Some(0));
}

fn is_result(answer: &Value) -> bool {
    answer.get("result").is_some()
}

#[test]
fn next_call_goes_to_the_next_daemon() {
    let ask = |window: &mut Client| {
        let answer = window.call("echo", json!({ "label": "next" }));
        assert!(is_result(&answer), "{answer}");
    };
    check_next_request("30s", 2000, ask, is_result);
}

/// Requests of every kind in sequence, with a notification in between.
#[test]
fn next_requests_keep_their_order() {
    let ask = |window: &mut Client| {
        let ids = [
            window.ask("tools/list", json!({})),
            window.start_call("echo", json!({ "label": "one" })),
            window.start_call("echo", json!({ "label": "two" })),
        ];
        window.notify("notifications/cancelled", json!({ "requestId": 12345 }));
        let last = window.ask("ping", json!({}));
        for id in ids.into_iter().chain([last]) {
            let answer = window.answer(id);
            assert!(is_result(&answer), "{answer}");
        }
    };
    check_next_request("30s", 2000, ask, is_result);
}

/// A call that outlasts the grace period is refused; later ones are not.
#[test]
fn next_call_survives_a_refused_one() {
    let ask = |window: &mut Client| {
        let answer = window.call("echo", json!({ "label": "next" }));
        assert!(is_result(&answer), "{answer}");
    };
    check_next_request("1s", 600_000, ask, |answer| answer["error"]["data"]["kind"] == "shutting_down");
}

/// A server that ignores the end of its input gets SIGTERM at once, not after the grace period.
#[test]
fn sigterm_does_not_wait_for_eof_grace() {
    let house = House::with(json!({}), json!({ "shutdownGrace": ENDLESS_GRACE }), &["--ignore-eof"]);
    let mut window = house.open("a");
    let server = server_of(&mut window);
    let daemon = house.daemon();
    end(&house);
    patience::until_true("the daemon has ended", || !daemon.is_alive());
    assert_ne!(server_of(&mut window), server);
    window.finish();
    end(&house);
}

/// The second signal kills a server that ignores both.
#[test]
fn second_signal_kills_servers() {
    let house =
        House::with(json!({}), json!({ "shutdownGrace": ENDLESS_GRACE }), &["--ignore-eof", "--stubborn"]);
    let mut window = house.open("a");
    let server = server_of(&mut window);
    window.finish();
    let daemon = house.daemon();
    end(&house);
    assert_eq!(house.servers(), [server], "it has an hour");
    daemon.tell(Word::Terminate);
    patience::until_true("the daemon has ended", || !daemon.is_alive());
}

/// A window that has given up on daemons has no next one: while it ends, it refuses requests.
#[test]
fn ending_solo_window_refuses_requests() {
    let house = House::with(json!({ "shutdownGrace": "30s" }), json!({}), &[]);
    let mut window = house.open("a");
    for _ in 0..6 {
        let daemon = house.daemon();
        daemon.tell(Word::Kill);
        patience::until_true("its end", || !daemon.is_alive());
        // The first call may have reached the dying daemon.
        while !is_result(&window.call("echo", json!({}))) {}
    }
    let open = window.start_call("hang", json!({}));
    house.record().wait_for(7, "hang");
    window.signal(Word::Terminate);
    let refused = loop {
        let answer = window.request("ping", json!({}));
        if !is_result(&answer) {
            break answer;
        }
    };
    assert_eq!(refused["error"]["data"]["kind"], "shutting_down", "{refused}");
    window.signal(Word::Terminate);
    assert_eq!(window.answer(open)["error"]["data"]["kind"], "shutting_down");
    window.wait_for_end();
}
