//! The servers' offers as clients see them: filters and names.

use super::checks::{check, check_problems, check_server, check_server_problems, server};
use crate::config::{Config, FilterConfig, Names, ServerConfig};

fn filter(allow: &[&str], deny: &[&str], rename: &[(&str, &str)]) -> FilterConfig {
    let strings = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    let rename = rename.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect();
    FilterConfig { allow: strings(allow), deny: strings(deny), rename }
}

#[test]
fn every_setting_is_read() {
    check(
        r#"{
            "mcpServers": {
                "s": {
                    "command": "c", "lazy": false,
                    "tools": { "allow": ["a*", "b"], "deny": ["ab"], "rename": { "b": "c", "a": "b" } },
                    "prompts": { "deny": ["p"], "rename": { "q": "what is this?" } },
                    "resources": { "allow": ["file://*"], "deny": ["*.env"] }
                }
            },
            "names": "plain", "pageSize": 50,
            "notifications": { "notifications/x": ["s"], "notifications/y": [] }
        }"#,
        Config {
            servers: vec![ServerConfig {
                lazy: false,
                tools: filter(&["a*", "b"], &["ab"], &[("b", "c"), ("a", "b")]),
                prompts: filter(&[], &["p"], &[("q", "what is this?")]),
                resources: filter(&["file://*"], &["*.env"], &[]),
                ..server("s", "c", &[])
            }],
            names: Names::Plain,
            page_size: Some(50),
            notifications: vec![
                ("notifications/x".into(), vec!["s".into()]),
                ("notifications/y".into(), Vec::new()),
            ],
            ..Config::default()
        },
    );
}

#[test]
fn array_is_short_for_allow() {
    let allowed = filter(&["a", "b*"], &[], &[]);
    check_server(
        r#""tools": ["a", "b*"], "prompts": ["a", "b*"], "resources": ["a", "b*"]"#,
        ServerConfig {
            tools: allowed.clone(),
            prompts: allowed.clone(),
            resources: allowed,
            ..server("s", "c", &[])
        },
    );
}

#[test]
fn an_empty_list_allows_nothing() {
    let nothing = filter(&[], &["*"], &[]);
    check_server(
        r#""tools": [], "prompts": { "allow": [] }, "resources": {}"#,
        ServerConfig { tools: nothing.clone(), prompts: nothing, ..server("s", "c", &[]) },
    );
}

#[test]
fn wrong_filters_are_told() {
    check_server_problems(
        r#""lazy": "yes", "tools": "*", "prompts": { "alow": [], "deny": "x" }, "resources": { "rename": {} }"#,
        &[
            "error .lazy: expected true or false, found a string | write true or false, without quotes",
            "error .tools: expected an object or an array of strings, found a string \
             | write { \"allow\": [\"…\"], \"deny\": [\"…\"] }, or only what is allowed: [\"…\"]",
            "warning .prompts.alow: unknown key `alow`; it is ignored | did you mean `allow`?",
            "error .prompts.deny: expected an array of strings, found a string | write [\"…\", \"…\"]",
            "warning .resources.rename: unknown key `rename`; it is ignored | -",
        ],
    );
    check_server_problems(
        r#""tools": { "allow": ["a", 1, " "] }, "prompts": [true]"#,
        &[
            "error .tools.allow[1]: expected a string, found a number | write text in double quotes",
            "error .prompts[0]: expected a string, found a boolean | write text in double quotes",
        ],
    );
    check_server_problems(
        r#""tools": { "allow": ["a", " "], "deny": [""] }"#,
        &[
            "error .tools.allow[1]: an empty pattern | write a name, or a part of one with *: \"read_*\"",
            "error .tools.deny[0]: an empty pattern | write a name, or a part of one with *: \"read_*\"",
        ],
    );
}

