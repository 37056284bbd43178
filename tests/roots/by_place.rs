//! Routing by path: a request that names a path goes to the instance of the workspace around it.

use super::editor::{Editor, Facts, folders, rooted, uri};
use crate::support::configured;
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::client::Start;

/// The fake backend, started in its root and routed by the argument `path`.
fn with_paths(file: Value) -> Start {
    configured(file, json!({ "rootArguments": ["path"], "maxBackends": 8 }), &[])
}

#[test]
fn call_is_routed_by_its_uri() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let of_b = editor.facts(json!({ "file": uri(b.join("src/main.rs")) }));
    of_b.is_at(&b);
    let of_a = editor.facts(json!({ "file": uri(a.join("x")) }));
    of_a.is_at(&a);
    assert_ne!(of_a.pid, of_b.pid);
    assert_eq!(editor.facts(json!({ "other": uri(&b) })).pid, of_b.pid, "the same instance again");
    assert_eq!(editor.record().launches(), 2);
}

#[test]
fn request_without_a_place_uses_first_root() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    assert!(editor.request("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!(editor.record().launches(), 1, "nothing was needed in the other root");
    let home = editor.facts(json!({}));
    home.is_at(&a);
    assert_eq!(home.pid, editor.record().pid(1), "the list came from there");
}

#[test]
fn default_among_the_roots_beats_the_first() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let start = start.arg("--default-root").arg(&b);
    Editor::open(start, &[&a, &b]).facts(json!({})).is_at(&b);
}

#[test]
fn resource_is_read_in_the_root_of_its_uri() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let home = editor.facts(json!({}));
    let read = editor.request("resources/read", json!({ "uri": uri(b.join("notes")) }));
    let launch = read["result"]["launch"].as_u64().unwrap() as u32;
    assert_ne!(editor.record().pid(launch), home.pid);
    assert_eq!(editor.record().pid(launch), editor.facts(json!({ "file": uri(&b) })).pid);
    let read = editor.request("resources/read", json!({ "uri": "memo://notes" }));
    let launch = read["result"]["launch"].as_u64().unwrap() as u32;
    assert_eq!(editor.record().pid(launch), home.pid, "no file, no place");
}

