//! Digest of what a request asks for: equal for a call and its continuation, however their sender orders the members of
//! objects and escapes its strings. Numbers, and strings that no text can hold, count by their spelling.

use sha2::{Digest, Sha256};
use switchboard_protocol::json::{self, Next};
use switchboard_protocol::{Message, Part};

/// Members of `params` in which a call and its continuation differ.
const OTHER_MEMBERS: [&str; 3] = ["_meta", "requestState", "inputResponses"];

pub(crate) fn digest(request: &Message) -> [u8; 32] {
    let mut hash = Sha256::new();
    put(&mut hash, b'm', request.method_name().as_bytes());
    let params = request.part(Part::Params).unwrap_or(b"{}");
    put_value(&mut hash, params, 0, &OTHER_MEMBERS);
    hash.finalize().into()
}

/// Adds a piece, so that no other pieces have the same bytes.
fn put(hash: &mut Sha256, kind: u8, piece: &[u8]) {
    hash.update([kind]);
    hash.update((piece.len() as u64).to_le_bytes());
    hash.update(piece);
}

/// Adds the value at this offset, without these members. Returns the offset behind it. The message was found to be valid
/// JSON of limited depth.
fn put_value(hash: &mut Sha256, bytes: &[u8], pos: usize, without: &[&str]) -> usize {
    let end = match json::next(bytes, pos) {
        Ok(Next::Object) => put_object(hash, bytes, pos, without),
        Ok(Next::Array) => put_array(hash, bytes, pos),
        Ok(Next::String | Next::Number | Next::Literal) => json::value(bytes, pos).ok().inspect(|end| {
            let raw = &bytes[pos..*end];
            match json::decode_string(raw) {
                Some(text) => put(hash, b's', text.as_bytes()),
                None => put(hash, b'r', raw),
            }
        }),
        Err(_) => None,
    };
    end.unwrap_or_else(|| {
        put(hash, b'r', &bytes[pos..]);
        bytes.len()
    })
}

fn put_array(hash: &mut Sha256, bytes: &[u8], start: usize) -> Option<usize> {
    hash.update(b"[");
    let mut pos = json::space(bytes, start + 1);
    while json::byte(bytes, pos)? != b']' {
        pos = json::space(bytes, put_value(hash, bytes, pos, &[]));
        if json::byte(bytes, pos) == Some(b',') {
            pos = json::space(bytes, pos + 1);
        }
    }
    hash.update(b"]");
    Some(pos + 1)
}

fn put_object(hash: &mut Sha256, bytes: &[u8], start: usize, without: &[&str]) -> Option<usize> {
    let mut members = Vec::new();
    let mut pos = json::space(bytes, start + 1);
    while json::byte(bytes, pos)? != b'}' {
        let (behind, value) = json::key(bytes, pos).ok()?;
        let quoted = &bytes[pos..behind];
        let key = json::decode_string(quoted).map_or_else(|| quoted.to_vec(), String::into_bytes);
        let mut own = Sha256::new();
        pos = json::space(bytes, put_value(&mut own, bytes, value, &[]));
        if !without.iter().any(|name| name.as_bytes() == key) {
            members.push((key, own.finalize()));
        }
        if json::byte(bytes, pos) == Some(b',') {
            pos = json::space(bytes, pos + 1);
        }
    }
    members.sort_unstable();
    hash.update(b"{");
    for (key, value) in &members {
        put(hash, b'k', key);
        hash.update(value);
    }
    hash.update(b"}");
    Some(pos + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::own_message;

    fn of(params: &str) -> [u8; 32] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        digest(&own_message(text.into()).expect("a message"))
    }

    #[test]
    fn equal_requests_have_one_digest() {
        for (one, other) in [
            (
                r#"{"name":"t","arguments":{"a":1,"b":[{"c":2,"d":3}]}}"#,
                r#"{ "arguments" : {"b":[ {"d":3,"c":2} ] ,"a":1}, "name":"\u0074"}"#,
            ),
            (r#"{"name":"t"}"#, r#"{"requestState":"s","name":"t","inputResponses":{"a":{}},"_meta":{}}"#),
            (r#"{"n":1e999,"s":"\ud83d"}"#, r#"{"s":"\ud83d","n":1e999}"#),
            ("{}", "{ }"),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn other_requests_have_other_digests() {
        let all = [
            "{}",
            "[]",
            r#"{"name":"t"}"#,
            r#"{"name":"u"}"#,
            r#"{"name":["t"]}"#,
            r#"{"name":["t",[]]}"#,
            r#"{"name":[["t"]]}"#,
            r#"{"name":"t","a":{}}"#,
            r#"{"name":"t","a":[]}"#,
            r#"{"name":"t","a":null}"#,
            r#"{"name":"t","a":"null"}"#,
            r#"{"name":"t","a":{"_meta":{}}}"#,
            r#"{"name":"t","n":1e999}"#,
            r#"{"name":"t","n":2e999}"#,
            r#"{"name":"t","n":100000000000000000000001}"#,
            r#"{"name":"t","n":100000000000000000000002}"#,
            r#"{"name":"t","s":"\ud83d"}"#,
            r#"{"name":"t","s":"\ud83e"}"#,
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(of(one), of(other), "{one} {other}");
            }
        }
        let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(120), "]".repeat(120));
        assert_ne!(of(&nested("1")), of(&nested("2")));
    }
}
