//! Limits on calls, and questions that the server may not ask.
//!
//! All identities belong to the same principal: who may share a process is the same for all. An identity without
//! limits of its own has those that the settings give it.

use super::PoolWorld;
use super::plan::PoolPlan;
use super::verb::{PoolRequest, Verb};
use crate::simulator::engine::{Check, Request, Rng};
use serde_json::Value;
use std::num::NonZeroU32;
use std::sync::Arc;
use switchboard_core::access::{Asks, CallLimits, Identity, IdentityLimits, Rate, ServerLimits};
use switchboard_core::{ClientId, Launch, Moment, Settings};

/// The tool that clients call; the patterns of limited tools match it.
pub(super) const TOOL: &str = "echo";
const RATES: [&str; 4] = ["5/min", "30/min", "3/s", "100/h"];
const IDENTITIES: [&str; 3] = ["owner", "ci", "guest"];

/// Whether a limit counts a call.
type Counts<'a> = Box<dyn Fn(&Request<PoolRequest>) -> bool + 'a>;

/// A limit, and the calls that it counts.
struct Scope<'a> {
    name: &'static str,
    limits: CallLimits,
    counts: Counts<'a>,
}

/// Adds identities, limits and denials to some runs. They have a stream of their own, so that the others stay as
/// they are.
pub(super) fn draw(seed: u64, settings: &mut Settings, plan: &mut PoolPlan) {
    let rng = &mut Rng::of_step(seed, u64::MAX - 3);
    if rng.percent(25) {
        plan.identities = identities(rng);
        settings.identity_limits = identity_limits(rng);
        settings.servers[0].call_limits = server_limits(rng);
    }
    if rng.percent(15) {
        settings.servers[0].asks = asks(rng);
    }
}

fn identities(rng: &mut Rng) -> Vec<Arc<Identity>> {
    let number = rng.within(1..=IDENTITIES.len());
    let identity = |name: &&str| {
        let limits = if rng.percent(40) { some_limits(rng) } else { CallLimits::default() };
        Arc::new(Identity { name: (*name).into(), limits, ..Identity::owner() })
    };
    IDENTITIES[..number].iter().map(identity).collect()
}

fn identity_limits(rng: &mut Rng) -> IdentityLimits {
    let limits = if rng.percent(30) { some_limits(rng) } else { CallLimits::default() };
    IdentityLimits { limits, include_owner: rng.percent(70) }
}

fn server_limits(rng: &mut Rng) -> Option<Arc<ServerLimits>> {
    let all = if rng.percent(70) { some_limits(rng) } else { CallLimits::default() };
    let tools = if rng.percent(50) { vec![("ec*".to_owned(), some_limits(rng))] } else { Vec::new() };
    rng.percent(70).then(|| Arc::new(ServerLimits { all, tools }))
}

/// Limits that a run of some hundred steps reaches.
fn some_limits(rng: &mut Rng) -> CallLimits {
    let number = |number: usize| NonZeroU32::new(number as u32);
    let rate = Rate::parse(RATES[rng.below(RATES.len())]);
    let rate = rate.zip(number(rng.within(1..=6))).map(|(rate, burst)| rate.with_burst(burst));
    CallLimits {
        rate: rate.filter(|_| rng.percent(60)),
        concurrent: number(rng.within(1..=3)).filter(|_| rng.percent(50)),
    }
}

fn asks(rng: &mut Rng) -> Asks {
    Asks { sampling: rng.percent(50), elicitation: rng.percent(50), roots: rng.percent(50) }
}

fn is_call(request: &Request<PoolRequest>) -> bool {
    matches!(request.verb, Verb::Call { .. } | Verb::Read)
}

