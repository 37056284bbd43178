//! Paused calls with several windows, tokens and calls, and with the deaths of clients and daemons.

use super::paused::{ACCEPT, answered, asking, continued, is_paused};
use crate::access::token::web_of;
use crate::aggregate::servers::Servers;
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use crate::support::{Mode, error, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use switchboard_testkit::client::Modern;
use switchboard_testkit::http::{self, Reply};
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;

/// All clients share one process.
const SHARED: &str = r#"{ "scope": "global", "state": "none" }"#;

fn shared() -> Value {
    serde_json::from_str(SHARED).unwrap()
}

fn call(tool: &str, id: u32) -> Value {
    json!({ "name": tool, "arguments": asking(id, "elicitation/create") })
}

fn window(house: &House, folder: &str) -> Modern {
    Modern::start(house.window(folder)).declaring(json!({ "elicitation": {} }))
}

fn told(house: &House, text: &str) -> usize {
    house.record().all_lines().iter().filter(|line| line.contains(text)).count()
}

#[test]
fn disconnect_cancels_the_paused_call() {
    let house = House::new();
    let mut client = window(&house, "w");
    let paused = client.request("tools/call", call("ask", 77));
    assert!(is_paused(&paused), "{paused}");
    assert_eq!(client.finish().code, Some(0));
    patience::until_true("the call is cancelled", || told(&house, "notifications/cancelled") == 1);
    assert_eq!(told(&house, "\"action\":\"cancel\""), 1);
}

/// The state is not valid at another daemon.
#[test]
fn daemon_death_ends_a_paused_call() {
    for flags in [&["--server", "fake"][..], &[]] {
        let tool = if flags.is_empty() { "fake__ask" } else { "ask" };
        let house = House::new();
        let start = house.program("w").arg("stdio").args(flags).arg("--config").arg(house.config());
        let mut client = Modern::start(start).declaring(json!({ "elicitation": {} }));
        let params = call(tool, 77);
        let paused = client.request("tools/call", params.clone());
        let daemon = house.daemon();
        daemon.tell(Word::Kill);
        patience::until_true("it is dead", || house.daemons().iter().all(|it| it.pid != daemon.pid));
        let answer = client.request("tools/call", continued(&params, &paused, &ACCEPT));
        error(&answer, -32602, "input_expired");
        let again = client.request("tools/call", params.clone());
        let answer = client.request("tools/call", continued(&params, &again, &ACCEPT));
        assert_eq!(answered(&answer), *ACCEPT);
        assert_eq!(client.finish().code, Some(0));
    }
}

/// A question from a process with two windows is refused, and from then on each window has its own process. A question
/// reaches only the window of its call, and no other window can answer it.
#[test]
fn question_stays_in_its_window() {
    let house = House::with(json!({}), shared(), &[]);
    let (mut a, mut b) = (window(&house, "w"), window(&house, "w"));
    let [one, other] =
        [&mut a, &mut b].map(|window| window.call("facts", json!({}))["result"]["pid"].clone());
    assert_eq!(one, other, "they share a process");
    let params = call("ask", 77);
    let refused = b.request("tools/call", params.clone());
    error(&serde_json::from_str(text(&refused)).unwrap(), -32004, "routing_failed");
    let questions = |window: Modern| {
        let end = window.into_client().finish();
        String::from_utf8(end.stdout).unwrap().matches("elicitation").count()
    };
    assert_eq!((questions(a), questions(b)), (0, 0));
    let (mut a, mut b) = (window(&house, "w"), window(&house, "w"));
    let paused = [&mut a, &mut b].map(|window| window.request("tools/call", params.clone()));
    let said = |who: &str| json!({ "action": "accept", "content": { "of": who } });
    for (window, paused, who) in [(&mut b, &paused[1], "b"), (&mut a, &paused[0], "a")] {
        let answer = window.request("tools/call", continued(&params, paused, &said(who)));
        assert_eq!(answered(&answer), said(who));
    }
    let heard = house.record().all_lines();
    assert_eq!(heard.iter().filter(|line| line.contains("\"of\"")).count(), 2);
    assert_eq!((questions(a), questions(b)), (0, 0), "nothing beyond the answers");
}

#[test]
fn second_call_waits_but_a_list_does_not() {
    for mode in [Mode::Solo, Mode::Daemon] {
        let mut client = Modern::start(mode.fake(&[])).declaring(json!({ "elicitation": {} }));
        let params = call("ask", 77);
        let paused = client.request("tools/call", params.clone());
        let echo = client.start_call("echo", json!({ "is": "second" }));
        assert!(client.request("tools/list", json!({})).get("result").is_some());
        let record = client.record();
        let is_sent = || record.all_lines().iter().any(|line| line.contains("second"));
        assert!(!is_sent());
        let answer = client.request("tools/call", continued(&params, &paused, &ACCEPT));
        assert_eq!(answered(&answer), *ACCEPT);
        assert_eq!(text(&client.answer(echo)), r#"{"is":"second"}"#);
        assert!(is_sent());
    }
}

#[test]
fn second_call_waits_over_http() {
    let served = Served::new();
    let modern = http::Modern::at(&served.web, FAKE).declaring(json!({ "elicitation": {} }));
    let params = call("ask", 77);
    let paused = modern.request("tools/call", params.clone());
    let (_, message) =
        modern.message("tools/call", json!({ "name": "echo", "arguments": { "is": "second" } }));
    let wire = modern.say(&message).begin();
    assert!(modern.request("tools/list", json!({})).get("result").is_some());
    assert_eq!(told(&served.house, "second"), 0);
    let answer = modern.request("tools/call", continued(&params, &paused, &ACCEPT));
    assert_eq!(answered(&answer), *ACCEPT);
    assert_eq!(text(&Reply::read(wire).unwrap().json()), r#"{"is":"second"}"#);
}

/// A call cannot be continued with another token, even one with the same rights.
#[test]
fn state_of_another_token_is_refused() {
    let served = Served::with(json!({}), shared(), &[]);
    let others = ["one", "two"].map(|name| web_of(&served, &[name]));
    for (path, tool) in [(FAKE, "ask"), ("/mcp", "fake__ask")] {
        let at = |web| http::Modern::at(web, path).declaring(json!({ "elicitation": {} }));
        let (owner, one, two) = (at(&served.web), at(&others[0]), at(&others[1]));
        let params = call(tool, 77);
        let paused = one.request("tools/call", params.clone());
        let good = continued(&params, &paused, &ACCEPT);
        for other in [&owner, &two] {
            let (_, mut reply) = other.begin("tools/call", good.clone());
            error(&reply.json(), -32602, "input_expired");
        }
        assert_eq!(answered(&one.request("tools/call", good)), *ACCEPT);
    }
}

/// Switchboard drops the client of a paused call to make room for another one. A new client takes its place.
#[test]
fn replaced_client_is_asked_again() {
    let served = Served::set(json!({ "maxSessions": 1 }));
    let other = http::Modern::at(&served.web, FAKE);
    let modern = http::Modern::at(&served.web, FAKE).declaring(json!({ "elicitation": {} }));
    let mut params = call("ask", 77);
    params["arguments"]["then"] = asking(78, "elicitation/create");
    let request = |client: &http::Modern, method: &str, params: &Value| {
        // 503: the previous request is answered, but not cleaned up yet.
        let (id, reply) = patience::until("there is room", || {
            Some(client.begin(method, params.clone())).filter(|(_, reply)| reply.status != 503)
        });
        http::answer(reply, id)
    };
    let mut paused = request(&modern, "tools/call", &params);
    for _ in 0..2 {
        assert!(request(&other, "tools/list", &json!({})).get("result").is_some());
        paused = request(&modern, "tools/call", &continued(&params, &paused, &ACCEPT));
    }
    assert_eq!(answered(&paused), *ACCEPT);
}

const MOST: usize = 16;

/// A server that asks questions gets one call at a time, so the test needs many servers.
fn many() -> (Servers, Vec<String>) {
    let names: Vec<String> = (0..=MOST).map(|number| format!("s{number}")).collect();
    let servers = Servers::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    (servers, names)
}

#[test]
fn too_many_paused_calls_are_refused() {
    for solo in [true, false] {
        let (servers, names) = many();
        let start = if solo { servers.start() } else { servers.shared() };
        let mut client = Modern::start(start).declaring(json!({ "elicitation": {} }));
        let mut paused = Vec::new();
        for name in &names[..MOST] {
            let params = call(&format!("{name}__ask"), 77);
            let answer = client.request("tools/call", params.clone());
            assert!(is_paused(&answer), "{answer}");
            paused.push((params, answer));
        }
        let states: BTreeSet<String> =
            paused.iter().map(|(_, it)| it["result"]["requestState"].to_string()).collect();
        assert_eq!(states.len(), MOST);
        let last = call(&format!("s{MOST}__ask"), 77);
        let refused = client.request("tools/call", last.clone());
        let told: Value = serde_json::from_str(text(&refused)).unwrap();
        error(&told, -32603, "overloaded");
        let (params, answer) = paused.remove(0);
        let answer = client.request("tools/call", continued(&params, &answer, &ACCEPT));
        assert_eq!(answered(&answer), *ACCEPT);
        let admitted = client.request("tools/call", last);
        assert!(is_paused(&admitted), "{admitted}");
    }
}
