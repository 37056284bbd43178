//! Whole files: what is understood, and what is said about the rest.

use std::path::Path;
use std::time::Duration;

use crate::config::{
    Capabilities, Config, Dialect, Framing, Guard, InheritEnv, LogConfig, LogFormat, LogLevel, OnTimeout,
    PoolConfig, PoolMemory, RetryAfterCrash, Scope, ServerConfig, State, defaults, load,
};

/// A server with every default, as it stands in a file.
pub(super) fn server(name: &str, command: &str, args: &[&str]) -> ServerConfig {
    let args = args.iter().map(|arg| arg.to_string()).collect();
    ServerConfig { expand: true, scope: Scope::Auto, ..ServerConfig::for_command(name, command, args) }
}

/// The file is understood, without a word.
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

/// What is said about the file, one line per problem: severity, path, position, message, help.
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

/// What is said about one server's keys, as in `check_problems` but without the position.
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

#[test]
fn a_pasted_block_works_unchanged() {
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
fn comments_trailing_commas_and_a_byte_order_mark_are_fine() {
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
fn both_blocks_are_merged_but_not_over_one_another() {
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
            "log": { "level": "trace", "format": "json", "file": "a.log", "bodies": true }
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
            // What clients see has tests of its own.
            ..Config::default()
        },
    );
}

/// The default times, without some and with others, which are in milliseconds.
fn debounced(without: &[&str], with: &[(&str, u64)]) -> Vec<(String, Duration)> {
    let defaults = defaults::DEBOUNCE.iter().filter(|(method, _)| !without.contains(method)).copied();
    let with = with.iter().map(|(method, millis)| (*method, Duration::from_millis(*millis)));
    defaults.chain(with).map(|(method, time)| (method.to_owned(), time)).collect()
}

#[test]
fn what_is_given_of_debounce_is_laid_over_the_defaults() {
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
fn wrong_settings_of_the_pool_are_told() {
    check_server_problems(
        r#""scope": "workspace", "maxBackends": 0, "memoryLimit": 512, "rootArguments": [""], "state": true,
           "capabilities": "all", "debounce": { "tools/list_changed": "1s", "notifications/x": "soon" }"#,
        &[
            "error .scope: unknown value \"workspace\" | write one of \"auto\", \"root\", \"global\", \"client\"",
            "error .maxBackends: not a number of that kind: 0 | write a whole number from 1 to 100000",
            "error .memoryLimit: 512B is less than any server needs \
             | write a size such as \"512MiB\", or 0 for no limit",
            "error .rootArguments: not the name of an argument \
             | write the name of a tool's argument, such as \"directory_path\"",
            "error .state: unknown value true | write one of \"none\", \"client\", \"backend\", \"auto\"",
            "error .capabilities: unknown value \"all\" | write one of \"auto\", \"exact\", \"shared\"",
            "error .debounce.\"notifications/x\": not a length of time: \"soon\" \
             | write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year",
        ],
    );
    check_server_problems(
        r#""debounce": { "tools/list_changed": "1s" }, "idleTtl": "long""#,
        &[
            "error .debounce.\"tools/list_changed\": `tools/list_changed` is not the method of a notification \
             | write its full name, such as \"notifications/tools/list_changed\"",
            "error .idleTtl: not a length of time: \"long\" \
             | write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year",
        ],
    );
    check_server_problems(
        r#""debounce": "1s""#,
        &["error .debounce: expected an object of times, found a string | write { \"NAME\": \"500ms\" }"],
    );
    check_problems(
        r#"{ "mcpServers": {}, "pool": { "memoryLimit": 9, "maxBackend": 1 }, "defaultRoot": "", "openRoots": "on",
  "fallback": true, "ignoredFolders": ["a/b"] }"#,
        &[
            "error pool.memoryLimit 1:46 9B is less than any server needs \
             | write a size such as \"512MiB\", or 0 for no limit",
            "warning pool.maxBackend 1:49 unknown key `maxBackend`; it is ignored | did you mean `maxBackends`?",
            "error defaultRoot 1:83 not a folder | write a path such as \"~/work\", or remove the key",
            "error openRoots 1:100 expected true or false, found a string | write true or false, without quotes",
            "error fallback 2:15 unknown value true | write one of \"on\", \"off\"",
            "error ignoredFolders 2:39 \"a/b\" is not the name of a folder \
             | write a name such as \"node_modules\", without / and commas",
        ],
    );
}

