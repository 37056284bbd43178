//! The daemon is told to end. What is open may still be answered; what comes then is for the next daemon; and no server
//! holds the end up.

use super::house::{House, server_of};
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

/// Longer than a test: whoever waits for it to be over fails.
const LONG: &str = "1h";

/// Tells the daemon to end, and waits until it has begun to: it takes no new clients then.
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

/// A window with a call open at a daemon that ends meanwhile: what it asks then, another daemon answers.
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

/// Requests of every kind, one behind the other, and a notification between them.
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

/// A call that outlasts the grace is refused; what was asked after it is not.
#[test]
fn next_call_outlives_one_that_is_refused() {
    let ask = |window: &mut Client| {
        let answer = window.call("echo", json!({ "label": "next" }));
        assert!(is_result(&answer), "{answer}");
    };
    check_next_request("1s", 600_000, ask, |answer| answer["error"]["data"]["kind"] == "shutting_down");
}

/// A server that does not mind the end of its input gets SIGTERM at once, and not after the grace.
#[test]
fn a_signal_does_not_wait_for_the_end_of_input() {
    let house = House::with(json!({}), json!({ "shutdownGrace": LONG }), &["--ignore-eof"]);
    let mut window = house.open("a");
    let server = server_of(&mut window);
    let daemon = house.daemon();
    end(&house);
    patience::until_true("the daemon has ended", || !daemon.is_alive());
    assert_ne!(server_of(&mut window), server);
    window.finish();
    end(&house);
}

/// The second signal kills a server that minds neither.
#[test]
fn a_second_signal_kills() {
    let house = House::with(json!({}), json!({ "shutdownGrace": LONG }), &["--ignore-eof", "--stubborn"]);
    let mut window = house.open("a");
    let server = server_of(&mut window);
    window.finish();
    let daemon = house.daemon();
    end(&house);
    assert_eq!(house.servers(), [server], "it has an hour");
    daemon.tell(Word::Terminate);
    patience::until_true("the daemon has ended", || !daemon.is_alive());
}

/// A window that has given daemons up has no next one: in its own end it refuses what comes.
#[test]
fn a_window_on_its_own_refuses_in_its_end() {
    let house = House::with(json!({ "shutdownGrace": "30s" }), json!({}), &[]);
    let mut window = house.open("a");
    for _ in 0..6 {
        let daemon = house.daemon();
        daemon.tell(Word::Kill);
        patience::until_true("its end", || !daemon.is_alive());
        // The first may have been handed to the dying one.
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
