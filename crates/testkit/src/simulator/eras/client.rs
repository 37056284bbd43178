//! Clients of both eras, and of none: they connect, choose how to speak, and leave.

use super::client_talk::EraVerb;
use super::{EraTurn, EraWorld};
use crate::simulator::engine::{Check, environment as environment_of, notice, request};
use serde_json::Value;
use switchboard_core::access::Identity;
use switchboard_core::{ClientId, Event, Launch, Principal, ServerId, Surroundings};

/// Capabilities of a client, each for one kind of question.
pub(super) const ABILITIES: [&str; 4] =
    [r"{}", r#"{"sampling" :{}}"#, r#"{"elicitation":{"form":{}}}"#, r#"{"roots":{}}"#];

/// The abilities to sample, and to answer forms.
pub(super) const SAMPLES: usize = 1;
pub(super) const ELICITS: usize = 2;
/// The ability to show roots.
pub(super) const ROOTS: usize = 3;

/// How a client speaks at present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manner {
    /// Declares everything in each request.
    #[default]
    Modern,
    /// Makes a handshake.
    Legacy,
    /// Makes no handshake, and declares nothing.
    Plain,
}

/// Progress of a legacy client's handshake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    New,
    Asked,
    Greeted,
}

#[derive(Debug, Default)]
pub(crate) struct EraClient {
    pub(super) manner: Manner,
    pub(super) stage: Stage,
    /// Whether it was a client of the legacy era, or none, at some time.
    pub(super) was_legacy: bool,
    /// Whether a modern request of it was answered by a server, and it has not made a handshake since.
    pub(super) is_modern: bool,
    /// The number of its party.
    pub(super) principal: u32,
    /// Whether it asks for `server/discover` first.
    pub(super) probes: bool,
    /// Whether its requests stand alone, each on a connection of its own.
    pub(super) is_stateless: bool,
    /// Number of its capabilities.
    pub(super) abilities: usize,
    /// Number of the capabilities that its latest handshake has declared.
    pub(super) declared: usize,
    /// Whether it has ever shown its roots.
    pub(super) has_shown: bool,
    /// The state of a call that wants more input.
    pub(super) state: Option<String>,
    /// The process that got its last request, and will get the next.
    pub(super) home: Option<Launch>,
}

impl EraWorld {
    pub(super) fn connect(&mut self) -> Check {
        let is_aggregate = self.rng.percent(self.plan.aggregates);
        let server = (!is_aggregate).then(|| self.rng.below(self.settings.servers.len()));
        let manner = match self.rng.percent(self.plan.modern) {
            true => Manner::Modern,
            false => self.rng.weighted(&[(3, Manner::Legacy), (1, Manner::Plain)]),
        };
        let principal = u32::from(self.rng.percent(30));
        // Many clients find the next daemon and go on.
        let is_back = self.rng.percent(70);
        let old = self.own.old_states.first().filter(|_| is_back);
        let (server, manner, principal) =
            old.map_or((server, manner, principal), |old| (Some(old.server), Manner::Modern, old.principal));
        self.stats.count(match manner {
            Manner::Modern => "modern_clients",
            Manner::Legacy => "legacy_clients",
            Manner::Plain => "plain_clients",
        });
        let fresh = EraClient {
            manner,
            was_legacy: manner != Manner::Modern,
            probes: self.rng.percent(40),
            abilities: if self.plan.asks_roots_only { ROOTS } else { self.rng.below(ABILITIES.len()) },
            principal,
            is_stateless: manner == Manner::Modern && self.rng.percent(25),
            ..Default::default()
        };
        let (principal, goes_by_request) = (Principal(principal), fresh.is_stateless);
        let identity = Identity { principal, ..Identity::owner() };
        let client = self.add_client(server, 0, fresh);
        let surroundings = Surroundings {
            environment: environment_of(0),
            working_folder: Some(self.rng.pick(&["/w/a", "/w/b"]).to_string()),
            identity: identity.into(),
            goes_by_request,
            ..Surroundings::default()
        };
        match server {
            Some(server) => {
                let server = ServerId(server as u32);
                self.handle(Event::ClientConnected { client, server, surroundings })
            }
            None => {
                self.stats.count("aggregates");
                let of_all = |at| (ServerId(at as u32), environment_of(0));
                let environments = (0..self.settings.servers.len()).map(of_all).collect();
                self.handle(Event::AggregateConnected { client, surroundings, environments })
            }
        }
    }