#[test]
fn zero_lifts_the_memory_limit_of_the_pool() {
    let limit = |pool: &str| {
        let source = format!(r#"{{ "mcpServers": {{}}, "pool": {pool} }}"#);
        load(Path::new(""), &source).config.expect("it is valid").pool.memory_limit
    };
    assert_eq!(limit(r#"{ "memoryLimit": 0 }"#), PoolMemory::Unlimited);
    assert_eq!(limit("{}"), PoolMemory::HalfOfMachine);
}

#[test]
fn a_server_with_more_than_all_may_have_is_warned_of() {
    check_problems(
        r#"{ "mcpServers": { "s": { "command": "c", "maxBackends": 9 } }, "pool": { "maxBackends": 8 } }"#,
        &[
            "warning mcpServers.s.maxBackends 1:57 9 is more than the 8 that `pool.maxBackends` allows for all servers \
           | write at most 8, or raise `pool.maxBackends`",
        ],
    );
    // A default is not anybody's mistake.
    check_problems(r#"{ "mcpServers": { "s": { "command": "c" } }, "pool": { "maxBackends": 1 } }"#, &[]);
}

#[test]
fn a_server_can_be_disabled_in_two_ways() {
    let on = server("s", "c", &[]);
    let off = ServerConfig { disabled: true, ..on.clone() };
    check_server(r#""disabled": true"#, off.clone());
    check_server(r#""enabled": false"#, off.clone());
    check_server(r#""enabled": true, "disabled": true"#, off);
    check_server(r#""enabled": true, "disabled": false"#, on);
}

#[test]
fn what_only_other_clients_know_is_ignored() {
    check_server(
        r#""alwaysAllow": ["x"], "autoApprove": [], "envFile": ".env", "headers": { "A": "b" },
           "trust": true, "description": "", "oauth": {}, "startup_timeout_sec": 5, "url": "https://x""#,
        server("s", "c", &[]),
    );
}

#[test]
fn remote_servers_are_written_in_several_ways() {
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
fn what_is_wrong_with_a_remote_server_is_told_without_its_secrets() {
    let check = |keys: &str, expect: &[&str]| {
        check_problems(&format!(r#"{{ "mcpServers": {{ "r": {{ {keys} }} }} }}"#), expect);
    };
    check(
        r#""type": "http""#,
        &[
            "error mcpServers.r 1:19 `url` is missing | add where the server is, such as \"url\": \"https://…\"",
        ],
    );
    let remedy = "write where it is, such as \"https://example.com/mcp\"";
    check(
        r#""url": "ftp://x""#,
        &[&format!("error mcpServers.r.url 1:33 `url` begins with neither https:// nor http:// | {remedy}")],
    );
    check(
        r#""url": "example.com/mcp""#,
        &[&format!("error mcpServers.r.url 1:33 `url` is not one: relative URL without a base | {remedy}")],
    );
    check(
        r#""url": "http://example.com/mcp""#,
        &[
            "warning mcpServers.r.url 1:33 http:// to another machine can be read on the way, `headers` included \
           | use https:// if the server offers it",
        ],
    );
    for fine in
        ["http://localhost:1/mcp", "http://127.0.0.1/mcp", "http://[::1]:80/", "${URL}", "http://${HOST}/mcp"]
    {
        check(&format!(r#""url": "{fine}""#), &[]);
    }
    check(
        r#""url": "https://x", "headers": { "A B": "1", "Mcp-Session-Id": "2", "X": "3", "x": "4" }"#,
        &[
            "error mcpServers.r.headers.\"A B\" 1:59 not the name of a header | use letters, digits and -",
            "error mcpServers.r.headers.Mcp-Session-Id 1:71 this header is set by Switchboard itself | remove it",
            "error mcpServers.r.headers.x 1:104 this header is given twice | remove one of the two",
        ],
    );
}

#[test]
fn a_large_number_as_timeout_is_milliseconds() {
    let source = "{ \"mcpServers\": { \"s\": {\n\"command\": \"c\", \"timeout\": 60000 } } }";
    check_problems(
        source,
        &["warning mcpServers.s.timeout 2:28 60000 is taken for milliseconds, that is 1m \
           | write \"1m\" to be clear"],
    );
    let config = load(Path::new(""), source).config.unwrap();
    assert_eq!(config.servers[0].timeout, Duration::from_secs(60));
    check_server(
        r#""timeout": 999"#,
        ServerConfig { timeout: Duration::from_secs(999), ..server("s", "c", &[]) },
    );
    // Other times are ours, and in seconds.
    check_server(
        r#""startTimeout": 1000"#,
        ServerConfig { start_timeout: Duration::from_secs(1000), ..server("s", "c", &[]) },
    );
}

#[test]
fn unknown_keys_are_warned_of_with_the_nearest() {
    check_server_problems(
        r#""comand": "x", "start_timeout": "1s", "ARGS": [], "wholly": 1"#,
        &[
            "warning .comand: unknown key `comand`; it is ignored | did you mean `command`?",
            "warning .start_timeout: unknown key `start_timeout`; it is ignored | did you mean `startTimeout`?",
            "warning .ARGS: unknown key `ARGS`; it is ignored | did you mean `args`?",
            "warning .wholly: unknown key `wholly`; it is ignored | -",
        ],
    );
    check_problems(
        r#"{ "mcpservers": {}, "log": { "levle": "info" } }"#,
        &[
            "warning  1:1 no servers in this file | add \"mcpServers\": { \"NAME\": { \"command\": \"…\" } }",
            "warning mcpservers 1:3 unknown key `mcpservers`; it is ignored | did you mean `mcpServers`?",
            "warning log.levle 1:30 unknown key `levle`; it is ignored | did you mean `level`?",
        ],
    );
}

#[test]
fn wrong_types_name_the_place_what_was_found_and_what_is_accepted() {
    check_server_problems(
        r#""args": ["ok", 8080, true], "env": { "PORT": 3000, "": "x", "A=B": "x" }, "cwd": null,
           "disabled": "yes", "passEnv": "HOME""#,
        &[
            "error .args[1]: expected a string, found a number | write text in double quotes",
            "error .args[2]: expected a string, found a boolean | write text in double quotes",
            "error .env.PORT: expected a string, found a number | write text in double quotes",
            "error .env.\"\": not a name for an environment variable | use letters, digits and _",
            "error .env.\"A=B\": not a name for an environment variable | use letters, digits and _",
            "error .cwd: expected a string, found null | remove the key to get the default",
            "error .disabled: expected true or false, found a string | write true or false, without quotes",
            "error .passEnv: expected an array of strings, found a string | write [\"…\", \"…\"]",
        ],
    );
    check_problems(
        r#"{ "mcpServers": { "a": [], "b": { "command": ["npx", "x"] } }, "log": true }"#,
        &[
            "error mcpServers.a 1:24 expected an object, found an array | write { … }",
            "error mcpServers.b.command 1:46 expected a string, found an array | write text in double quotes",
            "error log 1:71 expected an object, found a boolean | write { … }",
        ],
    );
}

#[test]
fn wrong_values_name_what_is_accepted() {
    let time = "write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year";
    check_server_problems(
        r#""framing": "lines", "inheritEnv": true, "startTimeout": "soon", "timeout": -1,
           "hardTimeout": 1e9, "shutdownGrace": {}"#,
        &[
            "error .framing: unknown value \"lines\" | write one of \"auto\", \"newline\", \"content-length\"",
            "error .inheritEnv: unknown value true | write one of \"safe\", \"all\", \"none\"",
            &format!("error .startTimeout: not a length of time: \"soon\" | {time}"),
            &format!("error .timeout: not a length of time: -1 | {time}"),
            &format!("error .hardTimeout: not a length of time: 1e9 | {time}"),
            &format!("error .shutdownGrace: not a length of time: an object | {time}"),
        ],
    );
    check_server_problems(
        r#""startTimeout": 0, "timeout": "0s", "args": ["a\u0000b"], "passEnv": ["A=1"]"#,
        &[
            "error .startTimeout: there must be some time | write a longer time, or remove the key to get 30s",
            "error .timeout: there must be some time | write a longer time, or remove the key to get 10m",
            "error .args[0]: contains a NUL character | remove the \\u0000: no program can be given one",
            "error .passEnv: not the name of an environment variable \
             | write names, such as \"GITHUB_*\"; values go into `env`",
        ],
    );
    let size = "write \"64KiB\", \"10MB\" or \"512MiB\", or a whole number of bytes";
    for (written, message) in [
        ("\"big\"", format!("not a size: \"big\" | {size}")),
        ("1.5", format!("not a size: 1.5 | {size}")),
        ("512", "512B is out of bounds | write a size from 1KiB to 1GiB".to_owned()),
        ("\"2GiB\"", "2GiB is out of bounds | write a size from 1KiB to 1GiB".to_owned()),
    ] {
        check_problems(
            &format!(r#"{{ "mcpServers": {{}}, "maxMessageBytes": {written} }}"#),
            &[&format!("error maxMessageBytes 1:40 {message}")],
        );
    }
}

#[test]
fn a_call_that_ends_before_its_time_is_warned_of() {
    check_server_problems(
        r#""timeout": "2h""#,
        &["warning : `hardTimeout` (1h) ends a call before `timeout` (2h) does \
           | give a longer `hardTimeout`, or 0 for never"],
    );
    check_server_problems(r#""timeout": "2h", "hardTimeout": 0"#, &[]);
}

#[test]
fn a_server_needs_a_name_and_a_command() {
    let remedy = "add the program to start, such as \"command\": \"npx\"";
    check_problems(
        r#"{ "mcpServers": { "": { "command": "c" }, "a": {}, "b": { "command": " " }, "c\u0007": { "command": "c" } } }"#,
        &[
            "error mcpServers.\"\" 1:19 a server without a name | give it a short name, such as \"github\"",
            &format!("error mcpServers.a 1:43 `command` is missing | {remedy}"),
            &format!("error mcpServers.b.command 1:70 `command` is empty | {remedy}"),
            "error mcpServers.\"c�\" 1:77 a control character in a server's name | use letters, digits, - and _",
        ],
    );
}

#[test]
fn no_key_may_be_there_twice() {
    check_problems(
        "{ \"mcpServers\": {\n  \"a\": { \"command\": \"c\",\n    \"command\": \"d\", \"dev\": [{ \"x\": 1, \"x\": 2 }] },\n  \"a\": { \"command\": \"c\" } } }",
        &[
            "error mcpServers.a.command 3:5 the key `command` is in this object twice | remove one of the two",
            "error mcpServers.a.dev[0].x 3:39 the key `x` is in this object twice | remove one of the two",
            "error mcpServers.a 4:3 the key `a` is in this object twice | remove one of the two",
        ],
    );
}

#[test]
fn syntax_errors_have_line_and_column() {
    for (source, expect) in [
        ("", "1:1 the file is empty | write { \"mcpServers\": { … } } into it"),
        ("// nothing", "1:1 the file is empty | write { \"mcpServers\": { … } } into it"),
        ("[]", "1:1 the file is not a JSON object | it should look like { \"mcpServers\": { … } }"),
        ("{", "1:1 syntax error: unterminated object | add the missing }"),
        ("{\n \"é\": 1 \"b\": 2 }", "2:8 syntax error: expected comma | put a comma here"),
        ("{ a: 1 }", "1:3 syntax error: expected string for object property | put the key in double quotes"),
        ("{ 'a': 1 }", "1:3 syntax error: single-quoted strings are not allowed | use double quotes"),
        ("{ \"a\": yes }", "1:8 syntax error: unexpected word | put text in double quotes"),
        (
            "{ \"a\": \"C:\\x\" }",
            "1:11 syntax error: invalid escape \
             | strings start and end with a double quote; write \\\\ for a backslash",
        ),
        (
            "{} {}",
            "1:4 syntax error: text cannot contain more than one JSON value \
             | the file is JSON; comments and trailing commas are fine",
        ),
    ] {
        check_problems(source, &[&format!("error  {expect}")]);
    }
}

#[test]
fn a_problem_is_shown_as_a_compiler_shows_it() {
    let source = "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\",\n      \"timeout\": \"soon\"\n    }\n  }\n}";
    let loaded = load(Path::new("/etc/config.json"), source);
    let expect = r#"
error: mcpServers.github.timeout: not a length of time: "soon"
 --> /etc/config.json:5:18
  |
5 |       "timeout": "soon"
  |                  ^^^^^^
  = help: write "500ms", "90s", "10m" or "1h", or a number of seconds; at most a year"#;
    assert_eq!(format!("\n{}", loaded.problems[0]), expect);
}

#[test]
fn no_problem_shows_a_secret() {
    for source in [
        r#"{ "mcpServers": { "s": { "env": { "T": "s3cret" }, "comand": "s3cret", "timeout": "soon" } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "env": { "T": ["s3cret"], "U": { "x": "s3cret" } } } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "env": ["s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "passEnv": ["T=s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": s3cret } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": "s3cret } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T: "s3cret" } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": 's3cret' } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T" "s3cret" } } } }"#,
        r#"{ "mcpServers": [{ "name": "s", "env": { "T": "s3cret" } }] }"#,
        r#"{ "mcpServers": { "s": { "command": ["c", "--token=s3cret"], "timeout": ["s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "args": "--token s3cret", "cwd": ["s3cret"] } } }"#,
        r#"["s3cret"]"#,
    ] {
        let loaded = load(Path::new("config.json"), source);
        assert!(!loaded.problems.is_empty());
        for problem in &loaded.problems {
            assert!(!problem.to_string().contains("s3cret"), "{problem}");
            assert!(!format!("{problem:?}").contains("s3cret"), "{problem:?}");
        }
    }
    let config =
        load(Path::new(""), r#"{ "mcpServers": { "s": { "command": "c", "env": { "T": "s3cret" } } } }"#);
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn what_is_kept_has_a_name_and_no_namespace() {
    let name = "not the name of a process | write a name as `ps` shows it, such as \"adb\"";
    let strict = "nothing can be kept with `guard: strict` | use \"guard\": \"auto\" for this server, or remove `keep`";
    for written in [r#"[""]"#, r#"["/usr/bin/adb"]"#, r#"["a\nb"]"#] {
        check_problems(
            &format!(r#"{{ "mcpServers": {{ "s": {{ "command": "c", "keep": {written} }} }} }}"#),
            &[&format!("error mcpServers.s.keep 1:50 {name}")],
        );
    }
    check_problems(
        r#"{ "mcpServers": { "s": { "command": "c", "guard": "strict", "keep": ["adb"] } } }"#,
        &[&format!("warning mcpServers.s.keep 1:69 {strict}")],
    );
}

#[test]
fn a_count_is_a_whole_number_of_at_least_one() {
    for written in ["0", "-1", "1.5", "\"4\"", "1e9", "true"] {
        let file =
            format!(r#"{{ "mcpServers": {{ "s": {{ "command": "c", "maxInFlight": {written} }} }} }}"#);
        assert!(load(Path::new("c.json"), &file).config.is_none(), "{written}");
    }
}
