//! The era of a POST, which decides how it is served. Pure.

use switchboard_protocol::modern::MODERN_VERSIONS;
use switchboard_protocol::{HANDSHAKE_VERSIONS, Kind, Message, Method, Parsed, Part};

/// How a POST is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostEra {
    /// In a session, or as the start of one.
    Legacy,
    /// Alone: it declares a version and capabilities itself, or should do so.
    Modern,
    /// Alone: it belongs to no session and declares nothing.
    Plain,
}

/// The session that a POST names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedSession {
    None,
    /// It has ended, or is another party's.
    Unknown,
    Ours,
}

/// Decides by the body, the header `MCP-Protocol-Version` and the session.
pub(crate) fn era_of(said: &Parsed, version: Option<&str>, session: NamedSession) -> PostEra {
    let is_new = version.is_some_and(|version| !HANDSHAKE_VERSIONS.contains(&version));
    match (said, session) {
        (_, NamedSession::Ours) => PostEra::Legacy,
        (Parsed::One(message), _) if is_opening(message) && !declares_modern(message) => PostEra::Legacy,
        (Parsed::One(message), _) if declares(message) => PostEra::Modern,
        (Parsed::Batch(members), _) if members.iter().flatten().any(declares) => PostEra::Modern,
        // Without a declaration, an unknown version beside a session is a legacy client's mistake.
        (Parsed::One(_) | Parsed::Batch(_), NamedSession::None) if is_new => PostEra::Modern,
        (Parsed::One(_), NamedSession::None) => PostEra::Plain,
        (Parsed::One(_), NamedSession::Unknown) | (Parsed::Batch(_), _) => PostEra::Legacy,
    }
}

/// Whether a message starts a session.
pub(crate) fn is_opening(message: &Message) -> bool {
    message.method() == Method::Initialize && message.kind() == Kind::Request
}

/// Whether a message declares a protocol version, of whatever era.
fn declares(message: &Message) -> bool {
    message.has(Part::MetaVersion)
}

/// Whether a message declares a modern version. An `initialize` that does is no handshake: that era has none.
fn declares_modern(message: &Message) -> bool {
    let version = message.part(Part::MetaVersion).unwrap_or_default();
    serde_json::from_slice(version).is_ok_and(|version: String| MODERN_VERSIONS.contains(&version.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_protocol::parse;

    const META: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;

    fn said(method: &str, params: &str) -> Parsed {
        parse(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#).into()).unwrap()
    }

    #[test]
    fn era_is_decided_per_request() {
        use NamedSession::{None as NoSession, Ours, Unknown};
        use PostEra::{Legacy, Modern, Plain};
        for (method, params, version, session, expect) in [
            ("initialize", META, Some("2026-07-28"), NoSession, Modern),
            ("initialize", "{}", Some("2026-07-28"), NoSession, Legacy),
            ("tools/list", META, Some("2026-07-28"), NoSession, Modern),
            ("tools/list", META, None, NoSession, Modern),
            ("tools/list", META, Some("2025-11-25"), NoSession, Modern),
            ("tools/list", META, Some("2026-07-28"), Unknown, Modern),
            ("tools/list", META, Some("2025-11-25"), Ours, Legacy),
            ("tools/list", "{}", Some("2026-07-28"), NoSession, Modern),
            ("tools/list", "{}", Some("2099-01-01"), NoSession, Modern),
            ("tools/list", "{}", Some("1999-01-01"), Unknown, Legacy),
            ("tools/list", "{}", Some("2025-11-25"), NoSession, Plain),
            ("tools/list", "{}", None, NoSession, Plain),
            ("tools/list", "{}", None, Unknown, Legacy),
        ] {
            let found = era_of(&said(method, params), version, session);
            assert_eq!(found, expect, "{method} {params} {version:?} {session:?}");
        }
    }

    #[test]
    fn batches_are_modern_or_legacy() {
        let batch = |text: &str| parse(text.to_owned().into()).unwrap();
        let plain = batch(r#"[{"id":1,"method":"ping"}]"#);
        assert_eq!(era_of(&plain, None, NamedSession::None), PostEra::Legacy);
        assert_eq!(era_of(&plain, Some("2026-07-28"), NamedSession::None), PostEra::Modern);
        let modern = batch(&format!(r#"[{{"id":1,"method":"ping","params":{META}}}]"#));
        assert_eq!(era_of(&modern, None, NamedSession::None), PostEra::Modern);
        assert_eq!(era_of(&modern, None, NamedSession::Ours), PostEra::Legacy);
    }
}
