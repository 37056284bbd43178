//! Routing without a path: pinned roots, the client's roots, environment and folder, given roots and
//! defaults.

use super::editor::{Editor, folders, rooted, uri};
use crate::support::{configured, error};
use serde_json::json;

#[test]
fn pinned_root_overrides_everything() {
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
fn environment_can_pin_the_root() {
    let start = rooted(json!({}), json!({}));
    let [a, b, pinned] = folders(&start, ["a", "b", "pinned"]);
    let start = start.env("SWITCHBOARD_ROOT", &pinned);
    let mut editor = Editor::open(start, &[&a]);
    editor.facts(json!({ "file": uri(&a) })).is_at(&pinned);
    // The command line wins.
    let start = rooted(json!({}), json!({}));
    let start = start.env("SWITCHBOARD_ROOT", &pinned).arg("--pin-root").arg(&b);
    Editor::open(start, &[&a]).facts(json!({})).is_at(&b);
}

#[test]
fn first_given_root_is_the_last_resort() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let start = start.arg("--root").arg(&a).arg("--root").arg(&b);
    let mut editor = Editor::plain(start);
    editor.facts(json!({})).is_at(&a);
    editor.facts(json!({ "file": uri(b.join("x")) })).is_at(&b);
}

#[test]
fn default_root_beats_the_first_given() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let start = start.arg("--root").arg(&a).arg("--default-root").arg(&b);
    Editor::plain(start).facts(json!({})).is_at(&b);
}

#[test]
fn config_can_name_a_default_root() {
    // A relative path starts at the config file's folder.
    let start = rooted(json!({ "defaultRoot": "b" }), json!({}));
    let [_, b] = folders(&start, ["a", "b"]);
    Editor::plain(start).facts(json!({})).is_at(&b);
    // The command line wins.
    let start = rooted(json!({ "defaultRoot": "b" }), json!({}));
    let [_, c] = folders(&start, ["b", "c"]);
    Editor::plain(start.arg("--default-root").arg(&c)).facts(json!({})).is_at(&c);
}

#[test]
fn environment_and_cwd_name_the_root() {
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
fn roots_beat_the_environment() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start.env("CLAUDE_PROJECT_DIR", &a).cwd(&a), &[&b]);
    editor.facts(json!({})).is_at(&b);
}

/// Programs started from a dock run there.
#[test]
fn home_and_its_parents_are_no_workspace() {
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

/// A server that ignores its folder still starts in the workspace.
#[test]
fn server_starts_in_the_workspace() {
    let start = configured(json!({}), json!({}), &[]);
    let [a] = folders(&start, ["a"]);
    assert_eq!(Editor::plain(start.cwd(&a)).facts(json!({})).cwd, a);
    let start = configured(json!({}), json!({ "cwd": "deep" }), &[]);
    let [a, deep] = folders(&start, ["a", "a/deep"]);
    assert_eq!(Editor::plain(start.cwd(&a)).facts(json!({})).cwd, deep);
}
