//! The core's inbox for clients over HTTP. Requests that come together are handed over together, so that what they cause is
//! written together: a server is woken up once for all of them, and not for each.

use switchboard_core::{ClientId, Event};
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Inbox {
    items: Lock<InboxItems>,
    some: Notify,
}

/// Content of the inbox.
#[derive(Default)]
pub(crate) struct InboxItems {
    /// Messages of clients, in their order.
    pub(crate) said: Vec<Event>,
    /// Bytes that have been sent, or will never be, by client: the core counts those that wait.
    pub(crate) freed: Vec<(ClientId, usize)>,
    /// Clients for whom a notification was dropped, once for each.
    pub(crate) dropped: Vec<ClientId>,
}

impl Inbox {
    fn lock(&self) -> LockGuard<'_, InboxItems> {
        self.items.lock()
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

    /// Waits until there is something.
    pub(crate) async fn wait(&self) {
        self.some.notified().await;
    }

    /// Takes all of it, and leaves room for as much as there was.
    pub(crate) fn take(&self, into: &mut InboxItems) {
        std::mem::swap(&mut *self.lock(), into);
    }
}
