//! Clients and processes, as far as every scenario has them: who is there, and since when.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use switchboard_core::{ClientId, Launch};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// Sends nothing more, but reads.
    Ended,
    Lost,
}

/// A client, with the scenario's own part.
#[derive(Debug)]
pub(crate) struct Client<C> {
    pub(crate) id: ClientId,
    pub(crate) presence: Presence,
    pub(crate) own: C,
}

impl<C> Client<C> {
    pub(crate) fn is_there(&self) -> bool {
        self.presence != Presence::Lost
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Asked for, and not there yet.
    Making,
    Alive,
    Gone,
}

/// A process of a backend, with the scenario's own part.
#[derive(Debug)]
pub(crate) struct Process<P> {
    pub(crate) launch: Launch,
    /// Number of its server in the config.
    pub(crate) server: usize,
    pub(crate) root: Option<String>,
    pub(crate) environment: u32,
    pub(crate) phase: Phase,
    /// Was told to end.
    pub(crate) is_stopping: bool,
    /// Ids that it was given.
    pub(crate) given: BTreeSet<u64>,
    pub(crate) own: P,
}

impl<P> Process<P> {
    /// Whether it exists, or is being made.
    pub(crate) fn is_alive(&self) -> bool {
        self.phase != Phase::Gone
    }

    pub(crate) fn is_staying(&self) -> bool {
        self.is_alive() && !self.is_stopping
    }
}

impl<C> Deref for Client<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.own
    }
}

impl<C> DerefMut for Client<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.own
    }
}

impl<P> Deref for Process<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.own
    }
}

impl<P> DerefMut for Process<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.own
    }
}
