//! Processes of servers of either era: they answer, ignore, exit, crash, and end slowly.

use super::EraWorld;
use super::client_talk::EraVerb;
use crate::simulator::engine::{Check, Phase, Process};
use std::time::Duration;
use switchboard_core::Launch;

/// An unanswered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EraOpen {
    pub(super) id: u64,
    pub(super) job: EraJob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EraJob {
    /// The first request: `initialize`, or `server/discover` for a modern process.
    Greeting { number: Option<usize> },
    /// A client's request.
    Client(usize),
    /// Our own `initialize` for a process that does not answer `server/discover`.
    Probe,
    /// Any other request of our own.
    Other { is_list: bool },
}

/// An open subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listen {
    pub(super) id: u64,
    /// `None` for our own.
    pub(super) number: Option<usize>,
    pub(super) is_acknowledged: bool,
}

/// The scenario's own part of a process.
#[derive(Debug, Default)]
pub(crate) struct EraProcess {
    /// Whether it got a request, and whether the first one was `server/discover`.
    pub(super) has_begun: bool,
    pub(super) is_modern: bool,
    pub(super) open: Vec<EraOpen>,
    pub(super) listens: Vec<Listen>,
    pub(super) is_doomed: bool,
}

impl EraWorld {
    pub(super) fn process_acts(&mut self) -> Check {
        let there = self.running();
        let Some(launch) = self.rng.choose(&there) else { return Ok(()) };
        let p = &self.processes[&launch];
        if p.is_doomed || self.rng.percent(self.plan.crashes) {
            return self.ends(launch);
        }
        match self.rng.below(100) {
            0..65 => self.answers_one(launch),
            _ => self.process_talks(launch),
        }
    }

    pub(super) fn answers_one(&mut self, launch: Launch) -> Check {
        let count = self.processes[&launch].open.len();
        if count == 0 {
            return Ok(());
        }
        let at = if self.rng.percent(70) { 0 } else { self.rng.below(count) };
        let open = self.process(launch).open.remove(at);
        self.answer_open(launch, open)
    }

    /// Lets all processes answer what is open; those that must end do.
    pub(super) fn work_off(&mut self) -> Check {
        for _ in 0..2_000 {
            let has_work = |p: &&Process<_>| p.phase == Phase::Alive && has_work(p);
            let Some(launch) = self.processes.values().find(has_work).map(|p| p.launch) else {
                return Ok(());
            };
            match self.processes[&launch].is_doomed {
                true => self.ends(launch)?,
                false => self.answers_one(launch)?,
            }
        }
        Err("every process answers, and there is no end to it".into())
    }

    /// Longest time that a request may take: the eras of its servers, several starts, and the answer.
    pub(super) fn longest_wait(&self) -> Duration {
        let start = self.settings.servers.iter().map(|server| server.start_timeout).max().unwrap_or_default();
        let timeout = self.settings.servers.iter().map(|server| server.timeout).max().unwrap_or_default();
        start * 8 + timeout * 2 + Duration::from_secs(60)
    }

    pub(super) fn check_overdue(&mut self) -> Check {
        if !self.ticks_on_time {
            return Ok(());
        }
        let within = self.longest_wait();
        for request in self.ledger.requests.iter().filter(|request| request.is_open()) {
            let since = request.touched.max(self.told_since);
            if request.verb != EraVerb::Listen && self.now.since(since) > within {
                return Err(format!("{}'s {} has no answer since {since:?}", request.client, request.id));
            }
        }
        for p in self.processes.values().filter(|p| p.is_staying() && p.phase == Phase::Alive) {
            let since = self.owner.retired_since(p.launch.backend).map(|since| since.max(self.told_since));
            if since.is_some_and(|since| self.now.since(since) > within) {
                return Err(format!("{} has settings from before {since:?}, and goes on", p.launch));
            }
        }
        Ok(())
    }

    /// Everybody answers: only subscriptions are open.
    pub(super) fn check_settled(&self) -> Check {
        let waits = |number: &usize| {
            let request = &self.ledger.requests[*number];
            request.is_open() && request.verb != EraVerb::Listen && !self.is_lost(request.client)
        };
        match (0..self.ledger.requests.len()).find(waits) {
            Some(number) => {
                let request = &self.ledger.requests[number];
                Err(format!("every process answers, and {} waits for {}", request.client, request.id))
            }
            None => Ok(()),
        }
    }
}

fn has_work(p: &EraProcess) -> bool {
    p.is_doomed || !p.open.is_empty()
}
