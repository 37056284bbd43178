//! Backends that displace each other: one is stopped because a limit is reached, and is needed again soon
//! after. Every start costs its clients seconds, and one setting cures it. Must not know how a backend is
//! stopped or started.

use crate::core::Core;
use crate::fact::Fact;
use crate::ids::BackendId;
use crate::servers::Limit;

impl Core {
    /// Records that a backend is stopped because this limit is reached, not because it is unneeded.
    pub(crate) fn record_eviction(&mut self, backend: BackendId, limit: Limit) {
        let Some(b) = self.backends.get(&backend) else { return };
        if let Some(server) = self.servers.get_mut(b.server()) {
            let place = (b.key().clone(), b.environment().without_sources());
            server.record_eviction(self.clock.now(), place, limit);
        }
    }

    /// Records a start; if it comes too soon after an eviction, the owner is warned.
    pub(crate) fn record_return(&mut self, backend: BackendId) {
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(server) = self.servers.get_mut(b.server()) else { return };
        let place = (b.key().clone(), b.environment().without_sources());
        if let Some(crowding) = server.record_return(self.clock.now(), &place) {
            self.report(Fact::Crowded { backend, crowding });
        }
    }
}
