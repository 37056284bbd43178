//! An identity can use eight sets of capabilities at one server; a request with a ninth is refused.

use crate::access::token::web_of;
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::client;
use switchboard_testkit::http::Modern;
use switchboard_testkit::patience;

const MOST: usize = 8;

/// A limit on processes above the limit on sets.
fn house() -> House {
    let server = json!({ "era": "modern", "capabilities": "exact", "maxBackends": 40 });
    House::with(json!({ "pool": { "maxBackends": 40 } }), server, &["--era", "modern"])
}

/// The same, with processes that identities share once the lists are known to be public.
fn shared_house() -> House {
    let server = json!({
        "era": "modern", "capabilities": "exact", "maxBackends": 40, "scope": "global", "state": "none",
    });
    let options = ["--era", "modern", "--cache-scope", "public"];
    House::with(json!({ "pool": { "maxBackends": 40 } }), server, &options)
}

fn capabilities(set: usize) -> Value {
    json!({ "experimental": { "set": { "number": set } } })
}

fn hanging(house: &House) -> usize {
    house.record().all_lines().iter().filter(|line| line.contains("\"hang\"")).count()
}

#[track_caller]
fn check_refused(answer: &Value) {
    let told = error(answer, -32603, "overloaded");
    assert!(told["message"].as_str().unwrap().contains('8'), "{answer}");
}

#[test]
fn ninth_set_is_refused_on_stdio() {
    for (flags, prefix) in [(&["--server", "fake"][..], ""), (&[], "fake__")] {
        let house = house();
        let open = |set: usize| {
            let start = house.program("w").arg("stdio").args(flags).arg("--config").arg(house.config());
            client::Modern::start(start).declaring(capabilities(set))
        };
        let (hang, echo) = (format!("{prefix}hang"), format!("{prefix}echo"));
        let mut windows: Vec<client::Modern> = (0..MOST).map(open).collect();
        for window in &mut windows {
            window.start_call(&hang, json!({}));
        }
        patience::until_true("all calls are there", || hanging(&house) == MOST);
        let mut ninth = open(MOST);
        check_refused(&ninth.call(&echo, json!({})));
        assert_eq!(text(&open(0).call(&echo, json!({}))), "{}", "a set that is there");
        drop(windows.pop());
        patience::until_true("a set has left", || ninth.call(&echo, json!({})).get("result").is_some());
    }
}

/// A solo window with hanging calls, each with its own set.
fn solo(house: &House, flags: &[&str], prefix: &str) -> (client::Modern, Vec<u64>) {
    let start = house.program("w").args(["stdio", "--solo"]).args(flags).arg("--config").arg(house.config());
    let mut window = client::Modern::start(start);
    let calls = (0..MOST).map(|set| {
        window.profile.capabilities = capabilities(set);
        let call = window.start_call(&format!("{prefix}hang"), json!({}));
        // Wait for the call before the next set moves the client.
        patience::until_true("the call is there", || hanging(house) == set + 1);
        call
    });
    let calls = calls.collect();
    (window, calls)
}

/// One window, whose requests declare one set after the other.
#[test]
fn ninth_set_is_refused_in_solo_mode() {
    let house = house();
    let (mut window, calls) = solo(&house, &[], "fake__");
    window.profile.capabilities = capabilities(MOST);
    check_refused(&window.call("fake__echo", json!({})));
    window.profile.capabilities = capabilities(0);
    assert_eq!(text(&window.call("fake__echo", json!({}))), "{}", "a set that is there");
    window.cancel(calls[1]);
    window.profile.capabilities = capabilities(MOST);
    patience::until_true("a set has left", || window.call("fake__echo", json!({})).get("result").is_some());
}

/// The only client of a server keeps its process when it changes its capabilities.
#[test]
fn only_client_keeps_its_process() {
    let house = house();
    let (mut window, _) = solo(&house, &["--server", "fake"], "");
    window.profile.capabilities = capabilities(MOST);
    assert_eq!(text(&window.call("echo", json!({}))), "{}");
    assert_eq!(house.record().launches(), 1);
}

#[test]
fn ninth_set_is_refused_over_http() {
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        check_http(&Served::start(house(), &[]), path, prefix);
    }
}

#[test]
fn sets_of_other_identities_do_not_count() {
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        let served = Served::start(shared_house(), &[]);
        Modern::at(&served.web, path).declaring(capabilities(MOST + 1)).request("tools/list", json!({}));
        check_http(&served, path, prefix);
    }
}

#[track_caller]
fn check_http(served: &Served, path: &str, prefix: &str) {
    let at = |set: usize| Modern::at(&served.web, path).declaring(capabilities(set));
    let call = |tool: &str| json!({ "name": format!("{prefix}{tool}"), "arguments": {} });
    let hang = |set: usize| {
        let modern = at(set);
        modern.say(&modern.message("tools/call", call("hang")).1).begin()
    };
    let mut open: Vec<_> = (0..MOST).map(hang).collect();
    patience::until_true("all calls are there", || hanging(&served.house) == MOST);
    check_refused(&at(MOST).request("tools/call", call("echo")));
    assert_eq!(text(&at(0).request("tools/call", call("echo"))), "{}", "a set that is there");
    let token = Modern::at(&web_of(served, &["ci"]), path).declaring(capabilities(MOST));
    assert_eq!(text(&token.request("tools/call", call("echo"))), "{}", "another identity");
    drop(open.pop());
    let is_served = || at(MOST).request("tools/call", call("echo")).get("result").is_some();
    patience::until_true("a set has left", is_served);
}
