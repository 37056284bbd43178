//! Checks of whole files, shared by these tests.

use std::path::Path;

use crate::config::{Config, Scope, ServerConfig, load};

/// Server with every default, as loaded from a file.
pub(super) fn server(name: &str, command: &str, args: &[&str]) -> ServerConfig {
    let args = args.iter().map(|arg| arg.to_string()).collect();
    ServerConfig { expand: true, scope: Scope::Auto, ..ServerConfig::for_command(name, command, args) }
}

/// The file loads without a problem.
#[track_caller]
pub(super) fn check(source: &str, expect: Config) {
    let loaded = load(Path::new("config.json"), source);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config, Some(expect));
}

#[track_caller]
pub(super) fn check_server(keys: &str, expect: ServerConfig) {
    let source = format!(r#"{{ "mcpServers": {{ "s": {{ "command": "c", {keys} }} }} }}"#);
    check(&source, Config { servers: vec![expect], ..Config::default() });
}

/// Problems of the file, one line each: severity, path, position, message, help.
#[track_caller]
pub(super) fn check_problems(source: &str, expect: &[&str]) {
    let loaded = load(Path::new("config.json"), source);
    let lines: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| {
            let help = problem.remedy.as_ref().map(|help| format!(" | {help}")).unwrap_or_default();
            let (line, column, message) = (problem.line, problem.column, &problem.message);
            format!("{} {} {line}:{column} {message}{help}", problem.severity, problem.path)
        })
        .collect();
    assert_eq!(lines, expect);
    let failed = expect.iter().any(|line| line.starts_with("error"));
    assert_eq!(loaded.config.is_none(), failed, "a config exactly if there is no error");
}

/// Problems of one server's keys, like `check_problems` but without the position.
#[track_caller]
pub(super) fn check_server_problems(keys: &str, expect: &[&str]) {
    let source = format!("{{ \"mcpServers\": {{ \"s\": {{ \"command\": \"c\", {keys} }} }} }}");
    let loaded = load(Path::new("config.json"), &source);
    let lines: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| {
            let help = problem.remedy.as_deref().unwrap_or("-");
            let path = problem.path.strip_prefix("mcpServers.s").unwrap_or(&problem.path);
            format!("{} {path}: {} | {help}", problem.severity, problem.message)
        })
        .collect();
    assert_eq!(lines, expect);
}
