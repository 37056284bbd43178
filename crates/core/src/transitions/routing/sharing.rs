//! The clients that share a backend, and the recipient of a server's message. No guesses: an answer to the
//! wrong client would be worse than an error.

use super::tasks::names_task;
use crate::backends::{Backend, BackendKey, Principals};
use crate::clients::{Client, rank_in};
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch, ServerId};
use crate::messages::{names_uri, same_spelling};
use crate::pending::Pending;
use crate::servers::Server;
use crate::settings::{Capabilities, Scope, StatePolicy};
use serde_json::json;
use switchboard_protocol::{Era, Message, Method, Part};

/// The recipient of a backend's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressee {
    Client(ClientId),
    /// The client concerned is not connected.
    Absent,
    /// Several clients are possible.
    Several,
}

impl Core {
    /// The state that a backend of the server keeps between requests.
    pub(crate) fn state_policy(&self, server: ServerId) -> StatePolicy {
        self.servers.get(server).map_or(StatePolicy::None, Server::state_policy)
    }

    /// Whether each client has its own backend.
    pub(crate) fn is_private(&self, server: ServerId) -> bool {
        self.servers.get(server).is_some_and(Server::is_private)
    }

    /// The scope by which backends of the server are separated.
    pub(crate) fn scope_of(&self, server: ServerId) -> Scope {
        self.servers.get(server).map_or(Scope::Root, Server::scope)
    }

    /// Whether clients of different principals may share a backend of the server.
    pub(crate) fn is_for_everybody(&self, server: ServerId, era: Era) -> bool {
        self.servers.get(server).is_some_and(|server| server.is_for_everybody(era))
    }

    /// Whether a client with one key may use a backend with the other.
    pub(crate) fn is_alike(&self, server: ServerId, there: &BackendKey, wanted: &BackendKey) -> bool {
        self.servers.get(server).is_some_and(|server| server.is_alike(there, wanted))
    }

    /// Learns about the server's offer from an answer.
    pub(crate) fn learn_offer(&mut self, backend: BackendId, method: Method, answer: &Message) {
        // First: from here on, others may be shown what is in the answer.
        self.learn_scope(backend, method, answer);
        if method == Method::Initialize {
            self.heard_of(backend);
        }
        if !matches!(
            method,
            Method::Initialize | Method::ToolsList | Method::PromptsList | Method::ResourcesList
        ) {
            return;
        }
        let Some(result) = answer.part(Part::Result) else { return };
        let settings = self.settings_of(backend);
        if method == Method::ToolsList && settings.state == StatePolicy::Auto {
            self.learn_state(backend, result);
        }
        let profile = self.backends.get(&backend).and_then(|b| b.key().profile.clone());
        let (Some(profile), Some(list)) = (profile, method.name()) else { return };
        if settings.capabilities != Capabilities::Auto {
            return;
        }
        let Some(origin) = self.origin(backend) else { return };
        if let Some(offers) = origin.record_answer(profile, list, result) {
            self.learn(backend, |record| record.offers = offers);
            self.unite_alike(backend);
        }
    }

    /// Whether a server offers exactly the same to clients of two backends, as far as requested.
    pub(crate) fn offers_same(&self, one: &Backend, other: &Backend) -> bool {
        self.servers.get(one.server()).is_some_and(|server| server.offers_same(one.key(), other.key()))
    }

    fn learn_state(&mut self, backend: BackendId, result: &[u8]) {
        let Some(tool) = self.origin(backend).and_then(|origin| origin.learn_state(result)) else { return };
        self.learn(backend, |record| record.keeps_state = true);
        self.report(Fact::KeepsState { backend, tool });
        if let Some(server) = self.backends.get(&backend).map(|b| b.server()) {
            self.separate_server(server, None, "its tools keep client state");
        }
    }

