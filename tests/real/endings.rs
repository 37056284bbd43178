//! How clients end: by signals, by closing the stream, or both. We end too, and nothing of the server is left.

use super::peers::{Server, Way};
use crate::support::program;
use serde_json::json;
use std::fs;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// Greets a server through us, lets `end` happen, and looks for what is left.
#[track_caller]
fn check(server: &Server, capabilities: serde_json::Value, code: Option<i32>, end: impl Fn(&mut Client)) {
    let mut client = server.start(Way::Through).start();
    let info = json!({ "name": "ending", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
    let greeting = client.request("initialize", params);
    assert!(greeting["result"].is_object(), "{greeting}");
    client.notify("notifications/initialized", json!({}));
    client.request("tools/list", json!({}));
    let processes = server.processes();
    assert!(processes.len() >= 2, "we and the server: {processes:?}");
    end(&mut client);
    let ended = client.wait_for_end();
    assert_eq!(ended.code, code, "{ended:?}");
    let left: Vec<u32> = processes.into_iter().filter(|&pid| pids::is_alive(pid)).collect();
    assert!(left.is_empty(), "still there: {left:?}");
    let since = server.processes();
    assert!(since.is_empty(), "started since: {since:?}");
}

#[test]
fn the_stream_is_closed() {
    check(&Server::everything(), json!({}), Some(0), |client| client.close_input());
    check(&Server::time(), json!({}), Some(0), |client| client.close_input());
}

#[test]
fn terminate_and_the_stream_is_closed() {
    for server in [Server::everything(), Server::time()] {
        check(&server, json!({}), Some(0), |client| {
            client.signal(Word::Terminate);
            client.close_input();
        });
    }
}

#[test]
fn interrupt() {
    check(&Server::everything(), json!({}), Some(0), |client| client.signal(Word::Interrupt));
}

/// Claude Code: the second signal comes while the first is being followed, and hurries it.
#[test]
fn interrupt_and_then_terminate() {
    for server in [Server::everything(), Server::time()] {
        check(&server, json!({}), Some(0), |client| {
            client.signal(Word::Interrupt);
            client.signal(Word::Terminate);
        });
    }
}

/// A server that waits for an answer of its client does not end when its stream does.
#[test]
fn a_server_that_stays() {
    check(&Server::everything(), json!({ "roots": {} }), Some(0), |client| {
        client.told("roots/list");
        client.close_input();
    });
}

/// `npx` starts a shell that starts the server: all three end.
#[test]
fn a_server_below_npx() {
    for word in [Word::Terminate, Word::Interrupt] {
        check(&Server::everything_by_npx(), json!({}), Some(0), |client| client.signal(word));
    }
    check(&Server::everything_by_npx(), json!({ "roots": {} }), Some(0), |client| {
        client.told("roots/list");
        client.close_input();
    });
}

/// The way of the official SDKs: close the stream, and send a signal if that was not enough; if that is not
/// enough either, they kill. The server here ends for the signal only, and could take its time.
#[test]
fn the_stream_is_closed_and_then_terminate() {
    let server = Server::everything();
    let config = server.folder().file("config.json", r#"{ "mcpServers": {}, "shutdownGrace": "1h" }"#);
    let log = server.folder().join("log");
    let start = program().args(["stdio", "--config"]).arg(config).arg("--log-file").arg(&log).arg("--");
    let mut client = start.args(server.command(Way::Direct)).start();
    client.initialize();
    let call = client.start_call("trigger-long-running-operation", json!({ "duration": 3600, "steps": 2 }));
    client.notify("notifications/cancelled", json!({ "requestId": call }));
    client.request("ping", json!({}));
    let processes = server.processes();
    client.close_input();
    patience::until_true("the backend is being stopped", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("switchboard ends"))
    });
    client.signal(Word::Terminate);
    assert_eq!(client.wait_for_end().code, Some(0));
    assert!(!processes.iter().any(|&pid| pids::is_alive(pid)), "{processes:?}");
}
