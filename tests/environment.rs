//! Environment of servers, and the hints when a missing variable may be why one does not start.

use crate::support::{configured, error, fake, fake_backend, greet, program, through};
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::client::Start;

/// The environment that the server sees.
#[track_caller]
fn seen(start: Start) -> Value {
    let mut client = greet(start);
    client.call("facts", json!({}))["result"]["env"].take()
}

/// An environment with variables of each kind.
fn with_ours(start: Start) -> Start {
    let state = start.scratch().state("");
    start
        .env("SWITCHBOARD_STATE_DIR", state)
        .env("LANG", "C.UTF-8")
        .env("LC_ALL", "C")
        .env("HTTPS_PROXY", "http://proxy:1")
        .env("SSL_CERT_FILE", "/certs.pem")
        .env("NVM_DIR", "/nvm")
        .env("NVM_AUTH_TOKEN", "secret-nvm")
        .env("SSH_AUTH_SOCK", "/agent")
        .env("GITHUB_TOKEN", "secret-github")
        .env("AWS_SECRET_ACCESS_KEY", "secret-aws")
        .env("MY_SETTING", "mine")
        .env("LOG_FILE", "/mine.log")
}

#[track_caller]
fn check(env: &Value, has: &[&str], has_not: &[&str]) {
    for name in has {
        assert!(env.get(name).is_some(), "{name} is missing: {env}");
    }
    for name in has_not {
        assert!(env.get(name).is_none(), "{name} is there: {env}");
    }
}

const SAFE: &[&str] =
    &["HOME", "PATH", "LANG", "LC_ALL", "HTTPS_PROXY", "SSL_CERT_FILE", "NVM_DIR", "SSH_AUTH_SOCK"];
const OTHERS: &[&str] = &["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_SETTING", "NVM_AUTH_TOKEN"];
const OURS: &[&str] = &["SWITCHBOARD_STATE_DIR"];

#[test]
fn default_environment_is_the_safe_list() {
    let env = seen(with_ours(configured(json!({}), json!({}), &[])));
    check(&env, SAFE, OTHERS);
    check(&env, &[], OURS);
    for (name, value) in
        [("MCP_STDIO_MODE", "true"), ("LOG_CONSOLE", "false"), ("LOG_STDIO", "false"), ("LOG_FILE", "true")]
    {
        assert_eq!(env[name], value);
    }
}

#[test]
fn pass_env_patterns_add_variables() {
    let server = json!({ "passEnv": ["GITHUB_*", "MY_SETTING"] });
    let env = seen(with_ours(configured(json!({}), server, &[])));
    check(&env, &["PATH", "GITHUB_TOKEN", "MY_SETTING"], &["AWS_SECRET_ACCESS_KEY"]);
    assert_eq!(env["GITHUB_TOKEN"], "secret-github");
}

/// Checks for all of the client's variables except ours, with the client's values.
#[track_caller]
fn check_unchanged(env: &Value) {
    check(env, SAFE, OURS);
    check(env, OTHERS, &[]);
    assert_eq!([&env["GITHUB_TOKEN"], &env["LOG_FILE"]], ["secret-github", "/mine.log"]);
    assert_eq!([&env["MCP_STDIO_MODE"], &env["LOG_CONSOLE"]], ["true", "false"], "told where absent");
}

#[test]
fn command_gets_the_clients_environment() {
    check_unchanged(&seen(with_ours(fake(&[]))));
}

#[test]
fn inherit_env_overrides_for_a_command() {
    let env = seen(with_ours(through(&["--inherit-env", "safe"], &[])));
    check(&env, SAFE, OTHERS);
    assert_eq!(env["LOG_FILE"], "true");
    let env = seen(with_ours(through(&["--inherit-env", "none"], &[])));
    check(&env, &["MCP_STDIO_MODE"], SAFE);
    let flags = ["--inherit-env", "safe", "--pass-env", "GITHUB_*", "--pass-env", "LOG_FILE"];
    let env = seen(with_ours(through(&flags, &[])));
    check(&env, &["PATH", "GITHUB_TOKEN"], &["AWS_SECRET_ACCESS_KEY", "MY_SETTING"]);
    assert_eq!(env["LOG_FILE"], "/mine.log");
}

