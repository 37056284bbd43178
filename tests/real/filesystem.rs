//! server-filesystem: allowed folders from its arguments or from the client's roots.

use super::peers::Server;
use super::talk::same_both_ways;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn every_tool_is_equal() {
    let server = Server::filesystem();
    let files = server.folder().folder("files");
    let at = |name: &str| json!(files.join(name));
    let heard = same_both_ways(&server, |talk| {
        // The same tree for both conversations.
        fs::remove_dir_all(&files).expect("it was made with the server");
        fs::create_dir_all(files.join("sub")).expect("its folder is there");
        fs::write(files.join("sub/pixel.png"), b"\x89PNG\r\n\x1a\n\x00\xff")
            .expect("the folder was just made");
        fs::write(files.join("one.txt"), "first\nsecond\nthird – é\n").expect("the folder was just made");

        talk.greet(json!({}));
        talk.request("tools/list", json!({}));
        talk.call("list_allowed_directories", json!({}));
        talk.call("read_text_file", json!({ "path": at("one.txt") }));
        talk.call("read_text_file", json!({ "path": at("one.txt"), "head": 1 }));
        talk.call("read_text_file", json!({ "path": at("missing.txt") }));
        talk.call("read_media_file", json!({ "path": at("sub/pixel.png") }));
        talk.call("write_file", json!({ "path": at("two.txt"), "content": "a\tb\n😀\n" }));
        let edits = json!([{ "oldText": "second", "newText": "zweite" }]);
        talk.call("edit_file", json!({ "path": at("one.txt"), "edits": edits, "dryRun": true }));
        talk.call("edit_file", json!({ "path": at("one.txt"), "edits": edits }));
        talk.call("create_directory", json!({ "path": at("sub/deeper") }));
        talk.call("move_file", json!({ "source": at("two.txt"), "destination": at("sub/deeper/2.txt") }));
        talk.call(
            "read_multiple_files",
            json!({ "paths": [at("one.txt"), at("sub/deeper/2.txt"), at("none")] }),
        );
        talk.call("directory_tree", json!({ "path": files }));
        talk.call("search_files", json!({ "path": files, "pattern": "**/*.txt" }));
        talk.call("list_directory_with_sizes", json!({ "path": files }));
        let outside = talk.call("read_text_file", json!({ "path": "/etc/hostname" }));
        assert_eq!(outside["result"]["isError"], true, "{outside}");
    });
    assert!(heard.iter().any(|frame| frame.contains("zweite")), "{heard:#?}");
    assert!(fs::read_to_string(files.join("sub/deeper/2.txt")).is_ok_and(|text| text.contains('😀')));
}

#[test]
fn roots_replace_the_arguments() {
    let server = Server::filesystem();
    let one = server.folder().folder("one");
    let two = server.folder().folder("two");
    fs::write(one.join("a.txt"), "of the first root").expect("the folder was just made");
    fs::write(two.join("b.txt"), "of the second root").expect("the folder was just made");
    let heard = same_both_ways(&server, |talk| {
        talk.replies(roots(&[&one, &two]));
        talk.greet(json!({ "roots": { "listChanged": true } }));
        talk.told("roots/list");
        talk.call_until("list_allowed_directories", "/one");
        talk.call("read_text_file", json!({ "path": one.join("a.txt") }));
        talk.replies(roots(&[&two]));
        talk.notify("notifications/roots/list_changed", json!({}));
        talk.told("roots/list");
        talk.call_until("list_allowed_directories", &format!("directories:\\n{}\"", two.display()));
        talk.call("read_text_file", json!({ "path": one.join("a.txt") }));
        talk.call("read_text_file", json!({ "path": two.join("b.txt") }));
    });
    let count = |text: &str| heard.iter().filter(|frame| frame.contains(text)).count();
    assert_eq!((count("of the first root"), count("of the second root")), (1, 1), "{heard:#?}");
}

/// A client with these folders as roots.
fn roots(folders: &[&Path]) -> impl Fn(&Value) -> Option<Value> + use<> {
    let roots: Vec<_> =
        folders.iter().map(|folder| json!({ "uri": format!("file://{}", folder.display()) })).collect();
    move |_| Some(json!({ "result": { "roots": roots } }))
}
