//! Whole files that load without problems.

use std::path::Path;
use std::time::Duration;

use super::checks::{check, check_problems, check_server, server};
use crate::config::{
    AuditClients, AuditConfig, Capabilities, Config, Dialect, Framing, Guard, InheritEnv, LogConfig,
    LogFormat, LogLevel, OnTimeout, PoolConfig, PoolMemory, RetryAfterCrash, Scope, ServerConfig, State,
    defaults, load,
};

#[test]
fn pasted_block_works_unchanged() {
    check(
        r#"{
            "mcpServers": {
                "github": {
                    "command": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-github"],
                    "env": { "B": "${B}", "A": "1" }
                },
                "time": { "type": "stdio", "command": "uvx", "args": ["mcp-server-time"] }
            }
        }"#,
        Config {
            servers: vec![
                ServerConfig {
                    env: vec![("B".into(), "${B}".into()), ("A".into(), "1".into())].into(),
                    ..server("github", "npx", &["-y", "@modelcontextprotocol/server-github"])
                },
                server("time", "uvx", &["mcp-server-time"]),
            ],
            ..Config::default()
        },
    );
}

#[test]
fn comments_commas_and_byte_order_mark() {
    let servers = vec![server("s", "c", &[])];
    check(
        "\u{feff}// one\n{ /* two */ \"mcpServers\": { \"s\": { \"command\": \"c\", }, }, } // three",
        Config { servers, ..Config::default() },
    );
}

#[test]
fn vs_codes_block_works_too() {
    let servers = vec![server("s", "c", &[])];
    check(
        r#"{ "servers": { "s": { "type": "stdio", "command": "c" } }, "inputs": [{ "id": "x" }] }"#,
        Config { servers, ..Config::default() },
    );
}

#[test]
fn both_blocks_are_merged() {
    let servers = vec![server("a", "c", &[]), server("b", "c", &[])];
    check(
        r#"{ "servers": { "b": { "command": "c" } }, "mcpServers": { "a": { "command": "c" } } }"#,
        Config { servers, ..Config::default() },
    );
    check_problems(
        r#"{ "mcpServers": { "a": { "command": "c" } }, "servers": { "a": { "command": "c" } } }"#,
        &["error servers.a 1:59 `a` is in both `mcpServers` and `servers` | remove one of the two"],
    );
}

#[test]
fn every_setting_is_read() {
    check(
        r#"{
            "mcpServers": {
                "s": {
                    "command": "c", "cwd": "/x", "disabled": true,
                    "framing": "content-length", "inheritEnv": "none", "passEnv": ["A", "B_*"],
                    "startTimeout": "1m", "timeout": 90, "hardTimeout": 0, "onTimeout": "keep",
                    "retryAfterCrash": "off", "shutdownGrace": "500ms",
                    "guard": "off", "keep": ["adb"], "maxInFlight": 1, "maxQueue": 7,
                    "scope": "global", "maxBackends": 2, "idleTtl": 0, "memoryLimit": "512MiB",
                    "rootArguments": ["directory_path"], "health": "1m", "state": "backend",
                    "capabilities": "exact", "debounce": { "notifications/x": 1 }
                },
                "t": { "command": "d" }
            },
            "framing": "newline", "dialect": "bare", "maxMessageBytes": "512MiB", "shutdownGrace": 2.5,
            "linger": "5m", "shareAdHoc": true,
            "pool": { "maxBackends": 4, "memoryLimit": "2GiB", "idleTtl": "1h" },
            "defaultRoot": "~/work", "openRoots": false, "fallback": "off", "ignoredFolders": ["out"],
            "log": { "level": "trace", "format": "json", "file": "a.log", "bodies": true },
            "audit": { "clients": "all", "arguments": true, "file": "b.jsonl", "maxBytes": "1MiB", "keep": 3 }
        }"#,
        Config {
            servers: vec![
                ServerConfig {
                    cwd: Some("/x".into()),
                    disabled: true,
                    framing: Framing::ContentLength,
                    inherit_env: InheritEnv::None,
                    pass_env: vec!["A".into(), "B_*".into()],
                    start_timeout: Duration::from_secs(60),
                    timeout: Duration::from_secs(90),
                    hard_timeout: None,
                    on_timeout: OnTimeout::Keep,
                    retry_after_crash: RetryAfterCrash::Off,
                    shutdown_grace: Duration::from_millis(500),
                    guard: Guard::Off,
                    keep: vec!["adb".into()],
                    max_in_flight: 1,
                    max_queue: 7,
                    scope: Scope::Global,
                    max_backends: 2,
                    idle_ttl: None,
                    memory_limit: Some(512 << 20),
                    root_arguments: vec!["directory_path".into()],
                    health: Some(Duration::from_secs(60)),
                    state: State::Backend,
                    capabilities: Capabilities::Exact,
                    debounce: debounced(&[], &[("notifications/x", 1000)]),
                    ignored_folders: vec!["out".into()],
                    ..server("s", "c", &[])
                },
                ServerConfig {
                    shutdown_grace: Duration::from_millis(2500),
                    idle_ttl: Some(Duration::from_secs(3600)),
                    ignored_folders: vec!["out".into()],
                    ..server("t", "d", &[])
                },
            ],
            framing: Framing::Newline,
            dialect: Dialect::Bare,
            max_message_bytes: 512 << 20,
            shutdown_grace: Duration::from_millis(2500),
            linger: Duration::from_secs(300),
            share_ad_hoc: true,
            pool: PoolConfig {
                max_backends: 4,
                memory_limit: PoolMemory::Bytes(2 << 30),
                idle_ttl: Some(Duration::from_secs(3600)),
            },
            default_root: Some("~/work".into()),
            open_roots: false,
            fallback: false,
            ignored_folders: vec!["out".into()],
            log: LogConfig {
                level: LogLevel::Trace,
                format: LogFormat::Json,
                file: Some("a.log".into()),
                bodies: true,
            },
            audit: AuditConfig {
                clients: AuditClients::All,
                arguments: true,
                file: Some("b.jsonl".into()),
                max_bytes: 1 << 20,
                keep: 3,
            },
            // Filters and names have tests of their own.
            ..Config::default()
        },
    );
}

