//! What the core is to be told of clients over HTTP. Requests that come together are told together, so that what they bring
//! forth is written together: a server is woken up once for all of them, and not for each.

use std::sync::{Mutex, MutexGuard, PoisonError};
use switchboard_core::{ClientId, Event};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct News {
    heap: Mutex<Heap>,
    some: Notify,
}

/// All that is new.
#[derive(Default)]
pub(crate) struct Heap {
    /// What clients said, in their order.
    pub(crate) said: Vec<Event>,
    /// Bytes that have been sent, or will never be, by client: the core counts those that wait.
    pub(crate) freed: Vec<(ClientId, usize)>,
    /// Clients for whom a notification was dropped, once for each.
    pub(crate) dropped: Vec<ClientId>,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn said(&self, event: Event) {
        self.lock().said.push(event);
        self.some.notify_one();
    }

    pub(crate) fn freed(&self, client: ClientId, count: usize) {
        self.lock().freed.push((client, count));
        self.some.notify_one();
    }

    pub(crate) fn dropped(&self, client: ClientId) {
        self.lock().dropped.push(client);
        self.some.notify_one();
    }

    /// Waits until there is some.
    pub(crate) async fn wait(&self) {
        self.some.notified().await;
    }

    /// Takes it, and leaves room for as much as there was.
    pub(crate) fn take(&self, into: &mut Heap) {
        std::mem::swap(&mut *self.lock(), into);
    }
}
