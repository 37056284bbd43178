//! Keys that control how a server is run, as far as they are given: those of an entry, and those of
//! `defaults`. An entry's keys override the defaults, and both override the built-in values.

use std::time::Duration;

use switchboard_core::access::ServerLimits;

use super::access::{self, AskKeys};
use super::offers::{self, Kind};
use super::quantity::spell_time;
use super::read::{Count, Key, Time};
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::{
    Capabilities, Dialect, FilterConfig, Framing, Guard, InheritEnv, OnTimeout, Packages, Pinning,
    PoolConfig, RetryAfterCrash, Scope, ServerConfig, ServerEra, State, defaults, os, sharing,
};

/// `None` where a key is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunKeys {
    lazy: Option<bool>,
    required: Option<bool>,
    tools: Option<FilterConfig>,
    prompts: Option<FilterConfig>,
    resources: Option<FilterConfig>,
    framing: Option<Framing>,
    era: Option<ServerEra>,
    dialect: Option<Dialect>,
    inherit_env: Option<InheritEnv>,
    pass_env: Option<Vec<String>>,
    start_timeout: Option<Duration>,
    timeout: Option<Duration>,
    hard_timeout: Option<Option<Duration>>,
    input_timeout: Option<Duration>,
    on_timeout: Option<OnTimeout>,
    retry_after_crash: Option<RetryAfterCrash>,
    shutdown_grace: Option<Duration>,
    max_in_flight: Option<usize>,
    max_queue: Option<usize>,
    scope: Option<Scope>,
    max_backends: Option<usize>,
    idle_ttl: Option<Option<Duration>>,
    memory_limit: Option<Option<u64>>,
    root_arguments: Option<Vec<String>>,
    health: Option<Option<Duration>>,
    state: Option<State>,
    capabilities: Option<Capabilities>,
    limits: Option<ServerLimits>,
    /// Merged by kind.
    asks: AskKeys,
    pinning: Option<Pinning>,
    /// Merged by method.
    debounce: Vec<(String, Duration)>,
    packages: Option<Packages>,
    guard: Option<Guard>,
    keep: Option<Vec<String>>,
}

impl RunKeys {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Overrides a server's values with the given ones.
    pub fn apply(&self, server: &mut ServerConfig) {
        fn put<T: Clone>(given: &Option<T>, to: &mut T) {
            if let Some(value) = given {
                to.clone_from(value);
            }
        }
        put(&self.lazy, &mut server.lazy);
        put(&self.required, &mut server.required);
        put(&self.tools, &mut server.tools);
        put(&self.prompts, &mut server.prompts);
        put(&self.resources, &mut server.resources);
        put(&self.framing, &mut server.framing);
        put(&self.era, &mut server.era);
        put(&self.dialect, &mut server.dialect);
        put(&self.inherit_env, &mut server.inherit_env);
        put(&self.pass_env, &mut server.pass_env);
        put(&self.start_timeout, &mut server.start_timeout);
        put(&self.timeout, &mut server.timeout);
        put(&self.hard_timeout, &mut server.hard_timeout);
        put(&self.input_timeout, &mut server.input_timeout);
        put(&self.on_timeout, &mut server.on_timeout);
        put(&self.retry_after_crash, &mut server.retry_after_crash);
        put(&self.shutdown_grace, &mut server.shutdown_grace);
        put(&self.max_in_flight, &mut server.max_in_flight);
        put(&self.max_queue, &mut server.max_queue);
        put(&self.scope, &mut server.scope);
        put(&self.max_backends, &mut server.max_backends);
        put(&self.idle_ttl, &mut server.idle_ttl);
        put(&self.memory_limit, &mut server.memory_limit);
        put(&self.root_arguments, &mut server.root_arguments);
        put(&self.health, &mut server.health);
        put(&self.state, &mut server.state);
        put(&self.capabilities, &mut server.capabilities);
        put(&self.limits, &mut server.limits);
        self.asks.apply(&mut server.asks);
        put(&self.pinning, &mut server.pinning);
        put(&self.packages, &mut server.packages);
        put(&self.guard, &mut server.guard);
        put(&self.keep, &mut server.keep);
        for (method, time) in &self.debounce {
            server.debounce.retain(|(known, _)| known != method);
            server.debounce.push((method.clone(), *time));
        }
        // A delay of zero turns merging off for a method.
        server.debounce.retain(|(_, time)| !time.is_zero());
    }
}

/// Positions of values that can contradict others.
pub(super) struct Positions {
    hard_timeout: Option<FilePlace>,
    keep: Option<FilePlace>,
}

