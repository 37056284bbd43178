//! Audit of access: lines name the token, and every refusal of access has one, wherever it was refused.

use super::audit::records;
use super::token::{Place, create, kind, showing, with_variable};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, asking, refused};
use serde_json::{Value, json};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::http::{Reply, Talk, Web, call, hello};
use switchboard_testkit::patience;

/// `event identity front item result` of a line; `-` for what it lacks.
fn brief(line: &Value) -> String {
    let words = ["event", "identity", "front", "item", "result"].map(|key| line[key].as_str().unwrap_or("-"));
    words.join(" ")
}

fn briefs(house: &House, count: usize) -> Vec<String> {
    records(house, count).iter().map(brief).collect()
}

/// Serves with a token `ci` that was made before: a client that knocked too early would have lines of its own.
fn serving(file: Value, server: Value, flags: &[&str]) -> (Served, String) {
    let house = House::with(file, server, &[]);
    let token = create(&house, &[&["ci"], flags].concat());
    (Served::start(house, &[]), token)
}

fn with_token(served: &Served, token: &str) -> Web {
    served.web.with("Authorization", &format!("Bearer {token}"))
}

/// Every way in which a client shows a token. Windows of the owner have no line.
#[test]
fn lines_name_the_token() {
    let (served, token) = serving(json!({ "profiles": { "p": ["fake"] } }), json!({}), &[]);
    let web = with_token(&served, &token);
    for (path, tool) in [(FAKE, "echo"), ("/mcp", "fake__echo"), ("/profiles/p/mcp", "fake__echo")] {
        Talk::open(&web, path).call(tool, json!({}));
    }
    let mut owner = served.house.open("home");
    owner.call("echo", json!({}));
    for solo in ["0", "1"] {
        let window = || served.house.window("home").env("SWITCHBOARD_SOLO", solo);
        let mut by_variable = with_variable(window(), &token);
        by_variable.initialize();
        by_variable.call("echo", json!({}));
        by_variable.finish();
        for place in Place::BOTH {
            let mut by_message = window().start();
            by_message.request("initialize", showing(place, &token));
            by_message.notify("notifications/initialized", json!({}));
            by_message.call("echo", json!({}));
            by_message.finish();
        }
    }
    let mut expect = vec!["call ci http echo ok"; 3];
    expect.extend(["call ci stdio echo ok"; 6]);
    // Several processes write to the file, each at its own time.
    let mut found = briefs(&served.house, 9);
    found.sort();
    assert_eq!(found, expect);
}

#[test]
fn refusals_name_the_token() {
    let file = json!({ "profiles": { "none": { "servers": ["nothing*"] } } });
    let flags = ["--tools", "!work", "--methods", "!odd/*", "--rate", "1/h", "--servers", "fake"];
    let (served, token) = serving(file, json!({}), &flags);
    let web = with_token(&served, &token);
    let talk = Talk::open(&web, FAKE);
    talk.call("echo", json!({}));
    talk.call("work", json!({}));
    talk.request("odd/method", json!({}));
    talk.call("echo", json!({}));
    let knock = |web: &Web, path: &str| web.post(path, hello("2025-11-25", json!({})).to_string()).send();
    refused(knock(&web, "/servers/other/mcp"), 403);
    refused(knock(&web, "/profiles/none/mcp"), 403);
    refused(web.get("/servers/other/sse"), 403);
    refused(knock(&web.with("Switchboard-Root", "/etc"), FAKE), 403);
    let mut expect = vec![
        "call ci http echo ok",
        "call ci http work forbidden",
        "refused ci http - forbidden",
        "call ci http echo rate_limited",
    ];
    expect.extend(["refused ci http - forbidden"; 4]);
    assert_eq!(briefs(&served.house, 8), expect);
    let lines = records(&served.house, 8);
    assert_eq!((&lines[2]["method"], &lines[4]["from"]), (&json!("odd/method"), &json!("this machine")));
}

#[test]
fn denied_question_names_the_token() {
    let (served, token) = serving(json!({}), json!({ "asks": { "sampling": "deny" } }), &[]);
    let talk = Talk::open(&with_token(&served, &token), FAKE);
    talk.call("ask", asking());
    let lines = records(&served.house, 2);
    assert_eq!(lines.iter().map(brief).collect::<Vec<_>>(), ["ask_denied ci - - -", "call ci http ask ok"]);
    assert_eq!(
        (&lines[0]["server"], &lines[0]["method"]),
        (&json!("fake"), &json!("sampling/createMessage"))
    );
}

/// A call that was open when its token was revoked got this error, and has one line.
#[test]
fn revoked_calls_are_recorded_once() {
    let (served, token) = serving(json!({}), json!({}), &[]);
    let talk = Talk::open(&with_token(&served, &token), FAKE);
    let (_, message) = talk.call_of("hang", json!({}));
    let wire = talk.say(&message).header("Accept", "application/json").begin();
    served.record().wait_for(1, "\"hang\"");
    served.house.say(&["token", "revoke", "ci"]);
    assert_eq!(Reply::read(wire).unwrap().status, 401);
    // The owner's call comes after it.
    served.open().call("echo", json!({}));
    let lines = patience::until("the owner's line", || {
        let text = std::fs::read_to_string(served.house.state("logs/audit.jsonl")).unwrap_or_default();
        text.contains("\"owner\"").then(|| super::audit::parsed(&text))
    });
    let calls: Vec<String> = lines.iter().filter(|line| line["event"] == "call").map(brief).collect();
    assert_eq!(calls, ["call ci http hang unauthorized", "call owner http echo ok"]);
}

/// A window that does not prove who it is, is nobody; above all it is not the owner.
#[test]
fn strangers_at_windows_are_recorded() {
    let house = House::with(json!({ "access": { "stdio": "token" } }), json!({}), &[]);
    let open = House::new();
    let mut wrong = with_variable(house.window("home"), "swb_wrong");
    assert_eq!(kind(&wrong.request("initialize", initialize_params())), "unauthorized");
    let mut none = house.window("home").start();
    assert_eq!(kind(&none.call("echo", json!({}))), "unauthorized");
    assert_eq!(kind(&none.request("initialize", showing(Place::Meta, "swb_wrong"))), "unauthorized");
    let expect = [
        "refused - stdio - unauthorized",
        "call - stdio echo unauthorized",
        "refused - stdio - unauthorized",
    ];
    assert_eq!(briefs(&house, 3), expect);
    let mut window = open.window("home").start();
    assert_eq!(kind(&window.request("initialize", showing(Place::Proxy, "swb_wrong"))), "unauthorized");
    assert_eq!(briefs(&open, 1), ["refused - stdio - unauthorized"]);
}

#[test]
fn wrong_body_tokens_are_recorded() {
    let (served, token) =
        serving(json!({ "serve": { "tokenInBody": true } }), json!({}), &["--servers", "!fake"]);
    let web = served.web.without("Authorization");
    for (shown, status) in [(None, 401), (Some("swb_wrong"), 401), (Some(&*token), 403)] {
        let mut message = call(1, "echo", json!({}));
        shown.into_iter().for_each(|token| Place::Meta.put(&mut message["params"], token));
        refused(web.post(FAKE, message.to_string()), status);
    }
    let unknown = "refused - http - unauthorized";
    assert_eq!(briefs(&served.house, 3), [unknown, unknown, "refused ci http - forbidden"]);
}
