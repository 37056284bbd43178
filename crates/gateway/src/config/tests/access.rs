//! Limits on calls, and requests that servers may send.

use std::num::NonZeroU32;
use std::path::Path;

use super::checks::{check, check_problems, check_server, check_server_problems, server};
use crate::config::{Config, ServerConfig, load};
use switchboard_core::access::{Asks, CallLimits, IdentityLimits, Rate, ServerLimits};

fn limits(rate: &str, burst: u32, concurrent: u32) -> CallLimits {
    let rate = Rate::parse(rate);
    let with_burst = |rate: Rate| NonZeroU32::new(burst).map_or(rate, |burst| rate.with_burst(burst));
    CallLimits { rate: rate.map(with_burst), concurrent: NonZeroU32::new(concurrent) }
}

#[test]
fn limits_are_read() {
    let tools = vec![
        ("create_*".to_owned(), limits("5/min", 0, 0)),
        ("*".to_owned(), limits("1/s", 9, 0)),
        ("slow".to_owned(), limits("", 0, 1)),
    ];
    check_server(
        r#""limits": { "rate": "100/h", "burst": 20, "concurrent": 4,
           "tools": { "create_*": "5/min", "*": { "rate": "1/s", "burst": 9 }, "slow": { "concurrent": 1 } } }"#,
        ServerConfig { limits: ServerLimits { all: limits("100/h", 20, 4), tools }, ..server("s", "c", &[]) },
    );
    check(
        r#"{ "mcpServers": {}, "limits": { "rate": "1000/d", "concurrent": 2, "owner": true } }"#,
        Config {
            limits: IdentityLimits { limits: limits("1000/d", 0, 2), include_owner: true },
            ..Config::default()
        },
    );
}

#[test]
fn wrong_limits_say_what_to_write() {
    let remedy = "write calls per second, minute, hour or day: \"10/s\", \"5/min\", \"100/h\" or \"1000/d\"; \
                  from 1 to 100000";
    check_server_problems(
        r#""limits": { "rate": "5/m", "burst": 0, "concurrent": 0, "tool": {},
           "tools": { "a": "0/min", "b": 5, "c": { "rate": 5 }, "d": "100001/s" } }"#,
        &[
            &format!("error .limits.rate: not a rate: \"5/m\" | {remedy}"),
            "error .limits.burst: not a valid number: 0 | write a whole number from 1 to 100000",
            "error .limits.concurrent: not a valid number: 0 | write a whole number from 1 to 100000",
            "warning .limits.tool: unknown key `tool`; it is ignored | did you mean `tools`?",
            &format!("error .limits.tools.a: not a rate: \"0/min\" | {remedy}"),
            "error .limits.tools.b: expected a rate or an object, found a number \
             | write a rate such as \"5/min\", or { \"rate\": \"5/min\", \"concurrent\": 1 }",
            &format!("error .limits.tools.c.rate: not a rate: 5 | {remedy}"),
            &format!("error .limits.tools.d: not a rate: \"100001/s\" | {remedy}"),
        ],
    );
    let needs_rate = "`burst` without `rate` \
                      | add `rate`, such as \"100/min\"; for calls in progress use `concurrent`";
    check_server_problems(
        r#""limits": { "burst": 5, "tools": { "": "5/min", "a": {}, "b": { "burst": 2 } } }"#,
        &[
            &format!("error .limits.burst: {needs_rate}"),
            "error .limits.tools.\"\": an empty pattern \
             | write a tool's name, or a part of it with *: \"create_*\"",
            "error .limits.tools.a: neither `rate` nor `concurrent` \
             | add `rate` or `concurrent`, or remove the pattern",
            &format!("error .limits.tools.b.burst: {needs_rate}"),
        ],
    );
    check_problems(
        r#"{ "mcpServers": {}, "limits": { "rate": "often", "owner": "yes" } }"#,
        &[
            &format!("error limits.rate 1:41 not a rate: \"often\" | {remedy}"),
            "error limits.owner 1:59 expected true or false, found a string | write true or false, without quotes",
        ],
    );
}

#[test]
fn asks_are_merged_by_kind() {
    let source = r#"{ "defaults": { "asks": { "sampling": "deny", "roots": "deny" }, "limits": { "rate": "5/min" } },
        "mcpServers": { "a": { "command": "c", "asks": { "roots": "allow", "elicitation": "deny" }, "limits": {} },
                        "b": { "command": "c" } } }"#;
    let config = load(Path::new("config.json"), source).config.expect("a good file");
    let [a, b] = &config.servers[..] else { panic!("two servers") };
    assert_eq!(a.asks, Asks { sampling: false, elicitation: false, roots: true });
    assert_eq!(b.asks, Asks { sampling: false, elicitation: true, roots: false });
    assert!(a.limits.is_open(), "an entry's own limits replace the others");
    assert_eq!(b.limits.all, limits("5/min", 0, 0));
    check_server_problems(
        r#""asks": { "sampling": false, "root": "deny" }"#,
        &[
            "error .asks.sampling: unknown value false | write one of \"allow\", \"deny\"",
            "warning .asks.root: unknown key `root`; it is ignored | did you mean `roots`?",
        ],
    );
}

#[test]
fn limits_need_no_restart_and_asks_do() {
    let plain = server("s", "c", &[]);
    let all = limits("5/min", 0, 0);
    let limited = ServerConfig { limits: ServerLimits { all, tools: Vec::new() }, ..plain.clone() };
    let asks = Asks { sampling: false, ..Asks::default() };
    assert!(plain.runs_like(&limited));
    assert!(!plain.runs_like(&ServerConfig { asks, ..plain.clone() }), "the handshake differs");
}