/// Takes the keys out of an entry.
pub(super) fn run_keys(
    entry: ServerEntry,
    pool: &PoolConfig,
    report: &mut Report<'_>,
) -> (RunKeys, Positions) {
    let place_of = |place: &FilePlace| Some(place.clone());
    let positions = Positions {
        hard_timeout: if let Key::Given(_, place) = &entry.hard_timeout { place_of(place) } else { None },
        keep: if let Key::Given(_, place) = &entry.keep { place_of(place) } else { None },
    };
    let keys = RunKeys {
        lazy: entry.lazy.value(),
        required: entry.required.value(),
        tools: offers::filter(entry.tools, Kind::Tool, report),
        prompts: offers::filter(entry.prompts, Kind::Prompt, report),
        resources: offers::resource_filter(entry.resources, report),
        framing: entry.framing.value(),
        era: entry.era.value(),
        dialect: entry.dialect.value(),
        inherit_env: entry.inherit_env.value(),
        pass_env: pass_env(entry.pass_env, report),
        start_timeout: not_zero(entry.start_timeout, defaults::START_TIMEOUT, report),
        timeout: not_zero(entry.timeout.into(), defaults::TIMEOUT, report),
        hard_timeout: sharing::unless_zero(entry.hard_timeout),
        input_timeout: not_zero(entry.input_timeout, defaults::INPUT_TIMEOUT, report),
        on_timeout: entry.on_timeout.value(),
        retry_after_crash: entry.retry_after_crash.value(),
        shutdown_grace: entry.shutdown_grace.value().map(|Time(time)| time),
        max_in_flight: entry.max_in_flight.value().map(|Count(count)| count),
        max_queue: entry.max_queue.value().map(|Count(count)| count),
        scope: entry.scope.value(),
        max_backends: sharing::max_backends(entry.max_backends, pool, report),
        idle_ttl: sharing::unless_zero(entry.idle_ttl),
        memory_limit: sharing::memory_limit(entry.memory_limit, report),
        root_arguments: sharing::root_arguments(entry.root_arguments, report),
        health: sharing::unless_zero(entry.health),
        state: entry.state.value(),
        capabilities: entry.capabilities.value(),
        limits: access::server_limits(entry.limits, report),
        asks: AskKeys::of(entry.asks),
        pinning: entry.pinning.value(),
        debounce: sharing::debounce(entry.debounce, report),
        packages: entry.packages.value(),
        guard: entry.guard.value(),
        keep: keep(entry.keep, report),
    };
    (keys, positions)
}

/// Reports values that contradict each other, including defaults.
pub(super) fn check_together(
    server: &ServerConfig,
    named: &FilePlace,
    positions: &Positions,
    report: &mut Report<'_>,
) {
    if let Some(place) =
        positions.keep.as_ref().filter(|_| server.guard == Guard::Strict && !server.keep.is_empty())
    {
        let remedy = "use \"guard\": \"auto\" for this server, or remove `keep`".to_owned();
        report.warning(place, "`keep` does not work with `guard: strict`", Some(remedy));
    }
    if let Some(hard) = server.hard_timeout.filter(|hard| *hard < server.timeout) {
        let (hard, timeout) = (spell_time(hard), spell_time(server.timeout));
        let message = format!("`hardTimeout` ({hard}) ends a call before `timeout` ({timeout}) does");
        let place = positions.hard_timeout.as_ref().unwrap_or(named);
        let remedy = "set a longer `hardTimeout`, or 0 for none".to_owned();
        // A time is never a secret, so it may be shown.
        report.warning(&place.readable(), message, Some(remedy));
    }
}

fn pass_env(patterns: Key<Vec<String>>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let Key::Given(patterns, place) = patterns else { return None };
    for pattern in &patterns {
        // The text is not quoted: a secret may follow the `=`.
        if pattern.contains('=') || pattern.is_empty() {
            let remedy = "write names, such as \"GITHUB_*\"; values go into `env`";
            report.error(&place, "not the name of an environment variable", remedy);
        }
    }
    Some(patterns)
}

/// Whether a process can have this name.
pub fn is_process_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\n'])
}

fn keep(names: Key<Vec<String>>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let Key::Given(names, place) = names else { return None };
    if !names.iter().all(|name| is_process_name(name)) {
        report.error(&place, "not the name of a process", "write a name as `ps` shows it, such as \"adb\"");
    }
    if let Some((message, remedy)) = cannot_keep(&names, os::CAN_KEEP) {
        report.error(&place, message, remedy);
    }
    Some(names)
}

/// The error about names that this system cannot honour, and its remedy.
fn cannot_keep(names: &[String], can_keep: bool) -> Option<(&'static str, &'static str)> {
    let message = "not possible on Windows: a server's processes are in a job object, which ends as a whole";
    let remedy =
        "remove the key; with `\"guard\": \"off\"` the server's processes live until Switchboard ends";
    (!can_keep && !names.is_empty()).then_some((message, remedy))
}

fn not_zero(time: Key<Time>, default: Duration, report: &mut Report<'_>) -> Option<Duration> {
    let Key::Given(Time(time), place) = time else { return None };
    if time.is_zero() {
        let remedy = format!("write a longer time, or remove the key to get {}", spell_time(default));
        report.error(&place.readable(), "the time must not be 0", remedy);
    }
    Some(time)
}

#[cfg(test)]
mod tests {
    #[test]
    fn keep_is_refused_where_jobs_end_as_a_whole() {
        let names = ["adb".to_owned()];
        assert!(super::cannot_keep(&names, false).is_some_and(|(message, _)| message.contains("Windows")));
        assert_eq!(super::cannot_keep(&names, true), None);
        assert_eq!(super::cannot_keep(&[], false), None);
    }
}
