//! How a run ends: perhaps time goes on until everything must be answered; then we are told to end, one way
//! or the other, and everything must be over within its time.

use super::client::Presence;
use super::ledger::Check;
use super::plan::End;
use super::world::World;
use std::time::Duration;
use switchboard_core::{ClientId, Event};

impl World {
    pub(super) fn close(&mut self) -> Check {
        // From here on time is told as it passes, so that the end can be expected to come in time.
        if !std::mem::replace(&mut self.plan.is_punctual, true) {
            self.told_since = self.now;
        }
        if self.plan.settles {
            self.settle()?;
        }
        self.order_end()?;
        self.linger()?;
        self.wait_for_the_end()?;
        self.check_end()
    }

    /// Nobody says anything for as long as any request may take.
    fn settle(&mut self) -> Check {
        let watched = self.ledger.watched.clone();
        let latest = watched.into_iter().filter_map(|number| self.latest_answer(number)).max();
        let Some(latest) = latest.filter(|latest| *latest > self.now) else { return Ok(()) };
        self.note(|| "time passes until everything must be answered".into());
        self.advance(latest.since(self.now) + Duration::from_millis(1))?;
        self.tick()
    }

    fn order_end(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let speaker =
            self.clients.iter().find(|(_, c)| c.presence == Presence::Here).map(|(&client, _)| client);
        match (self.plan.end, speaker) {
            (End::Exit, Some(client)) => self.client_exits(client),
            (End::Shutdown, Some(client)) => {
                self.client_says_farewell(client)?;
                clients.into_iter().try_for_each(|client| self.client_ends_input(client))
            }
            (End::InputsClose, Some(_)) => {
                clients.into_iter().try_for_each(|client| self.client_ends_input(client))
            }
            (End::ClientsLost, Some(_)) => {
                clients.into_iter().try_for_each(|client| self.client_vanishes(client))
            }
            (End::Kill, _) => self.order_kill(),
            _ => self.order_drain(),
        }
    }

    fn order_drain(&mut self) -> Check {
        self.stats.drains += 1;
        self.note(|| "we are told to end".into());
        self.handle(Event::Drain { why: "the simulation ends" })?;
        self.check_drained()
    }

    fn order_kill(&mut self) -> Check {
        self.stats.kill_orders += 1;
        self.note(|| "we are told to end at once".into());
        self.handle(Event::Kill)
    }

    /// Life goes on for a while: backends answer, clients ask and are refused, even a new one comes.
    fn linger(&mut self) -> Check {
        for _ in 0..self.rng.below(30) {
            if self.is_finished {
                return Ok(());
            }
            match self.rng.below(100) {
                0..30 => self.client_acts()?,
                30..90 => self.backend_acts()?,
                90..93 if self.clients.len() < 6 => {
                    self.stats.clients_in_the_end += 1;
                    self.connect()?;
                }
                _ => self.advance(Duration::from_millis(50))?,
            }
            self.eager_clients_read()?;
        }
        match self.plan.end {
            End::DrainThenKill => self.order_kill(),
            End::DrainTwice => self.order_drain(),
            End::Drain | End::Kill | End::InputsClose | End::ClientsLost | End::Exit | End::Shutdown => {
                Ok(())
            }
        }
    }

    fn wait_for_the_end(&mut self) -> Check {
        let (own, server) = (self.plan.settings.shutdown_grace, self.plan.settings.servers[0].shutdown_grace);
        // A process may still be made, is then told to end, and takes its time.
        let latest = self.now + own + server * 2 + Duration::from_secs(3);
        while !self.is_finished {
            if self.now > latest {
                return Err(format!("we were told to end, and it is not over at {:?}", self.now));
            }
            self.advance(Duration::from_millis(100))?;
        }
        Ok(())
    }
}
