//! The default limiter: rates and places for each identity, each server and each pattern of tools. Limits of
//! servers and tools are shared fairly. Memory is bounded: identities that no longer count are forgotten.

use super::bucket::{Bucket, nanos};
use super::limiter::{CallAttempt, CallLimiter, CallRefusal, ExceededLimit, LimitScope, Permit};
use super::rate::{CallLimits, ServerLimits};
use super::share::{Exceeded, PLACE_RETRY, SharedMeter};
use crate::moment::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Interval at which identities that no longer count are forgotten.
const SWEEP_INTERVAL_NANOS: u64 = 60_000_000_000;

#[derive(Debug, Default)]
pub struct FairLimiter {
    identities: BTreeMap<Arc<str>, OwnMeter>,
    servers: BTreeMap<Arc<str>, ServerMeters>,
    permits: BTreeMap<u64, Held>,
    last_permit: u64,
    swept: u64,
}

/// Calls of one identity, to all servers.
#[derive(Debug, Default)]
struct OwnMeter {
    bucket: Bucket,
    running: u32,
}

#[derive(Debug, Default)]
struct ServerMeters {
    all: SharedMeter,
    /// By pattern.
    tools: BTreeMap<Arc<str>, SharedMeter>,
}

/// Places that a call in progress takes.
#[derive(Debug)]
struct Held {
    identity: Arc<str>,
    /// Whether it takes one of the identity's own.
    is_own: bool,
    at: Option<HeldAtServer>,
}

#[derive(Debug)]
struct HeldAtServer {
    server: Arc<str>,
    is_servers: bool,
    /// Patterns of tools.
    tools: Vec<Arc<str>>,
}

impl CallLimiter for FairLimiter {
    fn begin(&mut self, call: &CallAttempt<'_>, now: Moment) -> Result<Option<Permit>, CallRefusal> {
        let now = nanos(now);
        self.sweep(now);
        // Everything is checked before anything is counted: a refused call must not use up another limit.
        if let Some(refusal) = self.check(call, now) {
            return Err(refusal);
        }
        let held = self.count(call, now);
        Ok(held.map(|held| {
            self.last_permit += 1;
            self.permits.insert(self.last_permit, held);
            Permit(self.last_permit)
        }))
    }

    fn end(&mut self, permit: Permit) {
        let Some(held) = self.permits.remove(&permit.0) else { return };
        if let Some(meter) = self.identities.get_mut(&held.identity).filter(|_| held.is_own) {
            meter.running = meter.running.saturating_sub(1);
        }
        let Some(HeldAtServer { server, is_servers, tools }) = held.at else { return };
        let Some(meters) = self.servers.get_mut(&server) else { return };
        if is_servers {
            meters.all.end(&held.identity);
        }
        for pattern in &tools {
            if let Some(meter) = meters.tools.get_mut(pattern) {
                meter.end(&held.identity);
            }
        }
    }

    fn held(&self) -> usize {
        self.permits.len()
    }
}

impl FairLimiter {
    /// The limit that a call would exceed; of several, the one with the longest wait.
    fn check(&mut self, call: &CallAttempt<'_>, now: u64) -> Option<CallRefusal> {
        let who = &call.identity.name;
        let own = self.identities.get(who).and_then(|meter| meter.exceeded(&call.identity_limits, now));
        let mut refusals: Vec<CallRefusal> = Vec::new();
        refusals.extend(own.map(|exceeded| refusal(LimitScope::Token, exceeded)));
        if let Some(limits) = call.server_limits {
            let meters = entry(&mut self.servers, call.server).1;
            if !limits.all.is_open() {
                let verdict = meters.all.check(who, &limits.all, now);
                refusals.extend(verdict.err().map(|exceeded| refusal(LimitScope::Server, exceeded)));
            }
            for (pattern, limits) in limits.of_tool(call.tool) {
                let verdict = entry(&mut meters.tools, pattern).1.check(who, limits, now);
                refusals.extend(verdict.err().map(|exceeded| refusal(LimitScope::Tool, exceeded)));
            }
        }
        refusals.into_iter().max_by_key(|refusal| refusal.retry_after)
    }

    fn count(&mut self, call: &CallAttempt<'_>, now: u64) -> Option<Held> {
        let who = &call.identity.name;
        let is_own = match call.identity_limits.is_open() {
            true => false,
            false => entry(&mut self.identities, who).1.begin(&call.identity_limits, now),
        };
        let at = call.server_limits.and_then(|limits| self.count_at_server(call, limits, now));
        (is_own || at.is_some()).then(|| Held { identity: who.clone(), is_own, at })
    }

    fn count_at_server(
        &mut self,
        call: &CallAttempt<'_>,
        limits: &ServerLimits,
        now: u64,
    ) -> Option<HeldAtServer> {
        let who = &call.identity.name;
        let (server, meters) = entry(&mut self.servers, call.server);
        let is_servers = !limits.all.is_open() && meters.all.begin(who, &limits.all, now);
        let mut tools = Vec::new();
        for (pattern, limits) in limits.of_tool(call.tool) {
            let (pattern, meter) = entry(&mut meters.tools, pattern);
            if meter.begin(who, limits, now) {
                tools.push(pattern);
            }
        }
        (is_servers || !tools.is_empty()).then_some(HeldAtServer { server, is_servers, tools })
    }

    fn sweep(&mut self, now: u64) {
        if now.saturating_sub(self.swept) < SWEEP_INTERVAL_NANOS {
            return;
        }
        self.swept = now;
        self.identities.retain(|_, meter| meter.running > 0 || !meter.bucket.is_empty(now));
        self.servers.retain(|_, meters| {
            meters.tools.retain(|_, meter| meter.sweep(now));
            meters.all.sweep(now) || !meters.tools.is_empty()
        });
    }
}

impl OwnMeter {
    fn exceeded(&self, limits: &CallLimits, now: u64) -> Option<Exceeded> {
        let place = limits.concurrent.filter(|most| self.running >= most.get()).map(|most| Exceeded {
            limit: ExceededLimit::Concurrent(most),
            retry_after: PLACE_RETRY,
            users: 1,
        });
        let rate = limits.rate.and_then(|rate| {
            let retry_after = Duration::from_nanos(self.bucket.wait(&rate.pace(), 1, now));
            let exceeded = Exceeded { limit: ExceededLimit::Rate(rate), retry_after, users: 1 };
            (!retry_after.is_zero()).then_some(exceeded)
        });
        [place, rate].into_iter().flatten().max_by_key(|exceeded| exceeded.retry_after)
    }

    /// Counts an admitted call. Returns whether it must be ended.
    fn begin(&mut self, limits: &CallLimits, now: u64) -> bool {
        if let Some(rate) = &limits.rate {
            self.bucket.charge(&rate.pace(), 1, now);
        }
        let holds = limits.concurrent.is_some();
        self.running += u32::from(holds);
        holds
    }
}

fn refusal(scope: LimitScope, Exceeded { limit, retry_after, users }: Exceeded) -> CallRefusal {
    CallRefusal { scope, limit, retry_after, users }
}

/// The entry of a name, with the shared name; allocates only for a new one.
fn entry<'a, T: Default>(all: &'a mut BTreeMap<Arc<str>, T>, name: &str) -> (Arc<str>, &'a mut T) {
    let key = all.get_key_value(name).map_or_else(|| name.into(), |(key, _)| key.clone());
    (key.clone(), all.entry(key).or_default())
}

#[cfg(test)]
mod tests;
