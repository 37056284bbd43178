//! `defaults`: keys of a server that apply to all servers; and presets.

use std::path::Path;

use serde_json::Value;

use super::checks::{check_problems, check_server_problems};
use crate::config::{Config, ServerConfig, load, schema};

fn loaded(source: &str) -> Config {
    let loaded = load(Path::new("config.json"), source);
    assert_eq!(loaded.problems, [], "{source}");
    loaded.config.unwrap()
}

/// Server of a file with these defaults and these keys of its own.
fn server(defaults: &str, own: &str) -> ServerConfig {
    let source =
        format!(r#"{{ "defaults": {{ {defaults} }}, "mcpServers": {{ "s": {{ "command": "c"{own} }} }} }}"#);
    loaded(&source).servers.remove(0)
}

/// Every key that can be a default means the same there as in each entry.
#[test]
fn defaults_are_as_if_each_entry_had_them() {
    let schema = schema();
    let (all, for_all) = (
        &schema["properties"]["mcpServers"]["additionalProperties"]["properties"],
        &schema["properties"]["defaults"]["properties"],
    );
    for (key, value) in for_all.as_object().unwrap() {
        assert_eq!(Some(value), all.get(key), "{key}");
        let example = &value["examples"][0];
        let written = format!(r#""{key}": {example}"#);
        assert_eq!(server(&written, ""), server("", &format!(", {written}")), "{key}");
        // The same on a command line.
        let config = loaded(&format!(r#"{{ "defaults": {{ {written} }}, "mcpServers": {{}} }}"#));
        let plain = ServerConfig::for_command("s", "c", Vec::new());
        let mut given = plain.clone();
        config.apply_to(&mut given);
        assert_ne!(given, plain, "{key}");
    }
}

#[test]
fn own_key_wins() {
    let both = server(
        r#""timeout": "1m", "memoryLimit": "1GiB", "health": "5m", "debounce": { "notifications/x": 1, "notifications/y": 1 }"#,
        r#", "timeout": "2m", "memoryLimit": 0, "health": 0, "debounce": { "notifications/x": 2 }"#,
    );
    let own = server(
        "",
        r#", "timeout": "2m", "health": 0, "debounce": { "notifications/y": 1, "notifications/x": 2 }"#,
    );
    assert_eq!(both, own);
}

#[test]
fn keys_of_one_server_are_refused() {
    let schema = schema();
    let all = &schema["properties"]["mcpServers"]["additionalProperties"]["properties"];
    let for_all = &schema["properties"]["defaults"]["properties"];
    let refused = |key: &&String| for_all.get(key.as_str()).is_none();
    for key in all.as_object().unwrap().keys().filter(refused) {
        let example: &Value = &all[key.as_str()]["examples"][0];
        let source = format!(r#"{{ "defaults": {{ "{key}": {example} }}, "mcpServers": {{}} }}"#);
        let loaded = load(Path::new("config.json"), &source);
        let problem = &loaded.problems[0].message;
        assert!(problem.starts_with(&format!("`{key}` cannot be a default: it ")), "{problem}");
    }
    check_problems(
        r#"{ "mcpServers": {}, "defaults": { "comand": "x", "timout": 5, "note": "n", "retries": 2 } }"#,
        &[
            "warning defaults.comand 1:35 unknown key `comand`; it is ignored",
            "warning defaults.timout 1:50 unknown key `timout`; it is ignored | did you mean `timeout`?",
            "warning defaults.note 1:63 unknown key `note`; it is ignored",
            "warning defaults.retries 1:76 unknown key `retries`; it is ignored",
        ],
    );
}

#[test]
fn preset_stands_instead_of_a_command() {
    let config = loaded(
        r#"{ "defaults": { "passEnv": ["MINE"], "maxBackends": 7 }, "mcpServers": {
            "a": { "preset": "auggie" }, "b": { "preset": "auggie", "maxBackends": 2, "env": { "AUGMENT_DISABLE_AUTO_UPDATE": "0" } } } }"#,
    );
    let [a, b] = &config.servers[..] else { panic!("two servers") };
    assert_eq!((a.max_backends, b.max_backends), (7, 2));
    assert_eq!(a.pass_env, ["AUGMENT_*", "MINE"]);
    assert_eq!(b.env[0].1, "0", "the entry's own");
    check_problems(
        r#"{ "mcpServers": { "a": { "preset": "augie" }, "b": { "preset": "auggie", "command": "c" }, "c": { "preset": "auggie", "mode": " " } } }"#,
        &[
            "error mcpServers.a.preset 1:36 unknown value \"augie\" | write one of \"auggie\"",
            "error mcpServers.b.command 1:85 `command` cannot be used with `preset` \
             | remove one of the two: the preset sets its own command",
            "error mcpServers.c.mode 1:127 the value is empty | remove the key to get the default",
        ],
    );
    check_server_problems(
        r#""entry": "x.mjs""#,
        &["warning .entry: `entry` has no effect without `preset`; it is ignored \
             | add \"preset\": \"auggie\", or remove it"],
    );
}
