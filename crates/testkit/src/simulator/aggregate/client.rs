//! Clients: they connect, send, stop reading, answer questions, and leave.

use super::plan::{PROFILES, ROOTS, VERSIONS};
use super::verb::Verb;
use super::{AggregateTurn, AggregateWorld, server_id};
use crate::simulator::engine::{Check, Client, answer, environment as environment_of, notice, request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_core::{Capabilities, ClientId, Event, Moment, Peer, Surroundings};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    New,
    Asked,
    Greeted,
}

/// A client's progress through a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// State of the world at its start.
    pub(super) change: u64,
    /// The public name of each item, and its mark.
    pub(super) items: Vec<(String, usize)>,
    pub(super) cursor: Option<String>,
    /// Whether its first page has arrived.
    pub(super) has_begun: bool,
    pub(super) is_complete: bool,
}

#[derive(Debug, Default)]
pub(crate) struct AggregateClient {
    /// The number of the profile; `None` without one.
    pub(super) profile: Option<usize>,
    pub(super) class: usize,
    pub(super) version: &'static str,
    pub(super) has_roots: bool,
    pub(super) stage: Stage,
    pub(super) is_reading: bool,
    pub(super) unread: usize,
    pub(super) walks: BTreeMap<u64, Walk>,
    /// The newest walk through each list.
    pub(super) shown: [Option<u64>; 4],
    /// Lists whose change was announced since.
    pub(super) is_told: [bool; 4],
    /// Lists shown before the newest handshake.
    pub(super) is_anew: [bool; 4],
    /// Whether a request for another level is in flight.
    pub(super) is_level_open: bool,
    /// Names under which items were requested, with their servers.
    pub(super) spellings: BTreeMap<(usize, String), Vec<String>>,
    /// Whether it made more than one handshake: earlier subscriptions are uncertain.
    pub(super) has_greeted_again: bool,
    /// Unanswered questions for its roots.
    pub(super) asked_roots: Vec<(Value, Moment)>,
    /// Whether the time for this question is over.
    pub(super) is_given_up: bool,
    /// Whether it has announced other roots since the last such question.
    pub(super) has_other_roots: bool,
    /// Number of the first request that must be handled at the present place.
    pub(super) settled_at: usize,
}

impl AggregateClient {
    pub(super) fn capabilities(&self) -> String {
        match (self.has_roots, self.class) {
            (true, 0) => r#"{"roots":{}}"#,
            (true, _) => r#"{"roots":{},"sampling":{}}"#,
            (false, 0) => "{}",
            (false, _) => r#"{"sampling":{}}"#,
        }
        .to_owned()
    }

    /// Capabilities, as the key of stored offers.
    pub(super) fn abilities(&self, capabilities: Capabilities) -> String {
        match capabilities {
            Capabilities::Shared => format!("\"{}\" null", self.version),
            Capabilities::Auto | Capabilities::Exact => {
                format!("\"{}\" {}", self.version, self.capabilities())
            }
        }
    }

    pub(super) fn newest(&self, list: switchboard_core::catalogue::List) -> Option<&Walk> {
        self.walks.get(&self.shown[list as usize]?)
    }
}

impl AggregateWorld {
    pub(super) fn connect(&mut self) -> Check {
        let there: Vec<usize> =
            (0..self.own.servers.len()).filter(|&at| !self.owner.is_removed(at)).collect();
        let server = (self.rng.percent(22) && !there.is_empty()).then(|| *self.rng.pick(&there));
        let environment = self.rng.below(self.plan.environments as usize) as u32;
        let has_profile = self.plan.has_profiles && self.rng.percent(60);
        let profile = has_profile.then(|| self.rng.below(PROFILES.len()));
        self.stats.count_if("profiles", has_profile);
        let class = self.rng.below(self.plan.classes);
        let version = VERSIONS[self.rng.below(self.plan.versions)];
        let has_roots = self.rng.percent(50);
        let fresh =
            AggregateClient { profile, class, version, has_roots, is_reading: true, ..Default::default() };
        let id = self.add_client(server, environment, fresh);
        let of_all = |at| (server_id(at), environment_of(environment));
        let environments = (0..self.own.servers.len()).map(of_all).collect();
        let working_folder = Some(self.rng.pick(ROOTS).to_string());
        let environment = environment_of(environment);
        let profiles = profile.iter().map(|at| PROFILES[*at].into()).collect();
        let surroundings = Surroundings { environment, working_folder, profiles, ..Surroundings::default() };
        match server {
            Some(server) => {
                let server = server_id(server);
                self.handle(Event::ClientConnected { client: id, server, surroundings })
            }
            None => {
                let turn = AggregateTurn { must_not_start: true };
                self.stats.count("aggregates");
                self.handle_as(turn, Event::AggregateConnected { client: id, surroundings, environments })
            }
        }
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let here = self.clients_here();
        let Some(client) = self.rng.choose(&here) else { return Ok(()) };
        let c = &self.clients[&client];
        let (stage, is_confirmed, is_asked) = (c.stage, c.is_confirmed, is_asked(c));
        match self.rng.below(100) {
            0..84 if stage == Stage::New && self.rng.percent(95) => self.greets(client),
            0..60 if stage == Stage::Greeted && !is_confirmed => self.confirms(client),
            0..30 if is_asked => self.answers_question(client, false),
            0..84 => self.client_talks(client),
            84..89 => self.cancels(client),
            89..92 => self.notifies(client),
            92..94 => self.reads_or_not(client),
            94..95 => self.client_ends_input(client),
            95..96 => self.client_vanishes(client),
            96..97 if stage == Stage::Greeted => self.greets(client),
            97..98 if stage == Stage::Asked => self.confirms(client),
            _ => self.client_talks(client),
        }
    }

