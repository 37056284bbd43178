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

/// The version of the modern era.
pub const MODERN: &str = "2026-07-28";

/// The `_meta` that a modern client puts into each request.
#[derive(Debug, Clone)]
pub struct Profile {
    pub version: String,
    pub capabilities: Value,
    pub log_level: Option<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self { version: MODERN.to_owned(), capabilities: json!({}), log_level: None }
    }
}

impl Profile {
    pub fn declaring(capabilities: Value) -> Self {
        Self { capabilities, ..Self::default() }
    }

    /// The parameters with this profile in their `_meta`. Keys that are there already stay as they are.
    pub fn dress(&self, mut params: Value) -> Value {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": self.version,
            "io.modelcontextprotocol/clientInfo": { "name": "testkit", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        if let Some(level) = &self.log_level {
            meta["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        if let (Some(meta), Some(given)) = (meta.as_object_mut(), params["_meta"].as_object()) {
            meta.extend(given.clone());
        }
        params["_meta"] = meta;
        params
    }
}

/// The id of the listen that a notification belongs to.
pub fn subscription(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// The parameters of the retry of a request whose result was `input_required`. `result` is the bytes of that result:
/// `requestState` is sent back in its own spelling. Returns bytes, for the same reason.
pub fn retry(params: &Value, result: &str, responses: &Value) -> String {
    use serde_json::value::RawValue;
    let parts: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(result).unwrap_or_default();
    let mut text = params.to_string();
    // The object has at least its `_meta`, so a comma fits.
    text.pop();
    text += &format!(r#","inputResponses":{responses}"#);
    if let Some(state) = parts.get("requestState") {
        text += &format!(r#","requestState":{state}"#);
    }
    text + "}"
}

/// The bytes of a message's `result`.
pub fn raw_result(message: &str) -> &str {
    use serde_json::value::RawValue;
    let parts = serde_json::from_str::<std::collections::BTreeMap<String, &RawValue>>(message);
    parts.ok().and_then(|parts| parts.get("result").map(|raw| raw.get())).unwrap_or("{}")
}
