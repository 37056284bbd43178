//! Start of a server from its config entry.

use crate::support::{config, configured, error, fake_backend, greet, program};
use serde_json::{Value, json};
use switchboard_testkit::client::Start;

#[track_caller]
fn facts(start: Start) -> Value {
    let mut client = greet(start);
    client.call("facts", json!({}))["result"].take()
}

/// Arguments of the server after `--`.
fn words(facts: &Value) -> Vec<&str> {
    let words = facts["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    words.skip_while(|word| *word != "--").skip(1).collect()
}

#[test]
fn commented_config_from_an_ide_works() {
    let start = program();
    let record = start.record();
    let text = format!(
        r#"{{
            // Pasted from an IDE.
            "mcpServers": {{
                "fake": {{
                    "command": {:?}, /* the command */
                    "args": ["--record", {:?}],
                    "env": {{ "A": "1", }},
                    "autoApprove": ["x"],
                    "type": "stdio",
                }},
            }},
        }}"#,
        fake_backend(),
        record.folder()
    );
    let path = start.scratch().file("mcp.json", text);
    let facts = facts(start.args(["stdio", "--server", "fake", "--config"]).arg(path));
    assert_eq!(facts["env"]["A"], "1");
}

#[test]
fn variables_are_expanded() {
    let server = json!({ "env": { "V": "${VALUE}", "E": "${env:VALUE}", "D": "${MISSING:-default}", "L": "$${VALUE} $VALUE" } });
    let start = configured(json!({}), server, &["--", "${VALUE}", "${MISSING:-a b}", "${userHome}"]);
    let home = start.scratch().join("home").display().to_string();
    let facts = facts(start.env("VALUE", "${not} again"));
    assert_eq!(words(&facts), ["${not} again", "a b", &home]);
    let env = &facts["env"];
    assert_eq!(
        [&env["V"], &env["E"], &env["D"], &env["L"]],
        ["${not} again", "${not} again", "default", "${VALUE} $VALUE"]
    );
}

#[test]
fn unset_variable_is_named() {
    let mut client = configured(json!({}), json!({ "env": { "T": "${NO_SUCH_VARIABLE}" } }), &[]).start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("NO_SUCH_VARIABLE"), "{told}");
}

#[test]
fn root_is_expanded_in_arguments() {
    let start = configured(
        json!({}),
        json!({}),
        &["--", "${root}", "${workspaceFolder}/x", "${workspaceFolderBasename}"],
    );
    let root = start.scratch().folder("my project");
    let shown = root.display().to_string();
    let facts = facts(start.arg("--root").arg(&root));
    assert_eq!(words(&facts), [&shown, &format!("{shown}/x"), "my project"]);
    assert_eq!(facts["cwd"], json!(root), "a server starts in its root");
}

#[test]
fn cwd_may_be_given() {
    let start = configured(json!({}), json!({ "cwd": "${root}/sub" }), &[]);
    let sub = start.scratch().folder("project/sub");
    let root = start.scratch().join("project");
    assert_eq!(facts(start.arg("--root").arg(root))["cwd"], json!(sub));
}

#[test]
fn ignored_folders_are_passed_on() {
    let file = json!({ "ignoredFolders": [".git", "out"] });
    let server = json!({ "env": { "IGNORE": "${ignoredFolders}" } });
    let facts = facts(configured(file, server, &["--", "-x=${ignoredFolder}", "${ignoredFolders}"]));
    assert_eq!(words(&facts), ["-x=.git", "-x=out", ".git,out"]);
    assert_eq!(facts["env"]["IGNORE"], ".git,out");
}

/// Two servers, with extra keys.
fn two(extra: Value) -> Start {
    let start = program();
    let record = start.record();
    let mut file = config(json!({}), json!({}), record.folder(), &["--", "first"]);
    file["mcpServers"]["other"] = json!({ "command": fake_backend(), "args": ["--", "second"] });
    for (name, keys) in extra.as_object().unwrap() {
        file["mcpServers"][name].as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    }
    let path = start.scratch().file("config.json", file.to_string());
    start.arg("stdio").arg("--config").arg(path)
}

/// No other server is chosen instead.
#[test]
fn disabled_server_cannot_be_chosen() {
    for (name, off) in [("fake", json!({ "disabled": true })), ("other", json!({ "enabled": false }))] {
        let end = two(json!({ name: off })).args(["--server", name]).start().finish();
        assert_eq!((end.code, end.stdout), (Some(3), vec![]));
        assert!(end.stderr.contains(&format!("the server `{name}` is disabled")), "{}", end.stderr);
    }
    let one = two(json!({ "fake": { "disabled": true } })).args(["--server", "other"]);
    assert_eq!(words(&facts(one)), ["second"]);
}

#[test]
fn server_is_chosen_by_name() {
    assert_eq!(words(&facts(two(json!({})).args(["--server", "other"]))), ["second"]);
    let end = two(json!({})).args(["--server", "third"]).start().finish();
    assert_eq!(end.code, Some(3));
}

#[test]
fn invalid_config_is_not_served() {
    let start = program();
    let path = start
        .scratch()
        .file("config.json", r#"{ "mcpServers": { "x": { "command": "cat", "timeout": "soon" } } }"#);
    let end = start.arg("stdio").arg("--config").arg(path).start().finish();
    assert_eq!((end.code, end.stdout), (Some(3), vec![]));
    assert!(end.stderr.contains("timeout") && end.stderr.contains("config.json:1:"), "{}", end.stderr);
}

/// A project's file names commands: cloning a repository must not run them.
#[test]
fn project_file_needs_trust() {
    let start = program();
    let record = start.record();
    let project = start.scratch().folder("project");
    let home = start.scratch().home();
    let write = |options: &[&str]| {
        let content = config(json!({}), json!({}), record.folder(), options).to_string();
        std::fs::write(project.join("switchboard.json"), content).unwrap();
    };
    let in_project = |words: &[&str]| program().args(words).cwd(&project).home(&home);

    write(&["--", "one"]);
    let end = in_project(&["stdio"]).start().finish();
    assert_eq!((end.code, record.launches()), (Some(3), 0));
    assert!(end.stderr.contains("switchboard trust"), "{}", end.stderr);

    assert_eq!(in_project(&["trust"]).start().finish().code, Some(0));
    assert_eq!(words(&facts(in_project(&["stdio", "--server", "fake"]))), ["one"]);

    // Changed content must be trusted again.
    write(&["--", "evil"]);
    let launches = record.launches();
    assert_eq!(in_project(&["stdio"]).start().finish().code, Some(3));
    assert_eq!(record.launches(), launches);
}

#[test]
fn missing_subcommand_means_stdio() {
    let start = program();
    let record = start.record();
    let start = start.arg("--").arg(fake_backend()).arg("--record").arg(record.folder());
    assert_eq!(greet(start).request("ping", json!({}))["result"], json!({}));
}
