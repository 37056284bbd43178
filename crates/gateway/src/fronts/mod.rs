//! The code that talks to clients.

pub(crate) mod stdio;

use crate::intake::ClientReader;
use switchboard_core::{ClientId, ServerId, Surroundings};

/// A client that comes in.
pub(crate) struct Arrival {
    pub(crate) client: ClientId,
    pub(crate) server: ServerId,
    pub(crate) surroundings: Surroundings,
    pub(crate) reader: ClientReader,
}
