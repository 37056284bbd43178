//! A client's side of the handshake: its `initialize`, and the progress of it.

use crate::access::ClientInfo;
use crate::clients::declared::{Declared, declared_capabilities, info_of};
use crate::clients::handshake::Handshake;
use crate::clients::{Client, Greeting, Profile};
use crate::settings::{Capabilities, ServerSettings};
use crate::translation::for_modern::Need;
use serde_json::Value;
use std::sync::Arc;
use switchboard_protocol::{Era, Message, Part, modern};

/// The capabilities that a modern request declares.
fn capabilities_in(request: &Message) -> Value {
    serde_json::from_slice(request.part(Part::MetaCapabilities).unwrap_or_default()).unwrap_or_default()
}

impl Client {
    /// Records what the client declares in `initialize`.
    pub(crate) fn declare(&mut self, initialize: &Message) {
        // A modern process hears the capabilities with each request, so it serves them all. Only the lists of an
        // aggregate client are asked for in its name.
        let is_any = self.is_plain() && Era::of_handshake(initialize) == Era::Modern;
        let declared = match is_any && self.settings.capabilities == Capabilities::Auto {
            true => Declared::of_any(initialize),
            false => Declared::of(initialize, &self.settings),
        };
        let declared = declared.here(!self.is_elsewhere);
        self.declared = match Era::of_handshake(initialize) {
            Era::Legacy if !self.is_translated() => declared,
            // Only an answer can ask a modern client.
            Era::Legacy | Era::Modern => declared.without_roots(),
        };
    }

    /// The era of the client, as of its greeting.
    pub(crate) fn era(&self) -> Era {
        self.greeting().map_or(Era::Legacy, Greeting::era)
    }

    /// The era whose codes errors for the client have.
    pub(crate) fn era_of_errors(&self) -> Era {
        if self.has_modern_errors || self.speaks_modern() { Era::Modern } else { Era::Legacy }
    }

    /// Records whether a client that another Switchboard serves speaks the modern era.
    pub(crate) fn set_modern_errors(&mut self, are_modern: bool) {
        self.has_modern_errors = are_modern;
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.era() == Era::Modern
    }

    /// Whether it is a modern client whose messages are translated for a legacy server.
    pub(crate) fn is_translated(&self) -> bool {
        self.greeting().is_some_and(|greeting| greeting.translated().is_some())
    }

    /// Whether its own messages are modern, whatever its server speaks.
    pub(crate) fn speaks_modern(&self) -> bool {
        self.is_modern() || self.is_translated()
    }

    /// Whether the client has declared that it can be asked this.
    pub(crate) fn declares(&self, need: &Need) -> bool {
        need.is_in(&self.capabilities())
    }

    /// The capabilities that it has declared; null without a greeting.
    fn capabilities(&self) -> Value {
        let Some(greeting) = self.greeting() else { return Value::Null };
        match greeting.translated() {
            Some(modern) => capabilities_in(modern),
            None => declared_capabilities(greeting.initialize()),
        }
    }

    /// Whether a request may decide the era of the client, or must fit it. `false` for nearly all requests of the
    /// legacy era.
    pub(crate) fn is_at_entrance(&self, request: &Message) -> bool {
        self.is_greeted_by_us() || self.handshake.is_new() || request.has(Part::MetaVersion)
    }

    /// Whether its greeting was made by us.
    pub(crate) fn is_greeted_by_us(&self) -> bool {
        self.greeting().is_some_and(Greeting::is_ours)
    }

    /// Whether the client has declared the same as this request.
    pub(crate) fn has_declared(&self, request: &Message) -> bool {
        self.greeting().is_some_and(|greeting| {
            modern::declare_same(greeting.translated().unwrap_or(greeting.initialize()), request)
        })
    }

    /// Records a greeting that we have made for the client.
    pub(crate) fn adopt(&mut self, greeting: Greeting) {
        self.info = None;
        self.handshake = Handshake::Answered(greeting);
    }

    /// Forgets the greeting: the next request decides again.
    pub(crate) fn forget_greeting(&mut self) {
        self.info = None;
        self.handshake = Handshake::New;
        self.declared = Declared::default();
        self.hide_roots();
    }

    /// The profile that an `initialize` would have at a server.
    pub(crate) fn profile_of(initialize: &Message, settings: &ServerSettings) -> Option<Profile> {
        Declared::of(initialize, settings).profile().cloned()
    }

    /// Shares the profile with another client, if it is equal.
    pub(crate) fn share_profile(&mut self, other: &Self) {
        self.declared.share_profile(&other.declared);
    }

    /// The protocol version and the capabilities that the client declared.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.declared.profile()
    }

    /// Whether the client answers `roots/list`.
    pub(crate) fn has_roots(&self) -> bool {
        self.declared.has_roots()
    }

    /// The answered handshake, to be replayed to a server's next process.
    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.handshake.to_replay()
    }

    /// The client's own name and version, as of its latest handshake.
    pub(crate) fn info(&mut self) -> Option<Arc<ClientInfo>> {
        if self.info.is_none() {
            self.info = self.greeting().and_then(|greeting| info_of(greeting.initialize())).map(Arc::new);
        }
        self.info.clone()
    }

    /// Whether the client has not sent `initialize` at all.
    pub(crate) fn is_new(&self) -> bool {
        self.handshake.is_new()
    }

    /// Whether the client waits for the answer to its `initialize`.
    pub(crate) fn awaits_greeting(&self) -> bool {
        self.handshake.is_asked()
    }

    /// Whether the client's last `initialize` was answered.
    pub(crate) fn is_greeted(&self) -> bool {
        self.handshake.is_answered()
    }

    /// Whether both halves of the handshake are done, so that requests may be sent to the client.
    pub(crate) fn is_initialized(&self) -> bool {
        self.handshake.is_complete()
    }

    /// The `initialized` of a client that did not wait for the answer to its `initialize`.
    pub(crate) fn confirmed_early(&self) -> Option<&Message> {
        self.handshake.confirmed_early()
    }

    /// Records that it makes a handshake, under this minted id.
    pub(crate) fn begin_handshake(&mut self, minted: u64) {
        self.info = None;
        self.latest_handshake = minted;
        self.handshake.ask();
    }

    /// Whether it has made another handshake of its own since it made the request with this minted id.
    pub(crate) fn has_begun_anew_since(&self, minted: u64) -> bool {
        minted < self.latest_handshake
    }

    pub(crate) fn answer_handshake(&mut self, initialize: &Message) {
        self.handshake.answer(initialize);
    }

    pub(crate) fn fail_handshake(&mut self) {
        self.handshake.fail();
    }

    pub(crate) fn confirm_handshake(&mut self, initialized: &Message) {
        self.handshake.confirm(initialized);
    }
}
