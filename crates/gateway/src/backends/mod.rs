//! Backends: their kinds, and the orders to them. Must not know which client a backend works for.
//!
//! # Layout
//! - `examine`: preview of a server's launch.
//! - `configured`: backends of configured servers; `servers`: the list of these servers, by number.
//! - `launch`: from a server's entry to a command line; `packages`: package runners, isolated
//!   from a workspace's packages.
//! - `process`: a local process; `stderr`: its log lines.
//! - `remote`: a server reached over HTTP.

pub(crate) mod servers;
pub(crate) mod packages;
pub(crate) mod launch;
mod stderr;
pub(crate) mod process;
pub(crate) mod remote;
pub(crate) mod examine;
pub(crate) mod configured;

use crate::hub::{self, BackendSetting, Hub};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::catalogue::{Offer, OfferKey};
use switchboard_core::pins::PinNews;
use switchboard_core::{Launch, Record, ServerId, StopHow};
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::mpsc;

/// Capacity of a backend's order queue. A full queue already holds orders to end, so more can be dropped.
const MAX_WAITING_ORDERS: usize = 4;

/// Order to the task that governs a backend.
pub(crate) enum BackendOrder {
    Stop(StopHow),
    /// The process closed its stdin or stdout and can serve no requests.
    CutOff,
}

impl BackendOrder {
    /// Grace period before the process is killed.
    pub(crate) fn grace(&self) -> Option<Duration> {
        match self {
            Self::Stop(how) => how.grace(),
            Self::CutOff => None,
        }
    }
}

pub(crate) type BackendOrders = mpsc::Receiver<BackendOrder>;

/// A kind of backend: starts and governs its instances, and stores facts learned about them.
pub(crate) trait BackendKind: Send + Sync {
    /// Starts the task that governs one backend from start to end.
    fn start(self: Arc<Self>, hub: Arc<Hub>, launch: Launch, setting: BackendSetting, orders: BackendOrders);

    fn store_offer(&self, _: ServerId, _: OfferKey, _: Arc<Offer>) {}

    fn store_record(&self, _: ServerId, _: Record) {}

    fn store_pins(&self, _: ServerId, _: Vec<PinNews>) {}
}

/// All running backends of one kind, with their order queues.
pub(crate) struct Dispatch<K> {
    kind: Arc<K>,
    orders: Lock<BTreeMap<Launch, mpsc::Sender<BackendOrder>>>,
}

impl<K: BackendKind> Dispatch<K> {
    pub(crate) fn to(kind: Arc<K>) -> Box<Self> {
        Box::new(Self { kind, orders: Lock::default() })
    }

    fn lock(&self) -> LockGuard<'_, BTreeMap<Launch, mpsc::Sender<BackendOrder>>> {
        self.orders.lock()
    }

    fn order(&self, launch: Launch, order: BackendOrder) {
        if let Some(sender) = self.lock().get(&launch) {
            // Never waits, since the hub's lock is held here.
            let _ = sender.try_send(order);
        }
    }
}

impl<K: BackendKind> hub::Backends for Dispatch<K> {
    fn start(&self, hub: &Arc<Hub>, launch: Launch, setting: BackendSetting) {
        let (sender, orders) = mpsc::channel(MAX_WAITING_ORDERS);
        // Registered before the task starts: an order that follows at once must find the queue.
        self.lock().insert(launch, sender);
        self.kind.clone().start(hub.clone(), launch, setting, orders);
    }

    fn stop(&self, launch: Launch, how: StopHow) {
        self.order(launch, BackendOrder::Stop(how));
    }

    fn cut_off(&self, launch: Launch) {
        self.order(launch, BackendOrder::CutOff);
    }

    fn forget(&self, launch: Launch) {
        self.lock().remove(&launch);
    }

    fn store_offer(&self, server: ServerId, key: OfferKey, offer: Arc<Offer>) {
        self.kind.store_offer(server, key, offer);
    }

    fn store_record(&self, server: ServerId, record: Record) {
        self.kind.store_record(server, record);
    }

    fn store_pins(&self, server: ServerId, news: Vec<PinNews>) {
        self.kind.store_pins(server, news);
    }
}

/// Backend kind of a gateway that starts nothing.
pub(crate) struct NoBackends;

impl BackendKind for NoBackends {
    fn start(self: Arc<Self>, _: Arc<Hub>, _: Launch, _: BackendSetting, _: BackendOrders) {}
}
