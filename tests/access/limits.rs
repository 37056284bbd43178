//! Limits on calls: a call beyond a limit is refused before it is sent, on every route; and an identity that asks for
//! too much leaves the others their part. Clients over HTTP without a token are `anonymous`, windows the owner. Some checks
//! are functions of how the server is made, for `modern::legacy_rules`.

use crate::daemon::house::{House, server_of};
use crate::http::served::{FAKE, Served};
use crate::isolation::routes::{Make, Route, on_every_route, servers};
use crate::support::{error, greet, log_in};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use switchboard_testkit::client::{Client, VERSION};
use switchboard_testkit::http::Talk;
use switchboard_testkit::patience;

const OFFER: &str = r#"{ "tools": [{ "name": "echo" }, { "name": "facts" }], "prompts": [{ "name": "p" }],
    "resources": [{ "uri": "x://a", "name": "a" }] }"#;

/// The limit that refused a call; `None` if it was not refused.
#[track_caller]
pub(crate) fn limit(answer: &Value) -> Option<String> {
    if answer.get("result").is_some() {
        return None;
    }
    let data = &error(answer, -32603, "rate_limited")["data"];
    assert_eq!(data["retryable"], true, "{answer}");
    assert!(data["retryAfterMs"].as_u64().is_some_and(|time| time > 0), "{answer}");
    assert!(data["hint"].as_str().is_some_and(|hint| hint.starts_with("try again in ")), "{answer}");
    Some(data["limit"].as_str().unwrap().to_owned())
}

/// `serve --no-auth` with these keys of the file and of the server.
fn open_to_all(file: Value, server: Value) -> Served {
    open_server_to_all(file, server, &[])
}

fn open_server_to_all(file: Value, server: Value, options: &[&str]) -> Served {
    let mut keys = json!({ "scope": "global", "state": "none" });
    keys.as_object_mut().unwrap().extend(server.as_object().unwrap().clone());
    Served::start(House::with(file, keys, options), &["--no-auth"])
}

/// Calls sent to the server.
fn sent(served: &Served) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains("tools/call")).count()
}

#[test]
fn server_limit_holds_on_every_route() {
    check_server_limit(servers);
}

pub(crate) fn check_server_limit(servers: Make) {
    on_every_route(
        || servers(json!({ "limits": { "rate": "3/h" } }), OFFER),
        |site| {
            let mut client = site.open();
            client.names("tools");
            site.open_gate();
            assert_eq!(limit(&client.call("echo", json!({}))), None);
            assert_eq!(limit(&client.read("x://a")), None);
            let prompt = json!({ "name": site.route.tool("p") });
            assert_eq!(limit(&client.request("prompts/get", prompt)), None);
            for _ in 0..3 {
                assert_eq!(limit(&client.call("echo", json!({}))), Some("server".into()));
                assert_eq!(limit(&client.read("x://a")), Some("server".into()));
            }
            // A second connection does not help, and lists are not limited.
            let mut other = site.open();
            other.names("tools");
            // A window of its own process has limits of its own.
            let is_solo = matches!(site.route, Route::SoloOne | Route::SoloAll);
            let expect = if is_solo { None } else { Some("server".into()) };
            assert_eq!(limit(&other.call("echo", json!({ "other": 1 }))), expect);
            assert_eq!(site.told("tools/call"), if is_solo { 2 } else { 1 });
        },
    );
}

#[test]
fn tool_limit_holds_on_every_route() {
    check_tool_limit(servers);
}

pub(crate) fn check_tool_limit(servers: Make) {
    let keys =
        || json!({ "limits": { "tools": { "ec*": "2/h" } }, "tools": { "rename": { "echo": "repeat" } } });
    on_every_route(
        || servers(keys(), OFFER),
        |site| {
            let mut client = site.open();
            client.names("tools");
            site.open_gate();
            let found: Vec<_> = (0..4).map(|_| limit(&client.call("repeat", json!({})))).collect();
            assert_eq!(found, [None, None, Some("tool".into()), Some("tool".into())]);
            assert_eq!(limit(&client.call("facts", json!({}))), None);
            assert_eq!(site.told("\"echo\""), 2);
        },
    );
}

/// Calls in progress: one that ends, in whichever way, makes room for another.
#[test]
fn calls_in_progress_are_limited() {
    check_concurrency(&[]);
}

