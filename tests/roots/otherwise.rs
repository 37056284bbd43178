//! What counts when a request names no place: what was pinned, what the client says and stands in, what was given.

use super::editor::{Editor, folders, rooted, uri};
use crate::support::{configured, error};
use serde_json::json;

#[test]
fn a_pinned_root_ends_the_question() {
    let start = rooted(json!({}), json!({}));
    let [a, b, pinned] = folders(&start, ["a", "b", "pinned"]);
    let start = start.arg("--pin-root").arg(&pinned).arg("--root").arg(&a).cwd(&b);
    let mut editor = Editor::open(start.env("CLAUDE_PROJECT_DIR", &a), &[&a, &b]);
    editor.facts(json!({})).is_at(&pinned);
    editor.facts(json!({ "file": uri(&b) })).is_at(&pinned);
    let read = editor.request("resources/read", json!({ "uri": uri(&a) }));
    assert_eq!(read["result"]["launch"], 1);
    assert_eq!((editor.record().launches(), editor.asked), (1, 0), "nobody had to be asked");
}

#[test]
fn the_environment_may_pin_it_too() {
    let start = rooted(json!({}), json!({}));
    let [a, b, pinned] = folders(&start, ["a", "b", "pinned"]);
    let start = start.env("SWITCHBOARD_ROOT", &pinned);
    let mut editor = Editor::open(start, &[&a]);
    editor.facts(json!({ "file": uri(&a) })).is_at(&pinned);
    // The command line comes first.
    let start = rooted(json!({}), json!({}));
    let start = start.env("SWITCHBOARD_ROOT", &pinned).arg("--pin-root").arg(&b);
    Editor::open(start, &[&a]).facts(json!({})).is_at(&b);
}

#[test]
fn given_roots_are_routed_to_and_the_first_is_the_last_resort() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let start = start.arg("--root").arg(&a).arg("--root").arg(&b);
    let mut editor = Editor::plain(start);
    editor.facts(json!({})).is_at(&a);
    editor.facts(json!({ "file": uri(b.join("x")) })).is_at(&b);
}

#[test]
fn the_default_root_comes_before_the_first() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let start = start.arg("--root").arg(&a).arg("--default-root").arg(&b);
    Editor::plain(start).facts(json!({})).is_at(&b);
}

#[test]
fn the_config_may_name_a_default_root() {
    // A relative one: from the config file's folder.
    let start = rooted(json!({ "defaultRoot": "b" }), json!({}));
    let [_, b] = folders(&start, ["a", "b"]);
    Editor::plain(start).facts(json!({})).is_at(&b);
    // The command line comes first.
    let start = rooted(json!({ "defaultRoot": "b" }), json!({}));
    let [_, c] = folders(&start, ["b", "c"]);
    Editor::plain(start.arg("--default-root").arg(&c)).facts(json!({})).is_at(&c);
}

#[test]
fn the_clients_environment_and_its_folder_say_where_it_works() {
    for name in ["CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS"] {
        let start = rooted(json!({}), json!({}));
        let [a, b, c] = folders(&start, ["a", "b", "c"]);
        let start = start.env(name, &a).cwd(&b).arg("--default-root").arg(&c);
        Editor::plain(start).facts(json!({})).is_at(&a);
    }
    let start = rooted(json!({}), json!({}));
    let [b, c] = folders(&start, ["b", "c"]);
    Editor::plain(start.cwd(&b).arg("--default-root").arg(&c)).facts(json!({})).is_at(&b);
}

#[test]
fn the_clients_roots_come_before_its_environment() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start.env("CLAUDE_PROJECT_DIR", &a).cwd(&a), &[&b]);
    editor.facts(json!({})).is_at(&b);
}

/// Programs that are started from a dock stand there.
#[test]
fn the_home_folder_and_the_outermost_are_no_workspaces() {
    for folder in ["home", "..", "/"] {
        let start = rooted(json!({}), json!({}));
        let cwd = start.scratch().join(folder);
        let mut client = start.cwd(cwd).start();
        let answer = client.request("initialize", switchboard_testkit::client::initialize_params());
        error(&answer, -32004, "routing_failed");
        assert_eq!(client.record().launches(), 0, "{folder}");
    }
    let start = rooted(json!({}), json!({}));
    let folder = start.scratch().folder("home/work");
    Editor::plain(start.cwd(&folder)).facts(json!({})).is_at(&folder);
}

/// A server that does not care where it runs still starts in the workspace.
#[test]
fn a_server_starts_in_the_workspace() {
    let start = configured(json!({}), json!({}), &[]);
    let [a] = folders(&start, ["a"]);
    assert_eq!(Editor::plain(start.cwd(&a)).facts(json!({})).cwd, a);
    let start = configured(json!({}), json!({ "cwd": "deep" }), &[]);
    let [a, deep] = folders(&start, ["a", "a/deep"]);
    assert_eq!(Editor::plain(start.cwd(&a)).facts(json!({})).cwd, deep);
}
