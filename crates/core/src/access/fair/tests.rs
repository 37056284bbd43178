//! Promises of the limiter, in virtual time.

use super::*;
use crate::access::{Identity, Rate};
use crate::ids::Principal;
use proptest::prelude::*;
use std::num::NonZeroU32;

fn identity(name: &str) -> Identity {
    Identity { principal: Principal(1), name: name.into(), ..Identity::owner() }
}

fn limits(rate: Option<(&str, u32)>, concurrent: u32) -> CallLimits {
    let number = |number| NonZeroU32::new(number);
    CallLimits {
        rate: rate.map(|(rate, burst)| Rate::parse(rate).unwrap().with_burst(number(burst).unwrap())),
        concurrent: number(concurrent),
    }
}

fn at(millis: u64) -> Moment {
    Moment::after_start(Duration::from_millis(millis))
}

/// One server with these limits.
struct Scene {
    limiter: FairLimiter,
    identity_limits: CallLimits,
    server: ServerLimits,
}

impl Scene {
    fn new(identity_limits: CallLimits, all: CallLimits) -> Self {
        let server = ServerLimits { all, tools: Vec::new() };
        Self { limiter: FairLimiter::default(), identity_limits, server }
    }

    fn call(&mut self, who: &str, tool: &str, millis: u64) -> Result<Option<Permit>, CallRefusal> {
        let identity = identity(who);
        let call = CallAttempt {
            identity: &identity,
            identity_limits: self.identity_limits,
            server: "server",
            server_limits: Some(&self.server),
            tool: Some(tool),
        };
        self.limiter.begin(&call, at(millis))
    }

    /// The limit that refuses a call, and its wait in milliseconds.
    fn refused(&mut self, who: &str, tool: &str, millis: u64) -> Option<(&'static str, u128)> {
        let refusal = self.call(who, tool, millis).err()?;
        Some((refusal.scope.name(), refusal.retry_after.as_millis()))
    }
}

#[test]
fn each_limit_says_when_to_retry() {
    let mut scene = Scene::new(limits(Some(("60/min", 3)), 0), limits(Some(("30/min", 2)), 0));
    scene.server.tools.push(("create_*".into(), limits(Some(("6/min", 1)), 0)));
    assert_eq!(scene.refused("a", "create_issue", 0), None);
    assert_eq!(scene.refused("a", "create_label", 0), Some(("tool", 10_000)));
    assert_eq!(scene.refused("a", "read", 0), None);
    assert_eq!(scene.refused("a", "read", 0), Some(("server", 2_000)));
    scene.server.all = CallLimits::default();
    assert_eq!(scene.refused("a", "read", 0), None);
    assert_eq!(scene.refused("a", "read", 0), Some(("token", 1_000)));
    assert_eq!(scene.refused("b", "read", 0), None, "each identity has its own");
}

#[test]
fn refused_call_uses_up_nothing() {
    let mut scene = Scene::new(limits(Some(("60/min", 3)), 0), CallLimits::default());
    scene.server.tools.push(("create".into(), limits(Some(("1/h", 1)), 0)));
    assert_eq!(scene.refused("a", "create", 0), None);
    for _ in 0..50 {
        assert_eq!(scene.refused("a", "create", 0), Some(("tool", 3_600_000)));
    }
    assert_eq!([(); 3].map(|()| scene.refused("a", "read", 0).is_some()), [false, false, true]);
}

#[test]
fn every_matching_pattern_counts() {
    let mut scene = Scene::new(CallLimits::default(), CallLimits::default());
    scene.server.tools.push(("*".into(), limits(Some(("60/min", 2)), 0)));
    scene.server.tools.push(("create_*".into(), limits(Some(("6/min", 1)), 0)));
    assert_eq!(scene.refused("a", "create_issue", 0), None);
    assert_eq!(scene.refused("a", "create_issue", 0), Some(("tool", 10_000)));
    assert_eq!(scene.refused("a", "read", 0), None);
    assert_eq!(scene.refused("a", "read", 0), Some(("tool", 1_000)));
}

#[test]
fn reads_and_prompts_are_no_tools() {
    let mut scene = Scene::new(CallLimits::default(), CallLimits::default());
    scene.server.tools.push(("*".into(), limits(Some(("1/h", 1)), 0)));
    let identity = identity("a");
    let call = CallAttempt {
        identity: &identity,
        identity_limits: CallLimits::default(),
        server: "server",
        server_limits: Some(&scene.server),
        tool: None,
    };
    assert!((0..9).all(|_| scene.limiter.begin(&call, at(0)).is_ok()));
}