    /// Sends a handshake, the first or another one.
    pub(super) fn greets(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        if c.stage == Stage::Greeted && c.is_aggregate() {
            self.stats.count("handshakes_anew");
        }
        if self.rng.percent(10) {
            // The capabilities may differ from those of the last handshake.
            let class = self.rng.below(self.plan.classes);
            self.client(client).class = class;
        }
        let c = self.client(client);
        c.has_greeted_again |= c.stage == Stage::Greeted;
        (c.own.stage, c.is_confirmed) = (Stage::Asked, false);
        for list in 0..4 {
            c.is_anew[list] = c.shown[list].is_some();
        }
        let (version, capabilities) = (c.version, c.capabilities());
        self.roots_moved(client);
        let is_known = self.is_all_known(client);
        let tag = self.enter(client, Verb::Initialize, None);
        let id = &self.ledger.requests[tag].id;
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"sim"}},"tag":{tag}}}"#
        );
        let text = request(id, "initialize", params);
        self.stats.count("handshakes");
        self.stats.count_if("warm_handshakes", is_known);
        let turn = AggregateTurn { must_not_start: is_known };
        self.client_says(turn, client, text)
    }

    pub(super) fn confirms(&mut self, client: ClientId) -> Check {
        self.client(client).is_confirmed = true;
        let turn = AggregateTurn { must_not_start: self.is_all_known(client) };
        self.client_says(turn, client, notice("notifications/initialized", "{}"))
    }

    /// Whether the lists of all servers for this client are known without a start.
    pub(super) fn is_all_known(&self, client: ClientId) -> bool {
        let c = &self.clients[&client];
        let is_known = |&at: &usize| {
            let settings = &self.own.servers[at].settings;
            settings.lazy && self.own.known.contains(&(at, c.abilities(settings.capabilities)))
        };
        // Lists for a client without a handshake are others.
        c.is_aggregate() && c.stage != Stage::New && self.listed_for(client).iter().all(is_known)
    }

    fn notifies(&mut self, client: ClientId) -> Check {
        let method = match self.rng.below(3) {
            0 => "notifications/custom",
            1 => "notifications/other",
            _ => {
                let c = self.client(client);
                c.has_other_roots = true;
                self.roots_moved(client);
                "notifications/roots/list_changed"
            }
        };
        let text = notice(method, format_args!(r#"{{"from":"{client}"}}"#));
        self.client_says(AggregateTurn::default(), client, text)
    }

    fn reads_or_not(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        c.is_reading = !c.is_reading;
        let bytes = if c.is_reading { std::mem::take(&mut c.unread) } else { 0 };
        self.stats.count_if("stopped_reading", bytes == 0);
        self.handle(Event::Flushed { peer: Peer::Client(client), bytes })
    }

    pub(super) fn read_all(&mut self) -> Check {
        let slow: Vec<ClientId> = self.clients.values().filter(|c| !c.is_reading).map(|c| c.id).collect();
        slow.into_iter().try_for_each(|client| self.reads_or_not(client))
    }

    /// Handles a client that may use other backends from now on.
    pub(super) fn moved(&mut self, client: ClientId) {
        self.own.change += 1;
        let settled_at = self.ledger.requests.len();
        self.client(client).settled_at = settled_at;
        for p in self.processes.values_mut() {
            p.clients.remove(&client);
            p.listeners.retain(|(_, other)| *other != client);
        }
    }

    /// Handles a client that may wait for another server now.
    pub(super) fn roots_moved(&mut self, client: ClientId) {
        self.moved(client);
        let now = self.now;
        for request in self.ledger.requests.iter_mut().filter(|request| request.client == client) {
            request.waits_since = now;
        }
    }

    /// Handles a client that did not name its roots in time: the earlier ones count, and it may move.
    pub(super) fn roots_given_up(&mut self) {
        let now = self.now;
        let is_late = |c: &&Client<AggregateClient>| {
            let is_late = |since: Moment| now.since(since) >= Duration::from_secs(5);
            !c.is_given_up && c.asked_roots.iter().any(|(_, since)| is_late(*since))
        };
        let late: Vec<ClientId> = self.clients.values().filter(is_late).map(|c| c.id).collect();
        for client in late {
            self.client(client).is_given_up = true;
            self.roots_moved(client);
        }
    }

    /// Whether a client is certain to get its notifications.
    pub(super) fn is_sure(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.is_there() && c.is_reading && c.asked_roots.is_empty())
            && self.settings.limits.client_bytes > 10_000
    }

    pub(super) fn answers_question(&mut self, client: ClientId, surely: bool) -> Check {
        if !surely && self.rng.percent(15) {
            return Ok(());
        }
        let c = self.client(client);
        let (id, result) = if let Some((id, _)) = c.asked_roots.first().cloned() {
            c.asked_roots.remove(0);
            let root = *self.rng.pick(ROOTS);
            self.roots_moved(client);
            (id, json!({ "roots": [{ "uri": format!("file://{root}") }] }))
        } else if !c.questions.is_empty() {
            let (id, ask) = c.questions.remove(0);
            (id, json!({ "ask": ask, "by": client.to_string() }))
        } else {
            return Ok(());
        };
        self.stats.count("questions_answered");
        let words = match self.rng.percent(90) {
            true => format!(r#""result":{result}"#),
            false => r#""error":{"code":-1,"message":"no"}"#.to_owned(),
        };
        self.client_says(AggregateTurn::default(), client, answer(id, words))
    }
}

/// Whether the client has a question to answer.
pub(super) fn is_asked(c: &Client<AggregateClient>) -> bool {
    !(c.asked_roots.is_empty() && c.questions.is_empty())
}
