//! Death of the daemon at any moment: open requests get an error that says so and no call is repeated; lists
//! are requested again; another daemon serves what follows; nothing of the old one is left.

use super::house::{House, server_of};
use crate::support::{error, text};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Modern};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// Time that a killed daemon holds its lock; far longer than a daemon that gives up at once would need.
const SLOW_DEATH: Duration = Duration::from_millis(500);

/// Time for the guards to clear everything. The promise is one second; the machine may be busy.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

#[track_caller]
fn check_error(answer: &Value) {
    let error = error(answer, -32002, "backend_unavailable");
    assert_eq!(error["data"]["retryable"], true, "{answer}");
    assert!(error["message"].as_str().unwrap().contains("daemon"), "{answer}");
}

/// Three windows on two folders with two open calls each, and a daemon that `end` ends.
#[track_caller]
fn check(house: &House, first: Client, end: impl FnOnce()) {
    let mut windows = vec![first, house.open("a"), house.open("b")];
    let mut open = Vec::new();
    for (number, window) in windows.iter_mut().enumerate() {
        window.request("logging/setLevel", json!({ "level": "warning" }));
        window.request("resources/subscribe", json!({ "uri": format!("memo://{number}") }));
        open.push(
            [0, 1].map(|call| window.start_call("hang", json!({ "label": format!("call {number} {call}") }))),
        );
    }
    let count = |text: &str| house.record().all_lines().iter().filter(|line| line.contains(text)).count();
    patience::until_true("all calls are there", || count("\"hang\"") == 6);
    let (daemon, servers) = (house.daemon(), house.servers());
    assert_eq!(servers.len(), 2);
    let since = Instant::now();
    end();
    for (window, open) in windows.iter_mut().zip(&open) {
        open.iter().for_each(|&id| check_error(&window.answer(id)));
    }
    patience::before(since + CLEANUP_TIMEOUT, format_args!("the old servers are gone: {servers:?}"), || {
        servers.iter().all(|&pid| !pids::is_alive(pid)).then_some(())
    });
    // The system takes a killed process apart after it has closed its files, by which the others notice its death.
    patience::before(since + CLEANUP_TIMEOUT, "the old daemon is gone", || {
        (!daemon.is_alive()).then_some(())
    });
    for window in &mut windows {
        assert!(!servers.contains(&server_of(window)));
    }
    assert_ne!(house.daemon().pid, daemon.pid);
    assert_eq!(house.record().launches(), 4, "two servers, and two anew");
    for number in 0..3 {
        for call in 0..2 {
            assert_eq!(count(&format!("call {number} {call}")), 1, "a call is never repeated");
        }
    }
    // Each new server gets the state that its clients had set at the old one.
    for launch in 3..=4 {
        for text in ["\"initialize\"", "notifications/initialized", "logging/setLevel", "resources/subscribe"]
        {
            house.record().wait_for(launch, text);
        }
    }
    let of = |number: u32| {
        (3..=4)
            .filter(|&launch| {
                house.record().lines(launch).iter().any(|line| line.contains(&format!("memo://{number}")))
            })
            .count()
    };
    patience::until_true("each subscription is made anew, once", || (0..3).all(|number| of(number) == 1));
    // Every id was answered once.
    for (window, open) in windows.iter_mut().zip(&open) {
        assert!(window.request("ping", json!({})).get("result").is_some());
        let rest = String::from_utf8(window.unread_bytes()).unwrap();
        assert!(open.iter().all(|id| !rest.contains(&format!("\"id\":{id}"))), "{rest}");
        assert_eq!(window.stderr_so_far(), "");
        assert_eq!(window.finish().code, Some(0));
    }
}

#[test]
fn killed_daemon_is_replaced() {
    let house = House::new();
    check(&house, house.open("a"), || house.daemon().tell(Word::Kill));
}

/// 2026-07-28 reserves the code that legacy clients get.
#[test]
fn modern_client_gets_modern_errors() {
    let house = House::with(json!({}), json!({ "era": "modern" }), &["--era", "modern"]);
    let mut client = Modern::start(house.window("a"));
    let open = client.start_call("hang", json!({ "label": "open" }));
    house.record().wait_for(1, "\"hang\"");
    house.daemon().tell(Word::Kill);
    let answer = client.answer(open);
    let told = error(&answer, -32603, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("daemon"), "{answer}");
    assert_eq!(text(&client.call("echo", json!({}))), "{}", "the next daemon serves it");
    assert_eq!(house.record().lines(2).iter().filter(|line| line.contains("\"hang\"")).count(), 0);
}

#[test]
fn aborted_daemon_is_replaced() {
    let house = House::new();
    check(&house, house.open("a"), || house.daemon().tell(Word::Abort));
}

