//! Settings of access control, with the checks across several values.

use std::num::NonZeroU32;

use switchboard_core::access::{Asks, CallLimits, IdentityLimits, ServerLimits};

use super::access_keys::{AsksEntry, CallRate, IdentityLimitsEntry, ServerLimitsEntry, ToolLimit};
use super::choices::Ask;
use super::defaults;
use super::lists::{ByName, NamedEntry};
use super::read::{Count, Key};
use super::report::Report;

/// The requests that are allowed or denied, as far as given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AskKeys {
    sampling: Option<bool>,
    elicitation: Option<bool>,
    roots: Option<bool>,
}

impl AskKeys {
    pub(super) fn of(entry: Key<AsksEntry>) -> Self {
        let Some(entry) = entry.value() else { return Self::default() };
        let is_allowed = |key: Key<Ask>| key.value().map(|ask| ask == Ask::Allow);
        Self {
            sampling: is_allowed(entry.sampling),
            elicitation: is_allowed(entry.elicitation),
            roots: is_allowed(entry.roots),
        }
    }

    pub(super) fn apply(&self, asks: &mut Asks) {
        asks.sampling = self.sampling.unwrap_or(asks.sampling);
        asks.elicitation = self.elicitation.unwrap_or(asks.elicitation);
        asks.roots = self.roots.unwrap_or(asks.roots);
    }
}

pub(super) fn identity_limits(entry: Key<IdentityLimitsEntry>, report: &mut Report<'_>) -> IdentityLimits {
    let Some(entry) = entry.value() else { return IdentityLimits::default() };
    IdentityLimits {
        limits: call_limits(entry.rate, entry.burst, entry.concurrent, report),
        include_owner: entry.owner.or(defaults::LIMITS_OWNER),
    }
}

pub(super) fn server_limits(entry: Key<ServerLimitsEntry>, report: &mut Report<'_>) -> Option<ServerLimits> {
    let entry = entry.value()?;
    let all = call_limits(entry.rate, entry.burst, entry.concurrent, report);
    let tools = entry.tools.value().map(|ByName(tools)| tools).unwrap_or_default();
    let tools = tools.into_iter().map(|tool| tool_limits(tool, report)).collect();
    Some(ServerLimits { all, tools })
}

fn tool_limits(tool: NamedEntry<ToolLimit>, report: &mut Report<'_>) -> (String, CallLimits) {
    let NamedEntry { name, named, value, valued } = tool;
    if name.trim().is_empty() {
        report.error(&named, "an empty pattern", "write a tool's name, or a part of it with *: \"create_*\"");
    }
    let limits = match value {
        ToolLimit::Rate(rate, place) => {
            call_limits(Key::Given(rate, place), Key::Absent, Key::Absent, report)
        }
        ToolLimit::Full(entry) => {
            let is_empty = entry.rate.is_absent() && entry.concurrent.is_absent();
            if is_empty && entry.burst.is_absent() {
                let remedy = "add `rate` or `concurrent`, or remove the pattern";
                report.error(&valued, "neither `rate` nor `concurrent`", remedy);
            }
            call_limits(entry.rate, entry.burst, entry.concurrent, report)
        }
    };
    (name, limits)
}

fn call_limits(
    rate: Key<CallRate>,
    burst: Key<Count>,
    concurrent: Key<Count>,
    report: &mut Report<'_>,
) -> CallLimits {
    if let (Key::Absent, Key::Given(_, place)) = (&rate, &burst) {
        let remedy = "add `rate`, such as \"100/min\"; for calls in progress use `concurrent`";
        report.error(&place.readable(), "`burst` without `rate`", remedy);
    }
    let number = |key: Key<Count>| key.value().and_then(|Count(count)| NonZeroU32::new(count as u32));
    let (rate, burst) = (rate.value().map(|CallRate(rate)| rate), number(burst));
    CallLimits {
        rate: rate.map(|rate| burst.map_or(rate, |burst| rate.with_burst(burst))),
        concurrent: number(concurrent),
    }
}
