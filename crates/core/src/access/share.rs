//! A limit that several identities share. Each of those that called lately has an equal part, which no other can
//! take; whatever is left beside all parts goes to the first that asks. Must not know what is limited.

use super::bucket::Bucket;
use super::limiter::ExceededLimit;
use super::rate::{CallLimits, Pace, Rate};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Time for which places in progress are kept free for an identity after its last call.
const PLACE_MEMORY_NANOS: u64 = 10_000_000_000;

/// Suggested time until the next attempt, where nobody knows when a call ends.
pub(super) const PLACE_RETRY: Duration = Duration::from_secs(1);

/// Reason why a limit refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) limit: ExceededLimit,
    pub(super) retry_after: Duration,
    pub(super) users: u32,
}

/// Times are in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct SharedMeter {
    common: Bucket,
    running: u32,
    users: BTreeMap<Arc<str>, User>,
    /// Time for which a user counts after its last call.
    memory: u64,
}

/// An identity that called lately.
#[derive(Debug, Default)]
struct User {
    /// Its part of the rate.
    part: Bucket,
    running: u32,
    asked: u64,
}

impl User {
    fn has_asked_within(&self, time: u64, now: u64) -> bool {
        now.saturating_sub(self.asked) <= time
    }
}

impl SharedMeter {
    /// Whether the limits admit a call. Records that the identity asked, admitted or not: a part is kept for it.
    pub(super) fn check(&mut self, who: &Arc<str>, limits: &CallLimits, now: u64) -> Result<(), Exceeded> {
        let pace = limits.rate.map(|rate| rate.pace());
        let of_places = limits.concurrent.map_or(0, |_| PLACE_MEMORY_NANOS);
        self.memory = pace.map_or(0, |pace| pace.memory).max(of_places);
        match self.users.get_mut(who) {
            Some(user) => user.asked = now,
            None => {
                self.users.insert(who.clone(), User { asked: now, ..User::default() });
            }
        }
        if let (Some(rate), Some(pace)) = (&limits.rate, &pace) {
            self.check_rate(who, rate, pace, now)?;
        }
        limits.concurrent.map_or(Ok(()), |most| self.check_places(who, most, now))
    }

    fn check_rate(&self, who: &str, rate: &Rate, pace: &Pace, now: u64) -> Result<(), Exceeded> {
        let users = self.count(|user| user.has_asked_within(pace.memory, now));
        let wait = self.common.wait(pace, 1, now);
        // With n users, each call counts n-fold in the caller's part, which is as large as the whole.
        let of_part = self.users.get(who).map_or(0, |user| user.part.wait(pace, users.into(), now));
        if wait == 0 && (of_part == 0 || self.has_rest(who, pace, users, now)) {
            return Ok(());
        }
        let retry_after = Duration::from_nanos(wait.max(if users > 1 { of_part } else { 0 }));
        Err(Exceeded { limit: ExceededLimit::Rate(*rate), retry_after, users })
    }

    /// Whether more is left than the others may claim. A part that is coming back counts as far as it has: otherwise
    /// nothing would be left for its owner, once it is back.
    fn has_rest(&self, who: &str, pace: &Pace, users: u32, now: u64) -> bool {
        let users = u64::from(users);
        let others = self.users.iter().filter(|(name, _)| ***name != *who);
        let active = others.filter(|(_, user)| user.has_asked_within(pace.memory, now));
        let claims = active.map(|(_, user)| user.part.free(pace, users, now) / users);
        let claimed = claims.fold(0, u64::saturating_add);
        self.common.free(pace, 1, now).saturating_sub(pace.interval) >= claimed
    }

    fn check_places(&self, who: &str, most: NonZeroU32, now: u64) -> Result<(), Exceeded> {
        let is_active = |user: &User| user.running > 0 || user.has_asked_within(PLACE_MEMORY_NANOS, now);
        let users = self.count(is_active);
        let part = (most.get() / users).max(1);
        let own = self.users.get(who).map_or(0, |user| user.running);
        let free = most.get().saturating_sub(self.running);
        let has_rest = || {
            let others = self.users.iter().filter(|(name, user)| ***name != *who && is_active(user));
            free > others.map(|(_, user)| part.saturating_sub(user.running)).sum()
        };
        if free > 0 && (own < part || has_rest()) {
            return Ok(());
        }
        Err(Exceeded { limit: ExceededLimit::Concurrent(most), retry_after: PLACE_RETRY, users })
    }

    fn count(&self, is_active: impl Fn(&User) -> bool) -> u32 {
        let users = self.users.values().filter(|user| is_active(user)).count();
        u32::try_from(users).unwrap_or(u32::MAX).max(1)
    }

    /// Counts an admitted call. Returns whether it must be ended.
    pub(super) fn begin(&mut self, who: &Arc<str>, limits: &CallLimits, now: u64) -> bool {
        let pace = limits.rate.map(|rate| rate.pace());
        let users = pace.map_or(1, |pace| self.count(|user| user.has_asked_within(pace.memory, now)));
        let user = self.users.entry(who.clone()).or_default();
        if let Some(pace) = &pace {
            self.common.charge(pace, 1, now);
            user.part.charge(pace, users.into(), now);
        }
        let holds = limits.concurrent.is_some();
        if holds {
            self.running += 1;
            user.running += 1;
        }
        holds
    }

    pub(super) fn end(&mut self, who: &str) {
        self.running = self.running.saturating_sub(1);
        if let Some(user) = self.users.get_mut(who) {
            user.running = user.running.saturating_sub(1);
        }
    }

    /// Forgets identities that no longer count; returns whether anything is left.
    pub(super) fn sweep(&mut self, now: u64) -> bool {
        let memory = self.memory;
        self.users.retain(|_, user| user.running > 0 || user.has_asked_within(memory, now));
        !self.users.is_empty() || !self.common.is_empty(now)
    }
}
