//! Clients whose calls are recorded, and the record of one call. Must not know where records go.

use super::identity::Identity;
use crate::ids::{ClientId, Launch, Principal};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use switchboard_protocol::ErrorKind;

/// The way on which a client reached us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Front {
    /// Its own streams, or those of an attachment.
    #[default]
    Stdio,
    Http,
}

impl Front {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// Clients whose calls are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditedClients {
    #[default]
    None,
    /// Clients over HTTP, and all who are not the owner.
    Remote,
    All,
}

/// Settings of the audit, as far as the core needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    pub clients: AuditedClients,
    /// Whether the arguments of calls are recorded.
    pub arguments: bool,
}

impl AuditPolicy {
    pub(crate) fn covers(self, identity: &Identity, front: Front) -> bool {
        match self.clients {
            AuditedClients::None => false,
            AuditedClients::Remote => front == Front::Http || identity.principal != Principal::OWNER,
            AuditedClients::All => true,
        }
    }

    /// Whether clients that have not proved their identity are recorded. Only refusals of theirs can be.
    pub(crate) fn covers_strangers(self) -> bool {
        self.clients != AuditedClients::None
    }
}

/// Name and version that a client gave in its handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
}

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server's result.
    Ok,
    /// The server's own error.
    ServerError,
    /// An error of ours.
    Refused(ErrorKind),
    /// Cancelled by the client.
    Cancelled,
}

/// The record of one call, or of a refused request.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub client: ClientId,
    /// Name of the client's identity; `None` if the client has not proved it.
    pub identity: Option<Arc<str>>,
    pub info: Option<Arc<ClientInfo>>,
    pub front: Front,
    pub method: Cow<'static, str>,
    /// `None` if the client uses several servers, and it was not known which is meant.
    pub server: Option<String>,
    /// The server's own name of the tool or prompt, or the URI.
    pub item: Option<String>,
    pub root: Option<String>,
    /// The process that got the request.
    pub launch: Option<Launch>,
    pub outcome: Outcome,
    /// The result of a tool that says itself that it failed.
    pub is_tool_error: bool,
    pub took: Duration,
    pub request_bytes: usize,
    pub answer_bytes: usize,
    pub params: Option<CallParams>,
}

/// The parameters of a call, if they are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallParams {
    /// JSON, or the beginning of it.
    pub text: Bytes,
    pub is_cut: bool,
}

impl CallParams {
    /// Longer parameters are cut.
    pub const MAX_BYTES: usize = 64 << 10;

    pub(crate) fn of(params: &[u8]) -> Self {
        let length = params.len().min(Self::MAX_BYTES);
        // A slice would keep the whole message alive.
        Self { text: Bytes::copy_from_slice(&params[..length]), is_cut: params.len() > length }
    }

    /// Number of bytes kept.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_covers_clients() {
        let (owner, token) =
            (Identity::owner(), Identity { principal: Principal(1), name: "ci".into(), ..Identity::owner() });
        for (clients, identity, front, expect) in [
            (AuditedClients::None, &token, Front::Http, false),
            (AuditedClients::Remote, &owner, Front::Stdio, false),
            (AuditedClients::Remote, &owner, Front::Http, true),
            (AuditedClients::Remote, &token, Front::Stdio, true),
            (AuditedClients::All, &owner, Front::Stdio, true),
        ] {
            let policy = AuditPolicy { clients, arguments: false };
            assert_eq!(policy.covers(identity, front), expect, "{clients:?} {} {front:?}", identity.name);
        }
    }

    #[test]
    fn long_params_are_cut() {
        assert!(!CallParams::of(&[b'x'; CallParams::MAX_BYTES]).is_cut);
        let long = CallParams::of(&[b'x'; CallParams::MAX_BYTES + 1]);
        assert_eq!((long.len(), long.is_cut), (CallParams::MAX_BYTES, true));
    }
}
