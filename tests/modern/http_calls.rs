//! Modern requests over HTTP: each is answered alone, as JSON or as a stream of its own, whoever else asks at once.

use crate::http::served::{FAKE, Served};
use crate::support::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::thread;
use switchboard_testkit::http::{Modern, Reply, answer};
use switchboard_testkit::{message, patience};

/// Paths of Streamable HTTP, and the prefix of tools there.
const PATHS: [(&str, &str); 3] = [("/mcp", "fake__"), (FAKE, ""), ("/profiles/some/mcp", "fake__")];

pub(super) fn served() -> Served {
    let profiles = json!({ "profiles": { "some": ["fake"] } });
    // Calls of all parallel clients go to one process.
    let server = json!({ "scope": "global", "state": "none", "maxInFlight": 200 });
    Served::with(profiles, server, &["--era", "modern"])
}

/// Number of clients that the program knows.
fn clients(served: &Served) -> usize {
    served.house.status()["daemons"][0]["clients"].as_array().unwrap().len()
}

#[test]
fn requests_are_answered_alone() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        let (id, mut reply) = modern.begin("server/discover", json!({}));
        let found = reply.json();
        assert_eq!((reply.status, &found["id"]), (200, &json!(id)), "{found}");
        assert_eq!((reply.kind(), reply.header("mcp-session-id")), ("application/json", None));
        assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
        let listed = modern.request("tools/list", json!({}));
        let has =
            |name: &str| listed["result"]["tools"].as_array().unwrap().iter().any(|it| it["name"] == name);
        assert!(has(&format!("{prefix}echo")), "{listed}");
        let called = modern.call(&format!("{prefix}echo"), json!({ "path": path }));
        assert_eq!(text(&called), json!({ "path": path }).to_string());
        assert_eq!(called["result"]["resultType"], "complete", "{called}");
    }
}

/// A name that a header cannot carry as it is comes encoded; any other may.
#[test]
fn encoded_names_are_accepted() {
    let word = "größe\u{1f600}";
    let served = Served::with(json!({}), json!({}), &["--era", "modern", "--tool", word]);
    let encoded = |name: &str| format!("=?base64?{}?=", STANDARD.encode(name));
    for (path, tool) in [(FAKE, word), (FAKE, "echo"), ("/mcp", "fake__echo")] {
        let modern = Modern::at(&served.web, path);
        let mark = json!({ "at": format!("{path} {tool}") });
        let (id, message) = modern.message("tools/call", json!({ "name": tool, "arguments": mark }));
        let mut reply = modern.say(&message).header("Mcp-Name", &encoded(tool)).send();
        let answer = reply.json();
        assert_eq!((reply.status, &answer["id"]), (200, &json!(id)), "{answer}");
        let expect = match tool {
            "echo" | "fake__echo" => mark.to_string(),
            // The fake server lists the name, and has nothing behind it.
            _ => format!("no such tool: {word}"),
        };
        assert_eq!(text(&answer), expect);
        // The encoding of another name is a mismatch.
        let mut reply = modern.say(&message).header("Mcp-Name", &encoded("gr\u{f6}sse")).send();
        let answer = reply.json();
        assert_eq!((reply.status, &answer["error"]["code"]), (400, &json!(-32020)), "{answer}");
    }
}

#[test]
fn errors_have_the_status_of_their_code() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        let status = |method: &str, params: Value| {
            let (id, mut reply) = modern.begin(method, params);
            let answer = reply.json();
            assert_eq!(answer["id"], id, "{answer}");
            (reply.status, answer["error"]["code"].as_i64().unwrap_or_default())
        };
        for removed in ["ping", "logging/setLevel", "resources/subscribe"] {
            assert_eq!(
                status(removed, json!({ "level": "info", "uri": "x://a" })),
                (404, -32601),
                "{path} {removed}"
            );
        }
        // The client has not declared that it can be asked.
        let input = json!({ "name": format!("{prefix}input"), "arguments": {} });
        assert_eq!(status("tools/call", input), (400, -32021), "{path}");
    }
}

#[test]
fn notification_makes_the_answer_a_stream() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        let arguments = json!({ "steps": 3 });
        let meta = json!({ "progressToken": "mine" });
        let params = json!({ "name": format!("{prefix}report"), "arguments": arguments, "_meta": meta });
        let (id, mut reply) = modern.begin("tools/call", params);
        assert!(reply.is_stream() && reply.status == 200, "{}", reply.text());
        assert_eq!(reply.header("x-accel-buffering"), Some("no"));
        for step in 1..=3 {
            let notice = reply.message().unwrap();
            let found =
                (&notice["method"], &notice["params"]["progressToken"], &notice["params"]["progress"]);
            assert_eq!(found, (&json!("notifications/progress"), &json!("mine"), &json!(step)));
        }
        let last = reply.message().unwrap();
        assert_eq!((&last["id"], text(&last)), (&json!(id), "reported"));
        assert_eq!(reply.message(), None, "the answer ends the stream");
    }
}

