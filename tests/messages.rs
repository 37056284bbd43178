//! Messages of the command line: they name the cause and the remedy, for the example server and for the
//! user's own config.

use crate::support::program;
use serde_json::{Value, json};
use switchboard_testkit::client::Start;

fn example() -> Value {
    json!({ "command": crate::support::switchboard(), "args": ["example-server"] })
}

/// `switchboard WORDS…` with the user's config file.
fn configured(words: &[&str], servers: Value) -> Start {
    let start = program().args(words);
    let config = json!({ "mcpServers": servers }).to_string();
    start.scratch().file("home/.config/switchboard/config.json", config);
    start
}

#[track_caller]
fn run(start: Start) -> (Option<i32>, String, String) {
    let mut client = start.start();
    let folder = client.scratch().path().display().to_string();
    let end = client.finish();
    let plain = |text: &str| text.replace(&folder, "[folder]");
    (end.code, plain(&String::from_utf8(end.stdout).unwrap()), plain(&end.stderr))
}

/// Checks for this exit code and exactly this stderr.
#[track_caller]
fn check_failure(start: Start, code: i32, expect: &str) {
    let (found, _, stderr) = run(start);
    assert_eq!((found, stderr.trim_end()), (Some(code), expect));
}

#[test]
fn unset_variable_is_a_warning() {
    let servers = json!({ "example": example(), "unset": { "command": "${NO_SUCH_VARIABLE}/x" } });
    let (code, stdout, _) = run(configured(&["check"], servers.clone()));
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("warning: `command`: the variable NO_SUCH_VARIABLE is not set\n"), "{stdout}");
    assert!(stdout.contains("0 errors, 1 warning"), "{stdout}");
    // `tools` serves the other server, as `stdio` does.
    let (code, stdout, stderr) = run(configured(&["tools"], servers));
    assert!(code == Some(0) && stdout.contains("example__echo"), "{stdout}{stderr}");
    assert!(stderr.contains("hint: set it where Switchboard is started, or give a default"), "{stderr}");
}

#[test]
fn check_fails_without_enabled_servers() {
    let (code, stdout, _) =
        run(configured(&["check"], json!({ "off": { "command": "x", "disabled": true } })));
    assert!(code == Some(3) && stdout.contains("error: no server is enabled"), "{stdout}");
}

#[test]
fn abbreviated_key_is_recognised() {
    let (code, stdout, _) = run(configured(&["check"], json!({ "a": { "cmd": "npx", "args": ["-y"] } })));
    assert!(code == Some(3) && stdout.contains("help: did you mean `command`?"), "{stdout}");
}

#[test]
fn excerpts_show_keys_and_settings() {
    let start = program().args(["check", "--config", "config.json"]);
    let line = r#"{ "mcpServers": { "a": { command: "npx", "env": { "TOKEN": "s3cret" } } } }"#;
    start.scratch().file("config.json", line);
    let (code, stdout, _) = run(start);
    assert_eq!(code, Some(3));
    let expect = r#"1 | { "mcpServers": { "a": { command: "npx", "env": { "TOKEN": "••••••" } } …"#;
    assert!(stdout.contains(expect), "{stdout}");
}

#[test]
fn unknown_tool_has_one_hint() {
    let many = json!({ "example": example() });
    // The gateway knows the names only once the server was asked; before that, the server itself refuses.
    let (code, _, stderr) = run(configured(&["call", "example__ehco"], many.clone()));
    assert_eq!((code, stderr.matches("hint:").count()), (Some(1), 1), "{stderr}");
    assert!(stderr.contains("hint: did you mean `example__echo`?"), "{stderr}");
    check_failure(
        configured(&["call", "ehco"], many.clone()),
        1,
        "switchboard: Unknown tool: ehco (unknown_name)\n  \
         hint: did you mean `example__echo`? `switchboard tools` lists all tools",
    );
    let (_, _, stderr) = run(configured(&["get", "nothing_like_it"], many));
    assert!(stderr.contains("hint: `switchboard prompts` lists all prompts"), "{stderr}");
}

