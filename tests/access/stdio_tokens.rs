//! Tokens over stdio: not needed by default, demanded if the config asks for them, and never passed on.

use super::token::{Place, create, kind, showing, with_variable};
use crate::daemon::house::{Home, House, server_of};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree;

/// The kinds of windows: of one server or of all, with the daemon or alone.
fn windows<const RELAYED: bool>(house: &Home<RELAYED>) -> Vec<(&'static str, Start)> {
    let all = || house.program("home").args(["stdio", "--config"]).arg(house.config());
    vec![
        ("one", house.window("home")),
        ("all", all()),
        ("one, solo", house.window("home").arg("--solo")),
        ("all, solo", all().arg("--solo")),
    ]
}

fn locked<const RELAYED: bool>() -> Home<RELAYED> {
    Home::with(json!({ "access": { "stdio": "token" } }), json!({}), &[])
}

/// The tool's name for a window of one server, or of all.
fn tool(what: &str) -> &'static str {
    if what.starts_with("one") { "echo" } else { "fake__echo" }
}

#[track_caller]
fn works(client: &mut Client, what: &str) {
    let answer = client.call(tool(what), json!({ "is": "served" }));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"is":"served"}"#, "{what}: {answer}");
}

/// No message with a token, and no variable of it, has reached a server.
#[track_caller]
fn check_hidden<const RELAYED: bool>(house: &Home<RELAYED>, token: &str) {
    let lines = house.record().all_lines();
    assert!(!lines.is_empty());
    for word in [token, "authToken", "swb_"] {
        assert!(!lines.iter().any(|line| line.contains(word)), "{word}: {lines:?}");
    }
}

#[test]
fn no_request_is_served_without_a_token() {
    fn check<const RELAYED: bool>() {
        let house = locked::<RELAYED>();
        for (what, window) in windows(&house) {
            let mut client = window.start();
            assert_eq!(client.request("ping", json!({}))["result"], json!({}), "{what}");
            for (method, params) in [
                ("initialize", initialize_params()),
                ("tools/list", json!({})),
                ("tools/call", json!({ "name": tool(what), "arguments": { "is": "forbidden" } })),
                ("resources/read", json!({ "uri": "memo://forbidden" })),
                ("completion/complete", json!({ "is": "forbidden" })),
                ("switchboard/servers", json!({})),
                ("some/method", json!({ "is": "forbidden" })),
            ] {
                let answer = client.request(method, params);
                assert_eq!(kind(&answer), "unauthorized", "{what}, {method}: {answer}");
                let hint = answer["error"]["data"]["hint"].as_str().unwrap();
                assert!(hint.contains("SWITCHBOARD_TOKEN") && hint.contains("authToken"), "{hint}");
            }
            for wrong in ["", "swb_0000", "owner"] {
                for place in Place::BOTH {
                    assert_eq!(
                        kind(&client.request("initialize", showing(place, wrong))),
                        "unauthorized",
                        "{what}"
                    );
                }
            }
            client.notify("notifications/initialized", json!({ "is": "forbidden" }));
            assert_eq!(client.request("ping", json!({}))["result"], json!({}));
        }
        assert_eq!(house.record().launches(), 0, "not even a process was started");
    }
    check::<false>();
    check::<true>();
}

#[test]
fn token_opens_every_kind_of_window() {
    fn check<const RELAYED: bool>() {
        let house = locked::<RELAYED>();
        let said = house.say(&["token", "create", "ci"]);
        let token = said.split_whitespace().last().unwrap();
        for (what, window) in windows(&house) {
            let mut client = with_variable(window, token);
            client.initialize();
            works(&mut client, what);
        }
        for place in Place::BOTH {
            for (what, window) in windows(&house) {
                let mut client = window.start();
                let answer = client.request("initialize", showing(place, token));
                assert!(answer.get("result").is_some(), "{what}, {place:?}: {answer}");
                client.notify("notifications/initialized", json!({}));
                works(&mut client, what);
                // The same token again says nothing new.
                let mut params = json!({ "name": tool(what), "arguments": {} });
                place.put(&mut params, token);
                assert!(client.request("tools/call", params).get("result").is_some(), "{what}");
            }
        }
        check_hidden(&house, token);
    }
    check::<false>();
    check::<true>();
}

