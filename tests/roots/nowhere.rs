//! No workspace at all: an error with a hint, or an instance without a root.

use super::editor::{Editor, folders, rooted, uri};
use crate::support::{configured, error, log_with};
use serde_json::json;
use switchboard_testkit::client::initialize_params;

const WARNING: &str = "serving it without one";

#[test]
fn server_that_needs_a_root_is_refused() {
    let mut client = rooted(json!({}), json!({})).start();
    for (method, params) in [("initialize", initialize_params()), ("tools/list", json!({}))] {
        let answer = client.request(method, params);
        let data = &error(&answer, -32004, "routing_failed")["data"];
        assert_eq!((&data["server"], &data["root"]), (&json!("fake"), &json!(null)), "{answer}");
        assert!(data["hint"].as_str().unwrap().contains("--root"), "{answer}");
    }
    assert_eq!(client.record().launches(), 0);
}

#[test]
fn server_without_a_root_causes_a_warning() {
    let mut editor = Editor::plain(configured(json!({}), json!({ "rootArguments": ["path"] }), &[]));
    let home = editor.facts(json!({})).pid;
    let log = log_with(&editor.client, WARNING);
    assert!(log.contains("WARN"), "{log}");
    // A path outside any project changes nothing.
    let nowhere = editor.at("home/x");
    assert_eq!(editor.facts(json!({ "path": nowhere })).pid, home);
    let project = editor.at("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    assert_eq!(editor.facts(json!({ "path": project.join("x") })).cwd, project);
    assert_eq!(editor.record().launches(), 2);
}

/// At the handshake, the roots are not known yet.
#[test]
fn no_warning_when_the_client_names_roots() {
    let start = configured(json!({}), json!({ "rootArguments": ["path"] }), &[]);
    let [a] = folders(&start, ["a"]);
    let mut editor = Editor::open(start, &[&a]);
    assert_eq!(editor.facts(json!({})).cwd, a);
    assert_eq!(editor.client.finish().code, Some(0));
    editor.client.scratch().stop_daemons();
    let log = log_with(&editor.client, "finished");
    assert!(!log.contains(WARNING), "{log}");
    // A client with an empty list does cause a warning.
    let start = configured(json!({}), json!({ "rootArguments": ["path"] }), &[]);
    let mut editor = Editor::open::<&str>(start, &[]);
    editor.facts(json!({}));
    log_with(&editor.client, WARNING);
}

#[test]
fn fallback_off_refuses_without_a_root() {
    let start = configured(json!({ "fallback": "off" }), json!({ "rootArguments": ["path"] }), &[]);
    let [a] = folders(&start, ["a"]);
    let mut client = start.start();
    error(&client.request("initialize", initialize_params()), -32004, "routing_failed");
    error(&client.call("facts", json!({ "path": a })), -32004, "routing_failed");
    assert_eq!(client.record().launches(), 0);
}

/// The client's roots count as soon as they are known.
#[test]
fn fallback_off_waits_for_the_roots() {
    let start = configured(json!({ "fallback": "off" }), json!({ "rootArguments": ["path"] }), &[]);
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    assert_eq!(editor.facts(json!({})).cwd, a);
    assert_eq!(editor.facts(json!({ "file": uri(&b) })).cwd, b);
}