/// `options` are those of the fake server.
pub(crate) fn check_concurrency(options: &[&str]) {
    let served = open_server_to_all(json!({}), json!({ "limits": { "concurrent": 2 } }), options);
    let (one, two) = (served.open(), served.open());
    let mut held: Vec<_> = (0..2)
        .map(|number| {
            let (_, message) = one.call_of("hold", json!({ "label": number }));
            let wire = one.say(&message).begin();
            patience::until_true("the call is there", || sent(&served) == number + 1);
            wire
        })
        .collect();
    assert_eq!(limit(&two.call("echo", json!({}))), Some("server".into()));
    // A client that ends its session gives its places back.
    assert_eq!(one.end(), 200);
    held.clear();
    patience::until_true("there is room again", || limit(&two.call("echo", json!({}))).is_none());
    assert_eq!(served.record().launches(), 1);
}

#[test]
fn identity_limits_spare_the_owner() {
    let served = open_to_all(json!({ "limits": { "rate": "4/h" } }), json!({}));
    let sessions = [served.open(), served.open()];
    let found: Vec<_> = (0..6).map(|number| limit(&sessions[number % 2].call("echo", json!({})))).collect();
    let refused = || Some("token".to_owned());
    assert_eq!(found, [None, None, None, None, refused(), refused()], "one identity, however many sessions");
    let mut window = served.house.open("home");
    assert!((0..20).all(|_| limit(&window.call("echo", json!({}))).is_none()), "the owner has no limit");
}

#[test]
fn config_may_limit_the_owner() {
    let house = House::with(json!({ "limits": { "rate": "2/h", "owner": true } }), json!({}), &[]);
    let (mut one, mut two) = (house.open("a"), house.open("a"));
    assert_eq!(limit(&one.call("echo", json!({}))), None);
    assert_eq!(limit(&two.call("echo", json!({}))), None);
    assert_eq!(limit(&one.call("echo", json!({}))), Some("token".into()));
}

/// With a rate that brings nothing while the test runs, the parts are exact: half of the burst for each.
#[test]
fn greedy_identity_leaves_the_other_its_part() {
    let served = open_to_all(json!({}), json!({ "limits": { "rate": "1/h", "burst": 60 } }));
    let mut window = served.house.open("home");
    assert_eq!(limit(&window.call("echo", json!({ "owner": 0 }))), None);
    let admitted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let session = served.open();
                let admits = |_: &usize| limit(&session.call("echo", json!({ "greedy": 1 }))).is_none();
                admitted.fetch_add((0..100).filter(admits).count(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(admitted.into_inner(), 30, "of 400");
    let own = (0..100).filter(|_| limit(&window.call("echo", json!({ "owner": 1 }))).is_none()).count();
    assert_eq!(own, 29, "and the first one");
    assert_eq!(sent(&served), 60);
}

/// A client that comes back when it is told to is served, while others take whatever they can get.
#[test]
fn patient_client_is_served_under_load() {
    const CALLS: usize = 20;
    let served = open_to_all(json!({}), json!({ "limits": { "rate": "50/s", "burst": 4 } }));
    let mut window = served.house.open("home");
    let (is_over, refused) = (AtomicBool::new(false), AtomicUsize::new(0));
    let attempts = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let session = served.open();
                while !is_over.load(Ordering::Relaxed) {
                    let answer = session.call("echo", json!({ "greedy": 1 }));
                    refused.fetch_add(usize::from(limit(&answer).is_some()), Ordering::Relaxed);
                }
            });
        }
        patience::until_true("the flood is there", || refused.load(Ordering::Relaxed) > 50);
        let attempts = (0..CALLS).map(|_| attempts(&mut window)).sum::<usize>();
        is_over.store(true, Ordering::Relaxed);
        attempts
    });
    assert!(attempts <= 4 * CALLS, "{attempts} attempts for {CALLS} calls");
}

/// Calls until it is admitted, each time when it was told to; returns the number of attempts.
fn attempts(client: &mut Client) -> usize {
    for attempt in 1.. {
        let answer = client.call("echo", json!({ "patient": 1 }));
        if limit(&answer).is_none() {
            return attempt;
        }
        // What a client does with this answer is the promise here; nothing else is waited for.
        let wait = answer["error"]["data"]["retryAfterMs"].as_u64().unwrap();
        thread::sleep(Duration::from_millis(wait));
    }
    unreachable!("it calls until it is admitted")
}

