//! What is reported: the reasons for stops, and what we take the clients' roots to be.

use super::ledger::Check;
use super::world::World;
use switchboard_core::Fact;

impl World {
    pub(super) fn listen(&mut self, fact: Fact) -> Check {
        let stats = &mut self.stats;
        match fact {
            Fact::RootsKnown { client, roots } => return self.roots_known(client, &roots),
            Fact::Stopping { backend, why } => {
                if let Some(site) = self.sites.get_mut(&backend) {
                    site.why = Some(why);
                }
            }
            Fact::NoRoom { backend, .. } => {
                stats.waits_for_room += 1;
                self.in_line.insert(backend);
            }
            Fact::Fallback { .. } => stats.fallbacks += 1,
            Fact::BreakerOpened { .. } => stats.breaker_openings += 1,
            Fact::Retried { .. } => stats.retries += 1,
            Fact::StateLost { .. } => stats.state_lost += 1,
            _ => {}
        }
        Ok(())
    }
}
