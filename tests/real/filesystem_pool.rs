//! server-filesystem with one instance per root, and with one for all roots.

use super::peers::node_package;
use crate::pool::census::Census;
use crate::roots::editor::Editor;
use crate::support::{program, text};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use switchboard_testkit::client::Start;
use switchboard_testkit::{patience, pids};

/// The server in a config file, with these additional arguments and this many folders.
fn server(words: &[&str], count: usize) -> (Start, Vec<PathBuf>) {
    let start = program();
    let script = node_package("@modelcontextprotocol/server-filesystem/dist/index.js");
    let roots = (0..count).map(|n| start.scratch().folder(&format!("roots/{n}"))).collect();
    let mut args = vec![json!(script)];
    args.extend(words.iter().map(|word| json!(word)));
    let entry = json!({ "command": "node", "args": args, "rootArguments": rooted(words), "maxBackends": 2 });
    let config = json!({ "mcpServers": { "filesystem": entry } });
    let config = start.scratch().file("config.json", config.to_string());
    (start.args(["stdio", "--server", "filesystem", "--config"]).arg(config), roots)
}

/// Only a server with one instance per root is routed by its arguments.
fn rooted(words: &[&str]) -> &'static [&'static str] {
    if words.is_empty() { &[] } else { &["path"] }
}

#[test]
fn five_roots_share_room_for_two() {
    let (start, roots) = server(&["${root}"], 5);
    for (number, root) in roots.iter().enumerate() {
        fs::write(root.join("note.txt"), format!("of the root {number}")).unwrap();
    }
    // The server processes have their root in the command line; ours has not.
    let ours = format!("{}/roots/", start.scratch().path().display());
    let mut editor = Editor::open(start, &roots);
    let census = Census::of(&ours, Duration::from_millis(10));
    for _ in 0..2 {
        for (number, root) in roots.iter().enumerate() {
            let answer = editor.call("read_text_file", json!({ "path": root.join("note.txt") }));
            assert_eq!(text(&answer), format!("of the root {number}"));
            let answer = editor.call("list_allowed_directories", json!({ "path": root }));
            assert_eq!(text(&answer), format!("Allowed directories:\n{}", root.display()));
        }
    }
    let left = pids::with_text(&ours);
    assert_eq!(left.len(), 2);
    let count = census.finish();
    assert!(count.most <= 2 && count.looks > 10, "{count:?}");
    editor.finish();
    assert!(!left.into_iter().any(pids::is_alive));
    assert_eq!(pids::with_text(&ours), Vec::<u32>::new());
}

#[test]
fn one_instance_gets_all_roots() {
    let (start, roots) = server(&[], 4);
    for root in &roots {
        fs::write(root.join("note.txt"), format!("in {}", root.display())).unwrap();
    }
    let mut editor = Editor::open(start, &roots[..3]);
    let allowed = |editor: &mut Editor, expect: &[PathBuf]| {
        let lines: Vec<String> = expect.iter().map(|root| format!("\n{}", root.display())).collect();
        let expect = format!("Allowed directories:{}", lines.concat());
        patience::until_true(format_args!("{expect}"), || {
            text(&editor.call("list_allowed_directories", json!({}))) == expect
        });
    };
    allowed(&mut editor, &roots[..3]);
    for root in &roots[..3] {
        let answer = editor.call("read_text_file", json!({ "path": root.join("note.txt") }));
        assert_eq!(text(&answer), format!("in {}", root.display()));
    }
    editor.change(&roots[2..]);
    allowed(&mut editor, &roots[2..]);
    let refused = editor.call("read_text_file", json!({ "path": roots[0].join("note.txt") }));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(editor.asked, 2, "once at the start, and once after the change");
}
