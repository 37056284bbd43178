//! The backend's half of the handshake. Its first client makes it; later ones hear the same answer, and every new process
//! hears the same words.

use crate::clients::Greeting;
use crate::ids::ClientId;
use std::collections::VecDeque;
use switchboard_protocol::Message;

#[derive(Debug, Default)]
pub(crate) struct BackendHandshake {
    /// The words that processes hear first.
    greeting: Option<Greeting>,
    /// The client whose words those are.
    greeted_by: Option<ClientId>,
    /// The server's answer to them; further clients get the same.
    welcome: Option<Message>,
    /// The handshake that a client is making itself.
    under_way: Option<OwnHandshake>,
    /// Handshakes of other clients, which wait for the answer to that one.
    waiting: VecDeque<u64>,
    /// The present process has been told `initialized`.
    is_initialized: bool,
    /// The client whose word that was. It may repeat it; others need not say the same.
    initialized_by: Option<ClientId>,
    /// The client that said so before its handshake was answered, and was passed on.
    early: Option<ClientId>,
}

#[derive(Debug)]
struct OwnHandshake {
    minted: u64,
    initialize: Message,
}

/// The result of a handshake that a client has made itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greeted {
    pub(crate) is_first: bool,
    /// The process has been told `initialized` already.
    pub(crate) is_initialized: bool,
}

impl BackendHandshake {
    /// A process starts: it is yet to hear the handshake.
    pub(super) fn begin_process(&mut self) {
        self.is_initialized = false;
    }

    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_ref()
    }

    /// No client has been greeted here yet.
    pub(crate) fn is_ungreeted(&self) -> bool {
        self.greeting.is_none()
    }

    /// The second half of the words that processes hear first.
    pub(crate) fn confirmation(&self) -> Option<&Message> {
        self.greeting.as_ref()?.initialized()
    }

    /// The second half is missing: no client was ready yet.
    pub(crate) fn lacks_confirmation(&self) -> bool {
        self.greeting.as_ref().is_some_and(|greeting| greeting.initialized().is_none())
    }

    /// Adds the second half, if it is missing.
    pub(crate) fn complete(&mut self, initialized: &Message) {
        if let Some(greeting) = &mut self.greeting {
            greeting.confirm(initialized);
        }
    }

    /// Takes the words of a client that was greeted elsewhere.
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

    /// A client makes its handshake itself.
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

    /// The words of a handshake that is under way.
    pub(crate) fn words_of(&self, minted: u64) -> Option<&Message> {
        self.under_way.as_ref().filter(|own| own.minted == minted).map(|own| &own.initialize)
    }

    /// The handshake that was under way is over. Returns its words.
    pub(crate) fn end(&mut self) -> Option<Message> {
        self.under_way.take().map(|own| own.initialize)
    }

    /// Another client's handshake waits for the answer to the one that is under way.
    pub(crate) fn wait(&mut self, minted: u64) {
        self.waiting.push_back(minted);
    }

    pub(crate) fn next_waiting(&mut self) -> Option<u64> {
        self.waiting.pop_front()
    }

    pub(crate) fn take_waiting(&mut self) -> VecDeque<u64> {
        std::mem::take(&mut self.waiting)
    }

    /// All handshakes fail: no other client is to try next.
    pub(crate) fn fail_all(&mut self) {
        self.under_way = None;
        self.waiting.clear();
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// The process has been told `initialized` on behalf of somebody else.
    pub(crate) fn is_initialized_by_other(&self, client: ClientId) -> bool {
        self.is_initialized && self.initialized_by != Some(client)
    }

    /// The process is told `initialized`.
    pub(crate) fn confirm(&mut self, by: Option<ClientId>) {
        self.is_initialized = true;
        self.initialized_by = by;
    }

    /// A client said that it is ready before its handshake was answered; or `None` did.
    pub(crate) fn set_early(&mut self, client: Option<ClientId>) {
        self.early = client;
    }

    pub(crate) fn forget_early(&mut self, client: ClientId) {
        self.early = self.early.filter(|&other| other != client);
    }

    /// The server refused a client's own handshake. Another's will be the first.
    pub(crate) fn refused(&mut self, client: ClientId) {
        self.is_initialized &= self.welcome.is_some();
        self.forget_early(client);
    }

    /// The server answered a client's own handshake. `is_ready`: the client has confirmed it.
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
        // If it did not wait for the answer, perhaps neither did we.
        let was_told =
            self.early.take() == Some(client) || (self.is_initialized && self.initialized_by == Some(client));
        self.is_initialized = is_ready && was_told;
        self.initialized_by = Some(client);
        self.welcome = Some(answer);
        Greeted { is_first, is_initialized: self.is_initialized }
    }
}
