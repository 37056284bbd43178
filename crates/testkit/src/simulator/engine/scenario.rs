//! The difference between one simulation and another. Must not know how the engine runs it.

use super::ending::End;
use super::ledger::Check;
use super::rng::Rng;
use super::world::World;
use std::time::Duration;
use switchboard_core::{Action, ClientId, Fact, Launch, Settings};
use switchboard_protocol::Outgoing;

/// An act or a check of a scenario, with access to the whole world.
pub(crate) type Act<S> = fn(&mut World<S>) -> Check;
pub(crate) type ClientAct<S> = fn(&mut World<S>, ClientId) -> Check;
pub(crate) type ProcessAct<S> = fn(&mut World<S>, Launch) -> Check;
/// The scenario's own part of a process, and the duration of its start.
pub(crate) type Made<P> = (P, Duration);
pub(crate) type Make<S> = fn(&mut World<S>, &Start) -> Check<Made<<S as Scenario>::Process>>;
/// Folders on disk, and the duration of their lookup.
pub(crate) type Found = (Vec<Option<String>>, Duration);

/// The difference between one simulation and another: types, and functions that the engine calls.
pub(crate) trait Scenario: Sized {
    /// Test binary that runs it.
    const TEST: &'static str;
    /// Names of its counters, separated by white space.
    const COUNTERS: &'static str;
    /// Whether no deadline may be earlier than the next requested tick, and a tick must leave no expired one.
    const KEEPS_DEADLINES: bool = true;
    /// Longest jumps of time, in milliseconds.
    const LONGEST_JUMP: (usize, usize);

    type Plan;
    type Client;
    type Process;
    type Request;
    /// State of the current event.
    type Turn: Default;
    /// A scheduled event of the scenario, other than the start and the end of a process.
    type Errand;

    const DRAW: fn(&mut Rng, u64) -> Run<Self>;
    const CLIENT_ACTS: Act<Self>;
    const PROCESS_ACTS: Act<Self>;
    const CONNECT: Act<Self>;
    /// Whether another client may connect now, and must.
    const WANTS_CLIENT: fn(&World<Self>) -> (bool, bool);
    /// Performs a special act at times; `false` if it did not.
    const SPECIAL_ACT: fn(&mut World<Self>) -> Check<bool>;
    /// Checks a start, and creates the process.
    const START: Make<Self>;
    const CANNOT_SPAWN: fn(&mut World<Self>, Launch) -> bool;
    const AT_CLIENT: fn(&mut World<Self>, ClientId, &Outgoing, Vec<u8>) -> Check;
    const AT_PROCESS: fn(&mut World<Self>, Launch, &Outgoing, Vec<u8>) -> Check;
    const HEAR: fn(&mut World<Self>, &Fact) -> Check;
    /// Time for the end, beyond the core's own.
    const END_ALLOWANCE: fn(&World<Self>) -> Duration;

    /// Prepares a new world.
    const BEGIN: fn(&mut World<Self>) = |_| {};
    /// Restarts the program, if the scenario has more than one run.
    const BEGIN_ANEW: fn(&mut World<Self>) -> Check<bool> = |_| Ok(false);
    const AFTER_STEP: Act<Self> = |_| Ok(());
    const AFTER_EVENT: Act<Self> = |_| Ok(());
    const AFTER_TICK: Act<Self> = |_| Ok(());
    /// Called before a jump of time, and after everything that happens during one.
    const BEFORE_JUMP: Act<Self> = |_| Ok(());
    const DURING_JUMP: Act<Self> = |_| Ok(());
    const ERRAND: fn(&mut World<Self>, Self::Errand) -> Check = |_, _| Ok(());
    /// Folders of a client on disk, and the duration of their lookup. Then: called when they are found.
    const LOOK_UP: fn(&mut World<Self>, Vec<String>) -> Found =
        |_, paths| (paths.into_iter().map(Some).collect(), Duration::ZERO);
    const LOOKED_UP: fn(&mut World<Self>, ClientId) = |_, _| {};
    /// Actions that only some scenarios allow.
    const PERFORM: fn(&mut World<Self>, Action) -> Check =
        |_, action| Err(format!("nobody here expects {action:?}"));
    const CHECK_STOP: ProcessAct<Self> = |_, _| Ok(());
    /// Called when a process is gone, before and after the core is told.
    const IS_GONE: fn(&mut World<Self>, Launch) = |_, _| {};
    const HAS_GONE: ProcessAct<Self> = |_, _| Ok(());
    /// Called when a client closes its input or is lost, before and after the core is told.
    const LEAVES: fn(&mut World<Self>, ClientId) = |_, _| {};
    const HAS_LEFT: ClientAct<Self> = |_, _| Ok(());
    /// Lets everything come to rest before the end, in some runs.
    const SETTLE: Act<Self> = |_| Ok(());
    /// Ends the program by a client's own message.
    const CLIENT_ENDS_US: fn(&mut World<Self>, ClientId, End) -> Check = |_, _, _| Ok(());
    /// Connects a client after the end has begun.
    const LATE_CLIENT: Act<Self> = |_| Ok(());
    const CHECK_DRAINED: Act<Self> = |_| Ok(());
    const CHECK_END: Act<Self> = |world| world.check_all_answered();
}

/// A run as drawn from its seed.
pub(crate) struct Run<S: Scenario> {
    pub(crate) settings: Settings,
    pub(crate) plan: S::Plan,
    pub(crate) own: S,
    pub(crate) steps: usize,
    pub(crate) end: End,
}

/// A process that is to be started.
pub(crate) struct Start {
    pub(crate) launch: Launch,
    pub(crate) server: usize,
    pub(crate) framing: switchboard_protocol::Framing,
    pub(crate) root: Option<String>,
    pub(crate) environment: u32,
}
