//! Facts learnt about a launch: one record per launch, which the gateway stores on disk. Also the retries of
//! servers that were not ready in time. Must not know how a record is stored.

use crate::backends::Backend;
use crate::core::{Core, Followup};
use crate::event::Action;
use crate::ids::{BackendId, ServerId};
use crate::record::Record;
use crate::servers::Retry;
use std::sync::Arc;

impl Core {
    /// Changes the record of a backend's server, and has it stored if it differs.
    pub(crate) fn learn(&mut self, backend: BackendId, change: impl FnOnce(&mut Record)) {
        let is_same = |b: &Backend| {
            let server = self.servers.get(b.server());
            server.is_some_and(|server| Arc::ptr_eq(server.settings(), b.settings()))
        };
        // A process of an earlier config says nothing about the current one.
        let tells = |b: &&Backend| !b.is_retired() || is_same(b);
        let server = self.backends.get(&backend).filter(tells).map(|b| b.server());
        if let Some(server) = server {
            self.followups.push(Followup::CheckStandbys);
            self.learn_of(server, change);
        }
    }

    fn learn_of(&mut self, server: ServerId, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.servers.get_mut(server).and_then(|server| server.learn(change)) {
            self.actions.push(Action::StoreRecord { server, record });
        }
    }

    pub(crate) fn retry_of(&self, server: ServerId) -> Option<Retry> {
        self.servers.get(server)?.retry()
    }

    /// Plans a retry of a server whose lists could not be fetched, or not in time.
    pub(crate) fn plan_retry(&mut self, server: ServerId, is_slow: bool) {
        let retry = Retry::after_failure(self.retry_of(server), is_slow, self.clock.now());
        self.clock.wake_at(retry.at());
        self.set_retry(server, retry);
    }

    /// Counts a retry; if it fails, the next one is further away.
    pub(crate) fn count_retry(&mut self, server: ServerId) {
        let Some(retry) = self.retry_of(server) else { return };
        self.set_retry(server, retry.after_next_try(self.clock.now()));
    }

    /// Whether a client is reason enough to start a server now: a slow one is tried at most once a minute,
    /// and this attempt counts.
    pub(crate) fn may_try(&mut self, server: ServerId) -> bool {
        match self.retry_of(server) {
            Some(retry) if retry.is_slow() && retry.is_too_soon(self.clock.now()) => false,
            Some(retry) if retry.is_slow() => {
                self.count_retry(server);
                true
            }
            Some(_) | None => true,
        }
    }

    fn set_retry(&mut self, server: ServerId, retry: Retry) {
        let Some(known) = self.servers.get_mut(server) else { return };
        if !known.set_retry(retry) {
            return;
        }
        self.clock.wake_at(retry.at());
        let slow = retry.to_store(self.clock.now());
        self.learn_of(server, |record| record.slow = slow);
    }

    /// Forgets everything learnt about a server, and its stored lists. Running processes continue.
    pub(crate) fn forget_server(&mut self, server: ServerId) {
        let Some(known) = self.servers.get_mut(server) else { return };
        known.forget_learnt();
        self.learn_of(server, |record| *record = Record::default());
        self.forget_pins(server);
        let mut running = Vec::new();
        for b in self.backends.values_mut().filter(|b| b.server() == server && !b.is_retired()) {
            b.forgive();
            b.lists_mut().forget();
            // The breaker was opened by crashes that are forgiven now.
            if b.cooldown_end().is_some() {
                b.mark_stopped();
            }
            running.extend(b.launch());
        }
        running.into_iter().for_each(|launch| self.fetch_offer(launch));
        self.ask_lacking(server);
    }

    /// Clears the retry of a server that has answered.
    pub(crate) fn forget_retry(&mut self, backend: BackendId) {
        if let Some(server) = self.origin(backend) {
            server.forget_retry();
        }
        self.learn(backend, |record| record.slow = None);
    }
}