#[test]
fn panicked_daemon_is_replaced() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::with(json!({}), json!({ "memoryLimit": "1GiB" }), &[]);
    let file = house.path("panic");
    // Tasks that only a daemon has.
    for task in ["attachment", "accepting", "measuring"] {
        let _ = fs::remove_dir_all(house.path("record"));
        let wish = format!("{task}@{}", file.display());
        let mut first = house.window("a").env("SWITCHBOARD_PANIC_IN", wish).start();
        first.initialize();
        check(&house, first, || {
            let daemon = house.daemon();
            fs::write(&file, "").unwrap();
            patience::until_true("its end", || !daemon.is_alive());
            fs::remove_file(&file).unwrap();
        });
        house.check_empty(patience::LIMIT);
        let log = fs::read_to_string(house.state("logs/daemon.stderr.log")).unwrap();
        assert!(log.contains(&format!("`{task}`")), "{log}");
    }
}

#[test]
fn panicking_window_ends_alone() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::new();
    let mut other = house.open("a");
    let server = server_of(&mut other);
    for task in ["lending", "link", "serving", "following", "outbox", "time", "ending"] {
        let file = house.path("panic");
        let wish = format!("{task}@{}", file.display());
        let window = house.window("a").env("SWITCHBOARD_PANIC_IN", wish);
        // The other tasks exist only in a relaying window.
        let mut window = match task {
            "lending" => window.env("SWITCHBOARD_RELAY", "0").start(),
            _ => window.env("SWITCHBOARD_RELAY", "1").start(),
        };
        window.initialize();
        let open = other.start_call("hold", json!({ "label": task }));
        window.start_call("hang", json!({ "label": task }));
        fs::write(&file, "").unwrap();
        let end = window.wait_for_end();
        fs::remove_file(&file).unwrap();
        assert_eq!(end.code, None, "{task}: a signal ends it; it said {:?}", end.stderr);
        assert!(end.stderr.contains(&format!("`{task}`")), "{task}: {:?}", end.stderr);
        assert!(other.call("release", json!({})).get("result").is_some(), "{task}");
        assert_eq!(other.answer(open)["result"]["label"], task);
    }
    assert_eq!(server_of(&mut other), server);
}

/// Lists have no side effects, so they are requested again, and no client notices.
#[test]
fn lists_survive_the_daemons_death() {
    let house = House::with(json!({}), json!({}), &["--hang-on", "tools/list", "--faulty", "1"]);
    let mut windows = [house.open("a"), house.open("a")];
    let ids = windows.each_mut().map(|window| window.ask("tools/list", json!({})));
    patience::until_true("both lists are asked for", || {
        house.record().lines(1).iter().filter(|line| line.contains("tools/list")).count() == 2
    });
    house.daemon().tell(Word::Kill);
    for (window, id) in windows.iter_mut().zip(ids) {
        let answer = window.answer(id);
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
}

#[test]
fn window_survives_many_daemons() {
    let house = House::new();
    let mut window = house.open("a");
    for _ in 0..4 {
        let daemon = house.daemon();
        daemon.tell(Word::Kill);
        patience::until_true("its end", || !daemon.is_alive());
        let answer = window.call("echo", json!({}));
        if answer.get("result").is_none() {
            // The call reached the dying daemon.
            check_error(&answer);
            assert!(window.call("echo", json!({})).get("result").is_some());
        }
    }
}

/// A suspended daemon looks like a busy one: windows wait for it, as for a slow server, and continue when it
/// does. A new window does not wait, and serves itself.
#[test]
fn window_waits_for_a_suspended_daemon() {
    let house = House::new();
    let mut window = house.open("a");
    let server = server_of(&mut window);
    let daemon = house.daemon();
    daemon.tell(Word::Suspend);
    patience::until_true("it is suspended", || daemon.again().is_some_and(|now| now.is_stopped()));
    let waits = window.start_call("echo", json!({ "a": 1 }));
    let mut new = house.open("a");
    new.wait_for_stderr("cannot reach or start the daemon");
    assert_ne!(server_of(&mut new), server);
    daemon.tell(Word::Continue);
    assert!(window.answer(waits)["result"].is_object());
    assert_eq!(server_of(&mut window), server);
    let mut next = house.open("a");
    assert_eq!(server_of(&mut next), server);
}

/// A killed daemon holds its lock until the kernel has torn it down. The next one waits for that.
#[test]
fn next_daemon_waits_for_a_dying_one() {
    let house = House::new();
    let mut window = house.open("a");
    let lock = house.socket().with_extension("lock");
    let daemon = house.daemon();
    daemon.tell(Word::Kill);
    patience::until_true("its end", || !daemon.is_alive());
    // Holds the lock in its place.
    let held = fs::File::open(lock).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let call = window.start_call("echo", json!({}));
    let next = patience::until("the next daemon", || house.daemons().pop());
    std::thread::sleep(SLOW_DEATH);
    drop(held);
    assert!(window.answer(call).get("result").is_some());
    assert_eq!(house.daemon().pid, next.pid, "it did not give up");
}
