//! Agreement of `docs/config.md`, the schema and the loader: equal keys, defaults and
//! examples, and examples that work.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::config::environment::TOLD;
use crate::config::keys::FOREIGN_AT_TOP;
use crate::config::runner_list::RUNNER_VARIABLES;
use crate::config::safe_list::SAFE;
use crate::config::separating::SESSION;
use crate::config::server_keys::FOREIGN_IN_SERVER;
use crate::config::{load, schema};

const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md"));

/// Cells of the tables under a heading, without the header rows.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = DOCS.split_once(&format!("\n{heading}\n")).expect("the docs have this heading");
    let section = section.split("\n#").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// Default and example of each key in the docs, as JSON.
fn documented(heading: &str) -> BTreeMap<&'static str, (Option<Value>, Option<Value>)> {
    let json = |cell| {
        code(cell).map(|text| serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}")))
    };
    rows(heading)
        .iter()
        .map(|row| {
            let [key, _type, default, example, _meaning] = row[..] else { panic!("five columns: {row:?}") };
            (code(key).expect("a key in backticks"), (json(default), json(example)))
        })
        .collect()
}

/// Default and example of each key in the schema.
fn defined(object: &Value) -> BTreeMap<&str, (Option<Value>, Option<Value>)> {
    let properties = object["properties"].as_object().expect("an object has properties");
    properties
        .iter()
        .map(|(key, value)| {
            (key.as_str(), (value.get("default").cloned(), value["examples"].get(0).cloned()))
        })
        .collect()
}

#[test]
fn docs_and_schema_agree() {
    let file = schema();
    let server = &file["properties"]["mcpServers"]["additionalProperties"];
    assert_eq!(documented("## Keys of the file"), defined(&file));
    assert_eq!(documented("## Keys of a server"), defined(server));
    assert_eq!(documented("## Keys of `pool`"), defined(&file["properties"]["pool"]));
    assert_eq!(documented("## Keys of `log`"), defined(&file["properties"]["log"]));
    assert_eq!(documented("## Keys of `audit`"), defined(&file["properties"]["audit"]));
    assert_eq!(documented("## Keys of `serve`"), defined(&file["properties"]["serve"]));
    assert_eq!(documented("## Keys of `limits`"), defined(&file["properties"]["limits"]));
    assert_eq!(documented("## Keys of `limits` of a server"), defined(&server["properties"]["limits"]));
    assert_eq!(documented("## Keys of `asks`"), defined(&server["properties"]["asks"]));
    assert_eq!(documented("## Keys of `access`"), defined(&file["properties"]["access"]));
    for filter in ["tools", "prompts"] {
        assert_eq!(documented("## Keys of `tools` and `prompts`"), defined(full(server, filter)));
    }
    assert_eq!(documented("## Keys of `resources`"), defined(full(server, "resources")));
    let profile = profile(&file);
    assert_eq!(documented("## Keys of a profile"), defined(profile));
    for key in profile["properties"].as_object().unwrap().keys() {
        assert_eq!(documented("## Keys of the rights of a profile"), defined(full(profile, key)));
    }
}

/// Schema of the object form of a profile.
fn profile(file: &Value) -> &Value {
    let forms = &file["properties"]["profiles"]["additionalProperties"]["anyOf"];
    assert_eq!(forms[0]["type"], "array");
    &forms[1]
}

/// Schema of the object form of a key that also accepts an array.
fn full<'a>(server: &'a Value, key: &str) -> &'a Value {
    let forms = &server["properties"][key]["anyOf"];
    assert_eq!(forms[0]["type"], "array", "{key}");
    &forms[1]
}

#[test]
fn every_key_has_a_description() {
    let file = schema();
    let server = &file["properties"]["servers"]["additionalProperties"];
    let filters = ["tools", "prompts", "resources"].map(|key| full(server, key));
    let (for_all, own) = (&file["properties"], &server["properties"]);
    let of_file = [&for_all["pool"], &for_all["log"], &for_all["audit"], &for_all["limits"], profile(&file)];
    let objects = [&file, server, &own["limits"], &own["asks"]].into_iter().chain(of_file);
    for object in objects.chain(filters) {
        for (key, value) in object["properties"].as_object().unwrap() {
            assert!(value["description"].is_string(), "{key}");
        }
    }
}

