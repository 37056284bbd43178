//! Servers that a token may use: on every path, and without a difference between hidden and unknown names.

use super::token::{Place, create, kind, showing, web_of, with_variable};
use crate::daemon::house::House;
use crate::http::served::{Served, refused};
use crate::support::fake_backend;
use serde_json::{Value, json};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::http::{Reply, Talk, Web, hello};
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

/// Three servers, and profiles with some of them.
fn three() -> (Served, Scratch) {
    let scratch = Scratch::new();
    let entry = |name: &str| json!({ "command": fake_backend(), "args": ["--record", scratch.folder(name), "--tool", format!("of-{name}")] });
    let file = json!({
        "mcpServers": { "a": entry("a"), "b": entry("b"), "c": entry("c") },
        "profiles": { "ab": ["a", "b"], "c": ["c"] },
    });
    (Served::with(file, json!({}), &[]), scratch)
}

fn seen(web: &Web, path: &str) -> String {
    let list = Talk::open(web, path).request("tools/list", json!({}));
    let has = |name: &str| list.to_string().contains(&format!("\"{name}__of-{name}\""));
    ["a", "b", "c"].into_iter().filter(|name| has(name)).collect()
}

fn knock(web: &Web, path: &str) -> Reply {
    web.post(path, hello("2025-11-25", json!({})).to_string()).send()
}

#[test]
fn token_sees_its_servers_only() {
    let (served, _scratch) = three();
    let only_a = web_of(&served, &["only-a", "--servers", "a"]);
    let not_a = web_of(&served, &["not-a", "--servers", "!a"]);
    let of_ab = web_of(&served, &["of-ab", "--profile", "ab"]);
    for (web, path, expect) in [
        (&served.web, "/mcp", "abc"),
        (&only_a, "/mcp", "a"),
        (&not_a, "/mcp", "bc"),
        (&of_ab, "/mcp", "ab"),
        (&only_a, "/profiles/ab/mcp", "a"),
        (&not_a, "/profiles/ab/mcp", "b"),
        (&of_ab, "/profiles/ab/mcp", "ab"),
    ] {
        assert_eq!(seen(web, path), expect, "{path}");
    }
    for path in ["/servers/a/mcp", "/servers/a/sse"] {
        let reply = if path.ends_with("sse") { only_a.get(path).send() } else { knock(&only_a, path) };
        assert_eq!(reply.status, 200, "{path}");
    }
}

/// The answer is the same but for the name that was asked for.
#[test]
fn hidden_and_unknown_look_alike() {
    let (served, _scratch) = three();
    let only_a = web_of(&served, &["only-a", "--servers", "a"]);
    for (kinds, hidden, unknown) in [("servers", "b", "x"), ("profiles", "c", "x")] {
        for end in ["mcp", "sse", "messages"] {
            let of = |name: &str| {
                let path = format!("/{kinds}/{name}/{end}");
                let ask = match end {
                    "sse" => only_a.get(&path),
                    _ => only_a.post(&path, hello("2025-11-25", json!({})).to_string()),
                };
                let mut reply = ask.header("Mcp-Session-Id", "s").send();
                let head = (reply.status, reply.header("content-type").map(str::to_owned));
                (head, reply.text().replace(&format!("`{name}`"), "`NAME`"))
            };
            assert_eq!(of(hidden), of(unknown), "{kinds} {end}");
            assert_eq!(of(hidden).0.0, 403);
        }
        let answer: Value = serde_json::from_str(&refused(
            only_a.post(&format!("/{kinds}/{hidden}/mcp"), hello("2025-11-25", json!({})).to_string()),
            403,
        ))
        .unwrap();
        assert_eq!((kind(&answer), &answer["id"]), ("forbidden", &json!("hello")));
        let text = answer.to_string();
        assert!(text.contains("only-a") && !text.contains("there are"), "{text}");
    }
    assert!(refused(only_a.get("/readyz"), 200).contains("ready"));
}

/// A profile that the config no longer has allows nothing, and a changed one ends the sessions of its tokens.
#[test]
fn profile_of_a_token_follows_the_config() {
    let (served, _scratch) = three();
    let token = web_of(&served, &["of-ab", "--profile", "ab"]);
    let talk = Talk::open(&token, "/mcp");
    let path = served.house.config().to_owned();
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    config["profiles"]["ab"] = json!(["b", "c"]);
    std::fs::write(&path, config.to_string()).unwrap();
    served.house.say(&["reload"]);
    patience::until_true("the old session has ended", || {
        talk.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).send().status == 404
    });
    assert_eq!(seen(&token, "/mcp"), "bc");
    config["profiles"] = json!({});
    std::fs::write(&path, config.to_string()).unwrap();
    served.house.say(&["reload"]);
    patience::until_true("nothing is left", || knock(&token, "/servers/b/mcp").status == 403);
    assert_eq!(seen(&token, "/mcp"), "");
}

/// Readiness is told to every token, names only to those that may use them.
#[test]
fn readiness_names_no_hidden_server() {
    let scratch = Scratch::new();
    let file = json!({ "mcpServers": {
        "hidden-one": { "command": "/no/such/program", "required": true },
        "a": { "command": fake_backend(), "args": ["--record", scratch.folder("a")] },
    } });
    let served = Served::with(file, json!({}), &[]);
    let only_a = web_of(&served, &["only-a", "--servers", "a"]);
    patience::until_true("it fails", || {
        let mut reply = served.web.get("/readyz").send();
        reply.text().contains("\"failing\":[\"hidden-one\"]")
    });
    assert!(!refused(only_a.get("/readyz"), 503).contains("hidden-one"));
}

/// A window of a server that its token may not use, whichever way it shows the token.
#[test]
fn window_outside_its_rights_starts_nothing() {
    let open = House::new();
    let locked = House::with(json!({ "access": { "stdio": "token" } }), json!({}), &[]);
    let [token, other] = [&open, &locked].map(|house| create(house, &["other", "--servers", "!fake"]));
    check_outside(&open, &token, &[None]);
    check_outside(&locked, &other, &[None, Some(Place::Proxy), Some(Place::Meta)]);
    for house in [&open, &locked] {
        assert_eq!(house.record().launches(), 0, "not even a process was started");
    }
    // A window that needs no token is the owner's until its first message: a server may be started in advance for
    // the owner, and hears nothing of this client.
    check_outside(&open, &token, &[Some(Place::Proxy), Some(Place::Meta)]);
    assert_eq!(open.record().all_lines(), Vec::<String>::new());
}

/// Every request of such windows is refused. `None` shows the token in the variable.
#[track_caller]
fn check_outside(house: &House, token: &str, ways: &[Option<Place>]) {
    for (solo, place) in ["0", "1"].into_iter().flat_map(|solo| ways.iter().map(move |way| (solo, way))) {
        let window = house.window("home").env("SWITCHBOARD_SOLO", solo);
        let (mut client, hello) = match place {
            None => (with_variable(window, token), initialize_params()),
            Some(place) => (window.start(), showing(*place, token)),
        };
        let refusal = client.request("initialize", hello);
        assert_eq!(kind(&refusal), "forbidden", "{place:?}: {refusal}");
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({ "name": "echo", "arguments": {} })),
            ("odd/method", json!({})),
        ] {
            assert_eq!(kind(&client.request(method, params)), "forbidden", "{place:?}, {method}");
        }
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
}
