//! The protocol version and the capabilities that a client declared in `initialize`.

use crate::access::ClientInfo;
use crate::messages::in_order;
use crate::settings::{Capabilities, ServerSettings};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use switchboard_protocol::{Message, Part};

/// Version and capabilities of a client's handshake in canonical form; a server may behave differently by them.
pub(crate) type Profile = Arc<str>;

/// The parts of `initialize` that we interpret.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declared {
    profile: Option<Profile>,
    /// Whether the client answers `roots/list`.
    has_roots: bool,
}

#[derive(Deserialize)]
struct Opening {
    #[serde(default, rename = "protocolVersion")]
    version: Value,
    #[serde(default)]
    capabilities: Value,
}

impl Opening {
    fn of(initialize: &Message) -> Option<Self> {
        serde_json::from_slice(initialize.part(Part::Params).unwrap_or_default()).ok()
    }
}

/// Longest name or version of a client that is kept.
const MAX_INFO_CHARS: usize = 80;

#[derive(Deserialize)]
struct Introduction {
    #[serde(rename = "clientInfo")]
    client: Introduced,
}

#[derive(Deserialize)]
struct Introduced {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

/// The client's own name and version.
pub(crate) fn info_of(initialize: &Message) -> Option<ClientInfo> {
    let params = initialize.part(Part::Params)?;
    let Introduction { client } = serde_json::from_slice(params).ok()?;
    let cut = |text: String| text.chars().take(MAX_INFO_CHARS).collect();
    Some(ClientInfo { name: cut(client.name), version: cut(client.version) })
}

/// The capabilities that an `initialize` declares.
pub(crate) fn declared_capabilities(initialize: &Message) -> Value {
    Opening::of(initialize).map(|opening| opening.capabilities).unwrap_or_default()
}

impl Declared {
    /// Shares the profile with an equal one.
    pub(super) fn share_profile(&mut self, other: &Self) {
        if self.profile == other.profile {
            self.profile.clone_from(&other.profile);
        }
    }

    pub(crate) fn of(initialize: &Message, settings: &ServerSettings) -> Self {
        let with_capabilities = settings.capabilities != Capabilities::Shared;
        let Some(opening) = Opening::of(initialize) else { return Self::default() };
        // Before capabilities are left out of the profile: roots matter in any case.
        let has_roots = opening.capabilities.get("roots").is_some_and(Value::is_object);
        // The server does not learn of what it may not ask for.
        let declared = settings.asks.declared(initialize).and_then(|declared| Opening::of(&declared));
        let opening = declared.unwrap_or(opening);
        let capabilities = if with_capabilities { opening.capabilities } else { Value::Null };
        let profile = format!("{} {}", opening.version, in_order(capabilities));
        Self { profile: Some(profile.into()), has_roots }
    }
}

impl Declared {
    /// A profile for any capabilities.
    pub(crate) fn of_any(initialize: &Message) -> Self {
        let profile = Opening::of(initialize).map(|opening| format!("{} any", opening.version).into());
        Self { profile, has_roots: false }
    }

    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    pub(crate) fn has_roots(&self) -> bool {
        self.has_roots
    }

    /// Ignores the roots of a client on another machine: they are not folders here.
    pub(crate) fn here(self, is_here: bool) -> Self {
        Self { has_roots: self.has_roots && is_here, ..self }
    }

    /// For a client that cannot be asked for roots.
    pub(crate) fn without_roots(self) -> Self {
        Self { has_roots: false, ..self }
    }
}