#[test]
fn wrong_names_are_told() {
    check_server_problems(
        r#""tools": { "rename": { "a*": "b", "c": "", "d": "two words", "e": "x", "f": "x" } },
           "prompts": { "rename": { "g": "two words", "h": 1 } }"#,
        &[
            "error .tools.rename.\"a*\": `a*` is not a name \
             | write one whole name as the server has it; patterns are for `allow` and `deny`",
            "error .tools.rename.c: not a name | write the new name, in letters, digits, - and _",
            "warning .tools.rename.d: many clients reject a tool named `two words` \
             | use only letters, digits, - and _",
            "error .tools.rename.f: `e` and `f` get the same name | give one of them another name",
            "error .prompts.rename.h: expected a string, found a number | write text in double quotes",
        ],
    );
    check_server_problems(
        r#""tools": { "rename": ["a"] }"#,
        &["error .tools.rename: expected an object of strings, found an array | write { \"NAME\": \"…\" }"],
    );
}

#[test]
fn wrong_settings_of_the_file_are_told() {
    check_problems(
        r#"{ "mcpServers": {}, "names": "short", "pageSize": 0, "notifications": { "notifications/x": "s" } }"#,
        &[
            "error names 1:30 unknown value \"short\" | write one of \"prefixed\", \"plain\"",
            "error pageSize 1:51 not a valid number: 0 | write a whole number from 1 to 100000",
            "error notifications.\"notifications/x\" 1:92 expected an array of strings, found a string \
             | write [\"…\", \"…\"]",
        ],
    );
}

#[test]
fn notifications_need_existing_servers() {
    check_problems(
        r#"{ "mcpServers": { "github": { "command": "c" }, "far": { "url": "https://x" }, "off": { "command": "c", "disabled": true } },
  "notifications": { "notifications/x": ["github", "githib", "far", "off"], "editor/opened": ["other"] } }"#,
        &[
            "error notifications.\"notifications/x\"[1] 2:52 there is no server `githib` | did you mean `github`?",
            "error notifications.\"editor/opened\" 2:77 `editor/opened` is not the method of a notification \
             | write its full name, such as \"notifications/roots/list_changed\"",
            "error notifications.\"editor/opened\"[0] 2:95 there is no server `other` | there are: github, far, off",
        ],
    );
    check_problems(
        r#"{ "mcpServers": {}, "notifications": { "notifications/x": ["a"] } }"#,
        &[
            "error notifications.\"notifications/x\"[0] 1:60 there is no server `a` | this file has no servers",
        ],
    );
}

#[test]
fn ambiguous_names_are_warned_of() {
    let source = |servers: &str, more: &str| {
        let servers: Vec<String> =
            servers.split(',').map(|name| format!(r#""{name}": {{ "command": "c" }}"#)).collect();
        format!(r#"{{ "mcpServers": {{ {} }}{more} }}"#, servers.join(", "))
    };
    check_problems(&source("a-b,a_b,A_B,a_,a1", ""), &[]);
    check_problems(
        &source("my server", ""),
        &[
            "warning mcpServers.\"my server\" 1:19 in the names of its tools, `my server` is written `my_server`: \
             many clients accept only letters, digits, - and _ | call it `my_server` here too",
        ],
    );
    check_problems(
        &source("a_b,a.b", ""),
        &["warning mcpServers.\"a.b\" 1:46 the tools of `a_b` and `a.b` both begin with `a_b` \
             | give one of the two another name"],
    );
    check_problems(
        &source("a__b,a,a_,a__", ""),
        &[
            "warning mcpServers.a__b 1:19 `a__b__x` could be a tool of `a` as well as of `a__b` \
             | give one of the two another name, without `__`",
            "warning mcpServers.a__ 1:98 `a____x` could be a tool of `a` as well as of `a__` \
             | give one of the two another name, without `__`",
        ],
    );
    check_problems(
        &source("twenty-four-characters-x,twenty-five-characters-xx", ""),
        &["warning mcpServers.twenty-five-characters-xx 1:67 the server's name is long (25 characters): \
             the names of its tools with more than 19 characters are shortened \
             | give it a name of at most 24 characters"],
    );
    check_problems(&source("my server,my.server,my_server__x", r#", "names": "plain""#), &[]);
    // A disabled server collides with none.
    check_problems(
        r#"{ "servers": { "a": { "command": "c", "disabled": true }, "a__b": { "command": "c" } } }"#,
        &[],
    );
}
