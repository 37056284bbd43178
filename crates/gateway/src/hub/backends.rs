//! Backends as the hub sees them. Implementations know how a backend is started and
//! spoken to; the hub must not.

use super::Hub;
use std::path::PathBuf;
use std::sync::Arc;
use switchboard_core::catalogue::{Offer, OfferKey};
use switchboard_core::pins::PinNews;
use switchboard_core::{Environment, Launch, Record, ServerId, StopHow};
use switchboard_protocol::Framing;

/// Starts and stops backends, and stores facts about them. All methods run under the hub's lock: they must
/// neither block nor take a turn.
pub(crate) trait Backends: Send + Sync {
    fn start(&self, hub: &Arc<Hub>, launch: Launch, setting: BackendSetting);

    fn stop(&self, launch: Launch, how: StopHow);

    /// Ends a backend whose input or output is closed.
    fn cut_off(&self, launch: Launch);

    /// Forgets a backend that has ended.
    fn forget(&self, launch: Launch);

    fn store_offer(&self, server: ServerId, key: OfferKey, offer: Arc<Offer>);

    fn store_record(&self, server: ServerId, record: Record);

    fn store_pins(&self, server: ServerId, news: Vec<PinNews>);
}

/// Properties of one backend, beyond its server's settings.
pub(crate) struct BackendSetting {
    pub(crate) server: ServerId,
    /// Runs in the user's home folder.
    pub(crate) in_home: bool,
    pub(crate) environment: Environment,
    pub(crate) framing: Framing,
    pub(crate) root: Option<PathBuf>,
}
