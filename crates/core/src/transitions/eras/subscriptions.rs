//! `subscriptions/listen`. A client of one server talks with that server; only the ids in its notifications are
//! replaced. For a client of several servers, or of a legacy server, we keep the subscription, and listen ourselves.

use crate::answers::Overload;
use crate::catalogue::Wishes;
use crate::core::Core;
use crate::event::About;
use crate::fact::Outcome;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::{own_message, own_result, same_spelling, version_member};
use crate::pending::{Asker, AwaitedResource, ListenWait, Listens, NOWHERE, Pending};
use crate::settings::LIST_TIMEOUT;
use crate::transitions::{Route, Screened};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_protocol::modern::SUBSCRIPTION_ID;
use switchboard_protocol::{Dialect, Message, Method, Outgoing, Part, RawId};

/// Time in which servers must agree to tell of changes of a resource: that of the requests with which they are asked.
const AGREEMENT_TIMEOUT: Duration = LIST_TIMEOUT;

/// Most resources and tasks in one subscription to several servers.
const MAX_WISHES: usize = 1024;

/// An open subscription of a client.
pub(super) struct Listen {
    pub(super) minted: u64,
    pub(super) id: RawId,
    pub(super) wishes: Wishes,
    /// Nothing may come before this.
    pub(super) is_acknowledged: bool,
}

impl Listen {
    /// Whether changes of a resource may be told on it.
    pub(super) fn includes_resource(&self, uri: &str) -> bool {
        self.is_acknowledged && self.wishes.includes_resource(uri)
    }
}

impl Core {
    /// The open subscriptions of a connection, oldest first.
    pub(super) fn listens(&self, connection: ClientId) -> Vec<Listen> {
        let own = |(minted, p): (u64, &Pending)| {
            let Asker::Client { client, id, .. } = p.asker() else { return None };
            let is_its =
                p.method() == Method::Listen && p.is_wanted() && self.connection_of(*client) == connection;
            let wishes = p.wishes().filter(|_| is_its)?;
            Some(Listen { minted, id: id.clone(), wishes, is_acknowledged: p.is_acknowledged() })
        };
        let mut found: Vec<Listen> = self.pending.iter().filter_map(own).collect();
        found.sort_unstable_by_key(|listen| listen.minted);
        found
    }

    /// Opens a subscription that we keep: of a client of several servers, or of one legacy server.
    pub(crate) fn open_listen(&mut self, client: ClientId, id: RawId, batch: Option<u32>, message: Message) {
        let Some(mut wishes) = Wishes::of(&message) else {
            let error = self.unreadable_wishes();
            return self.refuse(client, &id, batch, &message, &error);
        };
        // What the only server does not announce is not promised.
        let home = self.clients.get(&client).filter(|c| c.is_plain()).and_then(|c| c.home());
        if let Some(b) =
            home.and_then(|home| self.backends.get(&home)).filter(|b| b.handshake().has_welcome())
        {
            wishes.keep_lists(&b.announced_changes());
        }
        if wishes.resource_subscriptions.len() + wishes.task_ids.len() > MAX_WISHES {
            let error = self.overloaded(None, Overload::Wishes(MAX_WISHES));
            return self.refuse(client, &id, batch, &message, &error);
        }
        let (mut resources, mut homes) = (Vec::new(), Vec::new());
        for uri in &wishes.resource_subscriptions {
            if let Some((home, resource)) = self.subscribe_through(client, uri) {
                homes.push(home);
                resources.push(resource);
            }
        }
        homes.sort_unstable();
        homes.dedup();
        for home in homes {
            self.listen_anew(home);
            self.ensure_started(home);
        }
        let minted = self.accept(client, NOWHERE, id, batch, message.clone());
        if let Some(pending) = self.pending.get_mut(minted) {
            pending.keep_sent(message);
            pending.set_deadline(self.clock.now() + Duration::MAX);
        }
        let until = self.clock.now() + AGREEMENT_TIMEOUT;
        let wishes = Wishes { resource_subscriptions: Vec::new(), ..wishes };
        self.listen_waits.push(ListenWait { minted, wishes, resources, until });
        self.clock.wake_at(until);
        self.acknowledge_listens();
    }

