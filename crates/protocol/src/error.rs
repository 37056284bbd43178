//! Our own error answers: kind, code, message, and a hint for the reader. Must not know when
//! an error is sent.

use crate::dialect::Dialect;
use crate::envelope::Fault;
use crate::error_kind::ErrorKind;
use crate::id::RawId;
use crate::modern::Era;
use crate::outgoing::{Outgoing, Refusal};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Member of `data` with the time after which a retry may succeed.
const RETRY_AFTER_KEY: &str = "retryAfterMs";

/// Builder for an error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    pub kind: ErrorKind,
    code: i32,
    message: String,
    data: Map<String, Value>,
}

impl ErrorAnswer {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let data = Map::from_iter([("kind".to_owned(), json!(kind.name()))]);
        Self { kind, code: kind.code(), message: message.into(), data }
    }

    /// Error for bytes that are not a message.
    pub fn of_fault(fault: Fault) -> Self {
        let mut answer = Self::new(ErrorKind::BadMessage, fault.explain()).retryable(false);
        // JSON-RPC has two codes for bad input, while the kind is one.
        answer.code = fault.code();
        answer.hint("fix the sender: it must send one JSON-RPC message per frame")
    }

    pub fn server(self, name: &str) -> Self {
        self.with("server", json!(name))
    }

    /// The server that it concerns, if set.
    pub fn server_name(&self) -> Option<&str> {
        self.data.get("server").and_then(Value::as_str)
    }

    /// The same error without this part of its data.
    pub fn without(mut self, key: &str) -> Self {
        self.data.remove(key);
        self
    }

    /// Whether a retry of the same request may succeed.
    pub fn retryable(self, retryable: bool) -> Self {
        self.with("retryable", json!(retryable))
    }

    /// Next step for the reader.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with("hint", json!(hint.into()))
    }

    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.data.insert(key.to_owned(), value);
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The hint, if set.
    pub fn hint_text(&self) -> Option<&str> {
        self.data.get("hint").and_then(Value::as_str)
    }

    pub fn code(&self) -> i32 {
        self.code
    }

    /// Time after which a retry may succeed.
    pub fn retry_after(self, wait: Duration) -> Self {
        self.with(RETRY_AFTER_KEY, json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The same error for a peer of this era: 2026-07-28 reserves the codes that legacy clients know.
    pub fn in_era(mut self, era: Era) -> Self {
        const RESERVED: std::ops::RangeInclusive<i32> = -32019..=-32000;
        if era == Era::Modern && RESERVED.contains(&self.code) {
            self.code = match self.kind {
                ErrorKind::UnknownResource => -32602,
                _ => -32603,
            };
        }
        self
    }

    /// The whole response, ready to be sent.
    pub fn to_outgoing(&self, id: &RawId, dialect: Dialect) -> Outgoing {
        let retry_after = self.data.get(RETRY_AFTER_KEY).and_then(Value::as_u64).map(Duration::from_millis);
        Outgoing::refusal(id.clone(), self.to_bytes(id, dialect), Refusal::new(self.kind, retry_after))
    }

    /// The whole response as bytes.
    pub fn to_bytes(&self, id: &RawId, dialect: Dialect) -> Bytes {
        let error = json!({ "code": self.code, "message": self.message, "data": self.data });
        let mut out = Vec::with_capacity(256);
        // Written by hand around the id, whose spelling a JSON value would not preserve.
        out.extend_from_slice(match dialect {
            Dialect::Standard => br#"{"jsonrpc":"2.0","id":"#,
            Dialect::Bare => br#"{"id":"#,
        });
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#","error":"#);
        out.extend_from_slice(error.to_string().as_bytes());
        out.push(b'}');
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_error_tells_its_reason() {
        let error =
            ErrorAnswer::new(ErrorKind::RateLimited, "too many").retry_after(Duration::from_millis(1500));
        let out = error.to_outgoing(&RawId::from_number(7), Dialect::Standard);
        let reason = out.reason().unwrap();
        assert_eq!((reason.kind, reason.retry_after()), (ErrorKind::RateLimited, Some(2)));
        let sent: Value = serde_json::from_slice(&out.to_vec()).unwrap();
        assert_eq!(sent["error"]["data"]["retryAfterMs"], 1500);
        let error = ErrorAnswer::new(ErrorKind::Forbidden, "no");
        let reason = error.to_outgoing(&RawId::null(), Dialect::Bare).reason().unwrap();
        assert_eq!((reason.kind, reason.retry_after()), (ErrorKind::Forbidden, None));
    }
}