#[test]
fn unknown_server_has_no_log() {
    let servers = json!({ "example": example(), "other": example() });
    check_failure(
        configured(&["logs", "exmaple"], servers.clone()),
        1,
        "switchboard: no such server: `exmaple`\n  hint: did you mean `example`? The servers are: example, other",
    );
    let (code, _, stderr) = run(configured(&["logs", "example"], servers));
    assert!(code == Some(1) && stderr.contains("`example` has written nothing to stderr yet"), "{stderr}");
}

#[test]
fn disabled_server_is_called_disabled() {
    let mut off = example();
    off["disabled"] = json!(true);
    check_failure(
        configured(&["tools", "off"], json!({ "example": example(), "off": off })),
        3,
        "switchboard: the server `off` is disabled in [folder]/home/.config/switchboard/config.json\n  \
         hint: remove `\"disabled\": true` (or `\"enabled\": false`) from its entry",
    );
    check_failure(
        configured(&["tools", "exampel"], json!({ "example": example() })),
        3,
        "switchboard: [folder]/home/.config/switchboard/config.json has no server `exampel`\n  \
         hint: did you mean `example`? The servers are: example",
    );
}

#[test]
fn untrusted_config_is_mentioned_once() {
    for (words, servers, code) in [
        (&["tools"][..], json!({ "example": example() }), Some(0)),
        (&["call", "example__nothing"], json!({ "example": example() }), Some(1)),
        // The config error already mentions it.
        (&["tools"], json!({}), Some(3)),
    ] {
        let start = configured(words, servers);
        start.scratch().file("switchboard.json", r#"{ "mcpServers": { "a": { "command": "true" } } }"#);
        let (found, _, stderr) = run(start);
        let text = "warning: [folder]/switchboard.json is not trusted and is ignored: read it, then run `switchboard trust`";
        assert_eq!((found, stderr.matches(text).count()), (code, 1), "{words:?}: {stderr}");
    }
}

#[test]
fn status_reports_a_broken_config() {
    let start = configured(&["status"], json!({ "a": { "command": "x", "timeout": "soon" } }));
    let (code, stdout, _) = run(start);
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains("The config file has errors: [folder]/home/.config/switchboard/config.json:1:"),
        "{stdout}"
    );

    // A running daemon keeps the last good config.
    let mut window = configured(&["stdio"], json!({ "example": example() })).start();
    window.initialize();
    let scratch = window.scratch();
    scratch.file("home/.config/switchboard/config.json", "{");
    let status = |words: &[&str]| {
        let start = program().args(words).home(scratch.home());
        let end = start.env("XDG_RUNTIME_DIR", scratch.runtime()).start().finish();
        String::from_utf8(end.stdout).unwrap()
    };
    let text = status(&["status"]);
    assert!(text.contains("The config file has errors; its last valid version is in use:"), "{text}");
    let json: Value = serde_json::from_str(&status(&["status", "--json"])).unwrap();
    assert!(json["daemons"][0]["configError"].as_str().unwrap().contains("syntax error"), "{json}");
    assert_eq!(json["configError"], Value::Null);
    window.finish();
}

#[test]
fn help_topics_are_in_the_binary() {
    let help = |words: &[&str]| run(program().arg("help").args(words));
    let (code, topics, _) = help(&["topics"]);
    assert!(code == Some(0) && topics.contains("\n  config      The config file"), "{topics}");
    let (code, page, _) = help(&["config"]);
    assert!(code == Some(0) && page.starts_with("The config file\n===============\n"), "{page}");
    let (code, both, _) = help(&["daemon"]);
    assert!(code == Some(0) && both.contains("Usage: switchboard daemon"));
    assert_eq!(help(&["daemon", "stop"]).0, Some(0));
    assert_eq!(help(&["check"]).1, run(program().args(["check", "--help"])).1);
    assert_eq!(help(&[]).1, run(program().arg("--help")).1);
    check_failure(
        program().args(["help", "confg"]),
        2,
        "switchboard: no subcommand or topic is called `confg`\n  \
         hint: did you mean `switchboard help config`? `switchboard help topics` lists the topics",
    );
}

/// Installed users do not have the repository.
#[test]
fn no_message_points_to_the_repository() {
    for words in [&["check"][..], &["stdio"], &["daemon"], &["--help"], &["stdio", "--help"]] {
        let (_, stdout, stderr) = run(program().args(words));
        assert!(!format!("{stdout}{stderr}").contains("docs/"), "{words:?}: {stdout}{stderr}");
    }
}
