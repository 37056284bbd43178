//! Debounce: notifications in quick succession are merged into one at once and one at the end.

use crate::roots::editor::Editor;
use crate::support::configured;
use serde_json::{Value, json};

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// Makes the server print these lines at once, and then answer.
fn say(editor: &mut Editor, lines: &[&str]) {
    let text = format!("{}\n{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{{}}}}\n", lines.join("\n"));
    assert_eq!(editor.client.call("say", json!({ "text": text }))["result"], json!({}));
}

#[test]
fn equal_notifications_are_merged() {
    let mut editor = Editor::plain(configured(json!({}), json!({}), &[]));
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    say(&mut editor, &[TOOLS, message, TOOLS, TOOLS, message, TOOLS, TOOLS]);
    // Messages that arrived before the answer, in order.
    let methods = |values: [Value; 3]| values.map(|value| value["method"].as_str().unwrap().to_owned());
    let heard = [editor.client.recv_json(), editor.client.recv_json(), editor.client.recv_json()];
    let expect = ["notifications/tools/list_changed", "notifications/message", "notifications/message"];
    assert_eq!(methods(heard), expect.map(str::to_owned));
    assert_eq!(editor.client.recv_text(), TOOLS, "at the end, as it was said");
    assert_eq!(editor.finish(), "", "and no more");
}

#[test]
fn different_notifications_are_not_merged() {
    let mut editor = Editor::plain(configured(json!({}), json!({}), &[]));
    let updated = |name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"x:{name}"}}}}"#
        )
    };
    let lines = [updated("1"), updated("2"), updated("3"), TOOLS.to_owned()];
    say(&mut editor, &lines.each_ref().map(String::as_str));
    for line in lines {
        assert_eq!(editor.client.recv_text(), line);
    }
    assert_eq!(editor.finish(), "");
}

#[test]
fn debounce_can_be_turned_off() {
    let debounce = json!({ "debounce": { "notifications/tools/list_changed": 0 } });
    let mut editor = Editor::plain(configured(json!({}), debounce, &[]));
    say(&mut editor, &[TOOLS; 5]);
    for _ in 0..5 {
        assert_eq!(editor.client.recv_text(), TOOLS);
    }
}
