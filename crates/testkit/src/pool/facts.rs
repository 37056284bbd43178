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
            // Who of them stays is not seen from here.
            Fact::Separated { backend, .. } => {
                stats.separated += 1;
                self.last_move = self.now;
                // What they have not sent yet goes with them, to wherever they work now.
                for request in self.requests.iter_mut().filter(|r| r.is_open() && r.handed.is_empty()) {
                    request.is_unclear = true;
                }
                if let Some(site) = self.sites.get_mut(&backend) {
                    for client in site.sure.clone() {
                        site.forget(client, false);
                    }
                }
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
