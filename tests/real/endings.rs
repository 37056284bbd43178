//! Endings by real clients: signals, a closed stream, or both. The program ends, and nothing of the server is
//! left.

use super::peers::{Link, Server};
use crate::support::program;
use serde_json::json;
use std::fs;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// Connects to a server, calls `end`, and checks for leftovers.
#[track_caller]
fn check(server: &Server, capabilities: serde_json::Value, code: Option<i32>, end: impl Fn(&mut Client)) {
    let mut client = server.start(Link::Through).start();
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
fn closed_stream_leaves_nothing() {
    check(&Server::everything(), json!({}), Some(0), |client| client.close_input());
    check(&Server::time(), json!({}), Some(0), |client| client.close_input());
}

#[test]
fn sigterm_and_closed_stream_leave_nothing() {
    for server in [Server::everything(), Server::time()] {
        check(&server, json!({}), Some(0), |client| {
            client.signal(Word::Terminate);
            client.close_input();
        });
    }
}

#[test]
fn sigint_leaves_nothing() {
    check(&Server::everything(), json!({}), Some(0), |client| client.signal(Word::Interrupt));
}

/// Claude Code's shutdown: the second signal arrives during the shutdown and speeds it up.
#[test]
fn sigint_and_sigterm_leave_nothing() {
    for server in [Server::everything(), Server::time()] {
        check(&server, json!({}), Some(0), |client| {
            client.signal(Word::Interrupt);
            client.signal(Word::Terminate);
        });
    }
}

/// A server that waits for its client's answer does not end with its stream.
#[test]
fn waiting_server_is_ended() {
    check(&Server::everything(), json!({ "roots": {} }), Some(0), |client| {
        client.told("roots/list");
        client.close_input();
    });
}

/// `npx` starts a shell that starts the server: all three end.
#[test]
fn server_below_npx_is_ended() {
    for word in [Word::Terminate, Word::Interrupt] {
        check(&Server::everything_by_npx(), json!({}), Some(0), |client| client.signal(word));
    }
    check(&Server::everything_by_npx(), json!({ "roots": {} }), Some(0), |client| {
        client.told("roots/list");
        client.close_input();
    });
}

/// As the official SDKs do: close the stream, then send a signal, then kill. This server ends only for the
/// signal.
#[test]
fn closed_stream_then_sigterm_is_prompt() {
    let server = Server::everything();
    let config = server.folder().file("config.json", r#"{ "mcpServers": {}, "shutdownGrace": "1h" }"#);
    let log = server.folder().join("log");
    let start = program().args(["stdio", "--config"]).arg(config).arg("--log-file").arg(&log).arg("--");
    let mut client = start.args(server.command(Link::Direct)).start();
    client.initialize();
    let call = client.start_call("trigger-long-running-operation", json!({ "duration": 3600, "steps": 2 }));
    client.notify("notifications/cancelled", json!({ "requestId": call }));
    client.request("ping", json!({}));
    let processes = server.processes();
    client.close_input();
    patience::until_true("the backend is being stopped", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("switchboard is shutting down"))
    });
    client.signal(Word::Terminate);
    assert_eq!(client.wait_for_end().code, Some(0));
    assert!(!processes.iter().any(|&pid| pids::is_alive(pid)), "{processes:?}");
}
