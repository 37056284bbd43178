//! Background writes of stored files: catalogues of servers, records of launches, and pins of tools. Only the end of the
//! process waits for them, and not for long: a lost record is learned again. Must not know hub or backends.

use crate::catalogue::Shelf;
use crate::config::ServerConfig;
use crate::io::task;
use crate::launches::Launches;
use crate::pins::PinStore;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use switchboard_core::catalogue::{Offer, OfferKey};
use switchboard_core::pins::PinNews;
use switchboard_core::{Record, ServerId};
use switchboard_process::aside;
use switchboard_process::lock::Lock;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Keeping {
    /// Running tasks.
    running: AtomicUsize,
    done: Notify,
    /// Records to be written. `writing` is held by the task that writes.
    records: Lock<BTreeMap<ServerId, Record>>,
    writing: tokio::sync::Mutex<()>,
    /// Changes of pins to be written, in order.
    pins: Lock<VecDeque<(Arc<ServerConfig>, Vec<PinNews>)>>,
}

impl Keeping {
    pub(crate) fn offer(
        self: &Arc<Self>,
        server: Arc<ServerConfig>,
        shelf: Shelf,
        key: OfferKey,
        offer: Arc<Offer>,
    ) {
        self.spawn("offer", async move {
            let _ = aside::run(move || shelf.save(&server, &key, &offer.store())).await;
        });
    }

    pub(crate) fn record(
        self: &Arc<Self>,
        (id, server): (ServerId, Arc<ServerConfig>),
        launches: Launches,
        record: Record,
    ) {
        let keeping = self.clone();
        self.records.lock().insert(id, record);
        self.spawn("record", async move {
            // One write at a time, always of the newest record: an older one must not come last.
            let _writing = keeping.writing.lock().await;
            let newest = keeping.records.lock().remove(&id);
            // An earlier task has written the newest record already.
            let Some(record) = newest else { return };
            let _ = aside::run(move || launches.save(&server, &record)).await;
        });
    }

    pub(crate) fn pins(self: &Arc<Self>, server: Arc<ServerConfig>, store: PinStore, news: Vec<PinNews>) {
        let keeping = self.clone();
        self.pins.lock().push_back((server, news));
        self.spawn("record", async move {
            // One write at a time, in order: an approval must not come before the change that it is about.
            let _writing = keeping.writing.lock().await;
            let waiting = std::mem::take(&mut *keeping.pins.lock());
            let _ = aside::run(move || {
                for (server, news) in waiting {
                    // What is lost is found again with the next list.
                    let _ = store.apply(&server, &news);
                }
            })
            .await;
        });
    }

    fn spawn(self: &Arc<Self>, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let keeping = self.clone();
        // Counted before the task starts, so that `finish` cannot miss it.
        keeping.running.fetch_add(1, Ordering::Relaxed);
        task::spawn(name, async move {
            work.await;
            keeping.running.fetch_sub(1, Ordering::Relaxed);
            keeping.done.notify_waiters();
        });
    }

    /// Waits up to `within` until everything is written.
    pub(crate) async fn finish(&self, within: Duration) {
        let all = async {
            loop {
                // Registered before the check, so that the last task's notice is not missed.
                let done = self.done.notified();
                if self.running.load(Ordering::Relaxed) == 0 {
                    return;
                }
                done.await;
            }
        };
        let _ = tokio::time::timeout(within, all).await;
    }
}
