//! The user's one daemon: all windows share one set of backends. Must not know how a client's streams are
//! handed over, or which tasks run.
//!
//! # Layout
//! - `admission`: limit on clients by free descriptors.
//! - `control`: requests from the command line.
//! - `reload`: a changed config, applied without a restart.
//! - `pins`: approvals of changed tools.
//! - `standby`: servers that run without a client.
//! - `clients`: clients of attachments.
//! - `socket`: the local socket and its requests.

mod admission;
pub mod control;
pub(crate) mod reload;
mod pins;
pub(crate) mod standby;
mod clients;
pub(crate) mod socket;

pub(crate) use clients::{HeldClient, StreamHolder};

use crate::backends::configured::ConfiguredBackends;
use crate::backends::servers::Servers;
use crate::config::{self, ClientEra, Config, ServerConfig, StdioAccess};
use crate::environments::{Vars, environment};
use crate::fronts::ClientHost;
use crate::hub::Hub;
use crate::paths;
use crate::profiles::Profiles;
use crate::tokens::TokenStore;
use reload::{CurrentConfig, Overrides, Source};
use standby::StartedServers;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;
use switchboard_core::access::Authenticator;
use switchboard_core::{ClientId, Environment, ServerId};
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::Notify;

/// A client's server, if it uses only one, and its variables.
type ClientEntry = (Option<ServerId>, Arc<Vars>);

/// Parts of the daemon's state.
pub(crate) struct DaemonSetup {
    pub(crate) hub: Arc<Hub>,
    pub(crate) backends: Arc<ConfiguredBackends>,
    pub(crate) servers: Arc<Servers>,
    /// Variables of this process.
    pub(crate) vars: Arc<Vars>,
    pub(crate) config: Config,
    pub(crate) source: Option<Source>,
    pub(crate) overrides: Overrides,
    pub(crate) state_folder: PathBuf,
    /// Whether it serves over HTTP.
    pub(crate) stays: bool,
    pub(crate) default_root: Option<PathBuf>,
    pub(crate) stays_without_clients: bool,
    pub(crate) streams: Box<dyn StreamHolder>,
    pub(crate) tokens: Arc<TokenStore>,
}

/// State of the daemon, shared by all connections.
pub(crate) struct DaemonState {
    hub: Arc<Hub>,
    backends: Arc<ConfiguredBackends>,
    servers: Arc<Servers>,
    current: CurrentConfig,
    /// Variables of this process.
    vars: Arc<Vars>,
    /// Connected clients.
    clients: Lock<BTreeMap<ClientId, ClientEntry>>,
    framing: config::Framing,
    grace: Duration,
    max_message_bytes: usize,
    /// Whether it serves over HTTP.
    stays: bool,
    default_root: Option<String>,
    /// Whether servers with `lazy: false` run without a client.
    stays_without_clients: bool,
    started: StartedServers,
    tokens: Arc<TokenStore>,
    /// Whether clients over stdio need a token.
    stdio_access: Lock<StdioAccess>,
    profiles: Profiles,
    serves_modern: AtomicBool,
    next_client: AtomicU32,
    /// Clients that were admitted and whose streams have not arrived.
    arriving: AtomicUsize,
    retired: Notify,
    streams: Box<dyn StreamHolder>,
}

impl DaemonState {
    pub(crate) fn new(setup: DaemonSetup) -> Arc<Self> {
        let DaemonSetup { hub, backends, servers, vars, config, source, overrides, .. } = setup;
        let file = source.as_ref().map(|source| source.path.clone());
        // Names of a daemon that ends with its clients are not stored: the next one should not start them.
        let stored_for = file.as_deref().filter(|_| setup.stays_without_clients);
        Arc::new(Self {
            hub,
            backends,
            servers,
            vars,
            clients: Lock::default(),
            framing: config.framing,
            grace: config.shutdown_grace,
            max_message_bytes: config.max_message_bytes,
            stays: setup.stays,
            default_root: setup.default_root.as_deref().and_then(paths::canonical),
            stays_without_clients: setup.stays_without_clients,
            started: StartedServers::load(&setup.state_folder, stored_for),
            tokens: setup.tokens,
            stdio_access: Lock::new(config.stdio_access),
            profiles: Profiles::new(&config.profiles),
            serves_modern: AtomicBool::new(config.client_era == ClientEra::Auto),
            current: CurrentConfig::new(config, source, overrides),
            next_client: AtomicU32::new(1),
            arriving: AtomicUsize::new(0),
            retired: Notify::new(),
            streams: setup.streams,
        })
    }

    /// Applies who may connect and in which era, and which rights profiles give.
    fn set_access(&self, config: &Config) {
        // For new windows; connected ones have proved who they are.
        *self.stdio_access.lock() = config.stdio_access;
        self.profiles.set(&config.profiles);
        self.serves_modern.store(config.client_era == ClientEra::Auto, Ordering::Relaxed);
        self.tokens.set_profiles(config.profiles.clone());
    }

    fn clients(&self) -> LockGuard<'_, BTreeMap<ClientId, ClientEntry>> {
        self.clients.lock()
    }
}

impl ClientHost for DaemonState {
    fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    fn servers(&self) -> &Servers {
        &self.servers
    }

    fn max_message_bytes(&self) -> usize {
        self.max_message_bytes
    }

    fn default_root(&self) -> Option<String> {
        self.default_root.clone()
    }

    fn serves_modern(&self) -> bool {
        self.serves_modern.load(Ordering::Relaxed)
    }

    fn authenticator(&self) -> &dyn Authenticator {
        &*self.tokens
    }

    fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    fn environment(&self, server: &ServerConfig) -> Environment {
        environment(server, &self.vars)
    }

    fn environments(&self) -> Vec<(ServerId, Environment)> {
        self.backends.environments_of(&self.vars)
    }

    fn next_client(&self) -> ClientId {
        ClientId(self.next_client.fetch_add(1, Ordering::Relaxed))
    }

    fn enter(&self, client: ClientId, server: Option<ServerId>) {
        self.clients().insert(client, (server, self.vars.clone()));
    }

    fn leave(&self, client: ClientId) {
        self.clients().remove(&client);
    }
}
