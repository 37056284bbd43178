//! A server that does not depend on the root: one instance for all folders of the client.

use super::editor::{Editor, folders, uri};
use crate::support::{configured, error, text};
use serde_json::{Value, json};

/// Roots that the server gets, as spelled in the answer.
#[track_caller]
fn told(editor: &mut Editor) -> String {
    let request = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let answer = editor.call("ask", json!({ "id": "\"r\"", "request": request }));
    let line = text(&answer);
    let inner = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"r","result":{"roots":["#);
    inner.and_then(|inner| inner.strip_suffix("]}}")).unwrap_or_else(|| panic!("{line}")).to_owned()
}

fn changes(editor: &Editor, launch: u32) -> usize {
    let heard = editor.record().lines(launch);
    heard.iter().filter(|line| line.contains("notifications/roots/list_changed")).count()
}

#[test]
fn one_instance_serves_all_roots() {
    let start = configured(json!({}), json!({}), &[]);
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let one = editor.facts(json!({ "path": a, "file": uri(&a) })).pid;
    assert_eq!(editor.facts(json!({ "path": b, "file": uri(&b) })).pid, one);
    assert_eq!(editor.request("resources/read", json!({ "uri": uri(&b) }))["result"]["launch"], 1);
    assert_eq!((editor.record().launches(), editor.asked), (1, 0), "the server did not ask, so we did not");
}

#[test]
fn server_gets_roots_as_spelled() {
    let start = configured(json!({}), json!({}), &[]);
    let [a, b] = folders(&start, ["a", "b c"]);
    let mut editor = Editor::open(start, &[&a]);
    let (a, b) = (uri(&a), uri(&b).replace(' ', "%20"));
    let spelled = vec![
        format!(r#"{{ "name":"f\u00e9 \/ 1.0e0", "uri":"{a}","_meta":{{"x":[1.50]}} }}"#),
        format!(r#"{{"uri":"{b}","new":null}}"#),
        r#"{"uri":"untitled:Untitled-1","name":"no file"}"#.to_owned(),
    ];
    assert_eq!(told(&mut editor), format!(r#"{{"uri":"{a}"}}"#));
    editor.change_raw(spelled.clone());
    editor.record().wait_for(1, "notifications/roots/list_changed");
    assert_eq!(told(&mut editor), spelled.join(","));
    assert_eq!(editor.asked, 2, "what is known is not asked for again");
    editor.change::<&str>(&[]);
    assert_eq!(told(&mut editor), "");
    assert_eq!(editor.record().launches(), 1);
}

/// The server gets the notification as it would without us.
#[test]
fn change_reaches_a_server_that_never_asked() {
    let start = configured(json!({}), json!({}), &[]);
    let [a] = folders(&start, ["a"]);
    let mut editor = Editor::open(start, &[&a]);
    let change = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","x":1}"#;
    editor.client.send(change);
    assert_eq!(editor.record().wait_for(1, "list_changed"), change);
    assert_eq!(told(&mut editor), format!(r#"{{"uri":"{}"}}"#, uri(&a)));
}

#[test]
fn ten_changes_cause_two_requests_at_most() {
    let start = configured(json!({}), json!({}), &[]);
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a]);
    told(&mut editor);
    let before = editor.asked;
    let change = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}\n";
    editor.client.send_bytes(change.repeat(10));
    editor.asked_again(before);
    editor.change_to(&[&b]);
    editor.asked_again(before + 1);
    // The second answer counts.
    editor.record().wait_for(1, "notifications/roots/list_changed");
    assert_eq!(told(&mut editor), format!(r#"{{"uri":"{}"}}"#, uri(&b)));
    assert_eq!((editor.asked - before, changes(&editor, 1)), (2, 1));
    let rest = editor.finish();
    assert!(!rest.contains("roots/list"), "{rest}");
}

/// The server's request reaches a client without roots, as it would without us.
#[test]
fn client_without_roots_is_asked_itself() {
    let mut editor = Editor::plain(configured(json!({}), json!({}), &[]));
    let request = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let call = editor.client.start_call("ask", json!({ "id": "\"r\"", "request": request }));
    let asked = editor.client.told("roots/list")["id"].clone();
    let refusal = json!({ "jsonrpc": "2.0", "id": asked, "error": { "code": -32601, "message": "none" } });
    editor.client.send(refusal.to_string());
    assert!(text(&editor.client.answer(call)).contains("-32601"));
}

/// The instance of one root gets that root, whatever else is open.
#[test]
fn instance_of_one_root_gets_only_that() {
    let start = configured(json!({}), json!({ "rootArguments": ["path"] }), &[]);
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a]);
    let named = format!(r#"{{ "name":"the second", "uri":"{}" }}"#, uri(&b));
    editor.facts(json!({}));
    editor.change_raw(vec![json!({ "uri": uri(&a) }).to_string(), named.clone()]);
    let request = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let answer = editor.call("ask", json!({ "id": "\"r\"", "request": request, "path": b }));
    assert!(text(&answer).ends_with(&format!(r#"{{"roots":[{named}]}}}}"#)), "{answer}");
}

/// With or without roots of the client.
#[test]
fn instance_of_a_pinned_root_gets_only_that() {
    for words in [&["--", "${root}"][..], &[]] {
        let start = configured(json!({}), json!({}), words);
        let [a, pinned] = folders(&start, ["a", "pinned place"]);
        let start = start.arg("--pin-root").arg(&pinned);
        let mut editor = if words.is_empty() { Editor::plain(start) } else { Editor::open(start, &[&a]) };
        let expect = format!(r#"{{"uri":"{}"}}"#, uri(&pinned).replace(' ', "%20"));
        assert_eq!(told(&mut editor), expect);
        assert_eq!(editor.asked, 0);
    }
}

/// The process was restarted; the client is not asked again.
#[test]
fn restarted_process_gets_the_same_roots() {
    let start = configured(json!({}), json!({}), &[]);
    let [a, b] = folders(&start, ["a", "b"]);
    let mut editor = Editor::open(start, &[&a, &b]);
    let roots = told(&mut editor);
    error(&editor.call("crash", json!({})), -32002, "backend_unavailable");
    assert_eq!(told(&mut editor), roots);
    assert_eq!((editor.record().launches(), editor.asked), (2, 1));
    editor.change(&[&b]);
    editor.record().wait_for(2, "notifications/roots/list_changed");
    assert_eq!(told(&mut editor), format!(r#"{{"uri":"{}"}}"#, uri(&b)));
}

#[test]
fn global_server_is_one_instance() {
    for server in [json!({ "rootArguments": ["path"] }), json!({ "args": ["--", "${root}"] })] {
        let mut server: Value = server;
        server["scope"] = json!("global");
        let start = configured(json!({}), server, &[]);
        let [a, b, c] = folders(&start, ["a", "b", "c"]);
        let home = start.scratch().home();
        let start = start.arg("--default-root").arg(&c);
        let mut editor = Editor::open(start, &[&a, &b]);
        let one = editor.facts(json!({ "path": a }));
        assert_eq!(one.cwd, home, "nobody's folder in particular");
        assert_eq!(editor.facts(json!({ "path": b, "file": uri(&b) })).pid, one.pid);
        assert_eq!(editor.facts(json!({})).pid, one.pid);
    }
}
