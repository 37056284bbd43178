//! A limit that several identities share. Each of those that called lately has an equal part, which no other can
//! take; whatever is left beside all parts goes to the first that asks. Must not know what is limited.

use super::bucket::Bucket;
use super::limiter::ExceededLimit;
use super::rate::{CallLimits, Rate};
use crate::moment::Moment;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Time for which places in progress are kept free for an identity after its last call.
const PLACE_MEMORY: Duration = Duration::from_secs(10);

/// Suggested time until the next attempt, where nobody knows when a call ends.
pub(super) const PLACE_RETRY: Duration = Duration::from_secs(1);

/// Reason why a limit refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) limit: ExceededLimit,
    pub(super) retry_after: Duration,
    pub(super) users: u32,
}

#[derive(Debug, Default)]
pub(super) struct SharedMeter {
    common: Bucket,
    running: u32,
    users: BTreeMap<Arc<str>, User>,
    /// Time for which a user counts after its last call.
    memory: Duration,
}

/// An identity that called lately.
#[derive(Debug, Default)]
struct User {
    /// Its part of the rate.
    part: Bucket,
    running: u32,
    asked: Moment,
}

impl SharedMeter {
    /// Whether the limits admit a call. Records that the identity asked, admitted or not: a part is kept for it.
    pub(super) fn check(&mut self, who: &Arc<str>, limits: &CallLimits, now: Moment) -> Result<(), Exceeded> {
        let of_rate = limits.rate.map_or(Duration::ZERO, |rate| rate.memory());
        self.memory = of_rate.max(limits.concurrent.map_or(Duration::ZERO, |_| PLACE_MEMORY));
        match self.users.get_mut(who) {
            Some(user) => user.asked = now,
            None => {
                self.users.insert(who.clone(), User { asked: now, ..User::default() });
            }
        }
        if let Some(rate) = &limits.rate {
            self.check_rate(who, rate, now)?;
        }
        limits.concurrent.map_or(Ok(()), |most| self.check_places(who, most, now))
    }

    fn check_rate(&self, who: &str, rate: &Rate, now: Moment) -> Result<(), Exceeded> {
        let users = self.count(|user| now.since(user.asked) <= rate.memory());
        let wait = self.common.wait(rate, 1, now);
        // With n users, each call counts n-fold in the caller's part, which is as large as the whole.
        let of_part = self.users.get(who).map_or(Duration::ZERO, |user| user.part.wait(rate, users, now));
        if wait.is_zero() && (of_part.is_zero() || self.has_rest(who, rate, users, now)) {
            return Ok(());
        }
        let retry_after = wait.max(if users > 1 { of_part } else { Duration::ZERO });
        Err(Exceeded { limit: ExceededLimit::Rate(*rate), retry_after, users })
    }

    /// Whether more is left than the others may claim. A part that is coming back counts as far as it has: otherwise
    /// nothing would be left for its owner, once it is back.
    fn has_rest(&self, who: &str, rate: &Rate, users: u32, now: Moment) -> bool {
        let others = self.users.iter().filter(|(name, _)| ***name != *who);
        let active = others.filter(|(_, user)| now.since(user.asked) <= rate.memory());
        let claims = active.map(|(_, user)| user.part.free(rate, users, now) / users);
        let claimed = claims.fold(Duration::ZERO, Duration::saturating_add);
        self.common.free(rate, 1, now).saturating_sub(rate.interval()) >= claimed
    }

    fn check_places(&self, who: &str, most: NonZeroU32, now: Moment) -> Result<(), Exceeded> {
        let is_active = |user: &User| user.running > 0 || now.since(user.asked) <= PLACE_MEMORY;
        let users = self.count(is_active);
        let part = (most.get() / users).max(1);
        let own = self.users.get(who).map_or(0, |user| user.running);
        let others = self.users.iter().filter(|(name, user)| ***name != *who && is_active(user));
        let claimed: u32 = others.map(|(_, user)| part.saturating_sub(user.running)).sum();
        let free = most.get().saturating_sub(self.running);
        if free > 0 && (own < part || free > claimed) {
            return Ok(());
        }
        Err(Exceeded { limit: ExceededLimit::Concurrent(most), retry_after: PLACE_RETRY, users })
    }

    fn count(&self, is_active: impl Fn(&User) -> bool) -> u32 {
        let users = self.users.values().filter(|user| is_active(user)).count();
        u32::try_from(users).unwrap_or(u32::MAX).max(1)
    }

    /// Counts an admitted call. Returns whether it must be ended.
    pub(super) fn begin(&mut self, who: &Arc<str>, limits: &CallLimits, now: Moment) -> bool {
        let rate = limits.rate.as_ref();
        let users = rate.map_or(1, |rate| self.count(|user| now.since(user.asked) <= rate.memory()));
        let user = self.users.entry(who.clone()).or_default();
        if let Some(rate) = rate {
            self.common.charge(rate, 1, now);
            user.part.charge(rate, users, now);
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
    pub(super) fn sweep(&mut self, now: Moment) -> bool {
        self.users.retain(|_, user| user.running > 0 || now.since(user.asked) <= self.memory);
        !self.users.is_empty() || !self.common.is_empty(now)
    }
}
