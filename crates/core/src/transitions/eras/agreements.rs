//! The acknowledgement of a client's subscription that we keep. It names the resources that their servers accepted, so it
//! waits for their answers. Must not know which notifications a subscription carries.

use crate::backends::{Backend, BackendState};
use crate::catalogue::Wishes;
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::messages::{names_uri, same_spelling};
use crate::pending::{Asker, AwaitedResource, ListenWait, Pending};
use switchboard_protocol::{Era, Message, Method, Part};

/// Answer of a server to a subscription to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Open,
    Agreed,
    Refused,
}

impl Core {
    /// Acknowledges the subscriptions for which all servers have answered.
    pub(crate) fn acknowledge_listens(&mut self) {
        if self.listen_waits.is_empty() {
            return;
        }
        let mut waits = std::mem::take(&mut self.listen_waits);
        let over = waits.take(|wait| {
            let is_open = |resource| self.agreement(resource) == Agreement::Open;
            let is_gone = self.pending.get(wait.minted).is_none();
            is_gone || !wait.resources.iter().any(is_open)
        });
        self.listen_waits = waits;
        over.into_iter().for_each(|wait| self.acknowledge_listen(wait));
    }

    /// Acknowledges the subscriptions whose deadline has passed.
    pub(crate) fn tick_listens(&mut self) {
        let now = self.clock.now();
        let over = self.listen_waits.take(|wait| wait.until <= now);
        over.into_iter().for_each(|wait| self.acknowledge_listen(wait));
    }

    fn acknowledge_listen(&mut self, wait: ListenWait) {
        let ListenWait { minted, wishes, resources, .. } = wait;
        // Its client may have cancelled it.
        if self.pending.get(minted).is_none() {
            return;
        }
        let mut honoured = Vec::new();
        for resource in resources {
            match self.agreement(&resource) {
                Agreement::Agreed => honoured.push(resource.public),
                // A later subscription still has time.
                Agreement::Open if self.listen_waits.names(resource.client, &resource.uri) => {}
                Agreement::Open => self.take_back(&resource),
                Agreement::Refused => {}
            }
        }
        let wishes = Wishes { resource_subscriptions: honoured, ..wishes };
        self.open_for_client(minted, wishes);
    }

    fn agreement(&self, resource: &AwaitedResource) -> Agreement {
        let mut found = Agreement::Refused;
        // The client may have moved to another process since.
        for b in self.subscribed_at(resource) {
            match b.subscriptions().is_agreed(&resource.uri) {
                true => return Agreement::Agreed,
                false => found = Agreement::Open,
            }
        }
        found
    }

    fn subscribed_at(&self, resource: &AwaitedResource) -> impl Iterator<Item = &Backend> {
        let is_it = |b: &&Backend| b.subscriptions().is_subscribed(&resource.uri, resource.client);
        self.backends.values().filter(is_it)
    }

    /// Ends a subscription that its server did not accept in time.
    fn take_back(&mut self, resource: &AwaitedResource) {
        let found: Vec<BackendId> = self.subscribed_at(resource).map(|b| b.id()).collect();
        for backend in found {
            self.drop_subscription(backend, resource.client, resource.uri.clone());
        }
    }

    /// Whether a backend cannot accept a subscription to a resource: it is not being started, or its server has no
    /// subscriptions.
    pub(crate) fn cannot_agree(&self, backend: BackendId, uri: &[u8]) -> bool {
        let Some(b) = self.backends.get(&backend).filter(|b| !b.subscriptions().is_agreed(uri)) else {
            return false;
        };
        let is_resting = matches!(b.state(), BackendState::Failed { until, .. } if self.clock.now() < *until);
        let has_none = match b.handshake().era() {
            Era::Legacy => b.declares_subscribe() == Some(false),
            // The acknowledgement decides, not the declared capability.
            Era::Modern => b.own_listen().is_unknown(),
        };
        is_resting || has_none || self.barred(b.server()).is_some()
    }

