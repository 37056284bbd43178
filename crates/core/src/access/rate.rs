//! Limits on calls, as configured. Calls are `tools/call`, `resources/read` and `prompts/get`.

use crate::text::glob::matches;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// Units of a rate, as the config and the command line spell them.
const UNITS: [(&str, Duration); 4] = [
    ("s", Duration::from_secs(1)),
    ("min", Duration::from_secs(60)),
    ("h", Duration::from_secs(60 * 60)),
    ("d", Duration::from_secs(24 * 60 * 60)),
];

/// Most calls per period, and most calls at once, that a rate may have.
const MAX_CALLS: u32 = 100_000;

/// A number of calls per period, and how many may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    pub calls: NonZeroU32,
    pub period: Duration,
    /// Calls that may come at once after a pause.
    pub burst: NonZeroU32,
}

/// Limits on the calls of one identity, to one server, or of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallLimits {
    pub rate: Option<Rate>,
    /// Calls in progress at a time.
    pub concurrent: Option<NonZeroU32>,
}

/// Limits on the calls to one server, shared by all identities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLimits {
    /// For all calls together.
    pub all: CallLimits,
    /// For tools whose own name matches a pattern, together. Every pattern that matches counts.
    pub tools: Vec<(String, CallLimits)>,
}

/// Limits of identities that have none of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdentityLimits {
    pub limits: CallLimits,
    /// Whether they hold for the owner too.
    pub include_owner: bool,
}

impl Rate {
    /// Parses `5/min`. All calls of a period may come at once.
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let calls = calls.trim();
        // `u32` would also accept a plus sign.
        let calls = Some(calls).filter(|calls| calls.bytes().all(|byte| byte.is_ascii_digit()))?;
        let calls = NonZeroU32::new(calls.parse().ok()?).filter(|calls| calls.get() <= MAX_CALLS)?;
        let (_, period) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        Some(Self { calls, period: *period, burst: calls })
    }

    pub fn with_burst(self, burst: NonZeroU32) -> Self {
        Self { burst, ..self }
    }

    /// The rate in nanoseconds.
    pub(crate) fn pace(&self) -> Pace {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Rounded up: the rate is never exceeded.
        let interval = nanos(self.period).div_ceil(u64::from(self.calls.get())).max(1);
        let burst = u64::from(self.burst.get());
        Pace { interval, burst, memory: nanos(self.period).max(interval.saturating_mul(burst)) }
    }
}

/// A rate in nanoseconds, computed once per call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Time that one call is worth.
    pub(crate) interval: u64,
    pub(crate) burst: u64,
    /// Time in which an identity counts as a user of the limit after a call.
    pub(crate) memory: u64,
}

/// As it is written, without the burst.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, period)| *period == self.period) {
            Some((unit, _)) => write!(f, "{}/{unit}", self.calls),
            None => write!(f, "{}/{} s", self.calls, self.period.as_secs_f64()),
        }
    }
}

impl CallLimits {
    pub fn is_open(&self) -> bool {
        self.rate.is_none() && self.concurrent.is_none()
    }

    /// Uses the other limits where these set none.
    pub fn or(self, other: Self) -> Self {
        Self { rate: self.rate.or(other.rate), concurrent: self.concurrent.or(other.concurrent) }
    }
}

impl ServerLimits {
    pub fn is_open(&self) -> bool {
        self.all.is_open() && self.tools.iter().all(|(_, limits)| limits.is_open())
    }

    /// Patterns that match a tool, with their limits.
    pub(crate) fn of_tool(&self, tool: Option<&str>) -> impl Iterator<Item = (&str, &CallLimits)> {
        let is_meant = move |pattern: &str| tool.is_some_and(|tool| matches(pattern, tool));
        self.tools.iter().filter(move |(pattern, _)| is_meant(pattern)).map(|(pattern, it)| (&**pattern, it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        for (text, expect) in [
            ("5/min", Some((5, 60))),
            (" 600 / min ", Some((600, 60))),
            ("10/s", Some((10, 1))),
            ("100000/h", Some((100_000, 3600))),
            ("1/d", Some((1, 86_400))),
            ("100001/h", None),
            ("0/min", None),
            ("+5/min", None),
            ("-5/min", None),
            ("1.5/min", None),
            ("5/m", None),
            ("5/MIN", None),
            ("5 per min", None),
            ("5", None),
            ("/min", None),
            ("", None),
            ("99999999999/s", None),
        ] {
            let rate = Rate::parse(text);
            let found = rate.map(|rate| (rate.calls.get(), rate.period.as_secs()));
            assert_eq!(found, expect, "{text:?}");
            if let Some(rate) = rate {
                assert_eq!((rate.burst, Rate::parse(&rate.to_string())), (rate.calls, Some(rate)));
            }
        }
    }

    #[test]
    fn interval_is_rounded_up() {
        let interval = |text| Rate::parse(text).unwrap().pace().interval;
        assert_eq!(interval("3/s"), 333_333_334);
        assert_eq!(interval("5/min"), 12_000_000_000);
    }
}