    /// The client that a backend's request is for.
    pub(crate) fn addressee(&self, launch: Launch, message: &Message) -> Addressee {
        let backend = launch.backend;
        let Some(b) = self.backends.get(&backend) else { return Addressee::Absent };
        // A task names its owner, or the client that runs it; only without one do the users decide.
        let owner = match names_task(message.method()) {
            true => self.holder(b, message),
            false => self.related_owner(backend, message),
        };
        if let Some(owner) = owner {
            return self.if_here(owner);
        }
        if let Some(client) = self.sole_user(backend) {
            return self.if_here(client);
        }
        let is_anyone_meant = match b.users().is_empty() {
            true => self.real_lessees(backend).next().is_some(),
            false => b.users().sole().is_none() && !b.users().are_forgotten(),
        };
        if is_anyone_meant { Addressee::Several } else { Addressee::Absent }
    }

    pub(crate) fn if_here(&self, client: ClientId) -> Addressee {
        let is_here = self.clients.get(&client).is_some_and(|c| {
            // A server may be ready before the aggregate client has its answer to `initialize`.
            let is_here = c.is_here() || self.is_expected_back(client);
            is_here && c.may_use_server() && (!c.is_delegate() || self.may_be_asked(client))
        });
        if is_here { Addressee::Client(client) } else { Addressee::Absent }
    }

    /// The owner of the task that a message belongs to.
    fn related_owner(&self, backend: BackendId, message: &Message) -> Option<ClientId> {
        let task = message.part(Part::MetaRelatedTaskId).or_else(|| message.part(Part::TaskId))?;
        self.backends.get(&backend)?.tasks().client_of(task)
    }

    /// The clients that a backend's notification concerns, and that may use its server.
    pub(crate) fn audience(&self, backend: BackendId, message: &Message) -> Vec<ClientId> {
        let mut clients = self.concerned(backend, message);
        // Its rights may exclude the server since a client has used the process.
        clients.retain(|client| self.clients.get(client).is_some_and(Client::may_use_server));
        clients
    }

    fn concerned(&self, backend: BackendId, message: &Message) -> Vec<ClientId> {
        let Some(b) = self.backends.get(&backend) else { return Vec::new() };
        let lessees = || self.lessees(backend);
        match message.method() {
            Method::ResourceUpdated => {
                let uri = same_spelling(message.part(Part::Uri).unwrap_or_default());
                match b.subscriptions().subscribers(&uri) {
                    Some(clients) => clients.to_vec(),
                    None => self.about_to_subscribe(backend, &uri),
                }
            }
            Method::LogMessage => {
                let mut clients = self.listeners(b);
                clients.retain(|&client| self.is_loud_enough(client, message));
                clients
            }
            // A client's lists come from its home.
            method if method.is_list_change() => lessees()
                .filter(|client| {
                    let Some(c) = self.clients.get(client) else { return false };
                    // Delegates are notified once it is known what has changed.
                    c.home() == Some(backend) && !c.is_delegate() && !self.hides_change_from(*client, method)
                })
                .collect(),
            Method::TaskStatus => match self.related_owner(backend, message) {
                Some(owner) => vec![owner],
                None => self.sole_user(backend).into_iter().collect(),
            },
            _ => self.listeners(b),
        }
    }

    /// Whether a message is dropped because its client cannot be determined, rather than because no client wants it.
    pub(crate) fn is_unheard(&self, backend: BackendId, message: &Message) -> bool {
        match message.method() {
            Method::LogMessage => self.backends.get(&backend).is_some_and(|b| self.listeners(b).is_empty()),
            method => !method.is_list_change(),
        }
    }

    /// Recipients of a message that may concern any user of a process: its only user; or, if all users share
    /// one principal, those clients that requested log messages.
    fn listeners(&self, b: &Backend) -> Vec<ClientId> {
        if let Some(client) = self.sole_user(b.id()) {
            return vec![client];
        }
        // Its only user may no longer use the server; the message is for no one else.
        let is_here = |user: &ClientId| self.clients.get(user).is_some_and(|c| !c.is_lost());
        if b.users().sole().is_some_and(|user| is_here(&user)) {
            return Vec::new();
        }
        let may_hear = |c: &Client| match b.users().principals() {
            Principals::Nobody => self.real_lessees(b.id()).all(|other| {
                self.clients.get(&other).is_some_and(|other| other.principal() == c.principal())
            }),
            Principals::One(principal) => c.principal() == principal,
            Principals::Several => false,
        };
        let wants = |client: &ClientId| {
            let connection = self.clients.get(&self.connection_of(*client));
            connection.is_some_and(|c| c.level().is_some() && may_hear(c))
        };
        self.real_lessees(b.id()).filter(wants).collect()
    }