    pub(super) fn client_acts(&mut self) -> Check {
        let here = self.clients_here();
        let Some(client) = self.rng.choose(&here) else { return Ok(()) };
        let c = &self.clients[&client];
        let (manner, stage, is_confirmed, probes) = (c.manner, c.stage, c.is_confirmed, c.probes);
        if !self.own.old_states.is_empty() && self.rng.percent(30) {
            return self.continues_old(client);
        }
        match self.rng.below(100) {
            0..2 => return self.client_vanishes(client),
            2..4 => return self.client_ends_input(client),
            4..12 => return self.cancels_some(client),
            18..30 => self.answers_question(client)?,
            30..42 => self.continues_some(client)?,
            12..13 if manner == Manner::Modern => return self.falls_back(client),
            13..18 if manner == Manner::Plain => {
                self.stats.count("plain_ones_turned_modern");
                // What it declares may lead it elsewhere.
                let c = self.client(client);
                (c.own.manner, c.own.home) = (Manner::Modern, None);
            }
            _ => {}
        }
        match (manner, stage) {
            (Manner::Legacy, Stage::New) => self.greets(client),
            (Manner::Legacy, Stage::Asked) => Ok(()),
            (Manner::Legacy, Stage::Greeted) if !is_confirmed => {
                self.client(client).is_confirmed = true;
                self.client_says(EraTurn::default(), client, notice("notifications/initialized", "{}"))
            }
            (Manner::Modern, _) if probes => {
                self.client(client).probes = false;
                self.stats.count("probes");
                self.asks(client, EraVerb::Discover)
            }
            (Manner::Legacy | Manner::Modern | Manner::Plain, _) => {
                let verb = self.some_verb(client);
                self.asks(client, verb)
            }
        }
    }

    /// Speaks the legacy era from now on.
    pub(super) fn falls_back(&mut self, client: ClientId) -> Check {
        self.stats.count("fallbacks");
        let c = self.client(client);
        (c.own.manner, c.was_legacy, c.is_modern) = (Manner::Legacy, true, false);
        self.greets(client)
    }

    fn greets(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        (c.own.stage, c.is_confirmed, c.own.is_modern) = (Stage::Asked, false, false);
        c.own.home = None;
        // Legacy clients with roots are those of other scenarios.
        c.own.declared = if c.abilities == ROOTS { 0 } else { c.abilities };
        let capabilities = ABILITIES[c.declared];
        let (number, id) = self.enter(client, EraVerb::Initialize, String::new(), None, false);
        let params = format!(
            r#"{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"clientInfo":{{"name":"sim","version":"1"}},"tag":{number}}}"#
        );
        self.client_says(EraTurn::default(), client, request(id, "initialize", params))
    }

    fn cancels_some(&mut self, client: ClientId) -> Check {
        let before = self.ledger.open_of(client);
        self.cancels_one(client)?;
        for number in before {
            let request = &self.ledger.requests[number];
            let is_listen = request.is_cancelled && request.verb == EraVerb::Listen;
            self.stats.count_if("listens_cancelled", is_listen);
        }
        Ok(())
    }

    pub(super) fn replied(&mut self, launch: Launch, number: usize, words: &Value) -> Check {
        self.replied_for_modern(launch, number, words)?;
        let is_refused = words.get("error").is_some();
        match self.processes[&launch].is_modern && !is_refused {
            true => Err(format!("{launch} is modern, asked q{number}, and is answered: {words}")),
            false => Ok(()),
        }
    }
}

impl EraClient {
    pub(super) fn capabilities(&self) -> &'static str {
        ABILITIES[self.abilities]
    }
}
