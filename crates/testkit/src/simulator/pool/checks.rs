//! Promises about the whole run: number, users and knowledge of processes, and deadlines.

use super::PoolWorld;
use super::process::{Job, PoolProcess};
use super::verb::{PoolRequest, Verb};
use crate::simulator::engine::{Check, Process, Request, Start};
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_core::{Capabilities, Launch, Moment, Scope, StatePolicy};

impl PoolWorld {
    /// Checks after each event.
    pub(super) fn check_step(&mut self) -> Check {
        self.note_decided();
        let alive = self.alive().count();
        if self.core.crowd() != (alive, self.most()) {
            return Err(format!("{alive} processes are there, and the core counts {:?}", self.core.crowd()));
        }
        self.check_twins()?;
        self.check_places()?;
        self.check_knowledge()
    }

    pub(super) fn check_start(&mut self, start: &Start) -> Check {
        let (launch, most) = (start.launch, self.most());
        if self.alive().count() >= most {
            return Err(format!(
                "{launch} is started, and {most} are there already, which is all that may be"
            ));
        }
        if start.root.is_none() && self.settings.servers[0].needs_root {
            return Err(format!("{launch} is started without a root, which it needs"));
        }
        let is_twin = |p: &Process<PoolProcess>| {
            p.is_staying() && p.root == start.root && p.environment == start.environment
        };
        let is_split = self.own.has_asked && self.processes.values().any(is_twin);
        self.stats.count_if("interactive_splits", is_split);
        Ok(())
    }

    /// Fails unless clients that could share a process do.
    fn check_twins(&self) -> Check {
        let server = &self.settings.servers[0];
        let is_plain = server.scope != Scope::Client
            && server.state == StatePolicy::None
            && server.capabilities == Capabilities::Shared
            && !self.plan.versions_differ
            // If one client has more variables than another, the process with fewer ends when it is done.
            && self.plan.environments <= 2
            && !self.plan.has_early_talkers
            && !self.own.has_asked
            && (self.is_split() || !self.plan.asks_roots);
        if !is_plain {
            return Ok(());
        }
        let is_split = self.is_split();
        let mut found: BTreeMap<(&Option<String>, u32), Launch> = BTreeMap::new();
        let is_new = |launch: Launch| !self.owner.is_retired(launch.backend);
        let staying = self.processes.values().filter(|p| p.is_staying() && is_new(p.launch));
        for p in staying.filter(|p| is_split || p.is_greeted) {
            if let Some(other) = found.insert((&p.root, p.environment), p.launch) {
                return Err(format!("{other} and {} are both at {:?}, without a reason", p.launch, p.root));
            }
        }
        Ok(())
    }

    /// Fails unless a working process knows the settings of its clients.
    fn check_knowledge(&self) -> Check {
        for p in
            self.processes.values().filter(|p| p.is_staying() && p.has_work && p.is_confirmed && p.is_greeted)
        {
            // Clients of an earlier config have left, with their settings.
            if self.owner.is_retired(p.launch.backend) {
                continue;
            }
            let site = &self.own.sites[&p.launch.backend];
            if let Some((uri, clients)) =
                site.subscriptions.iter().find(|(uri, _)| !p.subscriptions.contains(*uri))
            {
                return Err(format!("{} does not know that {clients:?} want to hear of {uri}", p.launch));
            }
            let sets_level = |job: &Job| matches!(job, Job::Client(n) if matches!(self.ledger.requests[*n].verb, Verb::SetLevel { .. }));
            if p.open.iter().any(|open| sets_level(&open.job)) {
                continue;
            }
            // Whether a client gets less than before its last, lower level is not checked.
            let others = site.sure.iter().filter(|client| Some(**client) != p.level_by);
            let wanted = others.filter_map(|client| self.clients[client].level).min();
            if let Some(wanted) = wanted.filter(|wanted| p.level.is_none_or(|level| level > *wanted)) {
                return Err(format!(
                    "{} logs from level {:?}, and a client wants {wanted}",
                    p.launch, p.level
                ));
            }
        }
        Ok(())
    }

    /// After a tick: fails if a request is overdue. If ticks are late, so is everything else.
    pub(super) fn check_overdue(&mut self) -> Check {
        if !self.ticks_on_time {
            return Ok(());
        }
        for request in self.ledger.requests.iter().filter(|request| request.is_open()) {
            if self.latest_answer(request).is_some_and(|latest| latest < self.now) {
                let (client, id) = (request.client, &request.id);
                let method = request.verb.method();
                return Err(format!(
                    "{client}'s {method} with the id {id} has no answer after {:?}",
                    request.sent
                ));
            }
        }
        // Equal notifications within half a second become one.
        const MERGED: Duration = Duration::from_millis(501);
        for (backend, site) in &self.own.sites {
            let is_late = |since: &Moment| self.now.since((*since).max(self.told_since)) > MERGED;
            if let Some((client, _)) = site.news_for.iter().find(|(_, since)| is_late(since)) {
                return Err(format!("{client} was not told that the lists of {backend} changed"));
            }
        }
        for ask in self.ledger.asks.iter().filter(|ask| !ask.is_answered && ask.client.is_none()) {
            if self.processes[&ask.launch].is_staying() && self.roots_are_overdue(ask.sent) {
                return Err(format!("{} asked for its roots at {:?}, in vain", ask.launch, ask.sent));
            }
        }
        Ok(())
    }

    /// Latest time for the answer to a request. It may wait to be routed, then for room, then for its answer;
    /// messages about it restart its time.
    pub(super) fn latest_answer(&self, request: &Request<PoolRequest>) -> Option<Moment> {
        let server = &self.settings.servers[0];
        if matches!(request.verb, Verb::TaskResult { .. }) && !request.handed.is_empty() {
            return server.hard_timeout.map(|hard| request.sent.max(self.told_since) + hard);
        }
        let touched = request.touched.max(self.told_since).max(self.own.last_talk);
        let within = if request.verb == Verb::Initialize && request.handed.is_empty() {
            // A handshake may wait for another client's, and then in its place.
            server.start_timeout * 4
        } else if request.handed.is_empty() || !self.is_there(request) {
            server.start_timeout * 2 + server.timeout
        } else {
            server.timeout.max(server.start_timeout)
        };
        Some(touched + within)
    }

    fn is_there(&self, request: &Request<PoolRequest>) -> bool {
        request.handed.last().is_some_and(|launch| self.processes[launch].is_staying())
    }
}
