//! End of `serve`: an orderly one finishes open calls; a kill leaves nothing.

use super::served::{FAKE, Served, asking, refused};
use crate::daemon::house::House;
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Talk, answer, hello};
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

#[test]
fn sigterm_finishes_calls_and_ends_streams() {
    let mut served = Served::with(json!({ "shutdownGrace": "30s" }), json!({}), &[]);
    let talk = Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} }));
    let mut own = served.open().listen();
    let (id, message) = talk.call_of("ask", asking());
    let mut call = talk.say(&message).send();
    let asked = call.message().unwrap();
    // While it ends, it takes no new session.
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

/// While calls finish, every new request on any path gets 503: a retry is right, and a new session here is
/// not, so neither 404 nor a result.
#[test]
fn ending_gateway_answers_503() {
    let profiles = json!({ "shutdownGrace": "60s", "profiles": { "some": ["fake"] } });
    let mut served = Served::with(profiles, json!({}), &[]);
    let talk = Talk::open_as(&served.web, FAKE, "2025-11-25", json!({ "sampling": {} }));
    let paths = [FAKE, "/mcp", "/profiles/some/mcp"];
    let others = paths.map(|path| (path, Talk::open(&served.web, path)));
    let mut old = served.web.get("/servers/fake/sse").send();
    let messages = old.event().unwrap().data;
    let (id, message) = talk.call_of("ask", asking());
    let mut call = talk.say(&message).send();
    let asked = call.message().unwrap();
    served.program.signal(Word::Terminate);
    patience::until_true("no session can be begun", || {
        served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send().status == 503
    });
    for (path, other) in &others {
        for method in ["tools/call", "tools/list", "ping"] {
            let request =
                json!({ "jsonrpc": "2.0", "id": "late", "method": method, "params": { "name": "echo" } });
            unavailable(other.say(&request), &json!("late"));
        }
        let batch = json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }, { "jsonrpc": "2.0", "id": 2, "method": "ping" }]);
        let answer = refused(other.say(&batch), 503);
        let answer: Vec<Value> = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer[0]["id"], &answer[1]["id"]), (&json!(1), &json!(2)));
        unavailable(served.web.post(path, hello("2025-11-25", json!({})).to_string()), &json!("hello"));
        // A lost or unknown session gets 503 too, so that the client begins no other here.
        let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
        unavailable(Talk::of(&served.web, path, "nobody").say(&ping), &json!(9));
        assert_eq!(Talk::of(&served.web, path, "nobody").end(), 503);
        assert_eq!(Talk::of(&served.web, path, "nobody").listen().status, 503);
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }).to_string();
    unavailable(served.web.post(&messages, ping.clone()), &json!(9));
    unavailable(served.web.post("/messages?session=nobody", ping), &json!(9));
    assert_eq!(served.web.get("/sse").send().status, 503);
    // Open calls finish.
    talk.answer(&asked["id"], json!({ "said": "a sample" }));
    assert!(text(&answer(call, id)).contains("a sample"));
    assert_eq!(served.program.wait_for_end().code, Some(0));
}

#[track_caller]
fn unavailable(ask: Ask, id: &Value) {
    let mut reply = ask.send();
    let answer = reply.json();
    assert_eq!(reply.status, 503, "{answer}");
    assert!(reply.header("retry-after").is_some_and(|after| after.parse::<u32>().is_ok()), "{answer}");
    assert_eq!(&answer["id"], id, "{answer}");
    let told = error(&answer, -32603, "shutting_down");
    assert_eq!(told["data"]["retryable"], true);
    assert!(told["data"]["hint"].is_string(), "{told}");
}

#[test]
fn idle_gateway_ends_at_once() {
    let mut served = Served::new();
    let talk = served.open();
    let mut own = talk.listen();
    served.program.signal(Word::Terminate);
    assert_eq!(own.event(), None);
    let end = served.program.wait_for_end();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
}

#[test]
fn killed_gateway_leaves_nothing() {
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
fn config_is_served_only_once() {
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
fn address_in_use_is_reported() {
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