#[test]
fn wrong_variable_serves_nothing() {
    let house = locked::<false>();
    let open = House::new();
    for house in [&house, &open] {
        for (what, window) in windows(house) {
            let mut client = with_variable(window, "swb_wrong");
            assert_eq!(kind(&client.request("initialize", initialize_params())), "unauthorized", "{what}");
            assert_eq!(client.request("ping", json!({}))["result"], json!({}));
        }
        assert_eq!(house.record().launches(), 0);
    }
    // An empty variable is none.
    let mut client = with_variable(open.window("home"), "");
    client.initialize();
}

#[test]
fn second_token_is_refused() {
    let house = House::new();
    let (ci, qa) = (create(&house, &["ci"]), create(&house, &["qa"]));
    for (what, window) in windows(&house) {
        let mut client = window.start();
        assert!(client.request("initialize", showing(Place::Proxy, &ci)).get("result").is_some());
        client.notify("notifications/initialized", json!({}));
        for other in [&qa, "swb_wrong"] {
            let mut params = json!({ "name": tool(what), "arguments": { "is": "forbidden" } });
            Place::Proxy.put(&mut params, other);
            assert_eq!(kind(&client.request("tools/call", params)), "unauthorized", "{what}");
        }
        works(&mut client, what);
    }
    check_hidden(&house, &qa);
    assert!(!house.record().all_lines().iter().any(|line| line.contains("forbidden")));
}

