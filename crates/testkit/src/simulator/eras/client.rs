//! Clients of both eras, and of none: they connect, choose how to speak, and leave.

use super::client_talk::EraVerb;
use super::{EraTurn, EraWorld};
use crate::simulator::engine::{Check, environment as environment_of, notice, request};
use serde_json::Value;
use switchboard_core::{ClientId, Event, ServerId, Surroundings};

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
    /// Whether it asks for `server/discover` first.
    pub(super) probes: bool,
    /// Number of its capabilities.
    pub(super) abilities: usize,
    /// The state of a call that wants more input.
    pub(super) state: Option<String>,
}

impl EraWorld {
    pub(super) fn connect(&mut self) -> Check {
        let is_aggregate = self.rng.percent(self.plan.aggregates);
        let server = (!is_aggregate).then(|| self.rng.below(self.settings.servers.len()));
        let manner = match self.rng.percent(self.plan.modern) {
            true => Manner::Modern,
            false => self.rng.weighted(&[(3, Manner::Legacy), (1, Manner::Plain)]),
        };
        self.stats.count(match manner {
            Manner::Modern => "modern_clients",
            Manner::Legacy => "legacy_clients",
            Manner::Plain => "plain_clients",
        });
        let fresh = EraClient {
            manner,
            was_legacy: manner != Manner::Modern,
            probes: self.rng.percent(40),
            abilities: self.rng.below(3),
            ..Default::default()
        };
        let client = self.add_client(server, 0, fresh);
        let surroundings = Surroundings {
            environment: environment_of(0),
            working_folder: Some(self.rng.pick(&["/w/a", "/w/b"]).to_string()),
            goes_by_request: manner == Manner::Modern && self.rng.percent(25),
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
        match self.rng.below(100) {
            0..2 => return self.client_vanishes(client),
            2..4 => return self.client_ends_input(client),
            4..12 => return self.cancels_some(client),
            12..13 if manner == Manner::Modern => return self.falls_back(client),
            13..18 if manner == Manner::Plain => {
                self.stats.count("plain_ones_turned_modern");
                self.client(client).own.manner = Manner::Modern;
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
        let capabilities = c.capabilities();
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

    pub(super) fn replied(
        &mut self,
        launch: switchboard_core::Launch,
        number: usize,
        words: &Value,
    ) -> Check {
        let is_refused = words.get("error").is_some();
        match self.processes[&launch].is_modern && !is_refused {
            true => Err(format!("{launch} is modern, asked q{number}, and is answered: {words}")),
            false => Ok(()),
        }
    }
}

impl EraClient {
    pub(super) fn capabilities(&self) -> &'static str {
        [r"{}", r#"{"sampling" :{}}"#, r#"{"elicitation":{"form":{}}}"#][self.abilities]
    }
}
