//! The code that talks to clients.

pub mod http;
pub(crate) mod local;
pub(crate) mod stdio;

use crate::io::reader::ClientReader;
use switchboard_core::{ClientId, Environment, Event, ServerId, Surroundings};

/// A client that comes in.
pub(crate) struct Arrival {
    pub(crate) client: ClientId,
    pub(crate) wants: Wanted,
    pub(crate) surroundings: Surroundings,
    pub(crate) reader: ClientReader,
}

/// Which servers a client wants.
pub(crate) enum Wanted {
    One(ServerId),
    /// All of the config, as one; each with the number of the environment that it gets.
    All(Vec<(ServerId, Environment)>),
    /// Some of them.
    Some(Vec<(ServerId, Environment)>, Vec<ServerId>),
}

impl Wanted {
    pub(crate) fn event(self, client: ClientId, surroundings: Surroundings) -> Event {
        match self {
            Self::One(server) => Event::ClientConnected { client, server, surroundings },
            Self::All(environments) => {
                Event::AggregateConnected { client, surroundings, environments, only: None }
            }
            Self::Some(environments, only) => {
                Event::AggregateConnected { client, surroundings, environments, only: Some(only) }
            }
        }
    }
}
