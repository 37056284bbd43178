//! Limits of tokens, from `token create` to the answer: on every route together, with the status and the header
//! that tell when to retry, and with fair shares between tokens. Some checks are functions of how the server is made, for
//! `modern::legacy_rules`.

use super::limits::limit;
use super::rights::with_tokens;
use super::token::{create, kind, web_of, web_with, with_variable};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use crate::isolation::routes::{Guest, Make, Route, ShownBy, Site, on_every_route, servers};
use crate::support::greet;
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use switchboard_testkit::http::{Reply, Talk, Web, call, hello};
use switchboard_testkit::patience;

/// A server that all parties share.
fn shared(file: Value, server: Value, options: &[&str]) -> House {
    let mut keys = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
    keys.as_object_mut().unwrap().extend(server.as_object().unwrap().clone());
    House::with(file, keys, options)
}

fn refused(limit: &str) -> Option<String> {
    Some(limit.to_owned())
}

/// How many of so many calls are admitted.
fn admitted(talk: &Talk, calls: usize) -> usize {
    (0..calls).filter(|_| limit(&talk.call("echo", json!({}))).is_none()).count()
}

/// Calls sent to the server.
fn sent(served: &Served) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains("tools/call")).count()
}

/// A token for two calls an hour, and the file with it.
pub(crate) fn two_an_hour() -> (String, String) {
    let house = House::new();
    let token = create(&house, &["ci", "--rate", "2/h"]);
    (token, fs::read_to_string(house.state("tokens.json")).unwrap())
}

/// Checks the limit of such a token on one route: alone, and in all of its clients together. `open` connects a client with
/// the token, or the owner; `call` calls a tool.
#[track_caller]
pub(crate) fn check_on_route<C>(
    site: &Site,
    token: &str,
    open: impl Fn(Option<ShownBy<'_>>) -> C,
    call: impl Fn(&mut C) -> Value,
) {
    let by = Some(ShownBy::Variable(token));
    let mut client = open(by);
    let found = [(); 3].map(|()| limit(&call(&mut client)));
    assert_eq!(found, [None, None, refused("token")]);
    let is_solo = matches!(site.route, Route::SoloOne | Route::SoloAll);
    assert_eq!(limit(&call(&mut open(by))).is_some(), !is_solo, "another client of the token");
    let owner = call(&mut open(None));
    assert!(owner.get("result").is_some(), "{owner}");
}

#[test]
fn rate_holds_on_every_route() {
    check_rate(servers);
}

pub(crate) fn check_rate(servers: Make) {
    let (token, file) = two_an_hour();
    let offer = r#"{ "tools": [{ "name": "echo" }] }"#;
    on_every_route(
        || with_tokens(servers(json!({}), offer), &file),
        |site| {
            site.open_gate();
            let open = |by: Option<ShownBy<'_>>| match by {
                Some(by) => site.open_token(by, None),
                None => site.open(),
            };
            check_on_route(site, &token, open, |client: &mut Guest| client.call("echo", json!({})));
        },
    );
}

/// A token's calls count together, whichever route they take.
#[test]
fn rate_holds_over_all_routes() {
    check_all_routes_together(&[]);
}

/// `options` are those of the fake server.
pub(crate) fn check_all_routes_together(options: &[&str]) {
    let profiles = json!({ "profiles": { "p": ["fake"] } });
    let served = Served::start(shared(profiles, json!({}), options), &[]);
    let token = create(&served.house, &["ci", "--rate", "6/h"]);
    let web = web_with(&served, &token);
    let all = || served.house.program("home").args(["stdio", "--config"]).arg(served.house.config());
    let talks = [(FAKE, "echo"), ("/mcp", "fake__echo"), ("/profiles/p/mcp", "fake__echo")];
    let mut windows = [(served.house.window("home"), "echo"), (all(), "fake__echo")].map(|(start, tool)| {
        let mut window = with_variable(start, &token);
        window.initialize();
        (window, tool)
    });
    let legacy = Legacy::open(&web);
    let mut round = || {
        let mut found: Vec<_> =
            talks.iter().map(|(path, tool)| limit(&Talk::open(&web, path).call(tool, json!({})))).collect();
        found.extend(windows.iter_mut().map(|(window, tool)| limit(&window.call(tool, json!({})))));
        found
    };
    assert_eq!(round(), [None, None, None, None, None]);
    let mut legacy = legacy;
    assert_eq!(limit(&legacy.call("fake__echo")), None);
    assert_eq!(round(), std::array::from_fn::<_, 5, _>(|_| refused("token")));
    assert_eq!(limit(&legacy.call("fake__echo")), refused("token"));
    assert_eq!(sent(&served), 6);
    // Nobody else is concerned.
    assert_eq!(admitted(&Talk::open(&web_of(&served, &["qa"]), FAKE), 9), 9);
    assert_eq!(admitted(&served.open(), 9), 9);
    // A process of its own has a count of its own, and the same limit.
    let mut solo = with_variable(served.house.window("home").arg("--solo"), &token);
    solo.initialize();
    let found = (0..8).filter(|_| limit(&solo.call("echo", json!({}))).is_none()).count();
    assert_eq!(found, 6);
}

