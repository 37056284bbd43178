//! How a client proves its identity. Must not know what a token looks like.

use switchboard_protocol::ShownToken;

/// How a new client proves its identity, as its front knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proof {
    /// The connection alone says who it is. Tokens in messages are removed, and mean nothing.
    #[default]
    Unneeded,
    /// The front has recognised a token. Tokens in messages are removed, and mean nothing.
    Checked,
    /// No token is needed; one that comes with the first request counts instead of the connection.
    Optional,
    /// No request is served before a message shows a token.
    Required,
    /// This token was shown with the connection.
    Shown(ShownToken),
}

/// Whether a client has proved its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// By its connection. Tokens in its messages mean nothing.
    ByConnection,
    /// By its connection, as long as no token comes with its first request.
    Open,
    /// Not yet.
    Unproven,
    /// By a token, or by a first request without one. A message with another token is refused.
    Settled,
    /// Never: the token that came with its connection is not valid.
    Refused,
}

/// Reason why a message is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unproven {
    NoToken,
    WrongToken,
    /// Another identity than that of its connection.
    OtherToken,
    /// The token of this name was revoked, or has expired.
    Revoked(std::sync::Arc<str>),
}
