//! Backends of the servers in the config: local processes and remote servers, told apart by their entries.

use super::launch::LaunchPlan;
use super::packages::PackagesFolder;
use super::servers::Servers;
use super::{BackendKind, BackendOrders, process, remote};
use crate::config::ServerConfig;
use crate::environments::{self, Vars};
use crate::hub::{BackendSetting, Hub};
use crate::io::task;
use crate::keeping::Keeping;
use crate::stores::Stores;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::catalogue::{Offer, OfferKey};
use switchboard_core::pins::PinNews;
use switchboard_core::{Environment, Fact, Launch, Record, ServerId};
use switchboard_process::warden::{Swept, Warden};

/// Starts and reads backends of configured servers.
pub(crate) struct ConfiguredBackends {
    servers: Arc<Servers>,
    max_message_bytes: usize,
    warden: Warden,
    /// Connections to remote servers.
    clients: remote::Clients,
    stores: Stores,
    keeping: Arc<Keeping>,
}

impl ConfiguredBackends {
    pub(crate) fn new(
        servers: Arc<Servers>,
        max_message_bytes: usize,
        warden: Warden,
        stores: Stores,
    ) -> Arc<Self> {
        let (clients, keeping) = (remote::Clients::default(), Arc::default());
        Arc::new(Self { servers, max_message_bytes, warden, clients, stores, keeping })
    }

    /// Environment of a client with these variables at each server.
    pub(crate) fn environments_of(&self, vars: &Arc<Vars>) -> Vec<(ServerId, Environment)> {
        let mut last = Environment::default();
        let brought = |(id, server): (ServerId, Arc<ServerConfig>)| {
            // Equal environments share one allocation; servers mostly differ in no variable.
            last = environments::environment(&server, vars).or_same(&last);
            (id, last.clone())
        };
        self.servers.listed().into_iter().map(brought).collect()
    }

    pub(crate) fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Waits up to `within` until pending writes are on disk.
    pub(crate) async fn finish_writes(&self, within: Duration) {
        self.keeping.finish(within).await;
    }

    /// Sweeps after runs that were killed together with their guards.
    pub(crate) async fn sweep(&self, hub: &Arc<Hub>) {
        let swept = self.warden.sweep().await.into_iter();
        // A sweep that found nothing is not worth a line.
        for Swept { ended, left } in swept.filter(|swept| *swept != Swept::default()) {
            let names = ended.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            hub.telemetry().desk().take(Fact::Swept { names, left });
        }
    }

    /// Waits up to `store_timeout` until pending writes are on disk, then ends the warden.
    pub(crate) async fn close(&self, store_timeout: Duration) {
        self.keeping.finish(store_timeout).await;
        self.warden.close().await;
    }

    async fn run(&self, hub: Arc<Hub>, launch: Launch, setting: BackendSetting, orders: BackendOrders) {
        let BackendSetting { server, in_home, environment, framing, root } = setting;
        // A reload may have removed the server since the core asked for this start.
        let Some(server) = self.servers.server(server) else { return };
        let vars = Vars::of(&environment);
        if server.remote.is_some() {
            let surroundings = (&*vars, &self.clients, self.max_message_bytes);
            return remote::run(hub, launch, &server, root.as_deref(), surroundings, orders).await;
        }
        let packages = PackagesFolder::new(self.stores.launches.state_folder());
        let plan = LaunchPlan { server: (*server).clone(), root, in_home, vars, packages };
        let wire = process::Wire { framing, max_message_bytes: self.max_message_bytes };
        process::run(hub, launch, &self.warden, plan, wire, orders).await;
    }
}

impl BackendKind for ConfiguredBackends {
    fn start(self: Arc<Self>, hub: Arc<Hub>, launch: Launch, setting: BackendSetting, orders: BackendOrders) {
        task::spawn("backend", async move { self.run(hub, launch, setting, orders).await });
    }

    fn store_offer(&self, server: ServerId, key: OfferKey, offer: Arc<Offer>) {
        if let Some(server) = self.servers.server(server) {
            self.keeping.offer(server, self.stores.shelf.clone(), key, offer);
        }
    }

    fn store_record(&self, id: ServerId, record: Record) {
        if let Some(server) = self.servers.server(id) {
            self.keeping.record((id, server), self.stores.launches.clone(), record);
        }
    }

    fn store_pins(&self, server: ServerId, news: Vec<PinNews>) {
        if let Some(server) = self.servers.server(server) {
            self.keeping.pins(server, self.stores.pins.clone(), news);
        }
    }
}