    /// Opens an accepted subscription for its client.
    pub(super) fn open_for_client(&mut self, minted: u64, wishes: Wishes) {
        let Some(Asker::Client { client, id, .. }) = self.pending.get(minted).map(|p| p.asker().clone())
        else {
            return;
        };
        let task_ids = self.known_tasks(client, &wishes.task_ids);
        let agreed = Wishes { task_ids, ..wishes };
        let filter: Value = serde_json::from_str(&agreed.text()).unwrap_or_default();
        if let Some(pending) = self.pending.get_mut(minted) {
            pending.agree(agreed.clone());
        }
        self.tell_listen(client, &id, Method::Acknowledged, json!({ "notifications": filter }));
        self.listen_to_tasks(client, &agreed.task_ids);
    }

    /// Subscribes a client of one server, which may have another backend now, to the resources of its open subscriptions.
    pub(super) fn subscribe_again(&mut self, client: ClientId) {
        let Some(home) = self.clients.get(&client).and_then(|c| c.home()) else { return };
        let is_kept = |listen: &Listen| {
            let pending = self.pending.get(listen.minted);
            pending.is_some_and(|p| p.backend() == NOWHERE && p.waiting().is_none())
        };
        let kept = self.listens(client).into_iter().filter(is_kept);
        let uris = kept.flat_map(|listen| listen.wishes.resource_subscriptions);
        let own = uris.map(|uri| same_spelling(json!(uri).to_string().as_bytes()).into_owned());
        let is_open = |uri: &Vec<u8>| {
            let b = self.backends.get(&home);
            let is_subscribed = b.is_some_and(|b| b.subscriptions().is_subscribed(uri, client));
            !is_subscribed && self.may_subscribe(client, uri) && !self.cannot_agree(home, uri)
        };
        let mut own: Vec<Vec<u8>> = own.filter(is_open).collect();
        own.sort_unstable();
        own.dedup();
        self.subscribe_at(client, home, own);
    }

    /// Subscribes to a resource at the server that owns it. Returns its backend, if there is one that may agree.
    fn subscribe_through(&mut self, client: ClientId, uri: &str) -> Option<(BackendId, AwaitedResource)> {
        let request = json!({ "method": "resources/subscribe", "params": { "uri": uri } });
        let mut request = own_message(request.to_string().into())?;
        let delegate = match self.has_aggregate(client) {
            true => self.owner_to_subscribe(client, &mut request)?,
            false => client,
        };
        let own = request.part(Part::Uri).map(|uri| same_spelling(uri).into_owned());
        // A client that was answered from stored lists may not have a backend yet.
        let home = match self.clients.get(&delegate)?.home() {
            Some(home) => home,
            None => match self.find_home(delegate) {
                Route::To(home) => home,
                Route::Wait | Route::Refused(_) => return None,
            },
        };
        let own = own?;
        let connection = self.connection_of(client);
        if !self.may_subscribe(delegate, &own)
            || self.has_too_many_subscriptions(connection, &request)
            || self.cannot_agree(home, &own)
        {
            self.forget_unused_alias(delegate, &own);
            return None;
        }
        self.record_wish(delegate, home, own.clone());
        Some((home, AwaitedResource { public: uri.to_owned(), client: delegate, uri: own }))
    }

