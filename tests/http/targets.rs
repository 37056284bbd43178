//! Targets: the servers behind a path, and the instances that a client gets.

use super::served::{FAKE, Served, refused};
use crate::daemon::house::{House, server_of};
use crate::support::fake_backend;
use serde_json::{Value, json};
use switchboard_testkit::client::VERSION;
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::scratch::Scratch;

fn tools(talk: &Talk) -> Vec<String> {
    let list = talk.request("tools/list", json!({}));
    list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Three servers, and a profile with two of them.
fn three() -> (Served, Scratch) {
    let scratch = Scratch::new();
    let entry = |name: &str| json!({ "command": fake_backend(), "args": ["--record", scratch.folder(name), "--tool", format!("of-{name}")] });
    let file = json!({
        "mcpServers": { "a": entry("a"), "b": entry("b"), "c": entry("c") },
        "profiles": { "two": ["a", "b"] },
    });
    (Served::with(file, json!({}), &[]), scratch)
}

#[test]
fn profile_offers_its_servers_only() {
    let (served, _scratch) = three();
    let has = |talk: &Talk| ["a", "b", "c"].map(|name| tools(talk).contains(&format!("{name}__of-{name}")));
    assert_eq!(has(&Talk::open(&served.web, "/profiles/two/mcp")), [true, true, false]);
    assert_eq!(has(&Talk::open(&served.web, "/mcp")), [true, true, true]);
    assert!(tools(&Talk::open(&served.web, "/servers/c/mcp")).contains(&"of-c".to_owned()));
    let said =
        refused(served.web.post("/profiles/nobody/mcp", hello("2025-11-25", json!({})).to_string()), 404);
    assert!(said.contains("nobody"), "{said}");
}

/// The error differs from that of a lost session, which would make a client begin again and again.
#[test]
fn unknown_server_lists_known_ones() {
    let (served, _scratch) = three();
    for ask in [
        served.web.post("/servers/d/mcp", hello("2025-11-25", json!({})).to_string()),
        served.web.get("/servers/d/mcp").header("Mcp-Session-Id", "x"),
        served.web.get("/servers/d/sse"),
    ] {
        let said = refused(ask, 404);
        assert!(said.contains("there are: a, b, c"), "{said}");
        assert!(!said.contains("-32001"), "{said}");
    }
}

/// The folder that a client's server runs in.
fn folder_of(web: &switchboard_testkit::http::Web) -> Value {
    Talk::open(web, FAKE).call("facts", json!({}))["result"]["cwd"].clone()
}

#[test]
fn root_header_selects_the_instance() {
    let scratch = Scratch::new();
    let [a, b] = ["a", "b"].map(|name| scratch.folder(name));
    let served = Served::set(json!({ "rootMap": { "shop": a } }));
    let at = |root: &str| served.web.with("Switchboard-Root", root);
    assert_eq!(folder_of(&at(&b.display().to_string())), json!(b));
    assert_eq!(folder_of(&at("shop")), json!(a));
    assert_eq!(folder_of(&at(&a.display().to_string())), json!(a));
    assert_eq!(served.record().launches(), 2, "one each");
    for unknown in ["/no/such/folder", "shop2", ""] {
        let said = refused(at(unknown).post(FAKE, hello("2025-11-25", json!({})).to_string()), 400);
        assert!(said.contains(unknown), "{said}");
    }
}

/// The windows' daemon is the program that serves.
#[test]
fn windows_and_http_clients_share_servers() {
    let served = Served::new();
    let folder = served.house.path("w");
    let mut window = served.house.open("w");
    // The same version, since another would need its own server.
    let web = served.web.with("Switchboard-Root", &folder.display().to_string());
    let talk = Talk::open_as(&web, FAKE, VERSION, json!({}));
    let pid = talk.call("facts", json!({}))["result"]["pid"].as_u64().unwrap();
    assert_eq!(u64::from(server_of(&mut window)), pid);
    assert_eq!(served.record().launches(), 1);
    assert!(served.house.daemons().is_empty(), "no other was started");
}

/// The daemon that a window has started retires.
#[test]
fn earlier_windows_keep_their_servers() {
    let house = House::new();
    let mut window = house.open("w");
    let before = server_of(&mut window);
    let served = Served::start(house, &[]);
    assert_eq!(server_of(&mut window), before);
    let mut other = served.house.open("w");
    server_of(&mut other);
    drop(window);
}
