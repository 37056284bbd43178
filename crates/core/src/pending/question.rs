//! Requests to clients, from backends or from us. Must not know clients and backends except by number.

use crate::ids::{BackendId, ClientId, Launch};
use crate::moment::Moment;
use crate::pending::table::Table;
use crate::pending::tokens::{QuestionToken, QuestionTokens};
use std::borrow::Cow;
use switchboard_protocol::{Method, RawId};

/// A request to a client.
#[derive(Debug)]
pub(crate) struct Question {
    client: ClientId,
    by: AskedBy,
    name: Cow<'static, str>,
    accepted: Moment,
    deadline: Option<Moment>,
}

#[derive(Debug)]
pub(crate) enum AskedBy {
    /// A backend's process, under this id.
    Backend { launch: Launch, id: RawId },
    /// We ourselves, to learn the client's roots.
    Ourselves,
}

impl Question {
    pub(crate) fn new(
        client: ClientId,
        by: AskedBy,
        name: Cow<'static, str>,
        accepted: Moment,
        deadline: Option<Moment>,
    ) -> Self {
        Self { client, by, name, accepted, deadline }
    }

    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn by(&self) -> &AskedBy {
        &self.by
    }

    /// Length of the id under which it was asked.
    pub(crate) fn id_bytes(&self) -> usize {
        match &self.by {
            AskedBy::Backend { id, .. } => id.as_bytes().len(),
            AskedBy::Ourselves => 0,
        }
    }

    pub(crate) fn into_by(self) -> AskedBy {
        self.by
    }

    /// The name of the method.
    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) fn accepted(&self) -> Moment {
        self.accepted
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.deadline
    }

    /// Whether a process asks for the client's roots.
    pub(crate) fn is_for_roots(&self) -> bool {
        self.launch().is_some() && Method::from_name(&self.name) == Method::RootsList
    }

    /// The process that asked.
    pub(crate) fn launch(&self) -> Option<Launch> {
        match self.by {
            AskedBy::Backend { launch, .. } => Some(launch),
            AskedBy::Ourselves => None,
        }
    }

    pub(crate) fn is_of(&self, backend: BackendId) -> bool {
        self.launch().is_some_and(|launch| launch.backend == backend)
    }

    /// Whether this process asked this under that id.
    pub(crate) fn is_asked_as(&self, launch: Launch, id: &[u8]) -> bool {
        match &self.by {
            AskedBy::Backend { launch: asker, id: own } => *asker == launch && own.as_bytes() == id,
            AskedBy::Ourselves => false,
        }
    }
}

/// All requests to clients, by minted id, with the progress tokens of recent ones.
#[derive(Debug)]
pub(crate) struct Questions {
    open: Table<Question>,
    tokens: QuestionTokens,
}

impl Questions {
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { open: Table::starting_at(first), tokens: QuestionTokens::default() }
    }

    pub(crate) fn mint(&mut self) -> u64 {
        self.open.mint()
    }

    /// Whether an id was ever minted, even if its request is done.
    pub(crate) fn has_minted(&self, id: u64) -> bool {
        self.open.has_minted(id)
    }

    pub(crate) fn insert(&mut self, id: u64, question: Question) {
        self.open.insert(id, question);
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Question> {
        self.open.get(id)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Question> {
        self.open.remove(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Question)> {
        self.open.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The ids of the requests that `pick` selects, in order of minting.
    pub(crate) fn ids(&self, pick: impl FnMut(&Question) -> bool) -> Vec<u64> {
        self.open.ids(pick)
    }

    /// Drops our own requests to a client, or to all clients.
    pub(crate) fn drop_our_own(&mut self, client: Option<ClientId>) {
        let is_meant = |question: &Question| {
            question.launch().is_none() && client.is_none_or(|client| question.client == client)
        };
        for id in self.open.ids(is_meant) {
            self.open.remove(id);
        }
    }

    /// Stores the progress token of a server's request.
    pub(crate) fn remember_token(&mut self, id: u64, client: ClientId, launch: Launch, token: &RawId) {
        self.tokens.remember(id, client, launch, token);
    }

    pub(crate) fn token(&self, id: u64) -> Option<&QuestionToken> {
        self.tokens.find(id)
    }

    pub(crate) fn forget_tokens_of(&mut self, backend: BackendId) {
        self.tokens.forget_backend(backend);
    }
}