    /// Sends one of our own notifications on a subscription.
    fn tell_listen(&mut self, client: ClientId, id: &RawId, method: Method, mut params: Value) {
        let dialect = self.clients.get(&client).map_or(Dialect::Standard, |c| c.dialect());
        // The id goes in as it is spelled, which a JSON value would not preserve.
        params["_meta"] = json!({ SUBSCRIPTION_ID: "ID" });
        let params = params.to_string().replacen("\"ID\"", &id.to_string(), 1);
        let (version, name) = (version_member(dialect), method.name().unwrap_or("?"));
        let text = format!(r#"{{{version}"method":"{name}","params":{params}}}"#);
        self.tell_client_about(
            client,
            Outgoing::notification(method, text.into()),
            About::Request(id.clone()),
        );
    }

    /// Tells a modern client of a changed list, on the subscriptions that include it.
    pub(crate) fn tell_listens_of_change(&mut self, client: ClientId, method: Method) {
        let connection = self.connection_of(client);
        for listen in self.listens(connection) {
            if listen.is_acknowledged && listen.wishes.includes_change(method) {
                self.tell_listen(connection, &listen.id, method, json!({}));
            }
        }
    }

    /// Ends a subscription that its client has cancelled, or that nobody reads. Nothing more is sent on it.
    pub(crate) fn listen_over(&mut self, minted: u64) {
        let Some(pending) = self.close(minted) else { return };
        let Asker::Client { client, .. } = *pending.asker() else { return };
        if pending.backend() == NOWHERE {
            self.drop_unwanted(client);
        }
    }

    /// Ends subscriptions in good order.
    pub(crate) fn end_listens(&mut self, which: Listens) {
        let is_meant = |p: &Pending| {
            let owner = p.client().map(|owner| self.connection_of(owner));
            let is_one = match which {
                Listens::All => true,
                Listens::Of(client) => owner == Some(client),
                Listens::At(backend) => p.backend() == backend && p.waiting().is_none(),
            };
            p.method() == Method::Listen && p.is_wanted() && owner.is_some() && is_one
        };
        for minted in self.pending.ids(is_meant) {
            let Some(pending) = self.close(minted) else { continue };
            let backend = pending.backend();
            match pending.waiting() {
                Some(_) => self.unqueue(backend, minted),
                None => self.cancel_at_backend(backend, minted, "the subscription has ended"),
            }
            self.complete_listen(&pending);
        }
    }

    /// Ends a subscription that its server has ended by a cancellation in place of a result.
    pub(crate) fn server_ends_listen(&mut self, launch: Launch, message: &Message) {
        let minted = message.part(Part::RequestId).and_then(RawId::minted);
        let is_meant = |p: &Pending| p.method() == Method::Listen && p.was_sent_to(launch.backend);
        let Some(minted) = minted.filter(|minted| self.pending.get(*minted).is_some_and(is_meant)) else {
            return;
        };
        match self.close(minted) {
            Some(pending) if matches!(pending.asker(), Asker::Listen) => {
                self.own_listen_over(launch.backend, minted, false);
            }
            Some(pending) if pending.is_wanted() => self.complete_listen(&pending),
            Some(_) | None => {}
        }
    }

    /// Answers the client of a closed subscription.
    fn complete_listen(&mut self, pending: &Pending) {
        let Asker::Client { client, id, batch } = pending.asker() else { return };
        let dialect = self.clients.get(client).map_or(Dialect::Standard, |c| c.dialect());
        let result = format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#);
        self.answer(*client, id, *batch, own_result(id, dialect, &result));
        self.conclude(pending, Outcome::Ok);
        if pending.backend() == NOWHERE {
            self.drop_unwanted(*client);
        }
    }

    /// Ends the subscriptions to resources and tasks that no open subscription of an aggregate client includes any more.
    fn drop_unwanted(&mut self, client: ClientId) {
        self.drop_unheard_tasks();
        let listens = self.listens(self.connection_of(client));
        let delegates = match self.has_aggregate(client) {
            true => self.delegates(client),
            false => vec![client],
        };
        for delegate in delegates {
            let Some(home) = self.clients.get(&delegate).and_then(|c| c.home()) else { continue };
            let own =
                self.backends.get(&home).map(|b| b.subscriptions().of_client(delegate)).unwrap_or_default();
            for uri in own {
                let public = self.public_uri(client, delegate, &uri);
                if !listens.iter().any(|listen| listen.wishes.includes_resource(&public)) {
                    self.drop_subscription(home, delegate, uri);
                }
            }
        }
    }

    /// The URI under which an aggregate client knows a resource that it has subscribed to.
    pub(super) fn public_uri(&self, client: ClientId, delegate: ClientId, original: &[u8]) -> String {
        let aggregate = self.clients.get(&client).and_then(|c| c.aggregate());
        let quoted = aggregate.and_then(|it| it.alias(delegate, original)).unwrap_or(original);
        serde_json::from_slice(quoted).unwrap_or_default()
    }

    /// Checks the resources that a subscription of a single server's client names.
    pub(crate) fn screen_listen(&self, client: ClientId, message: &Message) -> Screened {
        let uris = Wishes::of(message).unwrap_or_default().resource_subscriptions;
        for uri in uris {
            match self.screen_text(client, &uri) {
                Screened::Passes => {}
                other => return other,
            }
        }
        Screened::Passes
    }

    /// Whether a client may be told of a change, with its present rights and filters.
    pub(super) fn may_hear_of(&self, client: ClientId, backend: BackendId, message: &Message) -> bool {
        let is_there = self.clients.get(&client).is_some_and(|c| c.may_use_server());
        let is_shown = match message.method() {
            Method::ResourceUpdated => self.may_see_uri(client, message.part(Part::Uri)),
            method if method.is_list_change() => !self.hides_change_from(client, method),
            _ => true,
        };
        is_there && is_shown && self.backends.contains(backend)
    }
}
