//! `defaults` of the config file: they apply to every server on every route; an entry's own key wins.

use crate::support::{config, error, fake_backend, greet, program, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start};

/// A short timeout that still lets a busy machine answer other requests.
fn short() -> Value {
    json!({ "timeout": "1s", "onTimeout": "keep" })
}

/// Checks that an unanswered call ends by the default timeout.
#[track_caller]
fn check_times_out(client: &mut Client, tool: &str) {
    let answer = client.call(tool, json!({}));
    let told = error(&answer, -32003, "backend_timeout");
    assert!(told["data"]["timeoutMs"].as_u64().is_some_and(|ms| (1000..600_000).contains(&ms)), "{told}");
}

/// The program and a config file, which it has not been given yet.
fn with_file(keys: Value, server: Value) -> (Start, std::path::PathBuf) {
    let start = program();
    let record = start.record();
    let file = config(keys, server, record.folder(), &[]);
    let path = start.scratch().file("config.json", file.to_string());
    (start, path)
}

#[test]
fn defaults_apply_on_every_stdio_route() {
    for flags in [&["--server", "fake"][..], &["--server", "fake", "--solo"], &[], &["--solo"]] {
        let (start, path) = with_file(json!({ "defaults": short() }), json!({}));
        let tool = if flags.contains(&"--server") { "hang" } else { "fake__hang" };
        let mut client = greet(start.arg("stdio").args(flags).arg("--config").arg(path));
        check_times_out(&mut client, tool);
    }
}

#[test]
fn own_key_wins_over_defaults() {
    let defaults = json!({ "inheritEnv": "none", "timeout": "1s" });
    let (start, path) =
        with_file(json!({ "defaults": defaults }), json!({ "inheritEnv": "all", "timeout": "1h" }));
    let mut client = greet(start.env("MINE", "1").args(["stdio", "--server", "fake", "--config"]).arg(path));
    let facts = client.call("facts", json!({}));
    assert_eq!(facts["result"]["env"]["MINE"], "1", "{facts}");
}

#[test]
fn defaults_apply_to_a_command_line() {
    // The file is given by name or is the user's own, each also with a daemon that shares command lines.
    for share in [false, true] {
        for is_named in [false, true] {
            let keys = json!({ "defaults": { "timeout": "1s", "onTimeout": "keep", "inheritEnv": "none" }, "shareAdHoc": share });
            let (start, path) = with_file(keys, json!({}));
            let record = start.record();
            let start = start.arg("stdio");
            let start = match is_named {
                true => start.arg("--config").arg(path),
                false => {
                    let text = std::fs::read_to_string(path).unwrap();
                    start.scratch().file("home/.config/switchboard/config.json", text);
                    start
                }
            };
            let start = start.env("MINE", "1").arg("--").arg(fake_backend());
            let mut client = greet(start.arg("--record").arg(record.folder()));
            let facts = client.call("facts", json!({}));
            assert!(facts["result"]["env"].get("MINE").is_none(), "{share} {is_named}: {facts}");
            check_times_out(&mut client, "hang");
        }
    }
}

#[test]
fn timeout_flags_override_the_config() {
    for flags in [&["--solo"][..], &[]] {
        let (start, path) = with_file(json!({}), json!({ "timeout": "1h", "onTimeout": "keep" }));
        let start = start.args(["stdio", "--server", "fake", "--timeout", "1s"]).args(flags);
        check_times_out(&mut greet(start.arg("--config").arg(path)), "hang");
    }
    let mut client = program()
        .args(["stdio", "--start-timeout", "300ms", "--"])
        .arg(fake_backend())
        .args(["--hang-on", "initialize"])
        .start();
    let answer = client.request("initialize", switchboard_testkit::client::initialize_params());
    let told = error(&answer, -32003, "backend_timeout");
    assert!(told["data"]["hint"].as_str().unwrap().contains("startTimeout"), "{told}");
}

#[test]
fn check_names_keys_that_cannot_be_defaults() {
    let keys = json!({ "defaults": { "command": "npx", "timout": "1s", "headers": {} } });
    let (start, path) = with_file(keys, json!({}));
    let end = start.args(["check", "--config"]).arg(path).start().finish();
    let said = String::from_utf8(end.stdout).unwrap();
    assert_eq!(end.code, Some(3), "{said}");
    for text in [
        "`command` cannot be a default: it sets how one server is started",
        "`headers` cannot be a default",
        "did you mean `timeout`?",
    ] {
        assert!(said.contains(text), "{text} in {said}");
    }
}

#[cfg(target_os = "linux")]
mod over_http {
    use super::short;
    use crate::http::served::Served;
    use crate::support::error;
    use serde_json::json;
    use switchboard_testkit::http::Talk;

    #[test]
    fn defaults_apply_over_http() {
        let served = Served::with(json!({ "defaults": short() }), json!({}), &[]);
        for (path, tool) in [("/mcp", "fake__hang"), ("/servers/fake/mcp", "hang")] {
            let answer = Talk::open(&served.web, path).call(tool, json!({}));
            error(&answer, -32003, "backend_timeout");
        }
    }
}

#[test]
fn defaults_filter_tools_of_every_server() {
    let keys = json!({ "defaults": { "tools": { "deny": ["hang"] } } });
    for flags in [&["--server", "fake"][..], &["--solo"]] {
        let (start, path) = with_file(keys.clone(), json!({}));
        let tool = if flags.contains(&"--server") { "hang" } else { "fake__hang" };
        let mut client = greet(start.arg("stdio").args(flags).arg("--config").arg(path));
        error(&client.call(tool, json!({})), -32602, "unknown_name");
        let echo = tool.replace("hang", "echo");
        assert_eq!(text(&client.call(&echo, json!({}))), "{}");
    }
}
