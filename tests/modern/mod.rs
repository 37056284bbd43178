//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.
//! - `stdio`: one server over stdio. `together`: several servers. `verdict`: the era of a server.
//! - `remote`: modern servers over HTTP; `remote_real`: those of two SDKs.
//! - `http_refusals`: requests over HTTP that break the rules of the transport.
//! - `http_calls`, `http_streams`: requests over HTTP, and their responses. `http_access`: the rights of their tokens.
//! - `http_plain`: requests over HTTP that declare nothing.

mod peers;
mod remote;
mod remote_real;
mod stdio;
mod together;
mod verdict;
#[cfg(target_os = "linux")]
mod http_refusals;
#[cfg(target_os = "linux")]
mod http_calls;
#[cfg(target_os = "linux")]
mod http_streams;
#[cfg(target_os = "linux")]
mod http_access;
#[cfg(target_os = "linux")]
mod http_plain;

use serde_json::{Value, json};
use switchboard_testkit::client::Client;

/// The declaration of a modern request.
fn meta(token: u64) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
        "progressToken": token,
    })
}

/// Sends a modern request.
fn send(client: &Client, id: u64, method: &str, mut params: Value) {
    params["_meta"] = meta(id);
    client.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
}

/// Sends a modern request and waits for its answer.
#[track_caller]
fn ask(client: &mut Client, id: u64, method: &str, params: Value) -> Value {
    send(client, id, method, params);
    client.answer(id)
}

#[track_caller]
fn call(client: &mut Client, id: u64, tool: &str, arguments: Value) -> Value {
    ask(client, id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn cancel(client: &Client, id: u64) {
    let params = json!({ "requestId": id });
    client
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string());
}