impl PoolWorld {
    /// All limits of a run.
    fn scopes(&self) -> Vec<Scope<'_>> {
        let given = self.settings.identity_limits;
        let mut scopes = Vec::new();
        for identity in &self.plan.identities {
            // All are the owner's, as far as the principal is concerned.
            let other = if given.include_owner { given.limits } else { CallLimits::default() };
            let limits = CallLimits {
                rate: identity.limits.rate.or(other.rate),
                concurrent: identity.limits.concurrent.or(other.concurrent),
            };
            let is_own = |r: &Request<PoolRequest>| self.clients[&r.client].identity == identity.name;
            scopes.push(Scope { name: "token", limits, counts: Box::new(is_own) });
        }
        if let Some(limits) = &self.settings.servers[0].call_limits {
            scopes.push(Scope { name: "server", limits: limits.all, counts: Box::new(|_| true) });
            let is_tool = |r: &Request<PoolRequest>| matches!(r.verb, Verb::Call { .. });
            let tools = limits.tools.iter().map(|(_, limits)| *limits);
            scopes.extend(tools.map(|limits| Scope { name: "tool", limits, counts: Box::new(is_tool) }));
        }
        scopes
    }

    /// A call was refused because of a limit: it has that limit, was not sent, and hears when to come again.
    pub(super) fn check_limited(&self, client: ClientId, number: usize, error: &Value) -> Check {
        let request = &self.ledger.requests[number];
        let limit = error["data"]["limit"].as_str().unwrap_or_default();
        let has_it = |scope: &Scope<'_>| {
            scope.name == limit && (scope.counts)(request) && scope.limits != CallLimits::default()
        };
        let is_told = error["data"]["retryAfterMs"].as_u64().is_some_and(|time| time > 0);
        if !is_call(request) || !self.scopes().iter().any(has_it) || !is_told {
            return Err(format!("{client}'s {} has no such limit: {error}", request.rule.name));
        }
        match request.handed.is_empty() {
            true => Ok(()),
            false => Err(format!("{client}'s {} is refused, and was sent: {error}", request.rule.name)),
        }
    }

    /// No more calls are in progress than may be.
    pub(super) fn check_places(&self) -> Check {
        for scope in self.scopes() {
            let is_at_work = |r: &&Request<PoolRequest>| {
                is_call(r) && r.is_open() && !r.handed.is_empty() && (scope.counts)(r)
            };
            let Some(most) = scope.limits.concurrent else { continue };
            let at_work = self.ledger.requests.iter().filter(is_at_work).count();
            if at_work > most.get() as usize {
                return Err(format!(
                    "{at_work} calls are in progress, and the {} may have {most}",
                    scope.name
                ));
            }
        }
        Ok(())
    }

    /// No more calls were sent in any time than the burst and the rate allow.
    pub(super) fn check_rates(&self) -> Check {
        for scope in self.scopes() {
            let Some(rate) = scope.limits.rate else { continue };
            let was_sent =
                |r: &&Request<PoolRequest>| is_call(r) && !r.handed.is_empty() && (scope.counts)(r);
            let mut sent: Vec<Moment> =
                self.ledger.requests.iter().filter(was_sent).map(|r| r.sent).collect();
            sent.sort();
            for (at, first) in sent.iter().enumerate() {
                for (count, last) in sent[at..].iter().enumerate() {
                    let periods = last.since(*first).as_secs_f64() / rate.period.as_secs_f64();
                    let most = f64::from(rate.burst.get()) + f64::from(rate.calls.get()) * periods;
                    if (count + 1) as f64 > most + 1e-6 {
                        let calls = count + 1;
                        return Err(format!(
                            "{calls} calls from {first:?} to {last:?}: {rate} of a {}",
                            scope.name
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// What a server can know of a client: the version, two abilities, and whether it has roots.
    pub(super) fn kind_of(&self, client: ClientId) -> (usize, [bool; 2], bool) {
        let (c, asks) = (&self.clients[&client], self.settings.servers[0].asks);
        let abilities = [c.variant > 0 && asks.sampling, c.variant > 1 && asks.elicitation];
        (c.version, abilities, c.has_roots && asks.roots)
    }

    /// A process hears of no ability that it may not use.
    pub(super) fn check_declared(&self, launch: Launch, words: &Value) -> Check {
        let (asks, declared) = (self.settings.servers[0].asks, &words["params"]["capabilities"]);
        let denied = [("sampling", asks.sampling), ("elicitation", asks.elicitation), ("roots", asks.roots)];
        match denied.iter().find(|(kind, is_allowed)| !is_allowed && declared.get(kind).is_some()) {
            Some((kind, _)) => Err(format!("{launch} may not ask for {kind}, and hears of it: {words}")),
            None => Ok(()),
        }
    }

    /// A question that the server may not ask is answered with an error, at once, and reaches nobody.
    pub(super) fn check_denied(&mut self, launch: Launch, ask: usize) -> Check {
        self.stats.count("asks_denied");
        let ask = &self.ledger.asks[ask];
        match ask.client.is_none() && ask.is_answered {
            true => Ok(()),
            false => Err(format!("{launch} asked what it may not, and {:?} heard it", ask.client)),
        }
    }
}