/// A client that accepts no streams gets the answer alone.
#[test]
fn notifications_need_a_stream() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    let params = json!({ "name": "report", "arguments": { "steps": 3 }, "_meta": { "progressToken": 1 } });
    let (_, message) = modern.message("tools/call", params);
    let mut reply = modern.say(&message).header("Accept", "application/json").send();
    assert!(!reply.is_stream());
    assert_eq!(text(&reply.json()), "reported");
}

#[test]
fn input_round_trips_pass_to_the_byte() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path).declaring(json!({ "elicitation": {} }));
        let params = json!({ "name": format!("{prefix}input"), "arguments": { "rounds": 3 } });
        let responses = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
        let last = modern.request_with_input("tools/call", params, &responses);
        let got = &last["result"]["structuredContent"];
        assert_eq!(got["inputResponses"], responses, "{last}");
        assert!(got["requestState"].as_str().unwrap().contains("round-3"), "{last}");
    }
}

/// Sixty-four requests of one party with one id, all open at once: each gets its own answer.
#[test]
fn equal_ids_are_kept_apart() {
    let served = served();
    for (path, prefix) in PATHS {
        let modern = Modern::at(&served.web, path);
        let hold = |label: u64| {
            let params = json!({ "name": format!("{prefix}hold"), "arguments": { "label": label } });
            let params = modern.profile.dress(params);
            modern.say(&message::request("same", "tools/call", params)).begin()
        };
        let before = held(&served);
        let open: Vec<_> = (0..64).map(hold).collect();
        patience::until_true("all are held", || held(&served) == before + 64);
        let released = modern.call(&format!("{prefix}release"), json!({}));
        assert_eq!(released["result"]["released"], 64, "{released}");
        for (label, wire) in open.into_iter().enumerate() {
            let answer = Reply::read(wire).unwrap().json();
            assert_eq!((&answer["id"], &answer["result"]["label"]), (&json!("same"), &json!(label)));
        }
    }
}

fn held(served: &Served) -> usize {
    served.record().all_lines().iter().filter(|line| line.contains("\"hold\"")).count()
}

/// Two programs that count their ids alike, at the same time.
#[test]
fn parallel_clients_get_their_own_answers() {
    let served = served();
    thread::scope(|scope| {
        for who in 0..8 {
            let web = served.web.clone();
            scope.spawn(move || {
                let modern = Modern::at(&web, "/mcp");
                for round in 0..20 {
                    let mark = json!({ "who": who, "round": round });
                    assert_eq!(text(&modern.call("fake__echo", mark.clone())), mark.to_string());
                }
            });
        }
    });
}

#[test]
fn one_client_serves_many_requests() {
    let served = served();
    let modern = Modern::at(&served.web, FAKE);
    for number in 0..100 {
        assert_eq!(text(&modern.call("echo", json!({ "n": number }))), json!({ "n": number }).to_string());
    }
    assert_eq!(clients(&served), 1);
    // Another declaration, and another path, are other clients.
    Modern::at(&served.web, FAKE).declaring(json!({ "sampling": {} })).call("echo", json!({}));
    Modern::at(&served.web, "/mcp").call("fake__echo", json!({}));
    assert_eq!(clients(&served), 3);
}

#[test]
fn idle_clients_end() {
    let config = json!({ "serve": { "sessionTtl": "1s" } });
    let served = Served::with(config, json!({}), &["--era", "modern"]);
    Modern::at(&served.web, FAKE).call("echo", json!({}));
    patience::until_true("the idle client has ended", || clients(&served) == 0);
    let again = Modern::at(&served.web, FAKE).call("echo", json!({ "again": 1 }));
    assert_eq!(text(&again), r#"{"again":1}"#);
}

/// The limit on sessions holds for all clients together; idle ones without a session make room.
#[test]
fn clients_count_as_sessions() {
    let config = json!({ "serve": { "maxSessions": 2 } });
    let served = Served::with(config, json!({}), &["--era", "dual"]);
    let of = |capabilities: Value| Modern::at(&served.web, FAKE).declaring(capabilities);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(text(&of(json!({ "extensions": { name: {} } })).call("echo", json!({}))), "{}");
    }
    assert_eq!(clients(&served), 2);
    let hang = |name: &str| {
        let modern = of(json!({ "extensions": { name: {} } }));
        let (id, message) = modern.message("tools/call", json!({ "name": "hold", "arguments": {} }));
        (id, modern.say(&message).begin())
    };
    let before = held(&served);
    let open = [hang("c"), hang("d")];
    patience::until_true("both are held", || held(&served) == before + 2);
    let mut refused = of(json!({})).begin("tools/call", json!({ "name": "echo", "arguments": {} })).1;
    let refusal = refused.json();
    assert_eq!((refused.status, &refusal["error"]["data"]["kind"]), (503, &json!("overloaded")), "{refusal}");
    // An id that is free in one of them needs no further client.
    let released = ["c", "d"].map(|name| {
        let modern = of(json!({ "extensions": { name: {} } }));
        modern.mint();
        modern.call("release", json!({}))["result"]["released"].as_u64().unwrap()
    });
    assert_eq!(released, [2, 0], "both calls are held by one process");
    for (id, wire) in open {
        let reply = Reply::read(wire).unwrap();
        assert_eq!(answer(reply, id)["id"], id);
    }
}
