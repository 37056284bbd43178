//! Profiles: the same rights by flag, by HTTP path and for the commands that ask servers; mistakes are told.

use crate::aggregate::servers::{Servers, tools};
use crate::http::served::{Served, refused};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::client::{End, initialize_params};
use switchboard_testkit::http::hello;

/// Two servers, and a profile with a part of one.
fn servers() -> Servers {
    let offer = r#"{
        "tools": [{ "name": "echo" }, { "name": "write" }], "prompts": [{ "name": "ask" }, { "name": "tell" }],
        "resources": [{ "name": "a", "uri": "x://a" }, { "name": "b", "uri": "x://b" }]
    }"#;
    let rights = json!({ "servers": ["one"], "tools": ["echo"], "prompts": ["ask"], "resources": ["x://a"] });
    Servers::none()
        .and_offer("one", json!({}), offer)
        .and_offer("two", json!({}), offer)
        .with("profiles", json!({ "part": rights, "all": {} }))
}

/// Exit code, stdout and stderr of a command with the config.
fn run(servers: &Servers, words: &[&str]) -> (Option<i32>, String, String) {
    let End { code, stdout, stderr } =
        servers.program().args(words).arg("--config").arg(servers.config()).start().finish();
    (code, String::from_utf8(stdout).unwrap(), stderr)
}

#[test]
fn commands_keep_to_a_profile() {
    let servers = servers();
    let listed = |words: &[&str]| {
        let (code, stdout, stderr) = run(&servers, words);
        assert_eq!((code, &*stderr), (Some(0), ""), "{words:?}");
        stdout.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for solo in [&[][..], &["--solo"]] {
        let with = |words: &[&'static str]| listed(&[words, &["--profile", "part"], solo].concat());
        assert_eq!(with(&["tools"]), ["one__echo"]);
        assert_eq!(with(&["prompts"]), ["one__ask"]);
        assert_eq!(with(&["resources"]), ["x://a"]);
        assert_eq!(with(&["tools", "one"]), ["echo"]);
        assert_eq!(with(&["call", "one__echo", "a=1"]).len(), 1);
    }
    assert_eq!(listed(&["tools", "--profile", "all"]).len(), 4);
    for words in [["call", "one__write"], ["call", "two__echo"], ["read", "x://b"], ["get", "one__tell"]] {
        let (code, stdout, stderr) = run(&servers, &[&words[..], &["--profile", "part"]].concat());
        assert_eq!((code, &*stdout), (Some(1), ""), "{words:?}: {stderr}");
        assert!(stderr.contains("with the profile `part` (forbidden)"), "{words:?}: {stderr}");
    }
}

#[test]
fn unknown_profile_is_refused() {
    let servers = servers();
    let (code, _, stderr) = run(&servers, &["tools", "--profile", "prat"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("there is no profile `prat`"), "{stderr}");
    assert!(stderr.contains("hint: did you mean `part`?"), "{stderr}");
    // A client is told, since it cannot read stderr.
    let mut client = servers.shared().args(["--profile", "prat"]).start();
    let answer = client.request("initialize", initialize_params());
    let told = error(&answer, -32603, "config_error").to_string();
    assert!(told.contains("there is no profile `prat`") && told.contains("did you mean `part`?"), "{told}");
}

#[test]
fn server_outside_of_the_profile_is_refused() {
    let servers = servers();
    for solo in [&[][..], &["--solo"]] {
        let mut client = servers.shared().args(["--profile", "part", "--server", "two"]).args(solo).start();
        let answer = client.request("initialize", initialize_params());
        let told = error(&answer, -32603, "config_error");
        assert_eq!(told["message"], "the profile `part` does not include the server `two`", "{answer}");
    }
    assert_eq!(servers.launches(["one", "two"]), [0, 0]);
}

#[test]
fn profile_needs_a_config_file() {
    let servers = servers();
    for server in [&["--", "c"][..], &["--backend", "auggie"]] {
        let words = [&["stdio", "--profile", "part"], server].concat();
        let end = servers.program().args(words).start().finish();
        assert_eq!(end.code, Some(2), "{}", end.stderr);
        assert!(end.stderr.contains("--profile"), "{}", end.stderr);
    }
}

/// The window asks each daemon for its profile anew, whether it hands over its streams or relays messages.
#[test]
fn next_daemon_keeps_to_the_profile() {
    for relays in [false, true] {
        let servers = servers();
        let start = servers.shared().args(["--profile", "part"]);
        let mut client = if relays { start.over_sockets() } else { start }.start();
        client.initialize();
        assert_eq!(tools(&mut client), ["one__echo"]);
        servers.say(&["daemon", "stop"]);
        assert_eq!(tools(&mut client), ["one__echo"]);
        error(&client.call("one__write", json!({})), -32603, "forbidden");
        error(&client.call("two__echo", json!({})), -32603, "forbidden");
        assert_eq!(servers.told("one", "write") + servers.told("two", "echo"), 0);
    }
}

#[test]
fn nearest_profile_is_named_over_http() {
    let served = Served::with(json!({ "profiles": { "part": ["fake"] } }), json!({}), &[]);
    let ask = served.web.post("/profiles/prat/mcp", hello("2025-11-25", json!({})).to_string());
    let said: Value = serde_json::from_str(&refused(ask, 404)).unwrap();
    let told = error(&said, -32602, "unknown_name");
    assert_eq!(told["message"], "there is no profile `prat`; did you mean `part`?");
}