/// A window that shows a token although it needs none gets that token's identity and process.
#[test]
fn optional_token_is_another_party() {
    let house = House::new();
    let token = create(&house, &["ci"]);
    let mut owner = house.open("home");
    let mut by_variable = with_variable(house.window("home"), &token);
    by_variable.initialize();
    let mut by_message = house.window("home").start();
    by_message.request("initialize", showing(Place::Meta, &token));
    by_message.notify("notifications/initialized", json!({}));
    let [of_owner, one, other] = [&mut owner, &mut by_variable, &mut by_message].map(server_of);
    assert_eq!(one, other);
    assert_ne!(one, of_owner);
    let clients = house.status()["daemons"][0]["clients"].clone();
    let mut names: Vec<&str> =
        clients.as_array().unwrap().iter().map(|c| c["identity"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ci", "ci", "owner"]);
    // Once it is the owner's, a token comes too late.
    let mut late = json!({ "name": "echo", "arguments": {} });
    Place::Proxy.put(&mut late, &token);
    assert_eq!(kind(&owner.request("tools/call", late)), "unauthorized");
}

/// The next daemon asks again, and gets the same token from the attachment or from the client's own `initialize`.
#[test]
fn token_outlives_the_daemon() {
    fn check<const RELAYED: bool>() {
        let house = locked::<RELAYED>();
        let said = house.say(&["token", "create", "ci"]);
        let token = said.split_whitespace().last().unwrap();
        let mut by_variable = with_variable(house.window("home"), token);
        by_variable.initialize();
        let mut by_message = house.window("home").start();
        by_message.request("initialize", showing(Place::Proxy, token));
        by_message.notify("notifications/initialized", json!({}));
        for round in 0..2 {
            for client in [&mut by_variable, &mut by_message] {
                works(client, "one");
            }
            let daemon = house.daemon();
            daemon.tell(Word::Kill);
            patience::until_true("it is gone", || !daemon.is_alive());
            for client in [&mut by_variable, &mut by_message] {
                patience::until_true(format_args!("served again, round {round}"), || {
                    client.call("echo", json!({})).get("result").is_some()
                });
            }
        }
        check_hidden(&house, token);
    }
    check::<false>();
    check::<true>();
}

/// Tokens are removed from every message, also where nobody needs them.
#[test]
fn unneeded_token_is_removed() {
    let house = House::new();
    let token = create(&house, &["ci"]);
    for (what, window) in windows(&house) {
        let mut client = window.start();
        let mut hello = initialize_params();
        hello["_meta"] = json!({ "kept": 1, "switchboard/authToken": token });
        hello["proxy"] = json!({ "authToken": token, "kept": 2 });
        assert!(client.request("initialize", hello).get("result").is_some(), "{what}");
        client.notify("notifications/initialized", json!({ "proxy": { "authToken": token } }));
        let params = json!({ "name": tool(what), "arguments": { "proxy": { "authToken": "an argument" } }, "proxy": { "authToken": token } });
        let answer = client.request("tools/call", params);
        assert_eq!(
            answer["result"]["content"][0]["text"], r#"{"proxy":{"authToken":"an argument"}}"#,
            "{what}"
        );
        client.notify("notifications/other", json!({ "a": 1, "_meta": { "switchboard/authToken": token } }));
        client.send(format!(
            r#"[{{"jsonrpc":"2.0","id":"b","method":"ping","params":{{"proxy":{{"authToken":"{token}"}}}}}}]"#
        ));
        assert_eq!(client.recv_json()[0]["id"], "b");
    }
    let lines = house.record().all_lines();
    assert!(lines.iter().any(|line| line.contains("an argument")));
    assert!(!lines.iter().any(|line| line.contains(&token)), "{lines:?}");
}

/// The variable is the client's secret: no server gets it, whatever its entry passes on.
#[test]
fn variable_reaches_no_server() {
    let server = json!({ "inheritEnv": "all", "passEnv": ["SWITCHBOARD_*", "SWITCHBOARD_TOKEN"] });
    let house = House::with(json!({}), server, &[]);
    let token = create(&house, &["ci"]);
    let raw = house.program("home").args(["stdio", "--inherit-env", "all", "--"]);
    let raw = raw.arg(crate::support::fake_backend()).arg("--record").arg(house.record().folder());
    for window in [house.window("home"), house.window("home").arg("--solo"), raw] {
        let mut client = with_variable(window, &token);
        client.initialize();
        let facts = client.call("facts", json!({}))["result"].clone();
        assert!(facts["env"].is_object() && !facts.to_string().contains(&token), "{facts}");
    }
    let text = Value::from(std::fs::read_to_string(house.config()).unwrap());
    assert!(!text.to_string().contains(&token));
}

/// `tools`, `call` and the like are clients as well.
#[test]
fn commands_use_the_variable() {
    let house = locked::<false>();
    let token = create(&house, &["ci"]);
    let run = |words: &[&str], token: Option<&str>| {
        let start = house.program("home").args(words).arg("--config").arg(house.config());
        let start = token.into_iter().fold(start, |start, token| start.env("SWITCHBOARD_TOKEN", token));
        start.start().finish()
    };
    for words in [&["tools"][..], &["call", "fake__echo"], &["tools", "--solo"]] {
        let end = run(words, None);
        assert!(end.code != Some(0) && end.stderr.contains("missing token"), "{words:?}: {}", end.stderr);
        assert!(end.stderr.contains("SWITCHBOARD_TOKEN"), "{words:?}: {}", end.stderr);
        let end = run(words, Some(&token));
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.stderr);
    }
    check_hidden(&house, &token);
}

/// With `shareAdHoc`, only the owner's windows bring command lines to the daemon.
#[test]
fn only_the_owner_brings_a_command() {
    let house = House::with(json!({ "shareAdHoc": true, "access": { "stdio": "token" } }), json!({}), &[]);
    let file = house.path("home/.config/switchboard/config.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::copy(house.config(), &file).unwrap();
    let token = create(&house, &["ci"]);
    let window = house
        .program("home")
        .env("SWITCHBOARD_TOKEN", &token)
        .args(["stdio", "--"])
        .arg(crate::support::fake_backend())
        .arg("--record")
        .arg(house.record().folder())
        .start();
    window.wait_for_stderr("only its owner");
    // The window runs its own command, as it could without us; the daemon does not.
    let server =
        patience::until("its server", || (house.record().launches() > 0).then(|| house.record().pid(1)));
    let of_daemon = tree::descendants(house.daemon().pid);
    assert!(of_daemon.iter().all(|process| process.pid != server), "{server}");
}
