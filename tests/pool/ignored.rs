//! `ignoredFolders`: one list, passed to servers in several forms.

use crate::roots::editor::Editor;
use crate::support::configured;
use serde_json::{Value, json};

fn server() -> Value {
    json!({ "env": { "IGNORE": "${ignoredFolders}" } })
}

const WORDS: [&str; 4] = ["--", "--exclude=${ignoredFolder}", "all:${ignoredFolders}", "$${ignoredFolder}"];

#[test]
fn ignored_folders_reach_the_server() {
    let file = json!({ "ignoredFolders": [".git", "a b"] });
    let facts = Editor::plain(configured(file, server(), &WORDS)).facts(json!({}));
    let words = &facts.argv[facts.argv.iter().position(|word| word == "--").unwrap() + 1..];
    let expect = ["--exclude=.git", "--exclude=a b", "all:.git,a b", "${ignoredFolder}"];
    assert_eq!(words, expect);
    assert_eq!(facts.env["IGNORE"], ".git,a b");
}

#[test]
fn ignored_folders_have_a_default() {
    let facts = Editor::plain(configured(json!({}), server(), &WORDS)).facts(json!({}));
    assert_eq!(facts.env["IGNORE"], "node_modules,.git,dist,build,target");
    assert!(facts.argv.contains(&"--exclude=node_modules".to_owned()), "{facts:?}");
}
