//! Answers that a server did not write as such: refusals with an HTTP status, and the end of a subscription. Pure.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use switchboard_protocol::modern::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use switchboard_protocol::{Message, Parsed, RawId, parse};

/// The answer in the body of an error response, under the right id; `None` if the body is no JSON-RPC error.
pub(super) fn answer(status: u16, said: Bytes, id: &RawId) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Refusal<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        error: &'a RawValue,
    }
    code(&said)?;
    let refusal: Refusal<'_> = serde_json::from_slice(&said).ok()?;
    match refusal.id {
        Some(own) if own.get().as_bytes() == id.as_bytes() => Some(said),
        // A proxy may fail with an error about a request of its own, but a refusal is about this one.
        _ if (400..500).contains(&status) => {
            Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, refusal.error.get()).into())
        }
        Some(_) | None => None,
    }
}

/// The answer of a server of the modern era to a handshake, under the right id; `None` if a legacy server may have said it.
pub(super) fn of_handshake(status: u16, said: Bytes, id: &RawId) -> Option<Bytes> {
    let codes = [-32601, -32602, HEADER_MISMATCH, UNSUPPORTED_VERSION];
    code(&said).filter(|code| codes.contains(code))?;
    answer(status, said, id)
}

/// The code of a JSON-RPC error.
pub(super) fn code(answer: &[u8]) -> Option<i32> {
    #[derive(Deserialize)]
    struct Answer {
        error: Told,
    }
    #[derive(Deserialize)]
    struct Told {
        code: i32,
    }
    Some(serde_json::from_slice::<Answer>(answer).ok()?.error.code)
}

/// The answer of a server that does not know a method.
pub(super) fn unknown_method(id: &RawId, text: &str) -> Bytes {
    let text = json!(text);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":{text}}}}}"#).into()
}

/// The answer to a subscription that has ended.
pub(super) fn end_of_listen(id: &RawId) -> Bytes {
    let meta = format!(r#"{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{meta}}}}}"#).into()
}

/// A message of ours, parsed.
pub(super) fn parsed(bytes: Bytes) -> Option<Message> {
    match parse(bytes) {
        Ok(Parsed::One(message)) => Some(message),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_answers_under_the_right_id() {
        let check = |status, said: &str, expect: Option<&str>| {
            let found = answer(status, said.to_owned().into(), &RawId::from_number(7));
            assert_eq!(found.as_deref(), expect.map(str::as_bytes), "{status} {said}");
        };
        let own = r#"{"jsonrpc":"2.0", "error":{"code":-32601,"message":"no"}, "id":7}"#;
        check(404, own, Some(own));
        check(500, own, Some(own));
        let error = r#"{"code":-32022,"data":{"n":1.50},"message":"no"}"#;
        let right = format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#);
        for other in [r#""id":null,"#, r#""id":8,"#, ""] {
            check(400, &format!(r#"{{{other}"error":{error}}}"#), Some(&right));
            check(500, &format!(r#"{{{other}"error":{error}}}"#), None);
        }
        for said in ["", "<html>", "{}", r#"{"error":"invalid_token"}"#, r#"{"error":{"code":"x"}}"#, "[]"] {
            check(400, said, None);
        }
    }
}
