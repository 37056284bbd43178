//! Recent crashes of a backend, and the circuit breaker that opens when there are too many. Must not know how
//! a process is started.

use crate::moment::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// Time for which a crash counts. A backend that worked for longer starts afresh.
const CRASH_WINDOW: Duration = Duration::from_secs(60);

const FIRST_BACKOFF: Duration = Duration::from_millis(100);

const MAX_BACKOFF: Duration = Duration::from_secs(10);

const FIRST_COOLDOWN: Duration = Duration::from_secs(15);

const MAX_COOLDOWN: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Crashes within the window.
    crashes: VecDeque<Moment>,
    /// How often the breaker opened in a row.
    opened: u32,
    /// Whether the process was started after the breaker was open, and has not answered yet.
    is_on_trial: bool,
}

impl Breaker {
    /// Records a crash and forgets old ones. `ready_since` is when the process became ready.
    pub(super) fn record_crash(&mut self, now: Moment, ready_since: Option<Moment>) {
        if ready_since.is_some_and(|since| now.since(since) > CRASH_WINDOW) {
            self.opened = 0;
        }
        self.crashes.push_back(now);
        while self.crashes.front().is_some_and(|&first| now.since(first) > CRASH_WINDOW) {
            self.crashes.pop_front();
        }
    }

    pub(crate) fn crashes(&self) -> usize {
        self.crashes.len()
    }

    /// Forgets earlier crashes, after an intervention of the owner.
    pub(super) fn forgive(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn begin_trial(&mut self) {
        self.is_on_trial = true;
    }

    pub(crate) fn end_trial(&mut self) {
        self.is_on_trial = false;
    }

    /// Opens the breaker if there are too many crashes; returns the cooldown. A failed trial is enough.
    pub(crate) fn open_if_due(&mut self, max_crashes: usize) -> Option<Duration> {
        if self.crashes.len() <= max_crashes && !self.is_on_trial {
            return None;
        }
        let cooldown = (FIRST_COOLDOWN * 2u32.saturating_pow(self.opened)).min(MAX_COOLDOWN);
        self.opened = self.opened.saturating_add(1);
        Some(cooldown)
    }

    /// The delay before the next start. Doubles with each crash, with 25 % jitter so that many backends do
    /// not restart at the same instant.
    pub(crate) fn backoff(&self, random: u64) -> Duration {
        let doubled =
            FIRST_BACKOFF * 2u32.saturating_pow(self.crashes.len().saturating_sub(1).min(16) as u32);
        let jitter = 0.75 + 0.5 * (random % 1024) as f64 / 1024.0;
        doubled.min(MAX_BACKOFF).mul_f64(jitter)
    }
}
