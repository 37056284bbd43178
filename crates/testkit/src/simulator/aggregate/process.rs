//! Processes: they start, late or never, crash, and end slowly.

use super::AggregateWorld;
use super::client::{AggregateClient, is_asked};
use crate::simulator::engine::{Check, Client, Phase, Presence, Process, Start};
use std::collections::BTreeSet;
use switchboard_core::catalogue::List;
use switchboard_core::{ClientId, Launch, Scope, StatePolicy};

/// The scenario's own part of a process.
#[derive(Debug, Default)]
pub(crate) struct AggregateProcess {
    /// Capabilities of its client, once declared.
    pub(super) class: Option<usize>,
    pub(super) open: Vec<Assigned>,
    /// Clients that it has served, and that cannot have moved since.
    pub(super) clients: BTreeSet<ClientId>,
    /// Clients whose requests it received, other than handshakes, pings, lists and levels.
    pub(super) users: BTreeSet<ClientId>,
    /// Whether state was restored, for clients that the simulator does not know.
    pub(super) has_more_users: bool,
    /// Whether it asked a question that could concern several clients, and gets no more requests.
    pub(super) is_disputed: bool,
    /// Subscribers by URI.
    pub(super) listeners: Vec<(String, ClientId)>,
    /// Clients that have unsubscribed.
    pub(super) deaf: BTreeSet<(String, ClientId)>,
    /// Whether it has answered a request for its tools.
    pub(super) has_listed: bool,
    /// Lists that have changed, unannounced.
    pub(super) unannounced: Vec<List>,
}

/// An unanswered request.
#[derive(Debug, Clone)]
pub(super) struct Assigned {
    pub(super) id: u64,
    pub(super) job: Job,
    /// Whether it will never be answered.
    pub(super) is_ignored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    /// A handshake made by Switchboard.
    Greet,
    Page {
        list: List,
        cursor: usize,
    },
    Client(usize),
    /// A request made by Switchboard.
    Other,
}

impl AggregateWorld {
    pub(super) fn check_start(&self, start: &Start) -> Check {
        let (launch, server) = (start.launch, start.server);
        let all = self.alive().count();
        if all >= self.settings.pool.max_backends {
            return Err(format!("{launch} is started, and there are {all} already"));
        }
        let settings = &self.own.servers[server].settings;
        let is_private = settings.scope == Scope::Client || settings.state == StatePolicy::Client;
        let own = self.alive().filter(|other| self.processes[other].server == server).count();
        // Processes of an earlier config have its limit.
        let is_as_it_was = self.own.servers[server].namings.len() == 1;
        let is_auto = settings.state == StatePolicy::Auto || self.own.servers[server].has_asked;
        if own >= settings.max_backends && !is_private && is_as_it_was && !is_auto {
            return Err(format!("{launch} is started, and its server has {own} already"));
        }
        match self.turn.must_not_start && self.in_line.is_empty() {
            true => Err(format!("{launch} is started, although everything is known")),
            false => Ok(()),
        }
    }

    /// Removes the state that a process kept.
    pub(super) fn bury(&mut self, launch: Launch) {
        let p = self.process(launch);
        p.open.clear();
        p.listeners.clear();
        p.clients.clear();
        for ask in self.ledger.asks.iter_mut().filter(|ask| ask.launch == launch) {
            ask.is_answered = true;
        }
    }

    pub(super) fn process_acts(&mut self) -> Check {
        let there = self.running();
        let Some(launch) = self.rng.choose(&there) else { return Ok(()) };
        let server = self.processes[&launch].server;
        let crash = if self.own.servers[server].is_crashy { 6 } else { 1 };
        match self.rng.below(100) {
            chance if chance < crash => self.ends(launch),
            chance if chance < 72 => self.answers_one(launch),
            _ => self.process_talks(launch),
        }
    }

    /// Answers in any order.
    pub(super) fn answers_one(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        let can: Vec<usize> =
            (0..p.open.len()).filter(|&at| !p.open[at].is_ignored || self.own.is_calm).collect();
        let Some(at) = self.rng.choose(&can) else { return Ok(()) };
        let open = self.process(launch).open.remove(at);
        self.answer_open(launch, &open)
    }

    /// Lets all processes answer until nothing is open.
    pub(super) fn calm_ones_act(&mut self) -> Check {
        for _ in 0..5_000 {
            let has_work = |p: &&Process<AggregateProcess>| p.phase == Phase::Alive && !p.open.is_empty();
            let busy = self.processes.values().find(has_work).map(|p| p.launch);
            let is_asked = |c: &&Client<AggregateClient>| c.presence == Presence::Here && is_asked(c);
            let asked = self.clients.values().find(is_asked).map(|c| c.id);
            match (busy, asked) {
                (Some(launch), _) => self.answers_one(launch)?,
                (None, Some(client)) => self.answers_question(client, true)?,
                (None, None) => return Ok(()),
            }
        }
        Err("everybody answers, and there is no end to it".into())
    }
}