#[test]
fn places_come_back_once() {
    let mut scene = Scene::new(limits(None, 2), CallLimits::default());
    let first = scene.call("a", "t", 0).unwrap().expect("a permit");
    let second = scene.call("a", "t", 0).unwrap().expect("a permit");
    assert_eq!(scene.refused("a", "t", 0), Some(("token", 1_000)));
    scene.limiter.end(first);
    let third = scene.call("a", "t", 0).unwrap().expect("a permit");
    assert!(scene.call("a", "t", 0).is_err());
    for permit in [second, third, Permit(999)] {
        scene.limiter.end(permit);
    }
    assert_eq!(scene.limiter.held(), 0);
    assert!(scene.call("a", "t", 0).is_ok());
}

#[test]
fn one_identity_may_take_all_places() {
    let mut scene = Scene::new(CallLimits::default(), limits(None, 4));
    let mut held: Vec<Permit> = (0..4).map(|_| scene.call("a", "t", 0).unwrap().expect("a permit")).collect();
    // A newcomer finds none, but from now on half of them are kept for it.
    assert_eq!(scene.refused("b", "t", 1), Some(("server", 1_000)));
    scene.limiter.end(held.pop().expect("held"));
    assert!(scene.call("a", "t", 2).is_err(), "this place is kept");
    assert!(scene.call("b", "t", 3).is_ok());
    scene.limiter.end(held.pop().expect("held"));
    assert!(scene.call("a", "t", 4).is_err(), "so is this one");
    assert!(scene.call("b", "t", 5).is_ok());
    assert!(scene.call("b", "t", 6).is_err(), "two for each");
}

#[test]
fn unused_places_are_given_away() {
    let mut scene = Scene::new(CallLimits::default(), limits(None, 4));
    let permit = scene.call("b", "t", 0).unwrap().expect("a permit");
    scene.limiter.end(permit);
    assert!((0..2).all(|_| scene.call("a", "t", 5_000).is_ok()));
    assert!(scene.call("a", "t", 5_000).is_err(), "b was here a moment ago");
    assert!((0..2).all(|_| scene.call("a", "t", 10_001).is_ok()), "b is gone");
}

/// A lone caller is not slowed down by those that call now and then.
#[test]
fn unused_rate_is_given_away() {
    let mut scene = Scene::new(CallLimits::default(), limits(Some(("60/min", 10)), 0));
    let mut admitted = 0;
    for second in 0..120_u64 {
        if second % 20 == 0 {
            assert!(scene.call("rare", "t", second * 1000).is_ok(), "at {second} s");
        }
        admitted += (0..5).filter(|call| scene.call("busy", "t", second * 1000 + call).is_ok()).count();
    }
    assert!(admitted >= 108, "{admitted} of 120");
}

#[test]
fn idle_identities_are_forgotten() {
    let mut scene = Scene::new(limits(Some(("60/min", 5)), 1), limits(Some(("600/min", 600)), 600));
    scene.server.tools.push(("*".into(), limits(Some(("600/min", 600)), 0)));
    let permits: Vec<Permit> =
        (0..500).map(|n| scene.call(&format!("token-{n}"), "t", 0).unwrap().expect("a permit")).collect();
    permits.into_iter().for_each(|permit| scene.limiter.end(permit));
    assert!(scene.call("last", "t", 200_000).is_ok());
    let limiter = &scene.limiter;
    assert_eq!((limiter.identities.len(), limiter.servers.len()), (1, 1));
    let shown = format!("{limiter:?}");
    assert!(!shown.contains("token-") && shown.contains("last"), "{shown}");
}

/// Numbers of admitted calls and of attempts, the greedy identity's first. Each of the others asks for `demand` of an
/// equal part; the greedy one for twenty times the whole.
fn flood(rate: (&str, u32), others: usize, demand: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let calls_per_second = f64::from(Rate::parse(rate.0).unwrap().calls.get()) / 60.0;
    let part = calls_per_second / (others + 1) as f64;
    let mut scene = Scene::new(CallLimits::default(), limits(Some(rate), 0));
    let mut random = seed | 1;
    let mut roll = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut admitted, mut asked) = (vec![0; others + 1], vec![0; others + 1]);
    // In steps of 10 ms, for half an hour.
    for step in 0..180_000_u64 {
        for who in 0..=others {
            let wanted = if who == 0 { 20.0 * calls_per_second } else { demand * part };
            if roll() < wanted * 0.01 {
                let is_admitted = scene.call(&who.to_string(), "t", step * 10).is_ok();
                (asked[who], admitted[who]) = (asked[who] + 1, admitted[who] + usize::from(is_admitted));
            }
        }
    }
    (admitted, asked)
}

