//! The end of a run. Perhaps everything comes to rest first; then the program is told to end, in one of several ways, and
//! must be done in time.

use super::{Check, Presence, Scenario, World};
use std::time::Duration;
use switchboard_core::{ClientId, Event};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Drain,
    /// A drain, and a second one or a kill before it is complete.
    DrainTwice,
    DrainThenKill,
    Kill,
    InputsClose,
    ClientsLost,
    /// Messages of a client.
    Exit,
    Shutdown,
}

impl<S: Scenario> World<S> {
    pub(super) fn close(&mut self) -> Check {
        // Ticks are on time from here on, so that the end must come in time.
        if !std::mem::replace(&mut self.ticks_on_time, true) {
            self.told_since = self.now;
        }
        if self.is_finished && S::BEGIN_ANEW(self)? {
            S::CONNECT(self)?;
        }
        if !self.is_finished {
            S::SETTLE(self)?;
        }
        if !self.is_finished {
            self.order_end(self.end)?;
            self.wind_down()?;
            self.wait_for_the_end()?;
        }
        S::CHECK_END(self)?;
        if let Some(launch) = self.alive().next() {
            return Err(format!("{launch} is left"));
        }
        match (self.core.unanswered(), self.core.permits()) {
            (0, (0, _)) => Ok(()),
            (0, (held, _)) => Err(format!("everything is finished, and {held} permits are held")),
            (left, _) => Err(format!("everything is finished, and {left} requests are still pending")),
        }
    }

    fn order_end(&mut self, end: End) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let speaker = self.clients_here().first().copied();
        match (end, speaker) {
            (End::Exit | End::Shutdown, Some(client)) => S::CLIENT_ENDS_US(self, client, end),
            (End::InputsClose, Some(_)) if self.settings.linger.is_none() => {
                clients.into_iter().try_for_each(|client| self.client_ends_input(client))
            }
            (End::ClientsLost, Some(_)) if self.settings.linger.is_none() => {
                clients.into_iter().try_for_each(|client| self.client_vanishes(client))
            }
            (End::Kill, _) => self.order_kill(),
            _ => self.order_drain(),
        }
    }

    fn order_drain(&mut self) -> Check {
        self.is_ending = true;
        self.stats.count("drains");
        self.handle(Event::Drain { why: "the simulation ends" })?;
        S::CHECK_DRAINED(self)
    }

    fn order_kill(&mut self) -> Check {
        self.is_ending = true;
        self.handle(Event::Kill)
    }

    /// Activity goes on for a while: backends answer, clients ask and are refused, new ones connect.
    fn wind_down(&mut self) -> Check {
        for _ in 0..self.rng.below(30) {
            if self.is_finished {
                return Ok(());
            }
            match self.rng.below(100) {
                0..30 => S::CLIENT_ACTS(self)?,
                30..88 => S::PROCESS_ACTS(self)?,
                88..91 => S::LATE_CLIENT(self)?,
                _ => self.advance(Duration::from_millis(50))?,
            }
            S::AFTER_STEP(self)?;
        }
        match self.end {
            _ if self.is_finished => Ok(()),
            End::DrainThenKill => self.order_kill(),
            End::DrainTwice => self.order_drain(),
            End::Drain | End::Kill | End::InputsClose | End::ClientsLost | End::Exit | End::Shutdown => {
                Ok(())
            }
        }
    }

    fn wait_for_the_end(&mut self) -> Check {
        // A process may still start, is then told to end, and takes its time.
        let latest = self.now + self.settings.shutdown_grace + S::END_ALLOWANCE(self);
        while !self.is_finished {
            if self.now > latest {
                return Err(format!("switchboard was told to end, and still runs at {:?}", self.now));
            }
            self.advance(Duration::from_millis(100))?;
        }
        Ok(())
    }

    pub(crate) fn client_ends_input(&mut self, client: ClientId) -> Check {
        match self.clients[&client].presence {
            Presence::Here => self.client_goes(client, Presence::Ended),
            Presence::Ended | Presence::Lost => Ok(()),
        }
    }

    pub(crate) fn client_vanishes(&mut self, client: ClientId) -> Check {
        if self.is_lost(client) { Ok(()) } else { self.client_goes(client, Presence::Lost) }
    }

    fn client_goes(&mut self, client: ClientId, presence: Presence) -> Check {
        let is_lost = presence == Presence::Lost;
        self.client(client).presence = presence;
        self.stats.count(if is_lost { "clients_lost" } else { "clients_ended" });
        // A program without `linger` ends with its last client.
        self.is_ending |= self.settings.linger.is_none() && self.clients_here().is_empty();
        S::LEAVES(self, client);
        self.handle(if is_lost { Event::ClientLost { client } } else { Event::ClientInputEnded { client } })?;
        S::HAS_LEFT(self, client)
    }

    /// The program ends, and closes the connection of a client that has all its answers.
    pub(super) fn let_go(&mut self, client: ClientId) -> Check {
        if !self.is_ending || self.settings.linger.is_none() {
            return Err(format!("{client} is let go, and nobody said so"));
        }
        if let Some(open) = self.ledger.open_of(client).first() {
            return Err(format!("{client} is let go, and waits for {}", self.ledger.requests[*open].id));
        }
        self.stats.count("let_go");
        self.client(client).presence = Presence::Lost;
        S::LEAVES(self, client);
        Ok(())
    }

    /// Fails if a connected client waits for an answer.
    pub(crate) fn check_all_answered(&mut self) -> Check {
        let waits = |r: &&super::Request<S::Request>| r.is_open() && !self.is_lost(r.client);
        match self.ledger.requests.iter().find(waits) {
            Some(open) => Err(format!("it is over, and {} waits for {}", open.client, open.id)),
            None => Ok(()),
        }
    }
}
