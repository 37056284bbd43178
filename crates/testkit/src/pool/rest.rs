//! The promises about stops: nobody loses a process that he needs, and nobody keeps one that is of no use.

use super::ledger::{Check, Request, Verb};
use super::process::{Job, Phase};
use super::world::World;
use std::time::Duration;
use switchboard_core::{Launch, StatePolicy};

impl World {
    pub(super) fn check_stop(&mut self, launch: Launch) -> Check {
        if self.processes.get(&launch).is_none_or(|process| !process.is_alive()) {
            return Err(format!("{launch} is stopped, but is not there"));
        }
        let Some(why) = self.site(launch.backend).why else { return Ok(()) };
        let memory = self.plan.settings.servers[0].memory_limit;
        let stats = &mut self.stats;
        match why {
            "another workspace needs its place" => {
                stats.evictions += 1;
                self.check_unneeded(launch, why)
            }
            "nobody has used it for a while" => {
                stats.idle_stops += 1;
                self.check_idle(launch)?;
                self.check_unneeded(launch, why)
            }
            "nobody works there any more" => {
                stats.unused_stops += 1;
                self.check_unneeded(launch, why)
            }
            "its client has left it" => {
                stats.left_stops += 1;
                self.check_nobody_waits(launch, why)
            }
            "it asks its clients questions" | "its clients have different roots" => {
                stats.separated_stops += 1;
                self.check_nobody_waits(launch, why)
            }
            "another client has more variables, and now they share one" => {
                stats.poorer_stops += 1;
                self.check_nobody_waits(launch, why)
            }
            "another one offers the same, and its clients share that" => {
                stats.united_stops += 1;
                self.check_nobody_waits(launch, why)
            }
            "it holds more memory than it may" => {
                let is_needed = !self.in_flight(launch).is_empty();
                *(if is_needed { &mut self.stats.memory_restarts } else { &mut self.stats.memory_stops }) +=
                    1;
                match memory.is_some() && self.process(launch).heavy > 1 {
                    true => Ok(()),
                    false => Err(format!("{launch} is stopped for its memory, of which it holds little")),
                }
            }
            "all servers together hold more memory than they may" => {
                let is_needed = !self.in_flight(launch).is_empty();
                let stats = &mut self.stats;
                *(if is_needed { &mut stats.pool_memory_restarts } else { &mut stats.pool_memory_stops }) +=
                    1;
                Ok(())
            }
            "it gave no sign of life" => {
                stats.health_restarts += 1;
                self.check_silent(launch)
            }
            "a request timed out" => {
                stats.timeout_restarts += 1;
                Ok(())
            }
            "no process came of it in time" => {
                stats.spawns_too_late += 1;
                Ok(())
            }
            "it did not answer `initialize`" | "it refused `initialize`" | "switchboard ends" => Ok(()),
            _ => Err(format!("{launch} is stopped because {why}")),
        }
    }

    fn check_nobody_waits(&self, launch: Launch, why: &str) -> Check {
        // A sign of life is no use.
        let is_at_work =
            |r: &&Request| r.is_open() && r.handed.last() == Some(&launch) && r.verb != Verb::Ping;
        match self.requests.iter().find(is_at_work) {
            Some(request) => Err(format!("{launch} works for {}, and is stopped: {why}", request.client)),
            None => Ok(()),
        }
    }

    /// Nobody waits for it, hears from it, or would lose what it keeps.
    fn check_unneeded(&mut self, launch: Launch, why: &str) -> Check {
        self.check_nobody_waits(launch, why)?;
        let state = self.plan.settings.servers[0].state;
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
        match self.plan.settings.servers[0].idle_ttl {
            Some(ttl) if since >= ttl => Ok(()),
            _ => Err(format!("{launch} was used {since:?} ago, and is stopped as idle")),
        }
    }

    /// It was asked for a sign of life, said nothing for ten seconds, and works on nothing that still has time.
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
        let works = |number: usize| self.requests[number].is_open();
        let before = process
            .open
            .iter()
            .find(|open| matches!(open.job, Job::Client(n) if works(n)) && open.since < probe);
        match before {
            Some(open) => Err(format!("{launch} works on {}, which has time, and is restarted", open.id)),
            None => Ok(()),
        }
    }

    /// After a tick: what has been of no use for long enough is gone.
    pub(super) fn check_rested(&self) -> Check {
        let server = &self.plan.settings.servers[0];
        let Some(ttl) = server.idle_ttl.filter(|_| self.plan.is_punctual && !self.is_ending) else {
            return Ok(());
        };
        // Whoever is needed when the time comes is given as much again.
        let patience = ttl * 2 + Duration::from_secs(1);
        for p in self.processes.values().filter(|p| p.is_staying() && p.phase == Phase::Alive && p.is_greeted)
        {
            let site = &self.sites[&p.launch.backend];
            let is_kept = server.state != StatePolicy::None && !self.users(p.launch.backend).0.is_empty();
            let asks = |ask: &super::ledger::Ask| ask.launch == p.launch && !ask.is_answered;
            let is_used = !self.in_flight(p.launch).is_empty()
                || !site.subscriptions.is_empty()
                || !site.loose.is_empty()
                || site.tasks.iter().any(|task| !task.is_over)
                || self.asks.iter().any(asks);
            let since = p.last_use.max(p.free_since).max(self.last_move).max(self.told_since);
            if !is_kept && !is_used && self.now.since(since) > patience {
                return Err(format!("{} is of no use since {since:?}, and still there", p.launch));
            }
        }
        Ok(())
    }
}