#[test]
fn concurrent_calls_start_one_process() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    editor.facts(json!({})).is_at(&a);
    let call = |id: u32| {
        let params = json!({ "name": "facts", "arguments": { "file": uri(&b) } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    editor.client.send_bytes(format!("{}\n{}\n", call(1001), call(1002)));
    let (one, other) = (Facts::of(&editor.answer(1001)), Facts::of(&editor.answer(1002)));
    one.is_at(&b);
    assert_eq!(one.pid, other.pid);
    assert_eq!(editor.record().launches(), 2, "one for each root");
}

#[test]
fn batch_members_are_routed_separately() {
    let start = rooted(json!({}), json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    editor.facts(json!({})).is_at(&a);
    let call = |id: u32, root: &Path| {
        let params = json!({ "name": "facts", "arguments": { "file": uri(root) } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    editor.client.send(json!([call(1001, &b), call(1002, &a)]).to_string());
    let answers = editor.client.recv_where("one answer to both", Value::is_array);
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 2);
    for (id, root) in [(1001, &b), (1002, &a)] {
        Facts::of(answers.iter().find(|answer| answer["id"] == id).unwrap()).is_at(root);
    }
}

/// A long message is scanned on another thread, and its paths are not found while it is read.
#[test]
fn long_call_is_routed_like_any_other() {
    let start = with_paths(json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let text = "file:///nowhere ".repeat(40_000);
    assert_eq!(editor.facts(json!({ "a": text, "path": b.join("x"), "z": text })).cwd, b);
    assert_eq!(editor.facts(json!({ "a": text })).cwd, a);
}

#[test]
fn root_argument_accepts_any_spelling() {
    let start = with_paths(json!({}));
    let [a, inner, b] = folders(&start, ["a", "a/inner", "b c"]);
    let beside = start.scratch().folder("a/inner-not");
    std::os::unix::fs::symlink(&b, start.scratch().join("link")).unwrap();
    let mut editor = Editor::open(start, &[&a, &inner, &b]);
    let root = editor.at("");
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    let mut check = |path: &str, expect: &Path| {
        let path = path.replace('@', &root);
        assert_eq!(editor.facts(json!({ "path": path })).cwd, expect, "{path}");
    };
    check("@/b c/x", &b);
    check("@/b c", &b);
    check("@/b c/", &b);
    check("@/link/x/not/there", &b);
    check("@/a/../b c/./x", &b);
    check("file://@/b%20c/x", &b);
    check("FILE://localhost@/b%20c/", &b);
    // The innermost root, and only by whole names.
    check("@/a/x", &a);
    check("@/a/inner/x", &inner);
    check("@/a/inner/../x", &a);
    check("@/a/inner/deep/../x", &inner);
    check(beside.to_str().unwrap(), &a);
}

/// Clients may spell their roots in their own way too.
#[test]
fn root_may_be_a_link_or_end_in_a_slash() {
    let start = with_paths(json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    std::os::unix::fs::symlink(&b, start.scratch().join("link")).unwrap();
    let link = start.scratch().join("link/");
    let mut editor = Editor::open(start, &[a, link]);
    let one = editor.facts(json!({ "path": b.join("x") }));
    assert_eq!(one.cwd, b);
    let through_the_link = editor.at("link/x");
    assert_eq!(editor.facts(json!({ "path": through_the_link })).pid, one.pid);
}

#[test]
fn text_that_contains_a_path_routes_nothing() {
    let start = with_paths(json!({}));
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let mut check = |arguments: Value, expect: &Path| {
        assert_eq!(editor.facts(arguments.clone()).cwd, expect, "{arguments}");
    };
    let there = uri(b.join("x"));
    check(json!({ "text": format!("see {there}") }), &a);
    check(json!({ "text": format!("{there} is the one") }), &a);
    check(json!({ "text": format!("{there}\n{there}") }), &a);
    check(json!({ "list": [there], "deep": { "path": b, "uri": there } }), &a);
    check(json!({ "other": b }), &a);
    check(json!({ "path": [b] }), &a);
    check(json!({ "path": "src/x" }), &a);
    check(json!({ "text": there }), &b);
}

#[test]
fn path_outside_all_roots_opens_its_project() {
    let start = with_paths(json!({}));
    let [a, project, plain] = folders(&start, ["a", "project", "plain"]);
    start.scratch().folder("project/.git");
    start.scratch().folder("project/src");
    let mut editor = Editor::open(start, &[&a]);
    let there = project.join("src/main.rs");
    assert_eq!(editor.facts(json!({ "text": uri(plain.join("x")) })).cwd, a, "no project");
    let read = |editor: &mut Editor| {
        let read = editor.request("resources/read", json!({ "uri": uri(&there) }));
        editor.record().pid(read["result"]["launch"].as_u64().unwrap() as u32)
    };
    let home = editor.facts(json!({})).pid;
    assert_eq!(read(&mut editor), home, "what a server calls its resources opens nothing");
    let opened = editor.facts(json!({ "path": there }));
    assert_eq!(opened.cwd, project);
    assert_eq!(read(&mut editor), opened.pid, "now it is known");
    assert_eq!(editor.facts(json!({})).pid, home, "the client's own root is still where it works");
}

#[test]
fn open_roots_false_opens_no_project() {
    let start = with_paths(json!({ "openRoots": false }));
    let [a, project] = folders(&start, ["a", "project"]);
    start.scratch().folder("project/.git");
    let mut editor = Editor::open(start, &[&a]);
    let home = editor.facts(json!({}));
    assert_eq!(home.cwd, a);
    assert_eq!(editor.facts(json!({ "path": project.join("x") })).pid, home.pid);
}
