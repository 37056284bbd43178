//! `serve --no-auth`: clients are anonymous, so no folder that they name counts, on any path. Only roots of
//! the config do.

use super::served::{Served, refused};
use crate::daemon::house::House;
use crate::support::text;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::thread;
use switchboard_testkit::http::{Reply, Talk, Web, hello};
use switchboard_testkit::scratch::Scratch;

/// Paths, each with the prefix of the fake backend's tools there.
const PATHS: [(&str, &str); 3] =
    [("/mcp", "fake__"), ("/servers/fake/mcp", ""), ("/profiles/some/mcp", "fake__")];

struct Folders {
    _scratch: Scratch,
    /// A project that clients name.
    foreign: PathBuf,
    /// The config's default root, and a root with a name in the config.
    usual: PathBuf,
    shop: PathBuf,
}

fn folders() -> Folders {
    let scratch = Scratch::new();
    let [foreign, usual, shop] = ["foreign", "usual", "shop"].map(|name| scratch.folder(name));
    std::fs::create_dir(foreign.join(".git")).unwrap();
    Folders { _scratch: scratch, foreign, usual, shop }
}

fn served(folders: &Folders, flags: &[&str]) -> Served {
    let file = json!({
        "defaultRoot": folders.usual,
        "openRoots": true,
        "profiles": { "some": ["fake"] },
        "serve": { "rootMap": { "shop": folders.shop } },
    });
    let server = json!({ "cwd": "${root}", "rootArguments": ["path"] });
    Served::start(House::with(file, server, &[]), flags)
}

/// Calls a tool as a client that reports the foreign folder as its root.
fn call(web: &Web, (path, prefix): (&str, &str), folders: &Folders, tool: &str, arguments: Value) -> Value {
    let talk = Talk::open_as(web, path, "2025-11-25", json!({ "roots": { "listChanged": true } }));
    let answer_roots = |mut stream: Reply, until: Option<u64>| {
        while let Some(said) = stream.message() {
            if said["method"] == "roots/list" {
                let uri = format!("file://{}", folders.foreign.display());
                talk.answer(&said["id"], json!({ "roots": [{ "uri": uri }] }));
            } else if until.is_some_and(|id| said["id"] == id) {
                return said;
            }
        }
        Value::Null
    };
    let own_stream = talk.listen();
    thread::scope(|scope| {
        scope.spawn(|| answer_roots(own_stream, None));
        let (id, message) = talk.call_of(&format!("{prefix}{tool}"), arguments);
        let mut reply = talk.say(&message).send();
        let answer = if reply.is_stream() { answer_roots(reply, Some(id)) } else { reply.json() };
        talk.end();
        answer
    })
}

#[test]
fn arguments_and_roots_name_no_folder() {
    let folders = folders();
    let nameless = served(&folders, &["--no-auth"]);
    let known = served(&folders, &[]);
    let uri = format!("file://{}", folders.foreign.display());
    for path in PATHS {
        for arguments in [json!({ "path": folders.foreign }), json!({ "uri": uri }), json!({})] {
            let folder_of = |served: &Served| {
                let answer = call(&served.web, path, &folders, "facts", arguments.clone());
                answer["result"]["cwd"].clone()
            };
            assert_eq!(folder_of(&nameless), json!(folders.usual), "{path:?} {arguments}");
            assert_eq!(folder_of(&known), json!(folders.foreign), "{path:?} {arguments}, with a token");
        }
    }
}

#[test]
fn header_names_no_folder() {
    let folders = folders();
    let nameless = served(&folders, &["--no-auth"]);
    for (path, _) in PATHS {
        for root in [&folders.foreign, &folders.shop, &PathBuf::from("/no/such/folder")] {
            let web = nameless.web.with("Switchboard-Root", &root.display().to_string());
            let said = refused(web.post(path, hello("2025-11-25", json!({})).to_string()), 403);
            // The error does not reveal whether the folder exists.
            assert!(said.contains("serve.rootMap") && !said.contains("not a folder"), "{said}");
        }
    }
    assert_eq!(nameless.record().launches(), 0, "nothing was started for who was refused");
}

#[test]
fn roots_of_the_config_still_work() {
    let folders = folders();
    let nameless = served(&folders, &["--no-auth"]);
    let web = nameless.web.with("Switchboard-Root", "shop");
    for path in PATHS {
        let answer = call(&web, path, &folders, "facts", json!({ "path": folders.foreign }));
        assert_eq!(answer["result"]["cwd"], json!(folders.shop), "{path:?}");
    }
}

#[test]
fn roots_request_gets_no_foreign_root() {
    let folders = folders();
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let arguments = json!({ "id": "\"q\"", "request": request });
    let (nameless, known) = (served(&folders, &["--no-auth"]), served(&folders, &[]));
    for path in PATHS {
        let heard = |served: &Served| {
            let answer = call(&served.web, path, &folders, "ask", arguments.clone());
            text(&answer).contains("/foreign")
        };
        assert!(!heard(&nameless), "{path:?}");
        assert!(heard(&known), "{path:?}, with a token");
    }
}

/// The same for a server whose launch does not depend on the root.
#[test]
fn plain_server_gets_no_foreign_root() {
    let folders = folders();
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let arguments = json!({ "id": "\"q\"", "request": request });
    let file = json!({ "defaultRoot": folders.usual, "profiles": { "some": ["fake"] } });
    let nameless = Served::start(House::with(file, json!({}), &[]), &["--no-auth"]);
    for path in PATHS {
        let answer = call(&nameless.web, path, &folders, "ask", arguments.clone());
        assert!(text(&answer).contains("roots"), "{path:?}: {answer}");
        assert!(!text(&answer).contains("/foreign"), "{path:?}: {answer}");
    }
}
