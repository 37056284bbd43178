//! Told to end, it finishes what it has begun; killed, it leaves nothing.

use super::served::{FAKE, Served, asking, refused};
use crate::daemon::house::House;
use crate::support::text;
use serde_json::json;
use switchboard_testkit::http::{Talk, answer, hello};
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

#[test]
fn a_call_is_finished_and_streams_end() {
    let mut served = Served::with(json!({ "shutdownGrace": "30s" }), json!({}), &[]);
    let talk = Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} }));
    let mut own = served.open().listen();
    let (id, message) = talk.call_of("ask", asking());
    let mut call = talk.say(&message).send();
    let asked = call.message().unwrap();
    // It is told to end, and takes nobody new.
    served.program.signal(Word::Terminate);
    patience::until_true("no session can be begun", || {
        served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send().status == 503
    });
    talk.answer(&asked["id"], json!({ "said": "a sample" }));
    assert!(text(&answer(call, id)).contains("a sample"));
    assert_eq!(own.event(), None);
    let end = served.program.wait_for_end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(served.house.processes().is_empty());
}

#[test]
fn without_calls_it_ends_at_once() {
    let mut served = Served::new();
    let talk = served.open();
    let mut own = talk.listen();
    served.program.signal(Word::Terminate);
    assert_eq!(own.event(), None);
    let end = served.program.wait_for_end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
}

#[test]
fn killed_it_leaves_nothing() {
    let mut served = Served::new();
    let talk = served.open();
    let _own = talk.listen();
    talk.call("echo", json!({}));
    assert_eq!(served.house.servers().len(), 1);
    served.program.signal(Word::Kill);
    served.program.wait_for_end();
    served.house.check_empty(patience::LIMIT);
}

#[test]
fn a_config_is_served_once() {
    let served = Served::new();
    let end = served
        .house
        .program("home")
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(served.house.config())
        .start()
        .finish();
    assert_eq!(end.code, Some(1), "{}", end.stderr);
    assert!(end.stderr.contains("already"), "{}", end.stderr);
    served.open();
}

#[test]
fn an_address_that_is_taken_is_said() {
    let served = Served::new();
    let other = House::new();
    let address = format!("127.0.0.1:{}", served.web.port());
    let end = other
        .program("home")
        .args(["serve", "--listen", &address, "--config"])
        .arg(other.config())
        .start()
        .finish();
    assert_eq!(end.code, Some(1), "{}", end.stderr);
    assert!(end.stderr.contains(&address), "{}", end.stderr);
    refused(served.web.get("/mcp").without("Authorization"), 401);
}
