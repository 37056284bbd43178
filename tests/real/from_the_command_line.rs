//! server-everything from the command line: printed as it answers any client.

use super::peers::Server;
use crate::support::program;
use serde_json::Value;

/// `switchboard WORDS… -- server-everything`
#[track_caller]
fn run(server: &Server, words: &[&str]) -> (Option<i32>, String, String) {
    let start = program().args(words).arg("--").args(server.words());
    let end = start.env("HOME", server.folder().folder("home")).cwd(server.folder().path()).start().finish();
    (end.code, String::from_utf8(end.stdout).unwrap(), end.stderr)
}

#[test]
fn commands_list_everything() {
    let server = Server::everything();
    let (code, stdout, _) = run(&server, &["tools", "--json"]);
    let tools: Value = serde_json::from_str(&stdout).unwrap();
    // One more than for a client without roots.
    assert_eq!((code, tools.as_array().unwrap().len()), (Some(0), 14));
    let (code, stdout, _) = run(&server, &["tools"]);
    assert_eq!((code, stdout.lines().count()), (Some(0), 14), "{stdout}");
    let (code, stdout, _) = run(&server, &["prompts"]);
    assert!(code == Some(0) && stdout.contains("simple-prompt"), "{stdout}");
    let (code, stdout, _) = run(&server, &["resources"]);
    assert!(code == Some(0) && stdout.contains("\nTemplates:\ndemo://resource/dynamic/text/{"), "{stdout}");
}

#[test]
fn commands_use_everything() {
    let server = Server::everything();
    let (code, stdout, _) = run(&server, &["call", "get-sum", "a=2", "b=40"]);
    assert_eq!((code, &*stdout), (Some(0), "The sum of 2 and 40 is 42.\n"));
    let (code, stdout, stderr) =
        run(&server, &["call", "trigger-long-running-operation", "duration=1", "steps=2"]);
    assert!(code == Some(0) && stdout.contains("completed"), "{stdout}{stderr}");
    assert!(stderr.contains("progress: 2/2 (100 %)"), "{stderr}");
    let (code, stdout, _) = run(&server, &["call", "get-tiny-image"]);
    assert!(code == Some(0) && stdout.contains("\n[image, image/png, "), "{stdout}");
    let (code, _, stderr) = run(&server, &["call", "get-summ", "a=2", "b=40"]);
    assert!(code == Some(1) && stderr.contains("did you mean `get-sum`?"), "{stderr}");
    let (code, stdout, _) = run(&server, &["read", "demo://resource/dynamic/blob/1"]);
    assert!(code == Some(0) && stdout.contains("Resource 1"), "{stdout}");
    let (code, stdout, _) = run(&server, &["get", "args-prompt", "city=Paris"]);
    assert!(code == Some(0) && stdout.starts_with("user:\n") && stdout.contains("Paris"), "{stdout}");
}
