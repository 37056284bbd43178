//! The backend's half of the handshake. The first client makes it; later clients get the same answer, and
//! every new process gets the same handshake replayed. Must not know how messages are sent.

use crate::clients::Greeting;
use crate::ids::ClientId;
use std::collections::VecDeque;
use switchboard_protocol::{Era, Message};

#[derive(Debug, Default)]
pub(crate) struct BackendHandshake {
    /// The handshake messages for every new process.
    greeting: Option<Greeting>,
    /// The client that sent them.
    greeted_by: Option<ClientId>,
    /// The server's answer; later clients get the same.
    welcome: Option<Message>,
    /// The handshake that a client is making itself.
    under_way: Option<OwnHandshake>,
    /// Handshakes of other clients, which wait for the answer to that one.
    waiting: VecDeque<u64>,
    /// Whether the current process has received `initialized`.
    is_initialized: bool,
    /// The client that sent it. Only this client's repetition is forwarded.
    initialized_by: Option<ClientId>,
    /// The client that sent `initialized` before its handshake was answered, and had it forwarded.
    early: Option<ClientId>,
    /// Whether the current process was asked `server/discover` a second time.
    is_asked_again: bool,
}

#[derive(Debug)]
struct OwnHandshake {
    minted: u64,
    initialize: Message,
}

/// Result of a handshake that a client made itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greeted {
    pub(crate) is_first: bool,
    /// Whether the process has already received `initialized`.
    pub(crate) is_initialized: bool,
}

impl BackendHandshake {
    /// Resets for a new process, which has not seen a handshake.
    pub(super) fn begin_process(&mut self) {
        self.is_initialized = false;
        self.is_asked_again = false;
    }

    /// Records that `server/discover` is repeated. Returns whether that is the first time.
    pub(crate) fn ask_again(&mut self) -> bool {
        !std::mem::replace(&mut self.is_asked_again, true)
    }

    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_ref()
    }

    /// The era of the handshake.
    pub(crate) fn era(&self) -> Era {
        self.greeting.as_ref().map_or(Era::Legacy, Greeting::era)
    }

    /// Whether no client has completed a handshake here.
    pub(crate) fn is_ungreeted(&self) -> bool {
        self.greeting.is_none()
    }

    /// The stored `initialized`, if any.
    pub(crate) fn confirmation(&self) -> Option<&Message> {
        self.greeting.as_ref()?.initialized()
    }

    /// Whether `initialized` is missing from the stored handshake: no client was ready yet.
    pub(crate) fn lacks_confirmation(&self) -> bool {
        self.greeting.as_ref().is_some_and(|greeting| greeting.initialized().is_none())
    }

    /// Adds `initialized` to the stored handshake, if missing.
    pub(crate) fn complete(&mut self, initialized: &Message) {
        if let Some(greeting) = &mut self.greeting {
            greeting.confirm(initialized);
        }
    }

    /// Adopts the handshake of a client that was greeted by another backend.
    pub(crate) fn adopt(&mut self, greeting: Greeting, client: ClientId) {
        self.greeting = Some(greeting);
        self.greeted_by = Some(client);
    }

    pub(crate) fn greeted_by(&self) -> Option<ClientId> {
        self.greeted_by
    }

    pub(crate) fn welcome(&self) -> Option<&Message> {
        self.welcome.as_ref()
    }

    pub(crate) fn has_welcome(&self) -> bool {
        self.welcome.is_some()
    }

    pub(crate) fn set_welcome(&mut self, answer: Message) {
        self.welcome = Some(answer);
    }

    /// Records that a client makes its own handshake.
    pub(crate) fn begin(&mut self, minted: u64, initialize: Message) {
        self.under_way = Some(OwnHandshake { minted, initialize });
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The id of the handshake that a client is making itself.
    pub(crate) fn under_way(&self) -> Option<u64> {
        self.under_way.as_ref().map(|own| own.minted)
    }

    /// The `initialize` of a handshake in progress.
    pub(crate) fn words_of(&self, minted: u64) -> Option<&Message> {
        self.under_way.as_ref().filter(|own| own.minted == minted).map(|own| &own.initialize)
    }

    /// Ends the handshake in progress; returns its `initialize`.
    pub(crate) fn end(&mut self) -> Option<Message> {
        self.under_way.take().map(|own| own.initialize)
    }

    /// Queues another client's handshake behind the one in progress.
    pub(crate) fn wait(&mut self, minted: u64) {
        self.waiting.push_back(minted);
    }

    pub(crate) fn next_waiting(&mut self) -> Option<u64> {
        self.waiting.pop_front()
    }

    pub(crate) fn take_waiting(&mut self) -> VecDeque<u64> {
        std::mem::take(&mut self.waiting)
    }

    /// Fails all handshakes, so that no queued client tries next.
    pub(crate) fn fail_all(&mut self) {
        self.under_way = None;
        self.waiting.clear();
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// Whether the process received `initialized` on behalf of another client.
    pub(crate) fn is_initialized_by_other(&self, client: ClientId) -> bool {
        self.is_initialized && self.initialized_by != Some(client)
    }

    /// Records that the process is sent `initialized`.
    pub(crate) fn confirm(&mut self, by: Option<ClientId>) {
        self.is_initialized = true;
        self.initialized_by = by;
    }

    /// Records which client sent `initialized` before its handshake was answered, if any.
    pub(crate) fn set_early(&mut self, client: Option<ClientId>) {
        self.early = client;
    }

    pub(crate) fn forget_early(&mut self, client: ClientId) {
        self.early = self.early.filter(|&other| other != client);
    }

    /// Records that the server refused a client's own handshake. Another client's becomes the first.
    pub(crate) fn refused(&mut self, client: ClientId) {
        // Without an earlier welcome, an `initialized` that was forwarded early is void.
        self.is_initialized &= self.welcome.is_some();
        self.forget_early(client);
    }

    /// Records the server's answer to a client's own handshake. `is_ready`: the client has confirmed it.
    pub(crate) fn answered(
        &mut self,
        client: ClientId,
        greeting: Option<Greeting>,
        is_ready: bool,
        answer: Message,
    ) -> Greeted {
        let is_first = self.greeting.is_none();
        self.greeting = greeting;
        self.greeted_by = Some(client);
        // If the client did not wait for the answer, its `initialized` may have been forwarded already.
        let was_told =
            self.early.take() == Some(client) || (self.is_initialized && self.initialized_by == Some(client));
        self.is_initialized = is_ready && was_told;
        self.initialized_by = Some(client);
        self.welcome = Some(answer);
        Greeted { is_first, is_initialized: self.is_initialized }
    }
}
