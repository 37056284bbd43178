//! A hub with the backends of a config's servers, for every mode that serves the config itself.

use super::policy::Policy;
use super::tasks::{LAST_WRITES_TIMEOUT, Tasks};
use crate::backends::Dispatch;
use crate::backends::configured::ConfiguredBackends;
use crate::backends::launch;
use crate::backends::servers::Servers;
use crate::config::{Config, Guard, ServerConfig};
use crate::environments::{Vars, environment};
use crate::fronts::{Arrival, Wanted};
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::secrets;
use crate::settings::{self, RootOptions};
use crate::stores::Stores;
use crate::telemetry::Telemetry;
use crate::tokens::{self, TokenStore};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::Proof;
use switchboard_core::{ClientId, Core, Event, Fact, ServerId, Surroundings};
use switchboard_process::warden::Warden;

/// Lifetime of a gateway.
pub(super) enum Lifetime {
    /// As long as its one client, which may be served by another policy.
    Client { policy: Policy },
    /// `linger` beyond its last client; for good if it `stays`.
    Daemon { linger: Duration, stays: bool },
}

/// A hub and its backends.
pub(super) struct Gateway {
    pub(super) hub: Arc<Hub>,
    pub(super) backends: Arc<ConfiguredBackends>,
    pub(super) servers: Arc<Servers>,
    /// Variables of this process.
    pub(super) vars: Arc<Vars>,
    pub(super) tokens: Arc<TokenStore>,
}

impl Gateway {
    /// `reports_routes` logs the route of each request.
    pub(super) fn new(
        config: &Config,
        servers: Vec<ServerConfig>,
        state_folder: &Path,
        lifetime: Lifetime,
        telemetry: Arc<Telemetry>,
        reports_routes: bool,
    ) -> Self {
        let vars = Arc::new(Vars::own());
        secrets::learn_config(config, &|name| vars.get(name));
        let stores = Stores::new(state_folder);
        let (linger, stays, policy) = match lifetime {
            Lifetime::Client { policy } => (None, false, policy),
            Lifetime::Daemon { linger, stays } => (Some(linger), stays, Policy::default()),
        };
        let tokens = TokenStore::new(state_folder, config.profiles.clone());
        let authenticator = policy.authenticator.unwrap_or_else(|| tokens.clone());
        let report = |fact: Fact| telemetry.desk().take(fact);
        let mut settings = settings::of_config(config, &servers, &vars, &stores, linger, &report);
        settings.authenticator = authenticator;
        settings.report_routes = reports_routes;
        settings.stays = stays;
        settings.limiter = policy.limiter;
        let warden = launch::warden_for(&servers, state_folder);
        // A daemon may get guarded servers by a later reload, so its layers are always reported.
        let is_unguarded = linger.is_none()
            && !servers.is_empty()
            && servers.iter().all(|server| server.guard == Guard::Off);
        telemetry.desk().take(guards(&warden, is_unguarded));
        let servers = Servers::new(servers, vars.clone());
        let backends = ConfiguredBackends::new(servers.clone(), config.max_message_bytes, warden, stores);
        let hub = Hub::new(Core::new(settings), Dispatch::to(backends.clone()), telemetry);
        Self { hub, backends, servers, vars, tokens }
    }

    /// A client in this process's own surroundings: of one server, or of all as one.
    pub(super) fn own_client(
        &self,
        client: ClientId,
        server: Option<ServerId>,
        roots: &RootOptions,
        proof: Proof,
    ) -> Arrival {
        let root_arguments = match server {
            None => Some(self.servers.every_root_argument()),
            Some(server) => self.servers.root_arguments(server),
        };
        let wants = match server {
            None => Wanted::All(self.backends.environments_of(&self.vars)),
            Some(server) => Wanted::One(server),
        };
        let own = server.and_then(|server| self.servers.server(server));
        let environment = own.map(|server| environment(&server, &self.vars)).unwrap_or_default();
        let surroundings = Surroundings { environment, ..settings::own_surroundings(roots, proof) };
        let reader = root_arguments.map(ClientReader::new).unwrap_or_default();
        Arrival { client, wants, surroundings, reader }
    }

    /// Starts the core's timer, memory measurements, the watch over tokens, and the sweep after earlier runs.
    pub(super) fn start_upkeep(&self) -> Tasks {
        let mut tasks = Tasks::of(&self.hub);
        tasks.spawn("measuring", self.hub.clone().keep_measuring());
        let hub = self.hub.clone();
        tasks.spawn(
            "tokens",
            tokens::watch(self.tokens.clone(), move |refreshed| {
                // The owner's token may be another one, which texts must not show either.
                hub.learn_secrets(Vec::new());
                if let Some(why) = refreshed.fault {
                    hub.telemetry().desk().take(Fact::TokensRejected { why });
                }
                for identity in refreshed.ended {
                    hub.handle(Event::Revoked { identity });
                }
            }),
        );
        let (hub, backends) = (self.hub.clone(), self.backends.clone());
        tasks.spawn("sweeping", async move { backends.sweep(&hub).await });
        tasks
    }

    /// Writes pending files and log lines, and ends the warden.
    pub(super) async fn close(self) {
        self.backends.close(LAST_WRITES_TIMEOUT).await;
        self.hub.telemetry().close(LAST_WRITES_TIMEOUT);
    }
}

/// Report of the layers that keep processes from outliving us.
fn guards(warden: &Warden, is_unguarded: bool) -> Fact {
    if is_unguarded {
        return Fact::Layers { text: "guard: off, as requested".to_owned(), are_wanting: false };
    }
    let layers = warden.layers();
    Fact::Layers { text: layers.to_string(), are_wanting: layers.are_wanting() }
}
