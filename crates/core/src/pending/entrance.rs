//! First modern requests of clients, which wait until it is known whether their servers speak the modern era. Must not
//! know how that is found out.

use crate::ids::{ClientId, ServerId};
use crate::moment::Moment;
use crate::pending::Unrouted;

/// A request that waits for the eras of servers.
#[derive(Debug)]
pub(crate) struct EraWait {
    pub(crate) client: ClientId,
    pub(crate) request: Unrouted,
    /// The servers whose era was unknown.
    pub(crate) servers: Vec<ServerId>,
    /// After this time, servers that have not answered count as legacy.
    pub(crate) until: Option<Moment>,
}

/// All requests that wait for the eras of servers.
#[derive(Debug, Default)]
pub(crate) struct EraWaits {
    waits: Vec<EraWait>,
}

impl EraWaits {
    pub(crate) fn push(&mut self, wait: EraWait) {
        self.waits.push(wait);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Removes the requests that need not wait any longer, in order of arrival.
    pub(crate) fn take(&mut self, is_over: impl Fn(&EraWait) -> bool) -> Vec<EraWait> {
        self.waits.extract_if(.., |wait| is_over(wait)).collect()
    }

    /// The next time at which a request stops waiting.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.waits.iter().filter_map(|wait| wait.until).min()
    }
}
