//! The client's half of the handshake. Must not know which servers hear it.

use switchboard_protocol::Message;

/// The client's half of the handshake. Its messages are kept, to be replayed to a process that is started anew.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// None yet. Requests pass all the same: the server decides about them.
    New,
    /// `initialize` is on its way. Some clients send `initialized` without waiting for the answer. An earlier
    /// handshake counts until this one is answered.
    Asked {
        initialized: Option<Message>,
        before: Option<Box<Greeting>>,
    },
    Answered(Greeting),
}

/// A handshake that a server has answered.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    initialize: Message,
    initialized: Option<Message>,
}

impl Greeting {
    pub(crate) fn new(initialize: Message, initialized: Option<Message>) -> Self {
        Self { initialize, initialized }
    }

    pub(crate) fn initialize(&self) -> &Message {
        &self.initialize
    }

    /// The client's word that it is ready.
    pub(crate) fn initialized(&self) -> Option<&Message> {
        self.initialized.as_ref()
    }

    /// Adds the second half, if it is missing.
    pub(crate) fn complete_with(mut self, initialized: impl FnOnce() -> Option<Message>) -> Self {
        self.initialized = self.initialized.or_else(initialized);
        self
    }

    /// Notes the second half, if it is missing.
    pub(crate) fn confirm(&mut self, initialized: &Message) {
        if self.initialized.is_none() {
            self.initialized = Some(initialized.detached());
        }
    }
}

impl Handshake {
    pub(crate) fn ask(&mut self) {
        let before = match std::mem::replace(self, Self::New) {
            Self::New => None,
            Self::Asked { before, .. } => before,
            Self::Answered(greeting) => Some(Box::new(greeting)),
        };
        *self = Self::Asked { initialized: None, before };
    }

    pub(crate) fn answer(&mut self, initialize: &Message) {
        let initialized = match std::mem::replace(self, Self::New) {
            Self::New => None,
            Self::Asked { initialized, .. } => initialized,
            Self::Answered(greeting) => greeting.initialized,
        };
        *self = Self::Answered(Greeting { initialize: initialize.detached(), initialized });
    }

    /// The server refused, or nobody answered: the handshake before counts again.
    pub(crate) fn fail(&mut self) {
        if let Self::Asked { before, .. } = self {
            *self = before.take().map_or(Self::New, |greeting| Self::Answered(*greeting));
        }
    }

    pub(crate) fn confirm(&mut self, message: &Message) {
        match self {
            Self::New => {}
            Self::Asked { initialized, .. } => *initialized = Some(message.clone()),
            Self::Answered(greeting) => greeting.initialized = Some(message.clone()),
        }
    }

    /// The handshake that a new process must hear first, if this client was greeted by an earlier one.
    pub(crate) fn to_replay(&self) -> Option<&Greeting> {
        match self {
            Self::New => None,
            Self::Asked { before, .. } => before.as_deref(),
            Self::Answered(greeting) => Some(greeting),
        }
    }

    /// Both halves are done: the client may be asked things.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Answered(Greeting { initialized: Some(_), .. }))
    }

    pub(crate) fn is_new(&self) -> bool {
        matches!(self, Self::New)
    }

    pub(crate) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked { .. })
    }

    /// The `initialized` that followed an `initialize` which is still on its way.
    pub(crate) fn confirmed_early(&self) -> Option<&Message> {
        match self {
            Self::New | Self::Answered(_) => None,
            Self::Asked { initialized, .. } => initialized.as_ref(),
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        matches!(self, Self::Answered(_))
    }
}
