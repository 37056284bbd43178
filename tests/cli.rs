//! Command line: output and exit codes. Snapshots are in `snapshots/`; to accept a change, run the tests with
//! `INSTA_UPDATE=always` and read the difference.

use crate::support::program;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::client::{Client, End, Start};

const BAD: &str = r#"{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": "-y",
      "timeot": 5,
      "timeout": "soon"
    },
    "nothing": { "env": { "TOKEN": "hunter2" } }
  },
  "framing": "newlines"
}
"#;

const GOOD: &str = r#"{
  // JSON with comments and trailing commas.
  "mcpServers": {
    "time": { "command": "sh", "args": ["time-server.sh", "--local"] },
    "old": { "command": "node", "args": ["old.js"], "disabled": true },
  },
}
"#;

const DOUBTFUL: &str = r#"{
  "mcpServers": {
    "slow": { "command": "sh", "timeot": 5, "timeout": 60000 },
    "remote": { "url": "http://example.com/mcp?key=s3cret", "headers": { "Authorization": "Bearer s3cret" } },
    "absent": { "command": "/no/such/program" },
    "unset": { "command": "${NO_SUCH_VARIABLE}/bin/x" }
  }
}
"#;

/// The program in an empty folder, with a terminal of 80 columns.
fn switchboard(args: &[&str]) -> Start {
    program().env("COLUMNS", "80").args(args)
}

#[track_caller]
fn run(args: &[&str]) -> (Client, End) {
    finish(switchboard(args))
}

#[track_caller]
fn finish(start: Start) -> (Client, End) {
    let mut client = start.start();
    let end = client.finish();
    (client, end)
}

/// Output and exit code, with machine-specific parts masked.
fn show((client, end): (Client, End)) -> String {
    let folder = client.scratch().path().display().to_string();
    let part = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("--- {name}\n{text}"),
    };
    let stdout = without_states(&String::from_utf8_lossy(&end.stdout));
    let code = end.code.map_or("none".to_owned(), |code| code.to_string());
    format!("exit code {code}\n{}{}", part("stdout", &stdout), part("stderr", &end.stderr))
        .replace(&folder, "[folder]")
        .replace(env!("CARGO_PKG_VERSION"), "[version]")
}

/// Masks the state of each layer, which depends on the machine; the names stay.
fn without_states(stdout: &str) -> String {
    const LAYERS: [&str; 5] = ["guard", "cgroup", "PID namespace", "run file", "parent watch"];
    let mut is_layer = false;
    let line = |line: &str| match LAYERS.iter().find(|name| line.starts_with(&format!("  {name}: "))) {
        Some(name) => {
            is_layer = true;
            format!("  {name}: [state]\n")
        }
        // The reason may continue on the next lines.
        None if is_layer && line.starts_with("    ") => String::new(),
        None => {
            is_layer = false;
            line.to_owned()
        }
    };
    stdout.split_inclusive('\n').map(line).collect()
}

#[test]
fn help_matches_its_snapshots() {
    assert_snapshot!("help", show(run(&["--help"])));
    assert_snapshot!("help_stdio", show(run(&["stdio", "--help"])));
    assert_snapshot!("help_check", show(run(&["check", "--help"])));
    assert_snapshot!("help_trust", show(run(&["trust", "--help"])));
    assert_snapshot!("help_explain", show(run(&["explain", "--help"])));
    assert_snapshot!("help_demo", show(run(&["demo", "--help"])));
    assert_snapshot!("help_tools", show(run(&["tools", "--help"])));
    assert_snapshot!("help_call", show(run(&["call", "--help"])));
    assert_snapshot!("help_read", show(run(&["read", "--help"])));
    assert_snapshot!("help_get", show(run(&["get", "--help"])));
    assert_snapshot!("help_serve", show(run(&["serve", "--help"])));
    assert_snapshot!("help_status", show(run(&["status", "--help"])));
    assert_snapshot!("help_topics", show(run(&["help", "topics"])));
}

#[test]
fn help_fits_into_80_columns() {
    for args in [
        &["--help"][..],
        &["stdio", "--help"],
        &["check", "-h"],
        &["explain", "--help"],
        &["trust", "--help"],
        &["demo", "--help"],
        &["tools", "--help"],
        &["call", "--help"],
        &["read", "--help"],
        &["get", "--help"],
        &["status", "--help"],
        &["serve", "--help"],
        &["help", "topics"],
    ] {
        let text = show(run(args));
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new(), "{args:?}");
    }
}