/// Requests that wait for a turn: many sessions of one identity have one turn together.
#[test]
fn identities_take_turns_at_a_server() {
    let served = open_to_all(json!({}), json!({ "maxInFlight": 1, "timeout": "1m" }));
    let mut window = served.house.open("home");
    let hanging = window.start_call("hang", json!({}));
    patience::until_true("the server is busy", || sent(&served) == 1);
    let open = || {
        let status = served.house.status();
        status["daemons"][0]["servers"][0]["instances"][0]["open"].as_u64().unwrap()
    };
    // Like the window, so that they share its process.
    let session = || Talk::open_as(&served.web, FAKE, VERSION, json!({}));
    let sessions: Vec<Talk> = (0..4).map(|_| session()).collect();
    let mut waiting = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let (_, message) = session.call_of("echo", json!({ "mark": format!("guest-{number}") }));
        waiting.push(session.say(&message).begin());
        patience::until_true("it waits", || open() == number as u64 + 2);
    }
    let own = [0, 1].map(|number| window.start_call("echo", json!({ "mark": format!("owner-{number}") })));
    patience::until_true("they wait", || open() == 7);
    window.notify("notifications/cancelled", json!({ "requestId": hanging }));
    own.into_iter().for_each(|id| assert!(window.answer(id).get("result").is_some()));
    patience::until_true("all are there", || sent(&served) == 7);
    let lines = served.record().all_lines();
    let mark = |line: &String| Some(line.split_once("\"mark\":\"")?.1.split_once('"')?.0.to_owned());
    let order: Vec<String> = lines.iter().filter_map(mark).collect();
    assert_eq!(order, ["guest-0", "owner-0", "guest-1", "owner-1", "guest-2", "guest-3"]);
}

#[test]
fn refused_calls_are_counted_and_logged_once() {
    let served = open_to_all(json!({}), json!({ "limits": { "rate": "1/h" } }));
    let session = served.open();
    assert_eq!(limit(&session.call("echo", json!({}))), None);
    let mut window = served.house.open("home");
    assert!((0..3).all(|_| limit(&session.call("echo", json!({}))).is_some()));
    assert!(limit(&window.call("echo", json!({}))).is_some());
    let status = served.house.status();
    let daemon = &status["daemons"][0];
    assert_eq!(daemon["servers"][0]["refusedCalls"], 4, "{status:#}");
    let limited = json!([{ "name": "anonymous", "refusedCalls": 3 }, { "name": "owner", "refusedCalls": 1 }]);
    assert_eq!(daemon["limited"], limited);
    let shown = served.house.say(&["status"]);
    for line in
        ["4 calls refused: over a limit", "anonymous            3 calls", "owner                1 call"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    drop((session, window));
    let log = log_in(&served.house.state("logs"), "identity=owner");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("over the limit")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("WARN") && lines[0].contains("limits.rate"), "{lines:?}");
}

#[test]
fn reload_changes_limits_without_a_restart() {
    check_reload(&[]);
}

pub(crate) fn check_reload(options: &[&str]) {
    let house = House::with(json!({}), json!({ "limits": { "rate": "2/h" } }), options);
    let mut window = house.open("a");
    let server = server_of(&mut window);
    assert_eq!(limit(&window.call("echo", json!({}))), None);
    assert_eq!(limit(&window.call("echo", json!({}))), Some("server".into()));
    let edit = |limits: Value| {
        let mut config: Value = serde_json::from_str(&fs::read_to_string(house.config()).unwrap()).unwrap();
        config["mcpServers"]["fake"]["limits"] = limits;
        fs::write(house.config(), config.to_string()).unwrap();
        house.say(&["reload"]);
    };
    // The calls so far still count.
    edit(json!({ "rate": "3/h", "concurrent": 5 }));
    assert_eq!(limit(&window.call("echo", json!({}))), None);
    assert_eq!(limit(&window.call("echo", json!({}))), Some("server".into()));
    edit(json!({}));
    assert!((0..9).all(|_| limit(&window.call("echo", json!({}))).is_none()));
    assert_eq!(server_of(&mut window), server);
    assert_eq!(house.record().launches(), 1);
}

#[test]
fn nonsense_is_reported_with_its_remedy() {
    let limits = json!({ "rate": "5/fortnight", "concurrent": 0, "tools": { "x": { "burst": 1 } } });
    let house = House::with(json!({}), json!({ "limits": limits }), &[]);
    let end = house.run(&["check", "--config", house.config().to_str().unwrap()]);
    let text = format!("{}{}", String::from_utf8_lossy(&end.stdout), end.stderr);
    assert_eq!(end.code, Some(3), "{text}");
    for line in [
        "not a rate: \"5/fortnight\"",
        "\"10/s\", \"5/min\", \"100/h\" or \"1000/d\"",
        "not a valid number: 0",
        "`burst` without `rate`",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// The same limits in a window of its own process.
#[test]
fn solo_window_has_limits_too() {
    let house = House::with(json!({}), json!({ "limits": { "rate": "1/h" } }), &[]);
    let mut window = greet(house.window("a").arg("--solo"));
    assert_eq!(limit(&window.call("echo", json!({}))), None);
    assert_eq!(limit(&window.call("echo", json!({}))), Some("server".into()));
}
