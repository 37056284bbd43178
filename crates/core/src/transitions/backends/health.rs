//! Health of backends: probes while they are in use, and memory limits.

use crate::backends::{Backend, MemoryVerdict, ProcessUsage};
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, Launch};
use crate::servers::Limit;
use std::time::Duration;

/// Interval of memory measurements when a limit is near, or was set by the owner.
pub const MEMORY_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Interval otherwise. A measurement costs milliseconds of CPU time per backend.
const RELAXED_MEMORY_CHECK_INTERVAL: Duration = Duration::from_secs(30);

impl Core {
    /// Schedules a liveness check for a backend in use.
    pub(crate) fn watch_health(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let Some(interval) = b.settings().health else { return };
        if b.health().next_check().is_none() {
            let at = self.clock.now() + interval;
            b.health_mut().plan_check(Some(at));
            self.clock.wake_at(at);
        }
    }

    pub(crate) fn tick_health(&mut self, backend: BackendId) {
        let now = self.clock.now();
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(interval) = b.settings().health else { return };
        if b.health().next_check().is_none_or(|check_at| check_at > now) {
            return;
        }
        let is_used = now.since(b.last_used()) < interval || self.is_in_use(b);
        // A server that has not finished its handshake may be silent for good reasons.
        let is_greeted = (!b.handshake().is_under_way() && b.has_answered()) || b.settings().relays;
        let Some(b) = self.backends.get_mut(&backend) else { return };
        b.health_mut().plan_check(is_used.then(|| now + interval));
        if is_used && is_greeted {
            self.probe(backend, true);
        }
    }

    /// Records the use of processes, and compares their memory with the limits. A single excess is tolerated: a server may
    /// need much for a moment.
    pub(crate) fn measured(&mut self, used: &[(Launch, ProcessUsage)]) {
        for &(launch, used) in used {
            // The process may have been replaced since it was measured.
            if let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) {
                b.health_mut().record_usage(used);
            }
            if let Some(limit) = self.settings_of(launch.backend).memory_limit {
                self.weigh(launch, used.memory_bytes, limit);
            }
        }
        let Some(limit) = self.settings.pool.memory_limit else { return };
        let is_current =
            |launch: &Launch| self.backends.get(&launch.backend).is_some_and(|b| b.is_current(*launch));
        let bytes = used.iter().map(|(launch, used)| (launch, used.memory_bytes));
        let current: Vec<(&Launch, u64)> = bytes.filter(|(launch, _)| is_current(launch)).collect();
        let all: u64 = current.iter().map(|(_, bytes)| bytes).sum();
        if all <= limit {
            self.set_over_memory(false);
            return;
        }
        if !self.set_over_memory(true) {
            return self.report(Fact::PoolHeavy { bytes: all, limit });
        }
        // First choice: a backend that is not in use.
        if let Some(backend) = self.least_recently_used(|_| true) {
            self.record_eviction(backend, Limit::Memory(limit));
            return self.put_to_rest(backend, "all servers together use too much memory");
        }
        // The default limit never interrupts work; only a limit set by the owner does.
        if !self.settings.pool.is_memory_limit_given {
            return;
        }
        let heaviest = current.into_iter().max_by_key(|(_, bytes)| *bytes);
        if let Some((launch, _)) = heaviest {
            self.replace_heavy(launch.backend, "all servers together use too much memory");
        }
    }

    /// Time until the next measurement; `None` while nothing runs, or nothing is limited.
    pub fn measure_every(&self) -> Option<Duration> {
        let running = || self.backends.values().filter(|b| b.has_process());
        let pool = &self.settings.pool;
        let is_limited = |b: &Backend| b.settings().memory_limit.is_some();
        if running().any(is_limited) {
            return Some(MEMORY_CHECK_INTERVAL);
        }
        let limit = pool.memory_limit.filter(|_| running().next().is_some())?;
        let held: u64 = running().filter_map(|b| b.health().memory()).sum();
        let is_near = held > limit / 4 * 3;
        Some(if pool.is_memory_limit_given || is_near {
            MEMORY_CHECK_INTERVAL
        } else {
            RELAXED_MEMORY_CHECK_INTERVAL
        })
    }

    fn weigh(&mut self, launch: Launch, bytes: u64, limit: u64) {
        let backend = launch.backend;
        let Some(b) = self.backends.get_mut(&backend).filter(|b| b.is_current(launch)) else { return };
        match b.health_mut().judge_memory(bytes, limit) {
            MemoryVerdict::Fine => return,
            MemoryVerdict::OverOnce => return self.report(Fact::Heavy { backend, bytes, limit }),
            MemoryVerdict::OverAgain => {}
        }
        let Some(b) = self.backends.get(&backend) else { return };
        // Its clients need another process at once; otherwise the next request starts one.
        if self.is_in_use(b) || self.keeps_state(b) {
            self.replace_heavy(backend, "it uses too much memory");
        } else {
            self.put_to_rest(backend, "it uses too much memory");
        }
    }
}
