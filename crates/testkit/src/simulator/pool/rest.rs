//! Promises about stops: used processes stay, unused ones end.

use super::PoolWorld;
use super::process::Job;
use super::verb::{PoolRequest, Verb};
use crate::simulator::engine::{Ask, Check, Phase, Request};
use std::time::Duration;
use switchboard_core::{BackendId, Launch, StatePolicy};

/// Reasons for a stop, and their counters.
const STOPS: &[(&str, &str)] = &[
    ("to make room for another workspace", "evictions"),
    ("it was idle for too long", "idle_stops"),
    ("no client uses this workspace any more", "unused_stops"),
    ("its client has left it", "left_stops"),
    ("it asks its clients questions", "separated_stops"),
    ("its clients have different roots", "separated_stops"),
    ("clients now share an instance with more variables", "poorer_stops"),
    ("clients now share another instance that offers the same", "united_stops"),
    ("it uses too much memory", "memory_stops"),
    ("all servers together use too much memory", "pool_memory_stops"),
    ("it did not answer a health check", "health_restarts"),
    ("a request timed out", "timeout_restarts"),
    ("the process did not start in time", "spawns_too_late"),
    ("its settings have changed", "reload_stops"),
    ("it is no longer in the config", "reload_stops"),
    ("its owner stops it", "owner_stops"),
    ("its owner restarts it", "owner_restarts"),
    ("it did not answer `initialize`", ""),
    ("it refused `initialize`", ""),
    ("switchboard is shutting down", ""),
];

/// Fails unless an unused process of an earlier config ends soon.
const RETIREMENT: Duration = Duration::from_secs(1);

impl PoolWorld {
    pub(super) fn check_stop(&mut self, launch: Launch) -> Check {
        let site = self.site(launch.backend);
        site.news_for.clear();
        let Some(why) = site.why else { return Ok(()) };
        let is_needed = !self.in_flight(launch).is_empty();
        let counter = match why {
            "it uses too much memory" if is_needed => "memory_restarts",
            "all servers together use too much memory" if is_needed => "pool_memory_restarts",
            _ => match STOPS.iter().find(|(known, _)| *known == why) {
                Some((_, counter)) => counter,
                None => return Err(format!("{launch} is stopped because {why}")),
            },
        };
        if !counter.is_empty() {
            self.stats.count(counter);
        }
        match counter {
            "idle_stops" => self.check_idle(launch).and_then(|()| self.check_unneeded(launch, why)),
            "evictions" | "unused_stops" => self.check_unneeded(launch, why),
            "left_stops" | "separated_stops" | "poorer_stops" | "united_stops" | "reload_stops" => {
                self.check_nobody_waits(launch, why)
            }
            "memory_stops" | "memory_restarts" => {
                let is_limited = self.settings.servers[0].memory_limit.is_some();
                match is_limited && self.process(launch).heavy > 1 {
                    true => Ok(()),
                    false => Err(format!("{launch} is stopped for its memory, of which it holds little")),
                }
            }
            "health_restarts" => self.check_silent(launch),
            _ => Ok(()),
        }
    }

    fn check_nobody_waits(&self, launch: Launch, why: &str) -> Check {
        // A probe is not a use.
        let is_at_work = |r: &&Request<PoolRequest>| {
            r.is_open() && r.handed.last() == Some(&launch) && r.verb != Verb::Ping
        };
        match self.ledger.requests.iter().find(is_at_work) {
            Some(request) => Err(format!("{launch} works for {}, and is stopped: {why}", request.client)),
            None => Ok(()),
        }
    }

    /// Whether no client waits for it, listens to it, or keeps state in it.
    fn check_unneeded(&mut self, launch: Launch, why: &str) -> Check {
        self.check_nobody_waits(launch, why)?;
        let state = self.settings.servers[0].state;
        let site = self.site(launch.backend);
        if let Some(uri) = site.subscriptions.keys().next() {
            return Err(format!("{launch} has a subscription to {uri}, and is stopped: {why}"));
        }
        if site.has_tasks() {
            return Err(format!("{launch} has a task, and is stopped: {why}"));
        }
        if state != StatePolicy::None
            && let Some(client) = site.sure.first()
        {
            return Err(format!("{launch} keeps something for {client}, and is stopped: {why}"));
        }
        Ok(())
    }