#[test]
fn loader_takes_defaults_and_examples() {
    let all = |heading: &str| {
        let keys = documented(heading).into_iter();
        keys.flat_map(|(key, (default, example))| {
            [default, example].into_iter().flatten().map(move |v| (key, v))
        })
    };
    let check = |source: String| assert_eq!(load(Path::new("docs"), &source).problems, [], "{source}");
    for (key, value) in all("## Keys of the file") {
        let servers = match key {
            "mcpServers" => "",
            "notifications" => r#""mcpServers": { "search": { "command": "c" } }, "#,
            "profiles" => r#""mcpServers": { "github": { "command": "c" }, "files": { "command": "c" } }, "#,
            _ => r#""mcpServers": {}, "#,
        };
        check(format!(r#"{{ {servers}"{key}": {value} }}"#));
    }
    for (key, value) in all("## Keys of a server") {
        let command = match key {
            "command" | "preset" => "",
            "node" | "entry" | "mode" | "argsTemplate" => r#""preset": "auggie", "#,
            _ => r#""command": "c", "#,
        };
        check(format!(r#"{{ "mcpServers": {{ "s": {{ {command}"{key}": {value} }} }} }}"#));
    }
    for (object, heading) in [
        ("tools", "## Keys of `tools` and `prompts`"),
        ("prompts", "## Keys of `tools` and `prompts`"),
        ("resources", "## Keys of `resources`"),
        ("limits", "## Keys of `limits` of a server"),
        ("asks", "## Keys of `asks`"),
    ] {
        for (key, value) in all(heading) {
            let rate = if key == "burst" { r#""rate": "9/s", "# } else { "" };
            let server = format!(r#""command": "c", "{object}": {{ {rate}"{key}": {value} }}"#);
            check(format!(r#"{{ "mcpServers": {{ "s": {{ {server} }} }} }}"#));
        }
    }
    for (key, value) in all("## Keys of a profile") {
        let servers = r#""mcpServers": { "github": { "command": "c" }, "files": { "command": "c" } }"#;
        check(format!(r#"{{ {servers}, "profiles": {{ "p": {{ "{key}": {value} }} }} }}"#));
    }
    for (key, value) in all("## Keys of the rights of a profile") {
        check(format!(
            r#"{{ "mcpServers": {{}}, "profiles": {{ "p": {{ "tools": {{ "{key}": {value} }} }} }} }}"#
        ));
    }
    for object in ["pool", "log", "audit", "limits", "access"] {
        for (key, value) in all(&format!("## Keys of `{object}`")) {
            let rate = if key == "burst" { r#""rate": "9/s", "# } else { "" };
            check(format!(r#"{{ "mcpServers": {{}}, "{object}": {{ {rate}"{key}": {value} }} }}"#));
        }
    }
}

#[test]
fn the_values_of_a_choice_are_listed() {
    let file = schema();
    let server = &file["properties"]["mcpServers"]["additionalProperties"];
    let objects = [
        ("## Keys of the file", &file),
        ("## Keys of a server", server),
        ("## Keys of `pool`", &file["properties"]["pool"]),
        ("## Keys of `log`", &file["properties"]["log"]),
        ("## Keys of `asks`", &server["properties"]["asks"]),
        ("## Keys of `access`", &file["properties"]["access"]),
        ("## Keys of `audit`", &file["properties"]["audit"]),
    ];
    for (heading, object) in objects {
        for row in rows(heading) {
            let key = code(row[0]).unwrap();
            let Some(choices) = object["properties"][key]["oneOf"].as_array() else { continue };
            let words: Vec<String> =
                choices.iter().map(|choice| format!("`{}`", choice["const"].as_str().unwrap())).collect();
            assert_eq!(row[1], words.join(", "), "{key}");
        }
    }
}

#[test]
fn the_foreign_keys_are_listed() {
    let (_, section) = DOCS.split_once("\n## Keys of other programs\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let listed: Vec<&str> = section.split('`').skip(1).step_by(2).collect();
    let known: Vec<&str> = FOREIGN_AT_TOP.iter().chain(FOREIGN_IN_SERVER).copied().collect();
    assert_eq!(listed, known);
}

/// Rows of a table with a label and names in backticks.
fn named_rows(heading: &str) -> Vec<(String, Vec<String>)> {
    let names = |text: &str| {
        text.split(", ").map(|name| code(name).expect("a name in backticks").to_owned()).collect()
    };
    rows(heading).iter().map(|row| (row[0].to_owned(), names(row[1]))).collect()
}

#[test]
fn safe_list_matches_the_code() {
    let listed = named_rows("### The safe list");
    let known: Vec<(String, Vec<String>)> = SAFE
        .iter()
        .map(|(group, names)| (group.to_string(), names.iter().map(|name| name.to_string()).collect()))
        .collect();
    assert_eq!(listed, known);
    for (name, value) in TOLD {
        assert!(DOCS.contains(&format!("`{name}={value}`")), "{name}");
    }
}

#[test]
fn session_variables_match_the_code() {
    let names: Vec<String> = SESSION.iter().map(|name| format!("`{name}`")).collect();
    assert!(DOCS.contains(&format!("Session: {}.", names.join(", "))), "{}", names.join(", "));
}

#[test]
fn runner_variables_match_the_code() {
    let listed = named_rows("### Variables of package runners");
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let known: Vec<(String, Vec<String>)> =
        RUNNER_VARIABLES.iter().map(|(label, _, names)| (label.to_string(), owned(names))).collect();
    assert_eq!(listed, known);
}

#[test]
fn the_examples_work() {
    let blocks: Vec<&str> =
        DOCS.split("```jsonc\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let loaded = load(Path::new("docs"), block);
        assert_eq!(loaded.problems, [], "{block}");
    }
}

#[test]
fn the_error_is_as_shown() {
    let source = "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\",\n      \"timeout\": \"soon\"\n";
    let loaded = load(Path::new("switchboard.json"), &format!("{source}    }}\n  }}\n}}"));
    assert!(DOCS.contains(&loaded.problems[0].to_string()), "{}", loaded.problems[0]);
}
