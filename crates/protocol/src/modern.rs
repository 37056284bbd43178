//! MCP 2026-07-28 and later: no handshake; each request declares its version, and the capabilities of its client.
//! Must not know who sends a request.

use crate::message::Message;
use crate::method::Method;
use crate::touch::{self, Part};
use bytes::Bytes;

/// Modern MCP versions, newest first.
pub const MODERN_VERSIONS: [&str; 1] = ["2026-07-28"];

/// `_meta` key of the name and version of a server, in its results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// `_meta` key of the version of a request.
pub const VERSION: &str = touch::VERSION;

/// `_meta` key of the capabilities of a client.
pub const CLIENT_CAPABILITIES: &str = touch::CAPABILITIES;

/// `_meta` key of the name and version of a client.
pub const CLIENT_INFO: &str = touch::INFO;

/// `_meta` key of the lowest level of log messages about a request.
pub const LOG_LEVEL: &str = touch::LOG_LEVEL;

/// `_meta` key of the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = touch::SUBSCRIPTION_ID;

/// Extension with which a server answers calls with tasks.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// JSON-RPC code: a header and the body disagree.
pub const HEADER_MISMATCH: i32 = -32020;

/// JSON-RPC code: the client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i32 = -32021;

/// JSON-RPC code: the protocol version is not supported.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// The two ways to speak MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: a handshake, then messages in both directions.
    #[default]
    Legacy,
    /// 2026-07-28 and later: each request stands alone.
    Modern,
}

impl Era {
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// The era of the client that a stored `initialize` stands for.
    pub fn of_handshake(initialize: &Message) -> Self {
        match initialize.has(Part::MetaVersion) {
            true => Self::Modern,
            false => Self::Legacy,
        }
    }
}

/// Whether a legacy method no longer exists. Servers refuse it; for several servers as one, we do.
pub fn is_removed(method: Method) -> bool {
    matches!(
        method,
        Method::Ping | Method::SetLevel | Method::Subscribe | Method::Unsubscribe | Method::TaskResult
    )
}

/// Whether a request continues an earlier one. Its server may accept the state that it returns only once.
pub fn is_continued(request: &Message) -> bool {
    request.has(Part::RequestState) || request.has(Part::InputResponses)
}

/// Whether a second run of a request is harmless.
pub fn is_repeatable(request: &Message) -> bool {
    request.method().is_repeatable() && !is_continued(request)
}

/// Whether two requests declare the same. Compared byte by byte, since it is asked for every request.
pub fn declare_same(one: &Message, other: &Message) -> bool {
    let is_same = |part: Part| one.part(part) == other.part(part);
    is_same(Part::MetaCapabilities) && is_same(Part::MetaVersion) && is_same(Part::MetaInfo)
}

/// The `initialize` in place of a client that declares nothing at all.
pub fn plain_initialize() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2024-11-05","capabilities":{{}},"clientInfo":{UNKNOWN_CLIENT}}}}}"#
    )
}

const UNKNOWN_CLIENT: &str = r#"{"name":"unknown","version":"0"}"#;

/// Most bytes of one member of a declaration. It is kept for each client, and repeated in our own requests.
pub const MAX_DECLARED_BYTES: usize = 64 * 1024;

/// The declaration in a modern request's `_meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// JSON, as the client wrote it.
    version: Bytes,
    capabilities: Bytes,
    info: Option<Bytes>,
}

