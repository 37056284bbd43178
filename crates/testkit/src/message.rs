//! JSON-RPC messages as the clients of this crate write them.

use serde_json::{Value, json};

/// The notification that ends the handshake, without a line end.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The result of a request from a server.
pub fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The parameters of `initialize`, for a client of this name.
pub fn initialize_params(name: &str, protocol_version: &str, capabilities: Value) -> Value {
    let info = json!({ "name": name, "version": "1" });
    json!({ "protocolVersion": protocol_version, "capabilities": capabilities, "clientInfo": info })
}
