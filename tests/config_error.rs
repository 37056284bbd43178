//! Without anything to serve, `initialize` gets an error with the reason, and the connection stays open.

use crate::support::{error, program};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Framing, Start, initialize_params};

const BROKEN: &str = "{\n  \"mcpServers\": 5\n}";
const OTHER: &str = r#"{ "mcpServers": { "other": { "command": "true" } } }"#;

/// Values of `SWITCHBOARD_SOLO`: through the daemon (the default), and alone.
const MODES: [&str; 2] = ["0", "1"];

/// `switchboard stdio --config config.json`
fn with_config(mode: &str, config: &str) -> Start {
    let start = program().env("SWITCHBOARD_SOLO", mode);
    let path = start.scratch().file("config.json", config);
    start.arg("stdio").arg("--config").arg(path)
}

#[track_caller]
fn refused<'a>(answer: &'a Value, message: &str, hint: &str) -> &'a Value {
    let error = error(answer, -32603, "config_error");
    assert!(error["message"].as_str().unwrap().contains(message), "{message}: {answer}");
    assert!(error["data"]["hint"].as_str().unwrap().contains(hint), "{hint}: {answer}");
    assert!(error["data"]["hint"].as_str().unwrap().contains("reconnect"), "{answer}");
    error
}

/// Checks that `initialize` fails with these words, that the process stays until its input ends, and that
/// stderr says the same.
#[track_caller]
fn check(start: Start, message: &str, hint: &str) {
    let mut client = start.start();
    refused(&client.request("initialize", initialize_params()), message, hint);
    client.notify("notifications/initialized", json!({}));
    refused(&client.request("tools/list", json!({})), message, hint);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert!(!client.has_ended());
    ended(&mut client);
}

#[track_caller]
fn ended(client: &mut Client) {
    let end = client.finish();
    assert_eq!((end.code, end.stdout.as_slice()), (Some(3), &b""[..]), "{}", end.stderr);
    assert!(
        end.stderr.contains("\nswitchboard: ") || end.stderr.starts_with("switchboard: "),
        "{}",
        end.stderr
    );
}

#[test]
fn broken_file_is_named_with_its_place() {
    for mode in MODES {
        let place = "config.json:2:17: mcpServers: expected an object, found a number; write { … }";
        check(with_config(mode, BROKEN), place, "switchboard check --config ");
        check(with_config(mode, "{ \"mcpServers\": "), "config.json:1:", "switchboard check");
        let two = r#"{ "mcpServers": { "a": 1, "b": 2 } }"#;
        check(with_config(mode, two), "(and one more error)", "switchboard check");
    }
}

#[test]
fn missing_servers_are_an_error() {
    for mode in MODES {
        let alone = || program().env("SWITCHBOARD_SOLO", mode).arg("stdio");
        check(alone(), ".config/switchboard/config.json", "write a config file");
        check(alone().args(["--config", "nowhere.json"]), "nowhere.json", "fix it");
        check(with_config(mode, "{}"), "has no enabled server", "add one to `mcpServers`");
        check(with_config(mode, r#"{ "mcpServers": {} }"#), "has no enabled server", "add one");
        let disabled = r#"{ "mcpServers": { "a": { "command": "true", "disabled": true } } }"#;
        check(with_config(mode, disabled), "has no enabled server", "add one");
        check(
            with_config(mode, OTHER).args(["--server", "x"]),
            "has no server `x`",
            "the servers are: other",
        );
    }
}

/// An untrusted project file is not used, but named.
#[test]
fn untrusted_file_is_named() {
    let start = program().env("SWITCHBOARD_SOLO", "0").arg("stdio");
    start.scratch().file("switchboard.json", OTHER);
    check(start, "switchboard.json is not trusted", "reconnect");
}

/// A missing folder of the command line has its own exit code.
#[test]
fn missing_root_is_an_error() {
    let mut client = with_config("0", OTHER).args(["--root", "nowhere"]).start();
    refused(&client.request("initialize", initialize_params()), "--root nowhere", "fix it");
    assert_eq!(client.finish().code, Some(2));
}

#[test]
fn errors_use_the_clients_ids_and_framing() {
    for framing in [Framing::Newline, Framing::ContentLength] {
        let mut client = with_config("0", BROKEN).framing(framing).start();
        for id in ["7", "\"a\"", "1.50", "-3"] {
            client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{}}}}"#));
            let answer = client.recv_text();
            assert!(answer.contains(&format!(r#""id":{id},"error""#)), "{answer}");
        }
        client.send(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        );
        let batch = client.recv_json();
        refused(&batch[0], "expected an object", "");
        assert_eq!(batch[1], json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
        ended(&mut client);
    }
}

/// Commands print the problem once, with its excerpt.
#[test]
fn commands_show_the_excerpt() {
    let start = program().env("SWITCHBOARD_SOLO", "0").args(["tools", "--config", "config.json"]);
    start.scratch().file("config.json", BROKEN);
    let end = start.start().finish();
    assert_eq!((end.code, end.stdout.as_slice()), (Some(3), &b""[..]));
    assert_eq!(end.stderr.matches("expected an object").count(), 1, "{}", end.stderr);
    assert!(end.stderr.contains("= help: write { … }"), "{}", end.stderr);
}
