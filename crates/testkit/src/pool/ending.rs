//! How a run ends: everything that is open is answered, everything that runs is stopped.

use super::ledger::Check;
use super::plan::End;
use super::world::World;
use std::time::Duration;
use switchboard_core::{ClientId, Event};

impl World {
    pub(super) fn close(&mut self) -> Check {
        if !std::mem::replace(&mut self.plan.is_punctual, true) {
            self.told_since = self.now;
        }
        if self.rng.percent(40) && !self.is_ending {
            self.settle()?;
        }
        self.order_end()?;
        for _ in 0..self.rng.below(20) {
            if self.is_finished {
                return Ok(());
            }
            match self.rng.below(10) {
                0..3 => self.client_acts()?,
                3..9 => self.process_acts()?,
                _ => self.advance(Duration::from_millis(50))?,
            }
            self.prompt_ones_answer()?;
        }
        if self.plan.end == End::DrainTwice {
            self.handle(Event::Drain { why: "the simulation ends, really" })?;
        }
        self.wait_for_the_end()
    }

    /// Nobody says anything for as long as anything may take.
    fn settle(&mut self) -> Check {
        self.note(|| "time passes until everything must be answered".into());
        let patience = self.patience();
        self.advance(patience)?;
        self.tick()
    }

    fn order_end(&mut self) -> Check {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        match self.plan.end {
            End::Drain | End::DrainTwice => {
                self.note(|| "we are told to end".into());
                self.is_ending = true;
                self.handle(Event::Drain { why: "the simulation ends" })
            }
            End::Kill => {
                self.note(|| "we are told to end at once".into());
                self.is_ending = true;
                self.handle(Event::Kill)
            }
            End::InputsClose => clients.into_iter().try_for_each(|client| self.client_ends_input(client)),
            End::ClientsLost => clients.into_iter().try_for_each(|client| self.client_vanishes(client)),
        }
    }

    fn wait_for_the_end(&mut self) -> Check {
        let (own, server) = (self.plan.settings.shutdown_grace, self.plan.settings.servers[0].shutdown_grace);
        // A process may still be made, is then told to end, and takes its time.
        let latest = self.now + own + server * 2 + Duration::from_secs(9);
        while !self.is_finished {
            if self.now > latest {
                return Err(format!("we were told to end, and it is not over at {:?}", self.now));
            }
            self.advance(Duration::from_millis(100))?;
        }
        Ok(())
    }
}
