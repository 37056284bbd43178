//! Backends: orders to them, their kinds, and which kind serves whom. Must not know which client a backend works for.
//!
//! # Layout
//! - `examine`: what would be run for a server.
//! - `configured`: backends of the config's servers; `servers`: these servers, by number.
//! - `launch`: from a server's entry to a command line; `packages`: package runners, kept from a workspace's own packages.
//! - `process`: a process on this machine; `stderr`: its log lines.
//! - `remote`: a server that is spoken to over HTTP.

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
use switchboard_core::{Launch, Record, ServerId, StopHow};
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::mpsc;

/// Orders that wait for one backend at most. A full channel holds orders to end already.
const MAX_WAITING_ORDERS: usize = 4;

/// Order to the task that governs a backend.
pub(crate) enum BackendOrder {
    Stop(StopHow),
    /// It closed its input or its output: it can serve nobody any more.
    CutOff,
}

impl BackendOrder {
    /// How long it may take to stop by itself.
    pub(crate) fn grace(&self) -> Option<Duration> {
        match self {
            Self::Stop(how) => how.grace(),
            Self::CutOff => None,
        }
    }
}

pub(crate) type BackendOrders = mpsc::Receiver<BackendOrder>;

/// A kind of backend: how one is started and governed, and where what was learnt about it is stored.
pub(crate) trait BackendKind: Send + Sync {
    /// Starts a task that governs one backend from its start to its end.
    fn start(self: Arc<Self>, hub: Arc<Hub>, launch: Launch, setting: BackendSetting, orders: BackendOrders);

    fn store_offer(&self, _: ServerId, _: OfferKey, _: Arc<Offer>) {}

    fn store_record(&self, _: ServerId, _: Record) {}
}

/// All backends of one kind, with the orders to those that run.
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
            let _ = sender.try_send(order);
        }
    }
}

impl<K: BackendKind> hub::Backends for Dispatch<K> {
    fn start(&self, hub: &Arc<Hub>, launch: Launch, setting: BackendSetting) {
        let (sender, orders) = mpsc::channel(MAX_WAITING_ORDERS);
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
}

/// No backends: nothing is ever started.
pub(crate) struct NoBackends;

impl BackendKind for NoBackends {
    fn start(self: Arc<Self>, _: Arc<Hub>, _: Launch, _: BackendSetting, _: BackendOrders) {}
}
