//! `scope: auto`: servers that ignore the folder run once, in the home folder, on every route. Others run once per folder.

use super::house::{House, server_of};
use crate::aggregate::servers::greet_with;
use crate::isolation::routes::{on_every_route, servers};
use crate::support::fake_backend;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use switchboard_testkit::patience;

/// The fake backend under the name of a package that is known to ignore the folder.
fn known_server() -> PathBuf {
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-server-time");
    match std::os::unix::fs::symlink(fake_backend(), &link) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{error}"),
        Ok(()) | Err(_) => link,
    }
}

fn house(keys: Value, options: &[&str]) -> House {
    let mut server = json!({ "command": known_server() });
    server.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    House::with(json!({}), server, options)
}

fn scope(house: &House) -> (String, String) {
    let status = house.status();
    let server = &status["daemons"][0]["servers"][0];
    let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
    (text("scope"), text("scopeReason"))
}

#[track_caller]
fn check(keys: Value, options: &[&str], expect: (&str, &str), instances: u32) {
    let house = house(keys, options);
    let mut windows = ["a", "b", "a"].map(|folder| house.open(folder));
    let servers = windows.each_mut().map(server_of);
    assert_eq!(servers[0] == servers[1], instances == 1);
    assert_eq!(servers[0], servers[2]);
    assert_eq!(house.record().launches(), instances);
    assert_eq!(scope(&house), (expect.0.to_owned(), expect.1.to_owned()));
    assert!(house.say(&["status"]).contains(&format!("scope {}: {}", expect.0, expect.1)));
    let explained =
        house.say(&["explain", "--method", "ping", "--config", house.config().to_str().unwrap(), "--json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let answer = &explained["answers"][0];
    assert_eq!((&answer["scope"], &answer["scopeReason"]), (&json!(expect.0), &json!(expect.1)));
}

#[test]
fn known_package_runs_once_for_all_folders() {
    check(json!({}), &[], ("global", "mcp-server-time does not depend on the folder"), 1);
}

#[test]
fn configured_scope_wins() {
    check(json!({ "scope": "root" }), &[], ("root", "set in the config"), 2);
}

#[test]
fn relative_path_means_scope_root() {
    check(
        json!({ "env": { "ZONES_DIR": "zones" } }),
        &[],
        ("root", "its launch contains a relative path (env.ZONES_DIR)"),
        2,
    );
}

#[test]
fn package_name_counts_only_as_command() {
    let house = House::with(json!({}), json!({ "env": { "PACKAGE": "mcp-server-time" } }), &[]);
    let mut windows = ["a", "b"].map(|folder| house.open(folder));
    let servers = windows.each_mut().map(server_of);
    assert_ne!(servers[0], servers[1]);
    assert_eq!(scope(&house).1, "it may depend on the folder (set `scope` if not)");
}

const OFFER: &str = r#"{ "tools": [{ "name": "facts" }], "prompts": [] }"#;

#[test]
fn global_server_starts_in_home_folder() {
    on_every_route(
        || servers(json!({ "command": known_server() }), OFFER),
        |site| {
            let mut client = site.open();
            site.open_gate();
            client.names("tools");
            let facts = client.call("facts", json!({}))["result"].clone();
            let home = fs::canonicalize(facts["env"]["HOME"].as_str().unwrap()).unwrap();
            assert_eq!(facts["cwd"], json!(home), "{facts:#}");
        },
    );
}

/// The request is remembered: at the second start, each workspace has its own process from the first request
/// on.
#[test]
fn roots_request_means_scope_root() {
    let house = house(json!({}), &[]);
    let mut first = greet_with(house.window("a"), json!({ "roots": {} }));
    let line = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    let call = first.start_call("say", json!({ "text": format!("{line}\n{answer}\n") }));
    let question = first.recv_where("a question", |message| message["method"] == "roots/list");
    let roots = json!({ "roots": [{ "uri": format!("file://{}", house.path("a").display()) }] });
    first.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": roots }).to_string());
    first.answer(call);
    patience::until_true("it is known", || scope(&house).0 == "root");
    assert_eq!(scope(&house), ("root".to_owned(), "it asks for its client's roots".to_owned()));
    let mut second = house.open("b");
    for (folder, window) in [("a", &mut first), ("b", &mut second)] {
        let facts = window.call("facts", json!({}))["result"].clone();
        assert_eq!(facts["cwd"], json!(house.path(folder)), "{facts:#}");
    }
}