/// Those that come back when they are told to get their part, however small the burst.
#[test]
fn patient_identities_get_their_part() {
    for (burst, patient) in [(1, 1), (2, 1), (4, 1), (1, 3), (4, 3), (9, 3)] {
        let mut scene = Scene::new(CallLimits::default(), limits(Some(("600/min", burst)), 0));
        let (mut next, mut admitted) = (vec![0; patient], vec![0; patient + 1]);
        // For ten minutes, in steps of a millisecond; the greedy one asks at every step, before the others.
        for millis in 0..600_000 {
            admitted[patient] += usize::from(scene.call("greedy", "t", millis).is_ok());
            for who in (0..patient).filter(|&who| millis >= next[who]).collect::<Vec<_>>() {
                let wait = scene.call(&who.to_string(), "t", millis).map_err(|refusal| refusal.retry_after);
                admitted[who] += usize::from(wait.is_ok());
                let wait = wait.err().unwrap_or_default().as_nanos();
                next[who] = millis + wait.div_ceil(1_000_000) as u64;
            }
        }
        let part = 6000 / (patient + 1);
        assert!(admitted[..patient].iter().all(|calls| 10 * calls >= 9 * part), "{burst}: {admitted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whoever asks for no more than its part gets it, and those that ask for the same get the same.
    #[test]
    fn greedy_identity_takes_only_its_part(
        others in 1_usize..6,
        burst in prop::sample::select(vec![12_u32, 30, 100]),
        demand in prop::sample::select(vec![0.5, 3.0]),
        seed in any::<u64>(),
    ) {
        let (admitted, asked) = flood(("120/min", burst), others, demand, seed);
        let part = 120.0 * 30.0 / (others + 1) as f64;
        let (least, most) = (admitted[1..].iter().min().unwrap(), admitted[1..].iter().max().unwrap());
        match demand > 1.0 {
            true => {
                prop_assert!(*least as f64 >= 0.8 * part, "{admitted:?}");
                prop_assert!(*least as f64 >= 0.8 * *most as f64, "{admitted:?}");
            }
            false => {
                let is_served = |who: usize| 10 * admitted[who] >= 8 * asked[who];
                prop_assert!((1..=others).all(is_served), "{admitted:?} of {asked:?}");
            }
        }
        let total: usize = admitted.iter().sum();
        prop_assert!(total as f64 <= 120.0 * 30.0 + f64::from(burst), "{admitted:?}");
        prop_assert!(total as f64 >= 0.9 * 120.0 * 30.0, "nothing is wasted: {admitted:?}");
    }

    /// Even where only one call may come at a time, nobody starves.
    #[test]
    fn nobody_starves_without_a_burst(others in 1_usize..6, seed in any::<u64>()) {
        let (admitted, _) = flood(("120/min", 1), others, 4.0, seed);
        let part = 120 * 30 / (others + 1);
        prop_assert!(admitted[1..].iter().all(|calls| 2 * calls >= part), "{admitted:?}");
        prop_assert!(admitted[0] <= part * 6 / 5, "{admitted:?}");
    }

    /// Arbitrary calls and ends: no more in progress than allowed, and all permits come back.
    #[test]
    fn places_are_never_exceeded(
        steps in prop::collection::vec((0_u8..4, any::<bool>(), 0_usize..8, 0_u64..4_000), 1..300),
    ) {
        let mut scene = Scene::new(limits(None, 3), limits(None, 5));
        scene.server.tools.push(("b*".into(), limits(None, 2)));
        let (mut open, mut now): (Vec<(u8, &str, Permit)>, u64) = (Vec::new(), 0);
        for (who, is_call, which, pause) in steps {
            now += pause;
            let tool = if which % 2 == 0 { "a" } else { "b" };
            if is_call {
                if let Ok(permit) = scene.call(&who.to_string(), tool, now) {
                    open.push((who, tool, permit.expect("there are places")));
                }
            } else if !open.is_empty() {
                scene.limiter.end(open.swap_remove(which % open.len()).2);
            }
            let of = |is_it: &dyn Fn(&(u8, &str, Permit)) -> bool| open.iter().filter(|it| is_it(it)).count();
            prop_assert!(open.len() <= 5 && of(&|it| it.1 == "b") <= 2);
            prop_assert!((0..4).all(|who| of(&|it| it.0 == who) <= 3));
            prop_assert_eq!(scene.limiter.held(), open.len());
        }
        open.into_iter().for_each(|(_, _, permit)| scene.limiter.end(permit));
        prop_assert_eq!(scene.limiter.held(), 0);
        scene.limiter.sweep(nanos(at(now + 100_000)));
        prop_assert!(scene.limiter.servers.is_empty() && scene.limiter.identities.is_empty());
    }
}