/// A client of the transport of 2024.
struct Legacy {
    web: Web,
    to: String,
    stream: Reply,
    next: u64,
}

impl Legacy {
    fn open(web: &Web) -> Self {
        let mut stream = web.get("/sse").send();
        let to = stream.event().unwrap().data;
        let started = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        for message in [hello("2024-11-05", json!({})), started] {
            assert_eq!(web.post(&to, message.to_string()).send().status, 202);
        }
        Self { web: web.clone(), to, stream, next: 1 }
    }

    fn call(&mut self, tool: &str) -> Value {
        self.next += 1;
        let message = call(self.next, tool, json!({}));
        // The answer, whatever it is, comes on the stream.
        assert_eq!(self.web.post(&self.to, message.to_string()).send().status, 202);
        loop {
            let message = self.stream.message().unwrap();
            if message["id"] == self.next {
                return message;
            }
        }
    }
}

#[test]
fn burst_and_concurrent_hold() {
    let served = Served::new();
    let talk = Talk::open(&web_of(&served, &["ci", "--rate", "1/h", "--burst", "5"]), FAKE);
    assert_eq!(admitted(&talk, 9), 5);
    let web = web_of(&served, &["qa", "--concurrent", "2"]);
    let (one, two) = (Talk::open(&web, FAKE), Talk::open(&web, FAKE));
    let before = sent(&served);
    let mut held: Vec<_> = (0..2)
        .map(|number| {
            let (_, message) = one.call_of("hold", json!({ "label": number }));
            let wire = one.say(&message).begin();
            patience::until_true("the call is there", || sent(&served) == before + number + 1);
            wire
        })
        .collect();
    assert_eq!(limit(&two.call("echo", json!({}))), refused("token"));
    assert_eq!(one.end(), 200);
    held.clear();
    patience::until_true("there is room again", || limit(&two.call("echo", json!({}))).is_none());
}

/// Checks that a reply says when to retry, in the header as in the body.
#[track_caller]
fn check_429(mut reply: Reply) {
    let header = reply.header("retry-after").map(str::to_owned);
    let answer = reply.json();
    assert_eq!(reply.status, 429, "{answer}");
    assert!(limit(&answer).is_some());
    let wait = answer["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    // Whole seconds, and not before the time.
    assert_eq!(header, Some(wait.div_ceil(1000).to_string()));
}

#[test]
fn refused_call_gets_429() {
    let served = Served::new();
    let web = web_of(&served, &["ci", "--rate", "3/h"]);
    for (path, tool) in [(FAKE, "echo"), ("/mcp", "fake__echo")] {
        let talk = Talk::open(&web, path);
        admitted(&Talk::open(&web, FAKE), 3);
        let say = |method: &str, params: Value| {
            talk.say(&json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params }))
        };
        check_429(say("tools/call", json!({ "name": tool })).send());
        check_429(say("tools/call", json!({ "name": tool })).header("Accept", "application/json").send());
        let uri = if path == FAKE { "memo://a" } else { "proxy://template/fake/memo://a" };
        check_429(say("resources/read", json!({ "uri": uri })).send());
        // Lists are not limited.
        assert_eq!(say("tools/list", json!({})).send().status, 200);
        // In a batch each answer speaks for itself.
        let mut reply = talk
            .say(&json!([call(6, tool, json!({})), { "jsonrpc": "2.0", "id": 7, "method": "ping" }]))
            .send();
        assert_eq!((reply.status, reply.header("retry-after")), (200, None));
        let answers = reply.json();
        let of = |id: u64| answers.as_array().unwrap().iter().find(|answer| answer["id"] == id).unwrap();
        assert_eq!(limit(of(6)), refused("token"), "{answers}");
        assert_eq!(of(7)["result"], json!({}));
    }
}

