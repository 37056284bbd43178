//! Answers and refusals in JSON-RPC form.

use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const RESOURCE_NOT_FOUND: i32 = -32002;

pub(super) type Answer = Result<Value, Refusal>;

#[derive(Debug)]
pub(super) struct Refusal {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// The whole response.
pub(super) fn reply(id: Value, answer: Answer) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Refusal { code, message, data: None }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
        Err(Refusal { code, message, data: Some(data) }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } })
        }
    }
}