#[test]
fn version_is_printed() {
    assert_snapshot!(show(run(&["--version"])), @r"
    exit code 0
    --- stdout
    switchboard [version]
    ");
}

#[test]
fn usage_errors_come_with_a_remedy() {
    assert_snapshot!("unknown_subcommand", show(run(&["chekc"])));
    assert_snapshot!("unknown_word", show(run(&["npx", "-y", "some-server"])));
    assert_snapshot!("forgotten_dashes", show(run(&["stdio", "npx", "-y", "some-server"])));
    assert_snapshot!("unknown_flag", show(run(&["stdio", "--rot", "."])));
    assert_snapshot!("unknown_level", show(run(&["stdio", "--log-level", "loud"])));
    assert_snapshot!("raw_without_a_command", show(run(&["stdio", "--raw"])));
    assert_snapshot!("unknown_root", show(run(&["stdio", "--root", "nowhere", "--", "true"])));
    assert_snapshot!("no_arguments", show(run(&["call", "tool", "word"])));
    assert_snapshot!("no_backends", show(run(&["stdio", "--max-backends", "0", "--", "true"])));
    assert_snapshot!("root_argument_without_a_command", show(run(&["stdio", "--root-argument", "path"])));
}

#[test]
fn workspace_must_be_an_existing_folder() {
    let check = |start: Start, expect: &str| {
        start.scratch().file("a-file", "");
        let (_client, end) = finish(start);
        assert_eq!((end.code, end.stderr.trim_end()), (Some(2), expect));
    };
    let missing = "No such file or directory (os error 2)";
    for flag in ["--root", "--pin-root", "--default-root"] {
        let stdio = |value| switchboard(&["stdio", flag, value, "--", "true"]);
        check(stdio("nowhere"), &format!("switchboard: {flag} nowhere: {missing}"));
        check(stdio("a-file"), &format!("switchboard: {flag} a-file: not a folder"));
    }
    let pinned = |value: &str| switchboard(&["stdio", "--", "true"]).env("SWITCHBOARD_ROOT", value);
    check(pinned("nowhere"), &format!("switchboard: $SWITCHBOARD_ROOT nowhere: {missing}"));
    // An empty value is ignored.
    assert_eq!(finish(pinned("")).1.code, Some(0));
}

#[test]
fn missing_default_root_is_a_warning() {
    let start = switchboard(&["stdio", "--config", "config.json"]);
    let config = json!({ "mcpServers": { "a": { "command": "true" } }, "defaultRoot": "nowhere" });
    start.scratch().file("config.json", config.to_string());
    let (_client, end) = finish(start);
    assert_eq!(end.code, Some(0));
    assert!(end.stderr.contains("warning: defaultRoot nowhere: No such file"), "{}", end.stderr);
}

// ---- check

fn check(config: &str) -> String {
    let start = switchboard(&["check", "--config", "config.json"]);
    start.scratch().file("config.json", config);
    show(finish(start))
}

#[test]
fn check_describes_a_good_config() {
    assert_snapshot!("check_good", check(GOOD));
}

#[test]
fn check_reports_line_column_and_remedy() {
    assert_snapshot!("check_bad", check(BAD));
    assert_snapshot!("check_broken", check("{ \"mcpServers\": { "));
    assert_snapshot!("check_duplicate", check("{\n  \"mcpServers\": {},\n  \"mcpServers\": {}\n}\n"));
}

#[test]
fn check_warns_about_likely_mistakes() {
    assert_snapshot!("check_doubtful", check(DOUBTFUL));
}

#[test]
fn check_prints_no_values() {
    let shown = check(BAD);
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn missing_config_lists_searched_places() {
    assert_snapshot!("check_nothing", show(run(&["check"])));
    assert_snapshot!("check_missing", show(run(&["check", "--config", "nowhere.json"])));
    assert_snapshot!("stdio_nothing", show(run(&["stdio"])));
}

#[test]
fn config_variable_names_the_file() {
    let start = switchboard(&["check"]);
    let path = start.scratch().file("elsewhere.json", GOOD);
    assert_snapshot!("check_variable", show(finish(start.env("SWITCHBOARD_CONFIG", path))));
}

#[test]
fn user_config_file_is_found() {
    let start = switchboard(&["check"]);
    start.scratch().file("home/.config/switchboard/config.json", GOOD);
    assert_snapshot!("check_user", show(finish(start)));
}

// ---- which server

#[test]
fn unknown_server_is_refused() {
    let two = json!({ "mcpServers": { "a": { "command": "true" }, "b": { "command": "true" } } }).to_string();
    let stdio = |more: &[&str]| {
        let start = switchboard(&["stdio", "--config", "config.json"]).args(more);
        start.scratch().file("config.json", &two);
        show(finish(start))
    };
    assert_snapshot!("stdio_unknown_server", stdio(&["--server", "c"]));
}

#[test]
fn config_with_errors_is_not_served() {
    let start = switchboard(&["stdio", "--config", "config.json"]);
    start.scratch().file("config.json", "{ \"mcpServers\": 5 }");
    assert_snapshot!("stdio_bad_config", show(finish(start)));
}

#[test]
fn stdio_is_the_default_command() {
    for args in [&["--"][..], &["stdio", "--"], &["--solo", "--log-level", "debug", "--"]] {
        let example = [env!("CARGO_BIN_EXE_switchboard"), "example-server"];
        let mut client = program().args(args).args(example).start();
        assert_eq!(client.initialize()["serverInfo"]["name"], "switchboard-example", "{args:?}");
        assert_eq!(client.finish().code, Some(0), "{args:?}");
    }
}

#[test]
fn default_command_serves_the_config_file() {
    let start = program();
    let server = json!({ "command": crate::support::switchboard(), "args": ["example-server"] });
    let config = json!({ "mcpServers": { "example": server } }).to_string();
    let path = start.scratch().file("config.json", config);
    let mut client = start.arg("--config").arg(path).start();
    assert_eq!(client.initialize()["serverInfo"]["name"], "switchboard");
    let tools = client.request("tools/list", json!({}));
    let is_prefixed = |tool: &serde_json::Value| tool["name"].as_str().unwrap().starts_with("example__");
    assert!(tools["result"]["tools"].as_array().unwrap().iter().all(is_prefixed), "{tools}");
    assert_eq!(client.finish().code, Some(0));
}

// ---- trust

/// The program in a project folder with a `switchboard.json`, and one state folder for all runs.
struct Project {
    home: Start,
}

impl Project {
    fn new(config: &str) -> Self {
        let home = program();
        home.scratch().file("project/switchboard.json", config);
        Self { home }
    }

    fn change(&self, config: &str) {
        self.home.scratch().file("project/switchboard.json", config);
    }

    fn run(&self, args: &[&str]) -> String {
        let folder = self.home.scratch().path();
        show(finish(switchboard(args).cwd(folder.join("project")).home(folder.join("home"))))
            .replace(&folder.display().to_string(), "[folder]")
    }
}

#[test]
fn project_config_must_be_trusted() {
    let project = Project::new(GOOD);
    assert_snapshot!("trust_1_untrusted", project.run(&["check"]));
    assert_snapshot!("trust_2_untrusted_stdio", project.run(&["stdio"]));
    assert_snapshot!("trust_3_trust", project.run(&["trust"]));
    assert_snapshot!("trust_4_trusted", project.run(&["check"]));
    assert!(project.run(&["trust", "--list"]).contains("[folder]/project/switchboard.json"));
    project.change(&GOOD.replace("--local", "--global"));
    assert_snapshot!("trust_5_changed", project.run(&["check"]));
    assert_snapshot!("trust_6_revoked", project.run(&["trust", "--revoke"]));
    assert_snapshot!("trust_7_revoked_twice", project.run(&["trust", "--revoke"]));
    assert_snapshot!(project.run(&["trust", "--list"]), @"exit code 0");
}

#[test]
fn bad_or_missing_file_cannot_be_trusted() {
    let project = Project::new("{ \"mcpServers\": 5 }");
    assert_snapshot!("trust_bad", project.run(&["trust"]));
    assert_snapshot!("trust_missing", project.run(&["trust", "nowhere.json"]));
}

// ---- schema and completions

#[test]
fn schema_is_json_and_has_the_keys() {
    let (_client, end) = run(&["schema"]);
    assert_eq!(end.code, Some(0));
    let schema: Value = serde_json::from_slice(&end.stdout).unwrap();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    for key in
        ["mcpServers", "servers", "framing", "dialect", "maxMessageBytes", "shutdownGrace", "pool", "log"]
    {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    let server = &schema["properties"]["mcpServers"]["additionalProperties"]["properties"];
    for key in ["command", "args", "env", "cwd", "timeout", "inheritEnv", "passEnv", "retryAfterCrash"] {
        assert!(server[key].is_object(), "{key}");
    }
}

#[test]
fn completions_omit_hidden_subcommands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (_client, end) = run(&["completions", shell]);
        let script = String::from_utf8(end.stdout).unwrap();
        assert_eq!(end.code, Some(0), "{shell}");
        for word in [
            "stdio",
            "check",
            "explain",
            "trust",
            "demo",
            "schema",
            "completions",
            "log-level",
            "tools",
            "call",
        ] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(!show(run(&["--help"])).contains("example-server"));
}

#[test]
fn closed_stdout_is_not_an_error() {
    let mut client = switchboard(&["schema"]).not_reading().start();
    client.close_output();
    assert_eq!(client.wait_for_end(), End { code: Some(0), stdout: Vec::new(), stderr: String::new() });
}

// ---- exit codes

#[test]
fn exit_codes_match_the_documentation() {
    let code = |args: &[&str]| run(args).1.code;
    assert_eq!(code(&["schema"]), Some(0));
    assert_eq!(code(&["--no-such-flag"]), Some(2));
    assert_eq!(code(&["check"]), Some(3));
    assert_eq!(code(&["stdio", "--config", "nowhere.json"]), Some(3));
    // The client is told the reason; the program itself ends normally.
    assert_eq!(code(&["stdio", "--", "no-such-program"]), Some(0));
}

#[cfg(unix)]
#[test]
fn raw_exit_code_is_the_commands() {
    let code = |args: &[&str]| {
        let (_client, end) = finish(switchboard(&["stdio", "--raw", "--"]).args(args));
        (end.code, end.stderr)
    };
    assert_eq!(code(&["sh", "-c", "exit 7"]).0, Some(7));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]).0, Some(128 + 9));
    let (missing, said) = code(&["no-such-program"]);
    assert_eq!(missing, Some(127));
    assert!(said.contains("was not found") && said.contains("hint:"), "{said}");
    let (refused, said) = code(&[Path::new("/").to_str().unwrap()]);
    assert_eq!(refused, Some(126));
    assert!(said.contains("no permission to execute"), "{said}");
}
