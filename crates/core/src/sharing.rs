//! Who shares a backend, and whom its messages concern. What cannot be said for certain is not guessed: an answer
//! to the wrong client would be worse than an error.

use crate::backend::Backend;
use crate::catalogue::next_cursor;
use crate::client::Presence;
use crate::event::{BackendId, ClientId, Launch, ServerId};
use crate::exchange::{Core, Server};
use crate::fact::Fact;
use crate::key::{Key, Profile};
use crate::pending::Pending;
use crate::record::Record;
use crate::restore::{names_uri, same_spelling};
use crate::settings::{Capabilities, Scope, State};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use switchboard_protocol::{Message, Method, Part};

/// What is known of a server that decides about sharing it.
#[derive(Debug, Default)]
pub(crate) struct Insight {
    /// What it offers to clients that can do this: a digest of its welcome and of each list that was seen.
    offers: BTreeMap<Profile, BTreeMap<Cow<'static, str>, u64>>,
    /// It has asked a client for something.
    pub(crate) asks: bool,
    /// A list of it comes in pages, so that no answer is a whole one.
    comes_in_pages: bool,
    /// Told from the names of its tools.
    state: Option<State>,
}

/// So many kinds of clients are told apart.
const MOST_PROFILES: usize = 64;

/// Longer lists are not looked through for names.
const LONG_LIST: usize = 1 << 20;

/// Tools of servers that keep a client's affairs between calls: a browser, a shell, a train of thought.
const TELLING: &[&str] = &["browser_", "sequentialthinking", "puppeteer_", "playwright_"];
const TELLING_WORDS: &[&str] =
    &["new_page", "close_page", "start_process", "read_process_output", "open_terminal", "create_session"];

#[derive(Deserialize)]
struct Tools<'a> {
    #[serde(borrow)]
    tools: Vec<Tool<'a>>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl Insight {
    /// With what earlier runs have learnt.
    pub(crate) fn of(record: &Record) -> Self {
        let state = record.keeps_state.then_some(State::Client);
        Self { asks: record.asks_questions || record.asks_roots, state, ..Self::default() }
    }
}

impl Core {
    /// What an instance of the server keeps between requests.
    pub(crate) fn state_kept(&self, server: ServerId) -> State {
        let Some(server) = self.servers.get(server.0 as usize) else { return State::None };
        match server.settings.state {
            State::Auto => server.insight.state.unwrap_or(State::None),
            known => known,
        }
    }

    /// Each client has an instance of its own.
    pub(crate) fn is_private(&self, server: ServerId) -> bool {
        let settings = self.servers.get(server.0 as usize).map(|server| &server.settings);
        settings.is_some_and(|settings| settings.scope == Scope::Client)
            || self.state_kept(server) == State::Client
    }

    /// Whether a client with one key may use a backend with the other: they differ in what their clients can do, and
    /// it was seen that this makes no difference.
    pub(crate) fn is_alike(&self, server: ServerId, there: &Key, wanted: &Key) -> bool {
        let Some(Server { settings, insight, .. }) = self.servers.get(server.0 as usize) else {
            return false;
        };
        if settings.capabilities != Capabilities::Auto || insight.asks || insight.comes_in_pages {
            return false;
        }
        let (Some(one), Some(other)) = (&there.profile, &wanted.profile) else { return false };
        let (Some(one), Some(other)) = (insight.offers.get(one), insight.offers.get(other)) else {
            return false;
        };
        // Of each other list it may be that nobody has asked for it.
        let are_equal = |(list, digest)| other.get(list).is_none_or(|same| same == digest);
        let both_know = |list: &str| one.contains_key(list) && other.contains_key(list);
        let is_same = both_know("initialize") && both_know("tools/list") && one.iter().all(are_equal);
        is_same && Key { profile: there.profile.clone(), ..wanted.clone() } == *there
    }

    /// Learns from an answer what the server offers.
    pub(crate) fn note_offer(&mut self, backend: BackendId, method: Method, answer: &Message) {
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
        if method == Method::ToolsList && settings.state == State::Auto {
            self.note_tools(backend, result);
        }
        let profile = self.backends.get(&backend).and_then(|b| b.key.profile.clone());
        let (Some(profile), Some(list)) = (profile, method.name()) else { return };
        if settings.capabilities != Capabilities::Auto {
            return;
        }
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        let goes_on = next_cursor(result).is_some();
        let Some(Server { insight, .. }) = self.origin(backend) else { return };
        insight.comes_in_pages |= goes_on;
        if insight.offers.len() < MOST_PROFILES || insight.offers.contains_key(&profile) {
            insight.offers.entry(profile).or_default().insert(Cow::Borrowed(list), hasher.finish());
        }
    }

    fn note_tools(&mut self, backend: BackendId, result: &[u8]) {
        let Some(origin) = self.origin(backend) else { return };
        if origin.insight.state.is_some() || result.len() > LONG_LIST {
            return;
        }
        let Ok(Tools { tools }) = serde_json::from_slice(result) else { return };
        let is_telling =
            |name: &str| TELLING.iter().any(|start| name.starts_with(start)) || TELLING_WORDS.contains(&name);
        let telling = tools.iter().find(|tool| is_telling(&tool.name));
        origin.insight.state = Some(if telling.is_some() { State::Client } else { State::None });
        if let Some(tool) = telling {
            self.learn(backend, |record| record.keeps_state = true);
            self.report(Fact::KeepsState { backend, tool: tool.name.clone().into_owned() });
        }
    }

