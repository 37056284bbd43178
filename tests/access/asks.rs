//! Requests that a server may send to its clients (`asks`): what is denied is neither declared to the server nor
//! delivered, on every route and after every restart.

use crate::daemon::house::House;
use crate::http::served::asking;
use crate::isolation::routes::{Guest, Site, on_every_route, on_shared_routes, servers};
use crate::support::log_in;
use serde_json::{Value, json};
use switchboard_testkit::patience;

const OFFER: &str = r#"{ "tools": [{ "name": "say" }, { "name": "echo" }, { "name": "crash" }],
    "resources": [{ "uri": "x://a", "name": "a" }] }"#;

/// A request of the server for each kind.
const QUESTIONS: [(&str, &str); 3] = [
    ("sampling", r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}"#),
    ("elicitation", r#""method":"elicitation/create","params":{"message":"?","requestedSchema":{}}"#),
    ("roots", r#""method":"roots/list""#),
];

fn denying(kinds: &[&str]) -> Value {
    json!({ "asks": kinds.iter().map(|kind| ((*kind).to_owned(), json!("deny"))).collect::<Value>() })
}

fn open(site: &Site) -> Guest {
    let capabilities = json!({ "sampling": {}, "elicitation": {}, "roots": { "listChanged": true } });
    site.open_with(capabilities)
}

/// Has the server ask under this id, and waits for what it gets.
#[track_caller]
fn ask(site: &Site, client: &mut Guest, id: &str, question: &str) -> String {
    client.have_said(&[&format!(r#"{{"jsonrpc":"2.0","id":"{id}",{question}}}"#)]);
    let answered = format!(r#""id":"{id}""#);
    patience::until(format_args!("an answer to {id}"), || {
        let lines = site.servers.record("s").all_lines();
        // The call that has it say so contains the id too, with escaped quotes.
        lines.into_iter().find(|line| line.contains(&answered) && !line.contains("tools/call"))
    })
}

#[test]
fn denied_requests_are_refused_on_every_route() {
    on_every_route(
        || servers(denying(&["sampling", "elicitation", "roots"]), OFFER),
        |site| {
            site.open_gate();
            let mut client = open(site);
            assert!(client.call("echo", json!({})).get("result").is_some());
            for round in ["first", "second"] {
                for (kind, question) in QUESTIONS {
                    let answer = ask(site, &mut client, &format!("{round}-{kind}"), question);
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    assert_eq!(answer["error"]["code"], -32601, "{answer}");
                    let hint = answer["error"]["data"]["hint"].as_str().unwrap();
                    assert!(hint.contains(&format!("asks.{kind}")), "{answer}");
                }
                client.notify("notifications/roots/list_changed", json!({}));
                // The next round is with another process.
                client.call("crash", json!({}));
                patience::until_true("another process", || {
                    client.call("echo", json!({})).get("result").is_some()
                });
            }
            assert!(site.servers.record("s").launches() >= 3);
            for word in ["\"sampling\":", "\"elicitation\":", "\"roots\":", "list_changed"] {
                assert_eq!(told_itself(site, word), 0, "{word}");
            }
            assert!(site.told("\"initialize\"") >= 3);
        },
    );
}

/// Messages to the server with this text, other than calls of the test.
fn told_itself(site: &Site, text: &str) -> usize {
    let lines = site.servers.record("s").all_lines();
    lines.iter().filter(|line| line.contains(text) && !line.contains("tools/call")).count()
}

#[test]
fn allowed_requests_reach_the_client() {
    on_every_route(
        || servers(denying(&["elicitation"]), OFFER),
        |site| {
            site.open_gate();
            let mut client = open(site);
            client.call("echo", json!({}));
            assert!(ask(site, &mut client, "e", QUESTIONS[1].1).contains("-32601"));
            client.have_said(&[&format!(r#"{{"jsonrpc":"2.0","id":"s",{}}}"#, QUESTIONS[0].1)]);
            client.answers("sampling/createMessage", json!({ "result": { "answer": "of the client" } }));
            patience::until_true("the server is answered", || site.told("of the client") == 1);
            assert_eq!((told_itself(site, "\"sampling\":"), told_itself(site, "\"elicitation\":")), (1, 0));
        },
    );
}

/// A server that may ask nothing is shared by clients that differ in what it may not ask for.
#[test]
fn clients_share_a_server_that_may_not_ask() {
    on_shared_routes(
        || servers(denying(&["sampling", "elicitation", "roots"]), OFFER),
        |site| {
            site.open_gate();
            let (mut one, mut two) = (open(site), site.open());
            let shared = one.process("x://a");
            assert_eq!(two.process("x://a"), shared);
            for (kind, question) in QUESTIONS {
                assert!(ask(site, &mut two, kind, question).contains("-32601"));
            }
            assert_eq!((one.process("x://a"), two.process("x://a")), (shared, shared));
        },
    );
}

#[test]
fn denials_are_logged() {
    let house = House::with(json!({}), denying(&["sampling"]), &[]);
    let mut window = house.open("a");
    let answer = window.call("ask", asking());
    assert!(answer.to_string().contains("does not support"), "{answer}");
    window.call("ask", asking());
    let log = log_in(&house.state("logs"), "request to the client denied");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("denied")).collect();
    assert_eq!(lines.len(), 1, "further ones are for the debug level: {lines:?}");
    for word in ["WARN", "sampling/createMessage", "identity=\"owner\"", "server=\"fake\""] {
        assert!(lines[0].contains(word), "{word}: {lines:?}");
    }
}
