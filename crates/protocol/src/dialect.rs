//! Envelopes with and without `"jsonrpc":"2.0"`: old bridges omit the member, every other peer requires it.

use crate::json::{self, What};
use crate::message::Message;
use crate::outgoing::{Outgoing, Patch};
use crate::touch::{Part, Span};
use std::ops::Range;

/// Whether a peer writes the `jsonrpc` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// With `"jsonrpc":"2.0"`, as the specification requires.
    #[default]
    Standard,
    /// Without the member.
    Bare,
}

/// The member that only the standard dialect has.
const JSONRPC_MEMBER: &[u8] = br#""jsonrpc":"2.0","#;
const KEY: &[u8] = b"\"jsonrpc\"";

/// The dialect of a connection, learnt from its messages unless the config fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearntDialect {
    /// Fixed by the config.
    Fixed(Dialect),
    /// No message received yet: we use the standard dialect.
    Open,
    /// Only bare messages so far.
    HeardBare,
    /// The peer sent the member at least once, so it always gets the member: clients that miss it fail with
    /// `invalid message version tag ""`.
    HeardStandard,
}

impl LearntDialect {
    /// Records a message from the peer.
    pub fn learn(&mut self, message: &Message) {
        *self = match (*self, message.has(Part::Jsonrpc)) {
            (Self::Fixed(dialect), _) => Self::Fixed(dialect),
            (Self::HeardStandard, _) | (_, true) => Self::HeardStandard,
            (Self::Open | Self::HeardBare, false) => Self::HeardBare,
        };
    }

    /// The dialect for our next message.
    pub fn current(self) -> Dialect {
        match self {
            Self::Fixed(dialect) => dialect,
            Self::Open | Self::HeardStandard => Dialect::Standard,
            Self::HeardBare => Dialect::Bare,
        }
    }
}

/// Adds or removes the `jsonrpc` member to match `dialect`.
pub fn translate(message: &Message, dialect: Dialect, out: &mut Outgoing) {
    match (dialect, message.has(Part::Jsonrpc)) {
        // Already in the peer's dialect: the bytes go out as they came in.
        (Dialect::Standard, true) | (Dialect::Bare, false) => {}
        (Dialect::Standard, false) => {
            // Leading white space is legal; a parsed message always has the brace.
            let brace = memchr::memchr(b'{', message.bytes()).unwrap_or(0);
            out.replace(Span::new(brace + 1, brace + 1), Patch::Static(JSONRPC_MEMBER));
        }
        (Dialect::Bare, true) => {
            let value = message.span(Part::Jsonrpc).range();
            out.replace(member(message.bytes(), value), Patch::Static(b""));
        }
    }
}

/// Removes the `jsonrpc` member from a message in the standard dialect, forwarded or our own.
pub fn make_bare(out: &mut Outgoing) {
    // The sender did not write it either.
    if out.take_insertion(JSONRPC_MEMBER) {
        return;
    }
    if let Some(value) = version(out.original()) {
        let span = member(out.original(), value);
        out.replace(span, Patch::Static(b""));
    }
}

/// The value of the `jsonrpc` member, in a message that may be ours and was not parsed.
fn version(bytes: &[u8]) -> Option<Range<usize>> {
    let mut pos = json::space(bytes, json::exactly(bytes, json::space(bytes, 0), b'{', What::NoValue).ok()?);
    loop {
        let (behind, start) = json::key(bytes, pos).ok()?;
        let end = json::value(bytes, start).ok()?;
        if &bytes[pos..behind] == KEY {
            return Some(start..end);
        }
        pos = json::space(bytes, json::exactly(bytes, json::space(bytes, end), b',', What::NotClosed).ok()?);
    }
}

