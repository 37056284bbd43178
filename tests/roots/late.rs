//! Roots that arrive after the handshake, change, and vanish.

use super::editor::{Editor, Facts, folders, rooted, uri};
use crate::support::{configured, error};
use serde_json::json;
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::{patience, pids};

/// A client started from a dock: only its roots say where it works.
#[test]
fn handshake_does_not_wait_for_roots() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let home = start.scratch().join("home");
    let mut editor = Editor::open(start.cwd(home), &[&a, &b]);
    assert_eq!((editor.record().launches(), editor.asked), (0, 0), "there was nothing to start yet");
    assert!(editor.request("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!((editor.record().launches(), editor.asked), (1, 1));
    editor.facts(json!({})).is_at(&a);
    let heard = editor.record().lines(1);
    assert!(heard[0].contains(r#""method":"initialize""#) && heard[0].contains("testkit"), "{heard:?}");
    assert!(heard[1].contains("notifications/initialized"), "{heard:?}");
    assert!(heard[2].contains("tools/list"), "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("\"roots/list\"")), "{heard:?}");
}

#[test]
fn calls_before_the_roots_are_routed_right() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    // Both are sent before the editor has answered anything.
    let home = editor.client.start_call("facts", json!({}));
    let there = editor.client.start_call("facts", json!({ "file": uri(&b) }));
    Facts::of(&editor.answer(home)).is_at(&a);
    Facts::of(&editor.answer(there)).is_at(&b);
}

/// A ping is about the connection, not about the workspace.
#[test]
fn ping_needs_no_workspace() {
    let start = rooted(json!({}), json!({}));
    let [a] = folders(&start, ["a"]);
    let mut editor = Editor::open(start, &[&a]);
    // The `roots/list` request has arrived, but is not answered yet.
    assert_eq!(editor.client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(editor.record().launches(), 0);
    editor.facts(json!({})).is_at(&a);
    editor.change::<&str>(&[]);
    error(&editor.request("tools/list", json!({})), -32004, "routing_failed");
    assert_eq!(editor.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn unanswered_roots_request_is_an_error() {
    let mut client = rooted(json!({}), json!({})).start();
    let mut params = initialize_params();
    params["capabilities"] = json!({ "roots": {} });
    assert!(client.request("initialize", params)["result"].is_object());
    client.notify("notifications/initialized", json!({}));
    let list = client.ask("tools/list", json!({}));
    client.told("roots/list");
    error(&client.answer(list), -32004, "routing_failed");
    error(&client.call("facts", json!({})), -32004, "routing_failed");
}

#[test]
fn refused_roots_request_means_no_roots() {
    let start = rooted(json!({}), json!({}));
    let [fallback] = folders(&start, ["d"]);
    let mut client = start.arg("--default-root").arg(&fallback).start();
    let mut params = initialize_params();
    params["capabilities"] = json!({ "roots": {} });
    assert!(client.request("initialize", params)["result"].is_object());
    client.notify("notifications/initialized", json!({}));
    let call = client.start_call("facts", json!({}));
    let asked = client.told("roots/list")["id"].clone();
    let refusal = json!({ "code": -32601, "message": "Method not found" });
    client.send(json!({ "jsonrpc": "2.0", "id": asked, "error": refusal }).to_string());
    Facts::of(&client.answer(call)).is_at(&fallback);
}

#[test]
fn calls_follow_changed_roots() {
    let start = rooted(json!({}), json!({}));
    let [a, b, c] = folders(&start, ["a", "b", "c"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    editor.facts(json!({})).is_at(&a);
    editor.change(&[&b]);
    editor.facts(json!({})).is_at(&b);
    editor.change(&[&c, &a]);
    editor.facts(json!({})).is_at(&c);
    editor.facts(json!({ "file": uri(a.join("x")) })).is_at(&a);
}

/// Its lists may be those of the other workspace.
#[test]
fn moved_client_gets_list_changed() {
    let greeting = r#"{"jsonrpc":"2.0","id":%ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"f","version":"1"}}}"#;
    let greeting = format!("{greeting}\n");
    let server = json!({ "rootArguments": ["path"] });
    let start = configured(json!({}), server, &["--greeting", &greeting]);
    let [guess, a] = folders(&start, ["guess", "a"]);
    let mut editor = Editor::open(start.cwd(guess), &[&a]);
    assert_eq!(editor.facts(json!({})).cwd, a);
    let told = editor.client.told("notifications/tools/list_changed");
    assert_eq!(told, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    assert!(!editor.finish().contains("list_changed"), "only of what the server said may change");
}

#[test]
fn roots_may_vanish_and_return() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a]);
    editor.facts(json!({})).is_at(&a);
    editor.change::<&str>(&[]);
    error(&editor.call("facts", json!({})), -32004, "routing_failed");
    error(&editor.request("tools/list", json!({})), -32004, "routing_failed");
    editor.change(&[&b]);
    editor.facts(json!({})).is_at(&b);
}

/// The server was started in the client's folder for lack of anything better; the roots say otherwise.
#[test]
fn guessed_root_yields_to_the_clients() {
    let start = rooted(json!({}), json!({}));
    let [guess, a] = folders(&start, ["guess", "a"]);
    let mut editor = Editor::open(start.cwd(guess), &[&a]);
    let guessed = editor.record().pid(1);
    editor.facts(json!({})).is_at(&a);
    patience::until_true("nobody works where it was guessed", || !pids::is_alive(guessed));
}

/// Some clients send their roots with `initialize`, as editors do to language servers.
#[test]
fn roots_in_initialize_count() {
    let start = rooted(json!({}), json!({}));
    let [a] = folders(&start, ["a"]);
    let mut client = start.start();
    let mut params = initialize_params();
    params["roots"] = json!([{ "uri": uri(&a) }]);
    assert!(client.request("initialize", params)["result"]["serverInfo"]["name"] == "fake-backend");
    client.notify("notifications/initialized", json!({}));
    Facts::of(&client.call("facts", json!({}))).is_at(&a);
}

#[test]
fn missing_root_folder_fails_the_spawn() {
    let start = rooted(json!({}), json!({}));
    let gone = start.scratch().join("gone");
    let mut editor = Editor::open(start, &[&gone]);
    let answer = editor.call("facts", json!({}));
    let data = &error(&answer, -32001, "backend_spawn_failed")["data"];
    assert_eq!(data["root"], json!(gone), "{answer}");
    std::fs::create_dir(&gone).unwrap();
    editor.facts(json!({})).is_at(&gone);
}

#[test]
fn twenty_roots_start_only_used_servers() {
    let start = rooted(json!({}), json!({}));
    let roots: Vec<_> = (0..20).map(|n| start.scratch().folder(&format!("r{n}"))).collect();
    let mut editor = Editor::open(start, &roots);
    editor.facts(json!({})).is_at(&roots[0]);
    editor.facts(json!({ "file": uri(roots[19].join("x")) })).is_at(&roots[19]);
    assert_eq!(editor.record().launches(), 2);
}