/// A stream has begun with status 200 before a call in it is refused.
#[test]
fn refusal_in_a_stream_is_an_error() {
    let served = Served::new();
    let talk = Talk::open(&web_of(&served, &["ci", "--concurrent", "1"]), FAKE);
    let mut stream = talk.say(&json!([call(1, "hang", json!({})), call(2, "echo", json!({}))])).send();
    assert!(stream.is_stream() && stream.status == 200 && stream.header("retry-after").is_none());
    let answer = stream.message().unwrap();
    assert_eq!((&answer["id"], limit(&answer)), (&json!(2), refused("token")));
}

/// Without a token, all clients together are `anonymous`; tokens count for themselves.
#[test]
fn anonymous_has_a_limit_of_its_own() {
    let house = shared(json!({ "limits": { "rate": "4/h" } }), json!({}), &[]);
    let (ci, qa) = (create(&house, &["ci", "--rate", "2/h"]), create(&house, &["qa"]));
    let served = Served::start(house, &["--no-auth"]);
    let open = |web: &Web| Talk::open(web, FAKE);
    let of = |token: &str| open(&served.web.with("Authorization", &format!("Bearer {token}")));
    assert_eq!(admitted(&open(&served.web), 3), 3);
    assert_eq!(admitted(&open(&served.web), 3), 1, "however many sessions");
    assert_eq!(admitted(&of("swb_unknown"), 3), 0, "an unknown token is anonymous, too");
    assert_eq!((admitted(&of(&ci), 9), admitted(&of(&qa), 9)), (2, 4));
    assert_eq!(admitted(&open(&served.web), 3), 0);
    let mut window = greet(served.house.window("home"));
    assert!((0..9).all(|_| limit(&window.call("echo", json!({}))).is_none()), "the owner has no limit");
}

/// With a rate that brings nothing while the test runs, the parts are exact: a third of the burst for each.
#[test]
fn greedy_token_leaves_others_their_part() {
    const SIDE_BY_SIDE: usize = 8;
    let limits = json!({ "limits": { "rate": "1/h", "burst": 90 } });
    let served = Served::start(shared(json!({}), limits, &[]), &[]);
    let [greedy, one, two] = ["greedy", "one", "two"].map(|name| web_of(&served, &[name]));
    let [first, second] = [&one, &two].map(|web| Talk::open(web, FAKE));
    // Each is known to the limit by its first call.
    assert_eq!((admitted(&first, 1), admitted(&second, 1)), (1, 1));
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| count.fetch_add(admitted(&Talk::open(&greedy, FAKE), 50), Ordering::Relaxed));
        }
    });
    assert_eq!(count.into_inner(), 30, "of 400");
    assert_eq!((admitted(&first, 100), admitted(&second, 100)), (29, 29), "and the first of each");
    assert_eq!(sent(&served), 90);
    let status = served.house.status();
    let limited = status["daemons"][0]["limited"].as_array().unwrap().clone();
    let of = |name: &str| limited.iter().find(|it| it["name"] == name).map(|it| it["refusedCalls"].clone());
    assert_eq!(
        [of("greedy"), of("one"), of("two")],
        [370, 71, 71].map(|calls| Some(json!(calls))),
        "{status:#}"
    );
}

/// A right that excludes a tool comes first: the refused call is not counted.
#[test]
fn forbidden_calls_do_not_count() {
    let served = Served::new();
    let talk = Talk::open(&web_of(&served, &["ci", "--tools", "!work", "--rate", "2/h"]), FAKE);
    for _ in 0..5 {
        assert_eq!(kind(&talk.call("work", json!({}))), "forbidden");
    }
    assert_eq!(admitted(&talk, 5), 2);
    assert_eq!(kind(&talk.call("work", json!({}))), "forbidden");
}
