//! Profiles: their rights, and mistakes that must not allow more than was meant.

use super::checks::check_problems;
use crate::config::load;
use std::path::Path;
use switchboard_core::access::{Patterns, Rights};

/// A file with two servers and this profile.
fn file(profile: &str) -> String {
    format!(
        r#"{{ "mcpServers": {{ "a": {{ "command": "c" }}, "b": {{ "command": "c", "disabled": true }} }}, "profiles": {{ "p": {profile} }} }}"#
    )
}

#[track_caller]
fn check(profile: &str, expect: &Rights) {
    let loaded = load(Path::new("c"), &file(profile));
    assert_eq!(loaded.problems, [], "{profile}");
    let config = loaded.config.expect("a config");
    assert_eq!(config.profiles[0].0, "p");
    assert_eq!(*config.profiles[0].1, *expect, "{profile}");
}

fn patterns(allow: &[&str], deny: &[&str]) -> Patterns {
    let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
    Patterns { allow: globs(allow), deny: globs(deny) }
}

#[test]
fn profiles_are_rights() {
    let servers = patterns(&["b", "a"], &[]);
    check(r#"["b", "a"]"#, &Rights { servers: servers.clone(), ..Rights::default() });
    check(r#"{ "servers": ["b", "a"] }"#, &Rights { servers, ..Rights::default() });
    check("{}", &Rights::default());
    check(
        r#"{ "servers": { "deny": ["a"] }, "tools": ["x"], "prompts": { "allow": ["y"], "deny": ["z"] },
             "resources": { "deny": ["*.env"] }, "methods": ["tools/*"] }"#,
        &Rights {
            servers: patterns(&[], &["a"]),
            tools: patterns(&["x"], &[]),
            prompts: patterns(&["y"], &["z"]),
            resources: patterns(&[], &["*.env"]),
            methods: patterns(&["tools/*"], &[]),
        },
    );
}

#[test]
fn empty_lists_allow_nothing() {
    check("[]", &Rights { servers: Patterns::nothing(), ..Rights::default() });
    check(r#"{ "tools": [] }"#, &Rights { tools: Patterns::nothing(), ..Rights::default() });
    check(
        r#"{ "methods": { "allow": [], "deny": ["x"] } }"#,
        &Rights { methods: patterns(&[], &["x", "*"]), ..Rights::default() },
    );
}

#[test]
fn mistakes_in_profiles_are_errors() {
    for (profile, expect) in [
        (r#"["c"]"#, "error profiles.p[0] 1:109 there is no server `c` | there are: a, b"),
        (
            r#"{ "servers": { "deny": ["aa"] } }"#,
            "error profiles.p.servers.deny[0] 1:132 there is no server `aa` | there are: a, b",
        ),
        (r#"{ "tool": [] }"#, "error profiles.p.tool 1:110 unknown key `tool` | did you mean `tools`?"),
        (
            r#"{ "tools": { "except": [] } }"#,
            "error profiles.p.tools.except 1:121 unknown key `except` | there are: allow, deny",
        ),
        (
            r#"{ "tools": "x" }"#,
            "error profiles.p.tools 1:119 expected an object or an array of strings, found a string \
             | write { \"allow\": [\"…\"], \"deny\": [\"…\"] }, or only what is allowed: [\"…\"]",
        ),
        (
            r#""a""#,
            "error profiles.p 1:108 expected an object or an array of strings, found a string \
             | write { \"servers\": [\"…\"], \"tools\": [\"…\"] }, or only its servers: [\"…\"]",
        ),
        (
            r#"{ "methods": [""] }"#,
            "error profiles.p.methods[0] 1:122 an empty pattern | write a name, or a part of one with *: \"read_*\"",
        ),
        (r#"{ "servers": ["c*"] }"#, "warning profiles.p.servers[0] 1:122 no server matches `c*`"),
    ] {
        check_problems(&file(profile), &[expect]);
    }
    check_problems(&file(r#"{ "servers": ["?", "*"] }"#), &[]);
}
