//! What is learnt about a launch: one record per launch, stored between runs by the gateway. And when a server that was
//! not ready is tried again.

use crate::backend::{Backend, Manner, State};
use crate::catalogue::Offers;
use crate::event::{Action, BackendId, ServerId};
use crate::exchange::{Core, Server};
use crate::moment::Moment;
use crate::settings::{FramingChoice, ServerSettings};
use crate::sharing::Insight;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The delay before the first retry in the background; it doubles with every failure.
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);

/// A failed start that took longer than this made a client wait.
pub(crate) const NOTICEABLE: Duration = Duration::from_secs(1);

/// Everything that starts of a server have shown so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// How it frames its messages.
    pub framing: FramingChoice,
    /// It was not ready in time; `None` once it has answered.
    pub slow: Option<Slow>,
    /// It has asked `roots/list`.
    pub asks_roots: bool,
    /// It has asked its client something (sampling, elicitation).
    pub asks_questions: bool,
    /// Its tools show that it keeps a client's state between calls.
    pub keeps_state: bool,
    /// What it offers to which clients.
    pub offers: SeenOffers,
}

/// Digests of a server's welcome and of each of its lists, by what the client can do. Equal digests: it makes no difference.
pub type SeenOffers = BTreeMap<Arc<str>, BTreeMap<String, u64>>;

impl Default for Record {
    fn default() -> Self {
        Self {
            framing: FramingChoice::Try,
            slow: None,
            asks_roots: false,
            asks_questions: false,
            keeps_state: false,
            offers: SeenOffers::new(),
        }
    }
}

impl Record {
    /// For people to read, a phrase for each thing that was learnt.
    pub(crate) fn words(&self) -> Vec<String> {
        let framing = match self.framing {
            FramingChoice::Fixed(framing) => Some(format!("uses {} framing", framing.name())),
            FramingChoice::Doubt => Some("did not answer to newline framing".to_owned()),
            FramingChoice::Try => None,
        };
        let slow = self.slow.map(|_| "not ready in time; clients do not wait for it".to_owned());
        let said = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
        [
            framing,
            slow,
            said(self.asks_roots, "asks for roots"),
            said(self.asks_questions, "asks its client questions"),
            said(self.keeps_state, "keeps a client's state"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A server that was not ready in time. Clients do not wait for it; it is retried in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Tries so far.
    pub tries: u32,
    /// Time left until the next try, counted from when the record was made.
    pub retry_in: Duration,
}

/// The next try of a server whose lists could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Tries so far.
    pub(crate) tries: u32,
    pub(crate) at: Moment,
    /// It made clients wait, so they no longer do.
    pub(crate) is_slow: bool,
}

impl Retry {
    fn delay(tries: u32) -> Duration {
        FIRST_RETRY.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST_RETRY)
    }

    pub(crate) fn since_last_try(&self, now: Moment) -> Duration {
        Self::delay(self.tries).saturating_sub(self.at.since(now))
    }

    /// Whether the last try was less than a minute ago. A new client is no reason to try again so soon.
    pub(crate) fn is_too_soon(&self, now: Moment) -> bool {
        self.since_last_try(now) < FIRST_RETRY
    }
}

impl Server {
    /// The retry that an earlier run has planned.
    pub(crate) fn planned_retry(record: &Record, now: Moment) -> Option<Retry> {
        record.slow.map(|slow| Retry { tries: slow.tries, at: now + slow.retry_in, is_slow: true })
    }
}

impl Core {
    /// Changes the record of a backend's server, and has it stored if that makes a difference.
    pub(crate) fn learn(&mut self, backend: BackendId, change: impl FnOnce(&mut Record)) {
        let is_same = |b: &Backend| {
            let server = self.servers.get(b.server.0 as usize);
            server.is_some_and(|server| Arc::ptr_eq(&server.settings, &b.settings))
        };
        // A process of an earlier config says nothing about the present one.
        let tells = |b: &&Backend| !b.is_retired() || is_same(b);
        let server = self.backends.get(&backend).filter(tells).map(|b| b.server);
        if let Some(server) = server {
            self.standby_due = true;
            self.learn_of(server, change);
        }
    }

