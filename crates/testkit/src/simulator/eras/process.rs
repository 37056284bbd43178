//! Processes of servers of either era: they answer, ignore, exit, crash, and end slowly.

use super::EraWorld;
use super::client_talk::EraVerb;
use super::translated::Round;
use crate::simulator::engine::{Check, Phase, Process};
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_core::{ClientId, Launch, Moment};

/// An unanswered request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EraOpen {
    pub(super) id: u64,
    /// Its progress token.
    pub(super) token: u64,
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
    /// Our own subscription at a legacy process.
    Subscribe,
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
    /// Whether the process has agreed to tell of its resource.
    pub(super) has_resource: bool,
}

/// The scenario's own part of a process.
#[derive(Debug, Default)]
pub(crate) struct EraProcess {
    /// Whether it got a request, and whether the first one was `server/discover`.
    pub(super) has_begun: bool,
    pub(super) is_modern: bool,
    /// Whether it refused a handshake, so that it is asked whether it is modern.
    pub(super) has_refused: bool,
    /// When it was asked for the modern era, after that refusal; and whether its answer came too late to count for certain.
    pub(super) asked: Moment,
    pub(super) was_late: bool,
    /// Whether its first request asked for the modern era in the name of a legacy client.
    pub(super) is_in_doubt: bool,
    pub(super) open: Vec<EraOpen>,
    pub(super) listens: Vec<Listen>,
    pub(super) rounds: Vec<Round>,
    pub(super) is_doomed: bool,
    /// The clients whose calls and reads it got.
    pub(super) users: BTreeSet<ClientId>,
    /// The client whose roots it was told last; `None` for a folder of ours.
    pub(super) told: Option<ClientId>,
    /// Whether it has agreed to tell when its resource changes; and whether it ever has.
    pub(super) subscribes: bool,
    pub(super) has_agreed: bool,
}

impl EraWorld {
    pub(super) fn process_acts(&mut self) -> Check {
        let there = self.running();
        let Some(launch) = self.rng.choose(&there) else { return Ok(()) };
        let p = &self.processes[&launch];
        if p.is_doomed || self.rng.percent(self.plan.crashes) {
            return self.ends(launch);
        }
        // Handshakes have less time.
        let is_slow = self.plan.has_logs && p.open.iter().all(|open| matches!(open.job, EraJob::Client(_)));
        match self.rng.percent(if is_slow { 25 } else { 65 }) {
            true => self.answers_one(launch),
            false => self.process_talks(launch),
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
        // At times a paused call is left until it expires.
        let are_all = self.own.is_calm || self.rng.percent(60);
        for _ in 0..2_000 {
            let asked =
                self.clients_here().into_iter().find(|client| !self.clients[client].questions.is_empty());
            if let Some(client) = asked {
                self.answers_question(client)?;
                continue;
            }
            if are_all && self.continues_next()? {
                continue;
            }
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

    /// Everybody answers: only subscriptions are open, and those that we keep are acknowledged.
    pub(super) fn check_settled(&self) -> Check {
        let waits = |number: &usize| {
            let request = &self.ledger.requests[*number];
            let is_kept = request.is_acknowledged || !request.handed.is_empty();
            let is_open = request.is_open() && !(request.verb == EraVerb::Listen && is_kept);
            // Its id is still in use.
            let is_owed = request.is_cancelled && !request.is_answered;
            let is_owed = is_owed && self.clients[&request.client].is_stateless;
            (is_open || is_owed) && !self.is_lost(request.client)
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

impl EraProcess {
    /// Whether it was greeted as a legacy process, and turned out to be modern.
    pub(super) fn has_translator(&self) -> bool {
        self.is_modern && (self.has_refused || self.is_in_doubt)
    }
}

fn has_work(p: &EraProcess) -> bool {
    p.is_doomed || !p.open.is_empty()
}
