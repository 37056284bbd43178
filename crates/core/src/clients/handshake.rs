//! The client's half of the handshake. Must not know which servers receive it.

use switchboard_protocol::{Era, Message};

/// State of the client's half of the handshake. Its messages are stored, to be replayed to new processes.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// No handshake yet. Requests pass nevertheless: the server decides about them.
    New,
    /// `initialize` has been forwarded. Some clients send `initialized` without waiting for the answer. An
    /// earlier handshake stays valid until this one is answered.
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
    /// Made by us, for a client that has made none. Boxed, since there are many clients, and few of these.
    ours: Option<Box<OurGreeting>>,
}

/// The reason why we have made a greeting.
#[derive(Debug, Clone)]
enum OurGreeting {
    /// The client's era has no handshake, or it has made none.
    InItsName,
    /// Its server speaks only the legacy era, and the client the modern one. Holds the greeting of a modern server.
    Translated(Message),
}

impl Greeting {
    pub(crate) fn new(initialize: Message, initialized: Option<Message>) -> Self {
        Self { initialize, initialized, ours: None }
    }

    /// A greeting for a client that has made none.
    pub(crate) fn ours(initialize: Message, initialized: Option<Message>) -> Self {
        Self { ours: Some(Box::new(OurGreeting::InItsName)), ..Self::new(initialize, initialized) }
    }

    /// A legacy greeting for a modern client. `declaration`: its greeting at a modern server.
    pub(crate) fn translation(
        initialize: Message,
        initialized: Option<Message>,
        declaration: Message,
    ) -> Self {
        let ours = OurGreeting::Translated(declaration);
        Self { ours: Some(Box::new(ours)), ..Self::new(initialize, initialized) }
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.ours.is_some()
    }

    /// The greeting of a modern server, if this one is its translation for a legacy server.
    pub(crate) fn translated(&self) -> Option<&Message> {
        match self.ours.as_deref()? {
            OurGreeting::InItsName => None,
            OurGreeting::Translated(declaration) => Some(declaration),
        }
    }

    pub(crate) fn initialize(&self) -> &Message {
        &self.initialize
    }

    pub(crate) fn era(&self) -> Era {
        Era::of_handshake(&self.initialize)
    }

    /// The client's `initialized`.
    pub(crate) fn initialized(&self) -> Option<&Message> {
        self.initialized.as_ref()
    }

    /// Adds `initialized`, if missing.
    pub(crate) fn complete_with(mut self, initialized: impl FnOnce() -> Option<Message>) -> Self {
        self.initialized = self.initialized.or_else(initialized);
        self
    }

    /// Records `initialized`, if missing.
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
            // The last answered handshake stays valid through several attempts.
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
        // Stored as long as the client is connected, so without its read buffer.
        *self = Self::Answered(Greeting::new(initialize.detached(), initialized));
    }

    /// Records a refusal or a missing answer: the previous handshake is valid again.
    pub(crate) fn fail(&mut self) {
        if let Self::Asked { before, .. } = self {
            *self = before.take().map_or(Self::New, |greeting| Self::Answered(*greeting));
        }
    }

    pub(crate) fn confirm(&mut self, message: &Message) {
        match self {
            // Without `initialize` it confirms nothing.
            Self::New => {}
            Self::Asked { initialized, .. } => *initialized = Some(message.clone()),
            Self::Answered(greeting) => greeting.initialized = Some(message.clone()),
        }
    }

    /// The handshake to replay to a new process, if an earlier one has answered it.
    pub(crate) fn to_replay(&self) -> Option<&Greeting> {
        match self {
            Self::New => None,
            Self::Asked { before, .. } => before.as_deref(),
            Self::Answered(greeting) => Some(greeting),
        }
    }

    /// Whether both halves are done, so that requests may be sent to the client.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Answered(Greeting { initialized: Some(_), .. }))
    }

    pub(crate) fn is_new(&self) -> bool {
        matches!(self, Self::New)
    }

    pub(crate) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked { .. })
    }

    /// The `initialized` that followed an unanswered `initialize`.
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
