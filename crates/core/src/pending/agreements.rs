//! Subscriptions of modern clients that are not acknowledged yet: the servers of their resources have to accept them first.
//! Must not know servers.

use crate::catalogue::Wishes;
use crate::ids::ClientId;
use crate::moment::Moment;

/// A subscription that waits until servers have accepted its resources.
#[derive(Debug)]
pub(crate) struct ListenWait {
    /// Minted id of the request.
    pub(crate) minted: u64,
    /// Notifications that no server has to accept first.
    pub(crate) wishes: Wishes,
    pub(crate) resources: Vec<AwaitedResource>,
    /// Deadline. Servers that have not answered by then count as refusing.
    pub(crate) until: Moment,
}

/// A resource of such a subscription.
#[derive(Debug)]
pub(crate) struct AwaitedResource {
    /// The URI that the client uses.
    pub(crate) public: String,
    /// The client, or its delegate at the server of the resource.
    pub(crate) client: ClientId,
    /// The URI that the server uses, as a JSON string in one spelling.
    pub(crate) uri: Vec<u8>,
}

/// All subscriptions that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct ListenWaits {
    waits: Vec<ListenWait>,
}

impl ListenWaits {
    pub(crate) fn push(&mut self, wait: ListenWait) {
        self.waits.push(wait);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Removes the subscriptions that need not wait any longer, in order of arrival.
    pub(crate) fn take(&mut self, is_over: impl Fn(&ListenWait) -> bool) -> Vec<ListenWait> {
        self.waits.extract_if(.., |wait| is_over(wait)).collect()
    }

    /// Whether a subscription of this client waits for this resource.
    pub(crate) fn names(&self, client: ClientId, uri: &[u8]) -> bool {
        let is_it = |resource: &AwaitedResource| resource.client == client && resource.uri == uri;
        self.waits.iter().any(|wait| wait.resources.iter().any(is_it))
    }

    /// The earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.waits.iter().map(|wait| wait.until).min()
    }
}
