//! Checks of a modern POST: one message, a complete declaration in `_meta`, and headers that repeat the body. Pure.

use super::super::refusal::HttpRefusal;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use switchboard_protocol::http_headers::{self, Found, METHOD, NAME, PROTOCOL_VERSION};
use switchboard_protocol::modern::{Declaration, MODERN_VERSIONS, Undeclared};
use switchboard_protocol::{Kind, Message, Method, Parsed, Part};

/// A modern POST that may be served.
#[derive(Debug)]
pub(super) enum Checked {
    Request(Message),
    /// Nothing to do: MCP defines no notification that a client may send over HTTP.
    Notification,
}

/// Checks a POST. The order is that of the errors' use to a client: a version that we do not speak comes before
/// everything that depends on the version.
pub(super) fn check(said: Parsed, headers: &HeaderMap) -> Result<Checked, HttpRefusal> {
    let message = single(said)?;
    match message.kind() {
        Kind::Request => {}
        Kind::Notification => return Ok(Checked::Notification),
        Kind::Response { .. } => {
            let text = "a modern client sends no responses";
            return Err(HttpRefusal::malformed(StatusCode::BAD_REQUEST, text, "send requests"));
        }
    }
    if !message.has(Part::MetaVersion)
        && let Found::One(version) = header(headers, PROTOCOL_VERSION)
        && !MODERN_VERSIONS.iter().any(|known| known.as_bytes() == version)
    {
        return Err(HttpRefusal::unsupported_version(&String::from_utf8_lossy(version)));
    }
    let declared = Declaration::check(&message);
    match &declared {
        // The header decides whether this is a version of ours or a mistake.
        Ok(()) | Err(Undeclared::Version(_)) => {
            http_headers::check_standard(&message, |name| header(headers, name))
                .map_err(|mismatch| HttpRefusal::header_mismatch(&mismatch.to_string()))?;
        }
        Err(Undeclared::Missing(_) | Undeclared::TooLong(_)) => {}
    }
    declared.map_err(|undeclared| match undeclared {
        Undeclared::Missing(key) => HttpRefusal::missing_meta(key),
        Undeclared::TooLong(key) => HttpRefusal::long_meta(key),
        Undeclared::Version(version) => HttpRefusal::unsupported_version(&version),
    })?;
    // A wrong one is not ignored: requests of one client must compare equal.
    if message.part(Part::MetaInfo).is_some_and(|info| !info.starts_with(b"{")) {
        return Err(HttpRefusal::missing_meta("io.modelcontextprotocol/clientInfo"));
    }
    if message.method() == Method::Initialize {
        return Err(HttpRefusal::no_handshake());
    }
    Ok(Checked::Request(message))
}

/// The only message of a POST.
pub(super) fn single(said: Parsed) -> Result<Message, HttpRefusal> {
    match said {
        Parsed::One(message) => Ok(message),
        Parsed::Batch(_) => Err(HttpRefusal::malformed(
            StatusCode::BAD_REQUEST,
            "batches are not part of this protocol version",
            "send each message as a POST of its own",
        )),
    }
}

/// Headers of every request: parsing a name costs more than finding its value.
static STANDARD: [(&str, HeaderName); 3] = [
    (PROTOCOL_VERSION, HeaderName::from_static("mcp-protocol-version")),
    (METHOD, HeaderName::from_static("mcp-method")),
    (NAME, HeaderName::from_static("mcp-name")),
];

/// A header that may occur once.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Found<'a> {
    let values = match STANDARD.iter().find(|(known, _)| *known == name) {
        Some((_, parsed)) => headers.get_all(parsed),
        None => headers.get_all(name),
    };
    let mut values = values.iter().map(HeaderValue::as_bytes);
    match (values.next(), values.next()) {
        (None, _) => Found::Absent,
        (Some(value), None) => Found::One(value),
        (Some(_), Some(_)) => Found::Several,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_names_are_those_of_the_protocol() {
        for (name, parsed) in &STANDARD {
            assert_eq!(name.to_ascii_lowercase(), parsed.as_str());
        }
    }
}