    /// The clients that requested the subscription a moment ago; if there are none, the server's only user,
    /// as without us.
    fn about_to_subscribe(&self, backend: BackendId, uri: &[u8]) -> Vec<ClientId> {
        let is_it = |p: &Pending| {
            p.was_sent_to(backend)
                && p.method() == Method::Subscribe
                && !p.is_hidden()
                && p.sent().is_some_and(|request| names_uri(request, uri))
        };
        let asks = |p: &Pending| p.client().filter(|_| is_it(p));
        let mut asking: Vec<ClientId> =
            self.pending.iter().filter_map(|(_, pending)| asks(pending)).collect();
        asking.sort();
        asking.dedup();
        match asking.is_empty() {
            true => self
                .sole_user(backend)
                .filter(|client| self.may_subscribe(*client, uri))
                .into_iter()
                .collect(),
            false => asking,
        }
    }

    /// Whether a log message is severe enough for the client's level. Without a level the server decides.
    fn is_loud_enough(&self, client: ClientId, message: &Message) -> bool {
        // The level cannot be set in a server that does not declare logging, but its messages can be filtered.
        let level = self.clients.get(&self.connection_of(client)).and_then(|c| c.level());
        match (level, rank_in(message)) {
            (Some(level), Some(rank)) => level.admits(rank),
            (None, _) | (_, None) => true,
        }
    }

    /// Records that a server asks its clients, so that its offer may depend on their capabilities.
    pub(crate) fn record_asking(&mut self, backend: BackendId) {
        if let Some(origin) = self.origin(backend) {
            origin.record_asking();
        }
    }

    /// Records that a server has asked a client something. Its clients no longer share processes: only the
    /// server knows which request a question belongs to.
    pub(crate) fn record_question(&mut self, backend: BackendId, addressee: &Addressee) {
        const ASKS_QUESTIONS: &str = "it asks its clients questions";
        if let Some(origin) = self.origin(backend) {
            origin.record_question();
        }
        self.learn(backend, |record| record.asks_questions = true);
        let Some(b) = self.backends.get(&backend) else { return };
        let server = b.server();
        if !self.is_private(server) {
            return;
        }
        // A retired backend is left alone.
        match addressee {
            Addressee::Several => self.separate(backend, None, ASKS_QUESTIONS),
            Addressee::Client(client) => self.separate(backend, Some(*client), ASKS_QUESTIONS),
            Addressee::Absent => {}
        }
        // A question to an absent client does not decide who keeps the process.
        let decided = Some(backend).filter(|_| *addressee != Addressee::Absent);
        self.separate_server(server, decided, ASKS_QUESTIONS);
    }

    /// Tells the clients of a stateful backend that its state is lost.
    pub(crate) fn tell_of_loss(&mut self, backend: BackendId, why: &str) {
        let kept = |b: &Backend| b.launches() > 0 && self.keeps_state(b);
        // A backend that never ran has no state to lose.
        if !self.backends.get(&backend).is_some_and(kept) {
            return;
        }
        let server = self.server_name(backend).to_owned();
        let text = format!("the server `{server}` was stopped ({why}); its state is lost");
        let lessees: Vec<ClientId> = self.lessees(backend).collect();
        for client in lessees {
            let params = json!({ "level": "warning", "logger": "switchboard", "data": text });
            self.notify_client(client, json!({ "method": "notifications/message", "params": params }));
        }
        self.report(Fact::StateLost { backend, why: why.to_owned() });
    }
}