/// With `shareAdHoc`, the daemon starts the command.
#[test]
fn shared_command_gets_client_environment() {
    let start = with_ours(fake(&[])).without_env("SWITCHBOARD_STATE_DIR").env("SWITCHBOARD_LOG", "info");
    let folder = start.scratch().folder("config");
    start.scratch().file("config/switchboard/config.json", r#"{ "mcpServers": {}, "shareAdHoc": true }"#);
    let mut client = greet(start.env("XDG_CONFIG_HOME", folder));
    assert_ne!(crate::support::gateway_pid(&client), client.pid(), "a daemon serves it");
    let env = client.call("facts", json!({}))["result"]["env"].take();
    check_unchanged(&env);
    check(&env, &[], &["SWITCHBOARD_LOG"]);
}

/// The fake backend after `--`, behind a shell that first writes its environment into a file.
fn writing(start: Start, file: &Path) -> Start {
    let script = format!("env >'{}'; exec \"$0\" \"$@\"", file.display());
    let record = start.record();
    start.args(["--", "sh", "-c", &script]).arg(fake_backend()).arg("--record").arg(record.folder())
}

fn read_environment(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

#[test]
fn one_off_commands_get_the_environment() {
    for words in [&["tools"][..], &["call", "facts"]] {
        let start = program().args(words);
        let file = start.scratch().join("environment");
        let mut client = with_ours(writing(start, &file)).start();
        let end = client.finish();
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.stderr);
        check_unchanged(&read_environment(&file));
    }
    let start = program().args(["tools", "--inherit-env", "safe"]);
    let file = start.scratch().join("environment");
    let mut client = with_ours(writing(start, &file)).start();
    client.finish();
    check(&read_environment(&file), SAFE, OTHERS);
}

#[test]
fn one_off_commands_pass_named_variables() {
    for words in [&["tools"][..], &["call", "facts"]] {
        let start = program().args(words).args(["--inherit-env", "safe", "--pass-env", "GITHUB_*"]);
        let file = start.scratch().join("environment");
        let mut client = with_ours(writing(start, &file)).start();
        let end = client.finish();
        assert_eq!(end.code, Some(0), "{words:?}: {}", end.stderr);
        let env = read_environment(&file);
        check(&env, &[SAFE, &["GITHUB_TOKEN"]].concat(), &["AWS_SECRET_ACCESS_KEY", "MY_SETTING"]);
    }
}

#[test]
fn raw_command_gets_the_environment() {
    let start = program().args(["stdio", "--raw"]);
    let file = start.scratch().join("environment");
    let _client = greet(with_ours(writing(start, &file)));
    check_unchanged(&read_environment(&file));
}

#[test]
fn inherit_env_all_and_none() {
    let env = seen(with_ours(configured(json!({}), json!({ "inheritEnv": "all" }), &[])));
    check_unchanged(&env);

    let server = json!({ "inheritEnv": "none", "passEnv": ["LANG"], "env": { "OWN": "1" } });
    let env = seen(with_ours(configured(json!({}), server, &[])));
    let names: Vec<&String> = env.as_object().unwrap().keys().collect();
    assert_eq!(names, ["LANG", "LOG_CONSOLE", "LOG_FILE", "LOG_STDIO", "MCP_STDIO_MODE", "OWN"]);
}

#[test]
fn servers_own_env_wins() {
    let own = json!({ "LOG_FILE": "/tmp/own.log", "MCP_STDIO_MODE": "", "PATH": "/usr/bin:/bin", "TOKEN": "${GITHUB_TOKEN}" });
    let env = seen(with_ours(configured(json!({}), json!({ "env": own }), &[])));
    assert_eq!(
        [&env["LOG_FILE"], &env["MCP_STDIO_MODE"], &env["PATH"], &env["TOKEN"], &env["LOG_CONSOLE"]],
        ["/tmp/own.log", "", "/usr/bin:/bin", "secret-github", "false"]
    );
}

#[test]
fn arguments_and_cwd_arrive_unchanged() {
    let words = ["--", "two words", "", "*", "$HOME", "${root}", "é", "--config"];
    let start = fake(&words);
    let here = start.scratch().path().to_owned();
    let facts = greet(start).call("facts", json!({}));
    let argv: Vec<&str> =
        facts["result"]["argv"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(&argv[3..], &words[..]);
    assert_eq!(facts["result"]["cwd"], json!(here));
}

#[test]
fn missing_command_names_the_searched_path() {
    let command = ["stdio", "--inherit-env", "safe", "--", "no-such-server-x"];
    let start = program().args(command).env("PATH", "/usr/bin:/bin");
    let mut client = with_ours(start).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("no-such-server-x") && message.contains("/usr/bin:/bin"), "{message}");
    let hint = told["data"]["hint"].as_str().unwrap();
    assert!(hint.contains("PATH") && hint.contains("full path"), "{hint}");
    assert!(hint.contains("GITHUB_TOKEN") && hint.contains("passEnv"), "{hint}");
    assert_eq!(told["data"]["retryable"], false);
    assert!(!answer.to_string().contains("secret-"), "names, never values: {answer}");
}

/// The server starts and exits for lack of a variable: the error names those withheld.
#[test]
fn early_exit_names_withheld_variables() {
    let options = ["--stderr", "Error: GITHUB_TOKEN is not set", "--exit-at-start", "1"];
    let start = through(&["--inherit-env", "safe"], &options);
    let mut client = with_ours(start).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("GITHUB_TOKEN is not set"), "{told}");
    let hint = told["data"]["hint"].as_str().unwrap();
    assert!(hint.contains("GITHUB_TOKEN") && hint.contains("passEnv"), "{hint}");
    assert!(!answer.to_string().contains("secret-"), "{answer}");
}

#[test]
fn spawn_failures_come_with_a_hint() {
    let start = program();
    let plain = start.scratch().file("plain", "no program");
    let script = start.scratch().file("script", "#!/usr/bin/env no-such-interpreter-x\n");
    make_executable(&script);
    for (command, expect) in [
        (plain.to_str().unwrap(), "chmod +x"),
        (script.to_str().unwrap(), "no-such-interpreter-x"),
        ("/no/such/folder/server", "check the path"),
    ] {
        let mut client = program().args(["stdio", "--", command]).start();
        let answer = client.request("initialize", json!({}));
        let told = error(&answer, -32001, "backend_spawn_failed");
        assert!(told["data"]["hint"].as_str().unwrap().contains(expect), "{command}: {told}");
    }
    let mut client = configured(json!({}), json!({ "cwd": "/no/such/folder" }), &[]).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("/no/such/folder"), "{told}");
}

#[cfg(unix)]
fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