    /// The one client that a backend's request can concern.
    pub(crate) fn addressee(&self, launch: Launch, message: &Message) -> Option<ClientId> {
        let backend = launch.backend;
        let is_here = |client: &ClientId| {
            let Some(c) = self.clients.get(client) else { return false };
            // A server may be ready before the client of many servers has its answer to `initialize`.
            c.presence == Presence::Here && (!c.is_delegate() || self.may_be_asked(*client))
        };
        if let Some(owner) = self.related_owner(backend, message) {
            return Some(owner).filter(is_here);
        }
        // What waits its turn, it does not know yet.
        let at_work = |p: &Pending| p.client().filter(|_| p.was_sent_to(backend) && p.is_wanted());
        let mut clients = self.pending.iter().filter_map(|(_, pending)| at_work(pending));
        match clients.next() {
            Some(first) => Some(first).filter(|first| clients.all(|other| other == *first)),
            None => self.only_lessee(backend),
        }
        .filter(is_here)
    }

    /// The owner of the task that a message belongs to.
    fn related_owner(&self, backend: BackendId, message: &Message) -> Option<ClientId> {
        let task = message.part(Part::MetaRelatedTaskId).or_else(|| message.part(Part::TaskId))?;
        self.backends.get(&backend)?.tasks.iter().find(|known| known.id == task).map(|known| known.client)
    }

    /// The clients that a backend's notification concerns.
    pub(crate) fn audience(&self, backend: BackendId, message: &Message) -> Vec<ClientId> {
        let Some(b) = self.backends.get(&backend) else { return Vec::new() };
        let lessees = || self.lessees(backend);
        match message.method() {
            Method::ResourceUpdated => {
                let uri = same_spelling(message.part(Part::Uri).unwrap_or_default());
                match b.subscriptions.iter().find(|known| known.uri == *uri) {
                    Some(subscription) => subscription.clients.clone(),
                    None => self.about_to_subscribe(backend, &uri),
                }
            }
            // Also those that have moved on, and still wait for something here.
            Method::LogMessage => {
                let mut clients = self.speakers(backend);
                // Each once, whichever of its delegates it is.
                clients.sort_by_key(|&client| self.face(client));
                clients.dedup_by_key(|client| self.face(*client));
                clients.retain(|&client| self.is_loud_enough(client, message));
                clients
            }
            // A client has its lists from its home.
            method if method.is_list_change() => lessees()
                .filter(|client| {
                    // Delegates hear of it when it is known what has changed.
                    self.clients.get(client).is_some_and(|c| c.home == Some(backend) && !c.is_delegate())
                })
                .collect(),
            Method::TaskStatus => match self.related_owner(backend, message) {
                Some(owner) => vec![owner],
                None => self.only_lessee(backend).into_iter().collect(),
            },
            _ => lessees().collect(),
        }
    }

    /// Whoever asked for it a moment ago. If nobody did, it speaks unasked: to its one client, as it would without us.
    fn about_to_subscribe(&self, backend: BackendId, uri: &[u8]) -> Vec<ClientId> {
        let is_it = |p: &Pending| {
            p.was_sent_to(backend)
                && p.method == Method::Subscribe
                && p.sent().is_some_and(|request| names_uri(request, uri))
        };
        let asks = |p: &Pending| p.client().filter(|_| is_it(p));
        let mut asking: Vec<ClientId> =
            self.pending.iter().filter_map(|(_, pending)| asks(pending)).collect();
        asking.sort();
        asking.dedup();
        match asking.is_empty() {
            true => self
                .only_lessee(backend)
                .filter(|client| self.may_see_uri(*client, Some(uri)))
                .into_iter()
                .collect(),
            false => asking,
        }
    }

    /// Whether a log message is one that the client wants to hear. Alone, that is the server's own affair.
    fn is_loud_enough(&self, client: ClientId, message: &Message) -> bool {
        // A server that logs without having said so cannot be told, but what it says can be left out.
        let level = self.clients.get(&self.face(client)).and_then(|c| c.level.as_ref());
        match (level, message.part(Part::Level).and_then(rank)) {
            (Some(level), Some(rank)) => rank >= level.rank,
            (None, _) | (_, None) => true,
        }
    }

    /// What it offers may depend on what its clients can do.
    pub(crate) fn note_asking(&mut self, backend: BackendId) {
        if let Some(origin) = self.origin(backend) {
            origin.insight.asks = true;
        }
    }

    /// It asked a client for something: what its next question means, only that client can know.
    pub(crate) fn note_question(&mut self, backend: BackendId) {
        self.note_asking(backend);
        self.learn(backend, |record| record.asks_questions = true);
        if let Some(b) = self.backends.get_mut(&backend) {
            b.is_interactive = true;
        }
    }

    /// Clients of a backend that keeps something for them learn that it is lost.
    pub(crate) fn tell_of_loss(&mut self, backend: BackendId, why: &str) {
        let kept = |b: &Backend| b.launches > 0 && self.is_kept(b);
        if !self.backends.get(&backend).is_some_and(kept) {
            return;
        }
        let server = self.server_name(backend).to_owned();
        let text = format!("the server `{server}` was stopped ({why}); what it kept between calls is lost");
        let lessees: Vec<ClientId> = self.lessees(backend).collect();
        for client in lessees {
            let params = json!({ "level": "warning", "logger": "switchboard", "data": text });
            self.notify_client(client, json!({ "method": "notifications/message", "params": params }));
        }
        self.report(Fact::StateLost { backend, why: why.to_owned() });
    }
}

/// How loud a level is, from its JSON string.
pub(crate) fn rank(level: &[u8]) -> Option<usize> {
    const LEVELS: [&[u8]; 8] =
        [b"debug", b"info", b"notice", b"warning", b"error", b"critical", b"alert", b"emergency"];
    let level = level.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    LEVELS.iter().position(|known| *known == level)
}
