//! Modern requests over HTTP.

use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Web};

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const VERSION: &str = "2026-07-28";

/// The declaration of a client without capabilities.
pub(crate) fn declaration() -> Value {
    json!({ VERSION_KEY: VERSION, CAPABILITIES_KEY: {}, INFO_KEY: { "name": "testkit", "version": "1" } })
}

/// A request with the declaration of [`declaration`] beside the members of its own `_meta`.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
    let meta = &mut message["params"]["_meta"];
    let own = meta.take();
    *meta = declaration();
    if let (Value::Object(meta), Value::Object(own)) = (meta, own) {
        meta.extend(own);
    }
    message
}

/// A POST of this message with the headers that repeat it.
pub(crate) fn post(web: &Web, path: &str, message: &Value) -> Ask {
    let ask = web.post(path, message.to_string());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let params = &message["params"];
    let name = match message["method"].as_str() {
        Some("tools/call" | "prompts/get") => text(&params["name"]),
        Some("resources/read") => text(&params["uri"]),
        _ => None,
    };
    let headers = [
        ("MCP-Protocol-Version", text(&params["_meta"][VERSION_KEY])),
        ("Mcp-Method", text(&message["method"])),
        ("Mcp-Name", name),
    ];
    headers.into_iter().fold(ask, |ask, (name, value)| match value {
        Some(value) => ask.header(name, &value),
        None => ask,
    })
}
