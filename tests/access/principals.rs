//! Principals: local windows and the first token are the owner; every other token is a party of its own, and meets
//! no state of another.

use super::token::{create, kind, web_of, web_with};
use crate::daemon::house::{House, server_of};
use crate::http::served::{FAKE, Served, refused};
use serde_json::{Value, json};
use switchboard_testkit::client::VERSION;
use switchboard_testkit::http::{Talk, Web, call};

fn pid(web: &Web, path: &str) -> u64 {
    let talk = Talk::open_as(web, path, VERSION, json!({}));
    let facts = talk.call(if path == FAKE { "facts" } else { "fake__facts" }, json!({}));
    facts["result"]["pid"].as_u64().unwrap_or_else(|| panic!("no facts: {facts}"))
}

#[test]
fn each_token_has_its_own_process() {
    let served = Served::start(House::with(json!({ "profiles": { "p": ["fake"] } }), json!({}), &[]), &[]);
    let root = served.house.path("w").display().to_string();
    let (ci, qa) = (web_of(&served, &["ci"]), web_of(&served, &["qa"]));
    let mut window = served.house.open("w");
    let owner = served.web.with("Switchboard-Root", &root);
    assert_eq!(u64::from(server_of(&mut window)), pid(&owner, FAKE), "the first token is the owner");
    for path in [FAKE, "/mcp", "/profiles/p/mcp"] {
        let [one, same, other] = [&ci, &ci, &qa].map(|web| pid(web, path));
        assert_eq!(one, same, "{path}: sessions of one token share");
        assert!(one != other && one != pid(&owner, path) && other != pid(&owner, path), "{path}");
    }
}

/// A token that was revoked and made again under the same name is another party.
#[test]
fn name_is_not_the_party() {
    let served = Served::with(json!({ "linger": "1h" }), json!({}), &[]);
    let before = pid(&web_of(&served, &["ci"]), FAKE);
    served.house.say(&["token", "revoke", "ci"]);
    assert_ne!(pid(&web_of(&served, &["ci"]), FAKE), before);
}

/// A server that is global and keeps no state is shared by all.
#[test]
fn stateless_server_is_shared() {
    let server = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
    let served = Served::with(json!({}), server, &[]);
    let ci = web_of(&served, &["ci"]);
    assert_eq!(pid(&ci, FAKE), pid(&served.web, FAKE));
}

/// Without authentication other users of the machine may be among the clients.
#[test]
fn anonymous_is_not_the_owner() {
    let house = House::new();
    // Made before the start: nothing tells when a running program without authentication knows a new one.
    let token = create(&house, &["ci"]);
    let served = Served::start(house, &["--no-auth"]);
    let mut window = served.house.open("home");
    let [one, other] = [pid(&served.web, FAKE), pid(&served.web, FAKE)];
    assert_eq!(one, other, "anonymous clients are one party");
    assert_ne!(one, u64::from(server_of(&mut window)));
    let ci = web_with(&served, &token);
    assert_ne!(pid(&ci, FAKE), one);
}

#[test]
fn session_is_of_its_token() {
    let served = Served::new();
    let (ci, qa) = (web_of(&served, &["ci"]), web_of(&served, &["qa"]));
    let talk = Talk::open(&ci, FAKE);
    let say = call(9, "echo", json!({ "is": "foreign" })).to_string();
    for other in [&qa, &served.web] {
        let named = |ask: switchboard_testkit::http::Ask| ask.header("Mcp-Session-Id", &talk.session);
        refused(named(other.post(FAKE, say.clone())), 404);
        refused(named(other.get(FAKE)), 404);
        refused(named(other.delete(FAKE)), 404);
        refused(other.post(&format!("/servers/fake/messages?session={}", talk.session), say.clone()), 404);
    }
    assert!(talk.call("echo", json!({})).get("result").is_some(), "it goes on");
    served.check_not_forwarded("foreign");
}

/// Only the owner could read any folder anyway.
#[test]
fn only_the_owner_names_folders() {
    let served = Served::set(json!({ "rootMap": { "shop": "/usr" } }));
    let ci = web_of(&served, &["ci"]);
    let hello = || switchboard_testkit::http::hello("2025-11-25", json!({})).to_string();
    let at = |web: &Web, root: &str| web.with("Switchboard-Root", root).post(FAKE, hello()).send();
    let mut refusal = at(&ci, "/etc");
    assert_eq!(refusal.status, 403);
    assert_eq!(kind(&refusal.json()), "forbidden");
    assert_eq!(at(&ci, "shop").status, 200, "mapped names are for everyone");
    assert_eq!(at(&served.web, "/etc").status, 200);
    let cwd =
        |web: &Web| -> Value { Talk::open(web, FAKE).call("facts", json!({}))["result"]["cwd"].clone() };
    assert_eq!(cwd(&ci.with("Switchboard-Root", "shop")), json!("/usr"));
}

#[test]
fn status_names_the_identity() {
    let served = Served::new();
    let ci = web_of(&served, &["ci"]);
    let (_own, _ci, _window) = (served.open(), Talk::open(&ci, FAKE), served.house.open("home"));
    let status = served.house.status();
    let clients = status["daemons"][0]["clients"].as_array().unwrap_or_else(|| panic!("{status}"));
    let mut names: Vec<&str> = clients.iter().map(|client| client["identity"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ci", "owner", "owner"], "{status}");
    let text = served.house.say(&["status"]);
    assert!(text.contains("as ci"), "{text}");
}