    fn check_idle(&mut self, launch: Launch) -> Check {
        let since = self.now.since(self.process(launch).last_use);
        let server = &self.settings.servers[0];
        // Without a client that holds it, `linger` counts too.
        let linger = self.settings.linger.filter(|_| self.own.sites[&launch.backend].sure.is_empty());
        let is_lingering = linger.is_some_and(|linger| since >= linger);
        self.stats.count_if("linger_stops", is_lingering && server.idle_ttl.is_none_or(|ttl| since < ttl));
        match server.idle_ttl.is_some_and(|ttl| since >= ttl) || is_lingering {
            true => Ok(()),
            false => Err(format!("{launch} was used {since:?} ago, and is stopped as idle")),
        }
    }

    /// Fails unless a silent process was probed, was silent for ten seconds, and works on no request that still has time.
    fn check_silent(&mut self, launch: Launch) -> Check {
        let now = self.now;
        let process = &self.processes[&launch];
        let silent = now.since(process.last_word);
        let Some(probe) =
            process.open.iter().filter(|open| open.job == Job::Probe).map(|open| open.since).max()
        else {
            return Err(format!(
                "{launch} was not asked for a sign of life, and is restarted for want of one"
            ));
        };
        if silent < Duration::from_secs(10) || now.since(probe) < Duration::from_secs(10) {
            return Err(format!("{launch} spoke {silent:?} ago, and is restarted because it is silent"));
        }
        let works = |number: usize| self.ledger.requests[number].is_open();
        let before = process
            .open
            .iter()
            .find(|open| matches!(open.job, Job::Client(n) if works(n)) && open.since < probe);
        match before {
            Some(open) => Err(format!("{launch} works on {}, which has time, and is restarted", open.id)),
            None => Ok(()),
        }
    }

    /// Clients that had to move may bring subscriptions that a new process has not got yet.
    fn expects_subscriptions(&self, backend: BackendId) -> bool {
        let mut loose = self.own.sites.values().flat_map(|site| &site.loose);
        loose.any(|(_, client)| self.may_use(*client, backend))
    }

    /// After a tick: fails if a process has been unused for too long.
    pub(super) fn check_rested(&self) -> Check {
        let server = &self.settings.servers[0];
        if !self.ticks_on_time || self.is_ending {
            return Ok(());
        }
        for p in self.processes.values().filter(|p| p.is_staying() && p.phase == Phase::Alive && p.is_greeted)
        {
            let site = &self.own.sites[&p.launch.backend];
            // Linger counts if no client can hold it.
            let linger = self.settings.linger.filter(|_| self.users(p.launch.backend).0.is_empty());
            let retired = self.owner.retired_since(p.launch.backend);
            let ttl = server.idle_ttl.into_iter().chain(linger).chain(retired.map(|_| RETIREMENT)).min();
            let Some(ttl) = ttl else { continue };
            // A process that is needed when the time comes gets as much again.
            let patience = ttl * 2 + Duration::from_secs(1);
            let is_kept = retired.is_none()
                && server.state != StatePolicy::None
                && !self.users(p.launch.backend).0.is_empty();
            let asks = |ask: &Ask| ask.launch == p.launch && !ask.is_answered;
            let is_used = !self.in_flight(p.launch).is_empty()
                || !site.subscriptions.is_empty()
                || !site.loose.is_empty()
                || (!p.is_confirmed && self.expects_subscriptions(p.launch.backend))
                || site.tasks.iter().any(|task| !task.is_over)
                || self.ledger.asks.iter().any(asks);
            let since = p.last_use.max(p.free_since).max(self.own.last_move).max(self.told_since);
            let since = since.max(retired.unwrap_or_default());
            if !is_kept && !is_used && self.now.since(since) > patience {
                return Err(format!("{} is of no use since {since:?}, and still there", p.launch));
            }
        }
        Ok(())
    }
}
