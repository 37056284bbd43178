//! The core's inbox for HTTP clients. Requests that arrive together are handled together, so that their
//! output is written together: a server is woken once for all of them.

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
    /// Messages of clients, in order.
    pub(crate) said: Vec<Event>,
    /// Bytes that no longer wait, by client: sent or lost. The core counts those that wait.
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

    /// Swaps in an empty buffer, which keeps its capacity.
    pub(crate) fn take(&self, into: &mut InboxItems) {
        std::mem::swap(&mut *self.lock(), into);
    }
}