    fn learn_of(&mut self, server: ServerId, change: impl FnOnce(&mut Record)) {
        let Some(known) = self.servers.get_mut(server.0 as usize) else { return };
        let mut record = known.record.clone();
        change(&mut record);
        if record != known.record {
            known.record = record.clone();
            self.actions.push(Action::KeepRecord { server, record });
        }
    }

    pub(crate) fn retry_of(&self, server: ServerId) -> Option<Retry> {
        self.servers.get(server.0 as usize)?.retry
    }

    /// A server's lists could not be had, or not in time: it is tried again.
    pub(crate) fn plan_retry(&mut self, server: ServerId, is_slow: bool) {
        let Retry { tries, at, is_slow: was_slow } =
            self.retry_of(server).unwrap_or(Retry { tries: 1, at: self.now, is_slow: false });
        // A try that took longer than the next one was away is not followed by another at once.
        let at = if at > self.now { at } else { self.now + Retry::delay(tries) };
        self.wake_at(at);
        self.set_retry(server, Retry { tries, at, is_slow: was_slow || is_slow });
    }

    /// A server is tried again; if that fails, the next try is further away.
    pub(crate) fn count_retry(&mut self, server: ServerId) {
        let Some(Retry { tries, is_slow, .. }) = self.retry_of(server) else { return };
        let tries = tries.saturating_add(1);
        self.set_retry(server, Retry { tries, at: self.now + Retry::delay(tries), is_slow });
    }

    /// Whether a client is reason enough to start a server now: a slow one is tried once a minute at most, and that counts.
    pub(crate) fn may_try(&mut self, server: ServerId) -> bool {
        match self.retry_of(server) {
            Some(retry) if retry.is_slow && retry.is_too_soon(self.now) => false,
            Some(Retry { is_slow: true, .. }) => {
                self.count_retry(server);
                true
            }
            Some(_) | None => true,
        }
    }

    fn set_retry(&mut self, server: ServerId, retry: Retry) {
        let Some(known) = self.servers.get_mut(server.0 as usize) else { return };
        if known.retry.replace(retry) == Some(retry) {
            return;
        }
        self.wake_at(retry.at);
        let slow = Slow { tries: retry.tries, retry_in: retry.at.since(self.now) };
        self.learn_of(server, |record| record.slow = retry.is_slow.then_some(slow));
    }

    /// Forgets what was learnt about a server, and its stored lists. What runs goes on.
    pub(crate) fn forget_server(&mut self, server: ServerId) {
        let Some(known) = self.servers.get_mut(server.0 as usize) else { return };
        // A framing that stands in the config is not learnt.
        if known.record.framing != FramingChoice::Try {
            let settings = ServerSettings { framing: FramingChoice::Try, ..(*known.settings).clone() };
            known.manner = Manner::of(settings.framing);
            known.settings = Arc::new(settings);
        }
        known.insight = Insight::default();
        known.offers = Offers::default();
        known.retry = None;
        known.is_told_missing = false;
        known.failure = None;
        self.learn_of(server, |record| *record = Record::default());
        let mut running = Vec::new();
        for b in self.backends.values_mut().filter(|b| b.server == server && !b.is_retired()) {
            b.forgive();
            b.offer = None;
            b.fetch = None;
            if let State::Failed { .. } = b.state {
                b.state = State::Stopped;
            }
            running.extend(b.launch());
        }
        running.into_iter().for_each(|launch| self.fetch_offer(launch));
        self.ask_lacking(server);
    }

    /// A server has answered: nothing is held against it any more.
    pub(crate) fn forget_retry(&mut self, backend: BackendId) {
        if let Some(server) = self.origin(backend) {
            server.retry = None;
            server.is_told_missing = false;
        }
        self.learn(backend, |record| record.slow = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_double_up_to_an_hour() {
        let minutes = |tries| Retry::delay(tries).as_secs() / 60;
        assert_eq!([1, 2, 3, 6, 7, 8, 200].map(minutes), [1, 2, 4, 32, 60, 60, 60]);
    }

    #[test]
    fn a_new_client_may_retry_after_a_minute() {
        let at = |seconds| Moment::after_start(Duration::from_secs(seconds));
        let retry = Retry { tries: 3, at: at(1_000), is_slow: true };
        // It failed at 760.
        assert!(retry.is_too_soon(at(760)) && retry.is_too_soon(at(819)));
        assert!(!retry.is_too_soon(at(820)) && !retry.is_too_soon(at(2_000)));
    }
}
