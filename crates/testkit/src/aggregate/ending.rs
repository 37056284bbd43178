//! How a run ends: everything that is open is answered, everything that runs is stopped.

use super::client::Presence;
use super::ledger::Check;
use super::world::World;
use std::time::Duration;
use switchboard_core::Event;

impl World {
    pub(super) fn close(&mut self) -> Check {
        if self.is_finished {
            self.begin_anew()?;
            self.connect()?;
        }
        if self.rng.percent(80) {
            self.comes_to_rest()?;
        }
        self.plan.is_punctual = true;
        if self.is_finished {
            return Ok(());
        }
        if !self.is_ending {
            self.note(|| "we are told to end".into());
            self.is_ending = true;
            self.handle(Event::Drain { why: "the simulation ends" })?;
        }
        for _ in 0..self.rng.below(20) {
            if self.is_finished {
                break;
            }
            match self.rng.below(10) {
                0..3 => self.client_acts()?,
                3..9 => self.process_acts()?,
                _ => self.advance(Duration::from_millis(50))?,
            }
        }
        let servers = self.servers.iter().map(|server| server.settings.shutdown_grace).max();
        let latest = self.now
            + self.plan.settings.shutdown_grace
            + servers.unwrap_or_default() * 4
            + Duration::from_secs(50);
        while !self.is_finished {
            if self.now > latest {
                return Err(format!("we were told to end, and it is not over at {:?}", self.now));
            }
            self.advance(Duration::from_millis(200))?;
        }
        let there = self.clients.values().find(|c| c.presence != Presence::Lost);
        match there.filter(|_| self.plan.settings.linger.is_some()) {
            Some(c) => Err(format!("it is over, and {} was not let go", c.id)),
            None => Ok(()),
        }
    }
}