/// Reason why a request is not a valid modern one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undeclared {
    /// A required member of `_meta` is missing, or has the wrong type.
    Missing(&'static str),
    /// A member of `_meta` is longer than [`MAX_DECLARED_BYTES`].
    TooLong(&'static str),
    /// The version, which is not one of [`MODERN_VERSIONS`].
    Version(String),
}

impl Declaration {
    /// Reads a request that declares a version.
    pub fn of(request: &Message) -> Result<Self, Undeclared> {
        Self::check(request)?;
        let own = |part: Part| request.part(part).map(Bytes::copy_from_slice);
        Ok(Self {
            version: own(Part::MetaVersion).unwrap_or_default(),
            capabilities: own(Part::MetaCapabilities).unwrap_or_default(),
            info: own(Part::MetaInfo).filter(|info| is_object(info)),
        })
    }

    /// Whether a request has a declaration; copies nothing.
    pub fn check(request: &Message) -> Result<(), Undeclared> {
        let version = request.text(Part::MetaVersion).ok_or(Undeclared::Missing(touch::VERSION))?;
        if !MODERN_VERSIONS.contains(&&*version) {
            return Err(Undeclared::Version(version.into_owned()));
        }
        if !request.part(Part::MetaCapabilities).is_some_and(is_object) {
            return Err(Undeclared::Missing(touch::CAPABILITIES));
        }
        let is_long = |part: Part| request.span(part).range().len() > MAX_DECLARED_BYTES;
        let long = [(Part::MetaCapabilities, touch::CAPABILITIES), (Part::MetaInfo, touch::INFO)];
        match long.into_iter().find(|(part, _)| is_long(*part)) {
            Some((_, key)) => Err(Undeclared::TooLong(key)),
            None => Ok(()),
        }
    }

    /// The `initialize` that stands for this declaration. It has a declaration of its own, by which
    /// [`Era::of_handshake`] recognises it.
    pub fn initialize(&self) -> String {
        self.handshake(0, text(&self.version), &format!(r#","_meta":{{{}}}"#, self.meta()))
    }

    /// The `initialize` of a client with these capabilities in the legacy era.
    pub fn legacy_initialize(&self, id: u64) -> String {
        self.handshake(id, &format!("\"{}\"", crate::HANDSHAKE_VERSIONS[0]), "")
    }

    fn handshake(&self, id: u64, version: &str, more: &str) -> String {
        let capabilities = text(&self.capabilities);
        let info = self.info.as_deref().map_or(UNKNOWN_CLIENT, text);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":{version},"capabilities":{capabilities},"clientInfo":{info}{more}}}}}"#
        )
    }

    /// A request of our own in the name of the client. `params` are further members with a comma in front.
    pub fn request(&self, id: u64, method: Method, params: &str) -> String {
        let (method, meta) = (method.name().unwrap_or("?"), self.meta());
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{params}}}}}"#
        )
    }

    /// The members of `_meta` that declare this.
    fn meta(&self) -> String {
        let (version, capabilities) = (text(&self.version), text(&self.capabilities));
        let info = self.info.as_deref().map(|info| format!(r#","{}":{}"#, touch::INFO, text(info)));
        format!(
            r#""{}":{version},"{}":{capabilities}{}"#,
            touch::VERSION,
            touch::CAPABILITIES,
            info.unwrap_or_default()
        )
    }
}

fn is_object(json: &[u8]) -> bool {
    json.first() == Some(&b'{')
}

/// Parts of a parsed message are UTF-8.
fn text(json: &[u8]) -> &str {
    std::str::from_utf8(json).unwrap_or("null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Parsed, parse};

    fn message(text: &str) -> Message {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn request(meta: &str) -> Message {
        message(&format!(r#"{{"id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#))
    }

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{"sampling" :{}}"#;
    const INFO: &str = r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;

    #[test]
    fn declaration_survives_the_handshake() {
        let request = request(&format!("{VERSION},{CAPABILITIES},{INFO}"));
        let declared = Declaration::of(&request).unwrap();
        let initialize = message(&declared.initialize());
        assert_eq!(Declaration::of(&initialize).as_ref(), Ok(&declared));
        assert_eq!(Era::of_handshake(&initialize), Era::Modern);
        assert!(declare_same(&request, &initialize));
        let own = message(&declared.request(2, Method::ToolsList, r#","cursor":"x""#));
        assert!(declare_same(&request, &own));
        assert_eq!(own.text(Part::Cursor).as_deref(), Some("x"));
        let legacy = message(&declared.legacy_initialize(0));
        let params = String::from_utf8(legacy.part(Part::Params).unwrap().to_vec()).unwrap();
        let expected = r#"{"protocolVersion":"2025-11-25","capabilities":{"sampling" :{}},"clientInfo":{"name":"c","version":"1"}}"#;
        assert_eq!(params, expected);
        assert_eq!(Era::of_handshake(&legacy), Era::Legacy);
        assert_eq!(Era::of_handshake(&message(&plain_initialize())), Era::Legacy);
    }

    #[test]
    fn incomplete_declaration_is_refused() {
        let missing = |meta: &str| Declaration::of(&request(meta)).unwrap_err();
        assert_eq!(missing(CAPABILITIES), Undeclared::Missing(touch::VERSION));
        assert_eq!(missing(VERSION), Undeclared::Missing(touch::CAPABILITIES));
        let wrong = format!(r#"{VERSION},"io.modelcontextprotocol/clientCapabilities":7"#);
        assert_eq!(missing(&wrong), Undeclared::Missing(touch::CAPABILITIES));
        let other = r#""io.modelcontextprotocol/protocolVersion":"1900-01-01""#;
        assert_eq!(missing(other), Undeclared::Version("1900-01-01".to_owned()));
    }
}