/// Default times without some and with others, in milliseconds.
fn debounced(without: &[&str], with: &[(&str, u64)]) -> Vec<(String, Duration)> {
    let defaults = defaults::DEBOUNCE.iter().filter(|(method, _)| !without.contains(method)).copied();
    let with = with.iter().map(|(method, millis)| (*method, Duration::from_millis(*millis)));
    defaults.chain(with).map(|(method, time)| (method.to_owned(), time)).collect()
}

#[test]
fn debounce_is_laid_over_the_defaults() {
    let check = |written: &str, debounce| {
        let keys = format!(r#""debounce": {{ {written} }}"#);
        check_server(&keys, ServerConfig { debounce, ..server("s", "c", &[]) });
    };
    const TOOLS: &str = "notifications/tools/list_changed";
    check("", debounced(&[], &[]));
    check(r#""notifications/tools/list_changed": "2s""#, debounced(&[TOOLS], &[(TOOLS, 2000)]));
    check(r#""notifications/tools/list_changed": 0"#, debounced(&[TOOLS], &[]));
    check(r#""notifications/mine": "10ms""#, debounced(&[], &[("notifications/mine", 10)]));
}

#[test]
fn zero_is_never() {
    check_server(
        r#""idleTtl": 0, "health": "0s""#,
        ServerConfig { idle_ttl: None, health: None, ..server("s", "c", &[]) },
    );
    let config =
        load(Path::new(""), r#"{ "mcpServers": { "s": { "command": "c" } }, "pool": { "idleTtl": 0 } }"#);
    let config = config.config.unwrap();
    assert_eq!((config.pool.idle_ttl, config.servers[0].idle_ttl), (None, None));
}

#[test]
fn zero_lifts_the_pools_memory_limit() {
    let limit = |pool: &str| {
        let source = format!(r#"{{ "mcpServers": {{}}, "pool": {pool} }}"#);
        load(Path::new(""), &source).config.expect("it is valid").pool.memory_limit
    };
    assert_eq!(limit(r#"{ "memoryLimit": 0 }"#), PoolMemory::Unlimited);
    assert_eq!(limit("{}"), PoolMemory::HalfOfMachine);
}

#[test]
fn server_disabled_in_two_ways() {
    let on = server("s", "c", &[]);
    let off = ServerConfig { disabled: true, ..on.clone() };
    check_server(r#""disabled": true"#, off.clone());
    check_server(r#""enabled": false"#, off.clone());
    check_server(r#""enabled": true, "disabled": true"#, off);
    check_server(r#""enabled": true, "disabled": false"#, on);
}

#[test]
fn keys_of_other_clients_are_ignored() {
    check_server(
        r#""alwaysAllow": ["x"], "autoApprove": [], "envFile": ".env", "headers": { "A": "b" },
           "trust": true, "description": "", "oauth": {}, "startup_timeout_sec": 5, "url": "https://x""#,
        server("s", "c", &[]),
    );
}

#[test]
fn remote_servers_have_several_spellings() {
    use crate::config::{RemoteConfig, Transport};
    for (keys, transport) in [
        (r#""url": "https://x/mcp""#, Transport::Auto),
        (r#""serverUrl": "https://x/mcp""#, Transport::Auto),
        (r#""httpUrl": "https://x/mcp""#, Transport::Http),
        (r#""type": "http", "url": "https://x/mcp""#, Transport::Http),
        (r#""type": "streamable-http", "url": "https://x/mcp""#, Transport::Http),
        (r#""type": "streamableHttp", "serverUrl": "https://x/mcp""#, Transport::Http),
        (r#""type": "sse", "url": "https://x/mcp""#, Transport::Sse),
        (r#""type": "remote", "url": "https://x/mcp""#, Transport::Auto),
    ] {
        let source =
            format!(r#"{{ "mcpServers": {{ "r": {{ {keys}, "headers": {{ "X-Key": "${{KEY}}" }} }} }} }}"#);
        check_problems(&source, &[]);
        let server = load(Path::new(""), &source).config.unwrap().servers.remove(0);
        let headers = vec![("X-Key".to_owned(), "${KEY}".to_owned())].into();
        let remote = RemoteConfig { url: "https://x/mcp".to_owned(), headers, transport };
        assert_eq!((server.command.as_str(), server.remote), ("", Some(remote)), "{keys}");
    }
}

#[test]
fn large_timeout_is_milliseconds() {
    let source = "{ \"mcpServers\": { \"s\": {\n\"command\": \"c\", \"timeout\": 60000 } } }";
    check_problems(
        source,
        &["warning mcpServers.s.timeout 2:28 60000 is read as milliseconds, that is 1m \
           | write \"1m\" to be clear"],
    );
    let config = load(Path::new(""), source).config.unwrap();
    assert_eq!(config.servers[0].timeout, Duration::from_secs(60));
    check_server(
        r#""timeout": 999"#,
        ServerConfig { timeout: Duration::from_secs(999), ..server("s", "c", &[]) },
    );
    // Other times are ours, in seconds.
    check_server(
        r#""startTimeout": 1000"#,
        ServerConfig { start_timeout: Duration::from_secs(1000), ..server("s", "c", &[]) },
    );
}
