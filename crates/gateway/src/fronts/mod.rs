//! Fronts: the code that talks to clients. Must not know the daemon, which is a `ClientHost` to them.
//!
//! # Layout
//! - `stdio`: a client over a pair of streams.
//! - `local`: clients over the daemon's socket.
//! - `http`: clients over HTTP.

pub(crate) mod stdio;
pub(crate) mod local;
pub mod http;

use crate::backends::servers::Servers;
use crate::config::ServerConfig;
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::profiles::Profiles;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::Authenticator;
use switchboard_core::{ClientId, Environment, Event, ServerId, Surroundings};
use switchboard_protocol::Framing;

/// Host of clients, as a front sees it.
pub(crate) trait ClientHost: Send + Sync {
    fn hub(&self) -> &Arc<Hub>;

    fn servers(&self) -> &Servers;

    fn max_message_bytes(&self) -> usize;

    /// Root of clients that name none.
    fn default_root(&self) -> Option<String>;

    /// Whether requests without a handshake are served, as MCP has them from 2026-07-28 on.
    fn serves_modern(&self) -> bool;

    /// Recognises the tokens of clients.
    fn authenticator(&self) -> &dyn Authenticator;

    fn profiles(&self) -> &Profiles;

    /// Environment at a server for a client without variables of its own.
    fn environment(&self, server: &ServerConfig) -> Environment;

    /// The same for all servers.
    fn environments(&self) -> Vec<(ServerId, Environment)>;

    fn next_client(&self) -> ClientId;

    /// Registers a client of one server, or of several, without variables of its own.
    fn enter(&self, client: ClientId, server: Option<ServerId>);

    fn leave(&self, client: ClientId);
}

/// A new client.
pub(crate) struct Arrival {
    pub(crate) client: ClientId,
    pub(crate) wants: Wanted,
    pub(crate) surroundings: Surroundings,
    pub(crate) reader: ClientReader,
}

/// Options for a client on a pair of streams.
pub(crate) struct StreamOptions {
    /// `None` detects it from the first bytes.
    pub(crate) framing: Option<Framing>,
    pub(crate) max_message_bytes: usize,
    /// Grace period for open requests after the client has closed its end.
    pub(crate) grace: Duration,
    /// Name of the server, for people.
    pub(crate) server: String,
}

/// Servers that a client uses.
pub(crate) enum Wanted {
    One(ServerId),
    /// All servers that its rights include, as one, with the environment for each.
    All(Vec<(ServerId, Environment)>),
}

impl Wanted {
    pub(crate) fn event(self, client: ClientId, surroundings: Surroundings) -> Event {
        match self {
            Self::One(server) => Event::ClientConnected { client, server, surroundings },
            Self::All(environments) => Event::AggregateConnected { client, surroundings, environments },
        }
    }
}
