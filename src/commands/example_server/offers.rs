//! Offers of the example server: one resource, one prompt.

use super::rpc::{INVALID_PARAMS, RESOURCE_NOT_FOUND};
use super::{Answer, Refusal};
use serde_json::{Value, json};

const STATUS: &str = "example://status";

pub(super) fn resources() -> Value {
    json!({ "resources": [{
        "uri": STATUS,
        "name": "status",
        "title": "Status",
        "description": "The process that serves you, and how often it was called.",
        "mimeType": "application/json",
    }]})
}

pub(super) fn read(params: &Value, calls: u64) -> Answer {
    let uri = params["uri"].as_str().ok_or_else(|| Refusal::new(INVALID_PARAMS, "`uri` must be a string"))?;
    if uri != STATUS {
        return Err(Refusal::new(RESOURCE_NOT_FOUND, "Resource not found").with(json!({ "uri": uri })));
    }
    let status = json!({ "pid": std::process::id(), "calls": calls });
    Ok(json!({ "contents": [{ "uri": STATUS, "mimeType": "application/json", "text": status.to_string() }] }))
}

pub(super) fn prompts() -> Value {
    json!({ "prompts": [{
        "name": "greet",
        "title": "Greet",
        "description": "Asks the model for a friendly greeting.",
        "arguments": [{ "name": "name", "description": "Who to greet.", "required": true }],
    }]})
}

pub(super) fn prompt(params: &Value) -> Answer {
    let name = params["name"].as_str().unwrap_or_default();
    if name != "greet" {
        return Err(Refusal::new(INVALID_PARAMS, format!("Unknown prompt: {name}")));
    }
    let Some(whom) = params["arguments"]["name"].as_str() else {
        return Err(Refusal::new(INVALID_PARAMS, "the prompt `greet` needs the argument `name`"));
    };
    Ok(json!({
        "description": "A friendly greeting",
        "messages": [{
            "role": "user",
            "content": { "type": "text", "text": format!("Greet {whom} in one friendly sentence.") },
        }],
    }))
}