    /// Records that a server accepted a subscription to a resource.
    pub(crate) fn subscription_agreed(&mut self, backend: BackendId, uri: &[u8]) {
        if let Some(b) = self.backends.get_mut(&backend) {
            b.subscriptions_mut().agree(uri);
        }
    }

    /// Ends the subscriptions to a resource, unless the server accepted them before: then they are requested again at its
    /// next start.
    pub(crate) fn subscription_refused(&mut self, backend: BackendId, uri: &[u8]) {
        for client in self.unanswered_subscribers(backend, uri) {
            self.unsubscribed(backend, client, uri);
        }
    }

    /// The clients whose subscriptions to a resource wait for the server.
    fn unanswered_subscribers(&self, backend: BackendId, uri: &[u8]) -> Vec<ClientId> {
        let b = self.backends.get(&backend).filter(|b| !b.subscriptions().is_agreed(uri));
        b.and_then(|b| b.subscriptions().subscribers(uri)).unwrap_or_default().to_vec()
    }

    /// Handles the answer to a subscription of our own at a legacy server.
    pub(crate) fn subscription_answered(&mut self, pending: &Pending, failed: bool) {
        let Some(uri) = subscribed_uri(pending) else { return };
        let backend = pending.backend();
        let is_another = |p: &Pending| {
            let is_ours = p.backend() == backend && matches!(p.asker(), Asker::Restore);
            is_ours && p.sent().is_some_and(|request| names_uri(request, &uri))
        };
        match failed {
            // The subscription was cancelled and requested again, so another answer follows.
            _ if self.pending.iter().any(|(_, pending)| is_another(pending)) => {}
            false => self.subscription_agreed(backend, &uri),
            true => self.subscription_refused(backend, &uri),
        }
    }

    /// Handles the timeout of our own subscription at a legacy server.
    pub(crate) fn subscription_expired(&mut self, pending: &Pending) {
        let Some(uri) = subscribed_uri(pending) else { return };
        let backend = pending.backend();
        for client in self.unanswered_subscribers(backend, &uri) {
            self.drop_subscription(backend, client, uri.clone());
        }
    }

    /// Refuses the subscriptions that a server had not accepted when it failed.
    pub(crate) fn refuse_open_subscriptions(&mut self, backend: BackendId) {
        let open = self.backends.get(&backend).map(|b| b.subscriptions().open()).unwrap_or_default();
        open.iter().for_each(|uri| self.subscription_refused(backend, uri));
    }

    /// Handles the acknowledgement of our subscription at a modern server, or its end: then `acknowledged` is `None`.
    pub(super) fn own_listen_decided(
        &mut self,
        backend: BackendId,
        minted: u64,
        acknowledged: Option<&Message>,
    ) {
        let Some(b) = self.backends.get(&backend) else { return };
        let Some(asked) = b.own_listen().wishes_of(minted) else { return };
        // An acknowledgement without a list accepts everything.
        let agreed = acknowledged.map(|it| Wishes::agreed(it).unwrap_or_else(|| asked.clone()));
        let decoded = |uri: &[u8]| serde_json::from_slice::<String>(uri).unwrap_or_default();
        let known = b.subscriptions().iter().map(|(uri, _)| (uri.to_vec(), decoded(uri)));
        let known: Vec<(Vec<u8>, String)> = known.filter(|(_, uri)| asked.includes_resource(uri)).collect();
        for (uri, decoded) in known {
            match agreed.as_ref().is_some_and(|agreed| agreed.includes_resource(&decoded)) {
                true => self.subscription_agreed(backend, &uri),
                false => self.subscription_refused(backend, &uri),
            }
        }
    }
}

/// The resource of our own subscription request, as a normalised JSON string.
fn subscribed_uri(pending: &Pending) -> Option<Vec<u8>> {
    let request = pending.sent().filter(|_| pending.method() == Method::Subscribe)?;
    request.part(Part::Uri).map(|uri| same_spelling(uri).into_owned())
}