/// Span of the member `"jsonrpc":"2.0"` with this value, including one adjacent comma.
fn member(bytes: &[u8], value: Range<usize>) -> Span {
    // The parser accepted this key only in its plain spelling, so the last match before the value is the key.
    let key = memchr::memmem::rfind(&bytes[..value.start], KEY).unwrap_or(value.start);
    let is_space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    let after = value.end + bytes[value.end..].iter().take_while(|b| is_space(b)).count();
    if bytes.get(after) == Some(&b',') {
        return Span::new(key, after + 1);
    }
    // No comma follows, so this is the last member: the comma before it goes too.
    let before = key - bytes[..key].iter().rev().take_while(|b| is_space(b)).count();
    let from = if before > 0 && bytes[before - 1] == b',' { before - 1 } else { key };
    Span::new(from, value.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Parsed, parse};
    use crate::id::RawId;
    use crate::method::Method;

    fn message(text: &str) -> Message {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn check(text: &str, dialect: Dialect, expect: &str) {
        let message = message(text);
        let mut out = Outgoing::of(&message);
        translate(&message, dialect, &mut out);
        assert_eq!(String::from_utf8(out.to_vec()).unwrap(), expect);
    }

    #[test]
    fn only_the_jsonrpc_member_changes() {
        check(r#"{"id":1,"method":"a"}"#, Dialect::Standard, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
        check(r#" { "id":1,"method":"a"}"#, Dialect::Standard, r#" {"jsonrpc":"2.0", "id":1,"method":"a"}"#);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Dialect::Bare, r#"{"id":1,"result":{}}"#);
        check(r#"{"id":1,"result":{} , "jsonrpc" : "2.0" }"#, Dialect::Bare, r#"{"id":1,"result":{}  }"#);
        check(r#"{"id":1,"jsonrpc": "2.0" ,"result":{}}"#, Dialect::Bare, r#"{"id":1,"result":{}}"#);
        check(r#"{"jsonrpc":"2.0","method":"a"}"#, Dialect::Standard, r#"{"jsonrpc":"2.0","method":"a"}"#);
    }

    #[track_caller]
    fn check_bare(mut out: Outgoing, expect: &str) {
        make_bare(&mut out);
        assert_eq!(String::from_utf8(out.to_vec()).unwrap(), expect);
        assert_eq!(out.len(), expect.len());
    }

    #[test]
    fn every_message_can_be_made_bare() {
        for (text, expect) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, r#"{"id":1,"method":"a"}"#),
            (r#" { "id":1,"method":"a" , "jsonrpc" : "2.0" }"#, r#" { "id":1,"method":"a"  }"#),
            (r#"{"method":"a","params":{"jsonrpc":"2.0"}}"#, r#"{"method":"a","params":{"jsonrpc":"2.0"}}"#),
            (r#"{"id":1,"method":"a"}"#, r#"{"id":1,"method":"a"}"#),
        ] {
            let message = message(text);
            let mut out = Outgoing::of(&message);
            translate(&message, Dialect::Standard, &mut out);
            check_bare(out, expect);
        }
        let own = |text: &'static str| Outgoing::notification(Method::Other, text.into());
        check_bare(own(r#"{"method":"a","jsonrpc":"2.0"}"#), r#"{"method":"a"}"#);
        check_bare(own(r#"{"method":"a"}"#), r#"{"method":"a"}"#);
        check_bare(own("{}"), "{}");
    }

    #[test]
    fn other_changes_stay_in_a_bare_message() {
        for text in [r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, r#"{"id":1,"method":"a"}"#] {
            let message = message(text);
            let mut out = Outgoing::of(&message);
            out.replace(message.span(Part::Id), Patch::Id(RawId::from_number(77)));
            translate(&message, Dialect::Standard, &mut out);
            check_bare(out, r#"{"id":77,"method":"a"}"#);
        }
    }

    #[test]
    fn jsonrpc_member_once_seen_is_sent_back() {
        let (bare, standard) = (message(r#"{"method":"a"}"#), message(r#"{"jsonrpc":"2.0","method":"a"}"#));
        let mut learnt = LearntDialect::Open;
        assert_eq!(learnt.current(), Dialect::Standard);
        learnt.learn(&bare);
        assert_eq!(learnt.current(), Dialect::Bare);
        learnt.learn(&standard);
        learnt.learn(&bare);
        assert_eq!(learnt.current(), Dialect::Standard);
        let mut fixed = LearntDialect::Fixed(Dialect::Bare);
        fixed.learn(&standard);
        assert_eq!(fixed.current(), Dialect::Bare);
    }
}
