//! The server for a request of an aggregate client, and the translation of the request's names into that server's.

use crate::catalogue::{Found, FoundUri, List, NameStyle, View};
use crate::clients::Level;
use crate::core::Core;
use crate::ids::ClientId;
use crate::messages::{initialized_notice, own_message, same_spelling};
use crate::pending::NOWHERE;
use crate::routing::NamedPath;
use crate::transitions::TaskMeant;
use bytes::Bytes;
use std::sync::Arc;
use switchboard_protocol::modern;
use switchboard_protocol::{ErrorAnswer, Message, Method, Part, RawId};

/// The recipient of a request.
enum RequestOwner {
    /// The server of this delegate.
    Delegate(ClientId),
    /// Unknown until all servers have answered.
    Later,
    Nobody(ErrorAnswer),
}

impl Core {
    pub(crate) fn aggregate_request(
        &mut self,
        client: ClientId,
        id: RawId,
        batch: Option<u32>,
        mut message: Message,
        paths: Vec<NamedPath>,
    ) {
        if modern::is_removed(message.method()) && self.clients.get(&client).is_some_and(|c| c.is_modern()) {
            let error = self.not_offered(&message.method_name());
            return self.refuse(client, &id, batch, &message, &error);
        }
        let list = match message.method() {
            Method::Initialize => return self.aggregate_opens(client, id, batch, message, paths),
            // The client asks whether we are there; servers have health checks of their own.
            Method::Ping => {
                let minted = self.accept(client, NOWHERE, id, batch, message);
                return self.conclude_empty(minted);
            }
            Method::SetLevel => return self.aggregate_level(client, id, batch, message),
            Method::ToolsList => Some(List::Tools),
            Method::PromptsList => Some(List::Prompts),
            Method::ResourcesList => Some(List::Resources),
            Method::ResourceTemplatesList => Some(List::Templates),
            _ => None,
        };
        // Without this check every request would look like one for an empty set of servers.
        if !self.has_begun(client) {
            let error = self.no_handshake();
            return self.refuse(client, &id, batch, &message, &error);
        }
        if matches!(message.method(), Method::Discover | Method::Listen) {
            if !self.is_settled(client) {
                return self.hold(client, id, batch, message, paths);
            }
            return match message.method() {
                Method::Listen => self.open_listen(client, id, batch, message),
                _ => self.aggregate_discover(client, id, batch, message),
            };
        }
        if let Some(list) = list {
            self.confirm_for(client);
            // A list request is a good moment to retry missed servers: the client is about to see their lists.
            self.try_missed(client);
            if !self.is_settled(client) {
                return self.hold(client, id, batch, message, paths);
            }
            return self.aggregate_list(client, id, batch, message, list);
        }
        match self.owner(client, &mut message) {
            RequestOwner::Delegate(delegate) => self.client_request(delegate, message, batch, paths),
            RequestOwner::Later => self.hold(client, id, batch, message, paths),
            RequestOwner::Nobody(error) => self.refuse(client, &id, batch, &message, &error),
        }
    }

    /// Whether a handshake has begun. Before it there are no delegates, so that every request would seem to
    /// concern nothing.
    fn has_begun(&self, client: ClientId) -> bool {
        let has_greeted = self.clients.get(&client).is_some_and(|c| c.greeting().is_some());
        has_greeted || self.aggregate(client).is_some_and(|aggregate| aggregate.opening().is_some())
    }

    /// Finds the server for a request, and replaces names in it with the server's own.
    fn owner(&mut self, client: ClientId, message: &mut Message) -> RequestOwner {
        match message.method() {
            Method::ToolsCall => self.owner_by_name(client, message, List::Tools, Part::Name),
            Method::PromptsGet => self.owner_by_name(client, message, List::Prompts, Part::Name),
            Method::ResourcesRead => self.owner_by_uri(client, message),
            Method::Subscribe | Method::Unsubscribe => {
                // Read before the lookup, which replaces the URI with the server's own.
                let public = message.part(Part::Uri).map(<[u8]>::to_vec);
                let owner = self.owner_by_uri(client, message);
                if let (RequestOwner::Delegate(delegate), Some(public)) = (&owner, public) {
                    self.note_alias(client, *delegate, public, message);
                }
                owner
            }
            Method::Complete if message.has(Part::RefName) => {
                let owner = self.owner_by_name(client, message, List::Prompts, Part::RefName);
                // If both are present, the server decides which counts, so both must be allowed.
                match owner {
                    RequestOwner::Delegate(delegate)
                        if message.has(Part::RefUri)
                            && !self.may_see_uri(delegate, message.part(Part::RefUri)) =>
                    {
                        let uri = message.text(Part::RefUri).unwrap_or_default();
                        RequestOwner::Nobody(self.no_resource(client, &uri))
                    }
                    owner => owner,
                }
            }
            Method::Complete => self.owner_by_template(client, message),
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TaskResult => {
                self.owner_of_task(client, message)
            }
            Method::TasksList => self.owner_of_page(client, message),
            // An unknown method names no server; it can only go to a single one.
            _ => match self.delegates(client).as_slice() {
                [only] => RequestOwner::Delegate(*only),
                _ => RequestOwner::Nobody(self.nobodys_method(&message.method_name())),
            },
        }
    }

    /// The delegate at the server that owns a resource, for a subscription. Replaces the URI with the server's own.
    pub(crate) fn owner_to_subscribe(&mut self, client: ClientId, request: &mut Message) -> Option<ClientId> {
        match self.owner(client, request) {
            RequestOwner::Delegate(delegate) => Some(delegate),
            RequestOwner::Later | RequestOwner::Nobody(_) => None,
        }
    }

    fn owner_by_name(
        &mut self,
        client: ClientId,
        message: &mut Message,
        list: List,
        part: Part,
    ) -> RequestOwner {
        let Some(view) = self.view(client) else { return RequestOwner::Later };
        // A missing name is looked up as an empty one, and refused like any unknown name.
        let quoted = message.part(part).unwrap_or(b"\"\"");
        // A name means what it meant in the list that the client last saw, even if the lists have changed since.
        if let Some(seen) = self.seen_before(client, list, &view)
            && let Found::Owner { member, original } = seen.find(list, quoted)
            && let Some(delegate) = self.seen_delegate(client, &seen, member)
        {
            message.rename(part, original);
            return RequestOwner::Delegate(delegate);
        }
        let is_shared_name = |member: usize| {
            let style = view.members().get(member).map(|member| member.naming.style);
            view.members().len() > 1 && style == Some(NameStyle::Plain)
        };
        match view.find(list, quoted) {
            // A server that is still starting may have a tool of the same name, and precedence.
            Found::Owner { member, .. } | Found::Perhaps { member, .. }
                if is_shared_name(member) && !self.is_settled(client) =>
            {
                RequestOwner::Later
            }
            Found::Owner { member, original } => {
                message.rename(part, original);
                self.delegate_at(client, &view, member)
            }
            // The server's lists may be outdated or unknown: let the server decide.
            Found::Perhaps { member, original } => {
                message.rename(part, original);
                self.delegate_at(client, &view, member)
            }
            Found::Nobody if !self.is_settled(client) => RequestOwner::Later,
            Found::Nobody => {
                let name = message.text(part).unwrap_or_default();
                if let Some(server) = view.holder(list, &name) {
                    return RequestOwner::Nobody(self.held_tool(server, &name));
                }
                let nearest = view.nearest(list, &name);
                RequestOwner::Nobody(self.no_item(client, list, &name, nearest))
            }
        }
    }

    fn owner_by_uri(&mut self, client: ClientId, message: &mut Message) -> RequestOwner {
        let Some(view) = self.view(client) else { return RequestOwner::Later };
        let Some(uri) = message.text(Part::Uri) else {
            return RequestOwner::Nobody(self.no_resource(client, ""));
        };
        if let Some(seen) = self.seen_before(client, List::Resources, &view)
            && let FoundUri::Owner { member, uri: original } = seen.find_uri(&uri)
            && let Some(delegate) = self.seen_delegate(client, &seen, member)
        {
            if original != *uri {
                message.rename(Part::Uri, quoted(&original));
            }
            return RequestOwner::Delegate(delegate);
        }
        match view.find_uri(&uri) {
            // A URI that does not name its server may also belong to one that is still starting.
            FoundUri::Owner { uri: original, .. } if original == *uri && !self.is_settled(client) => {
                RequestOwner::Later
            }
            FoundUri::Owner { member, uri: original } => {
                if original != *uri {
                    message.rename(Part::Uri, quoted(&original));
                }
                self.delegate_at(client, &view, member)
            }
            FoundUri::Several(_) | FoundUri::Perhaps(_) | FoundUri::Nobody if !self.is_settled(client) => {
                RequestOwner::Later
            }
            FoundUri::Several(members) => {
                let names = members.iter().filter_map(|&at| view.members().get(at));
                let names: Vec<&str> = names.map(|member| member.naming.server.as_str()).collect();
                RequestOwner::Nobody(self.unknown_resource(&uri, &names))
            }
            FoundUri::Perhaps(_) | FoundUri::Nobody => RequestOwner::Nobody(self.no_resource(client, &uri)),
        }
    }

    fn owner_by_template(&mut self, client: ClientId, message: &mut Message) -> RequestOwner {
        let Some(view) = self.view(client) else { return RequestOwner::Later };
        let Some(template) = message.text(Part::RefUri) else {
            return RequestOwner::Nobody(self.no_resource(client, ""));
        };
        match view.find_template(&template) {
            FoundUri::Owner { uri, .. } if uri == *template && !self.is_settled(client) => {
                RequestOwner::Later
            }
            FoundUri::Owner { member, uri } => {
                if uri != *template {
                    message.rename(Part::RefUri, quoted(&uri));
                }
                self.delegate_at(client, &view, member)
            }
            _ if !self.is_settled(client) => RequestOwner::Later,
            FoundUri::Several(_) | FoundUri::Perhaps(_) | FoundUri::Nobody => {
                RequestOwner::Nobody(self.no_resource(client, &template))
            }
        }
    }

    fn owner_of_task(&mut self, client: ClientId, message: &mut Message) -> RequestOwner {
        let task = message.text(Part::TaskId).unwrap_or_default().into_owned();
        match self.task_meant(client, &task) {
            Some(TaskMeant { delegate, own, .. }) => {
                if own != task {
                    message.rename(Part::TaskId, quoted(&own));
                }
                RequestOwner::Delegate(delegate)
            }
            None => RequestOwner::Nobody(self.no_such_task(message)),
        }
    }

    /// The view that a client was shown, if it differs from the current one.
    fn seen_before(&self, client: ClientId, list: List, view: &Arc<View>) -> Option<Arc<View>> {
        self.aggregate(client)?.seen_before(list, view).cloned()
    }

    /// The delegate at a server that a client has seen, unless its naming has changed since.
    pub(super) fn seen_delegate(&self, client: ClientId, seen: &View, member: usize) -> Option<ClientId> {
        let member = seen.members().get(member)?;
        let delegate = self.aggregate(client)?.delegate_at(member.server)?.client();
        let c = self.clients.get(&delegate)?;
        Arc::ptr_eq(c.naming(), &member.naming).then_some(delegate)
    }

    fn delegate_at(&self, client: ClientId, view: &View, member: usize) -> RequestOwner {
        let server = view.members().get(member).map(|member| member.server);
        let found = server.and_then(|server| self.aggregate(client)?.delegate_at(server));
        match found {
            Some(delegate) => RequestOwner::Delegate(delegate.client()),
            None => RequestOwner::Later,
        }
    }

    /// The owner of a page of tasks. Cursors have the form `INDEX:CURSOR`: a page of one server, or the first
    /// page of the next.
    fn owner_of_page(&mut self, client: ClientId, message: &mut Message) -> RequestOwner {
        let readers = self.task_keepers(client);
        let Some(cursor) = message.text(Part::Cursor) else {
            return match readers.first() {
                Some(first) => RequestOwner::Delegate(*first),
                None => RequestOwner::Nobody(self.nobodys_method("tasks/list")),
            };
        };
        let found = cursor
            .split_once(':')
            .and_then(|(at, rest)| Some((*readers.get(at.parse::<usize>().ok()?)?, rest)));
        let Some((delegate, rest)) = found else { return RequestOwner::Nobody(self.stale_cursor()) };
        match (rest, message.id()) {
            // The first page of that server, which needs no cursor.
            ("", Some(id)) => {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/list"}}"#);
                *message = own_message(text.into()).unwrap_or_else(|| message.clone());
            }
            (own, _) => {
                let own = quoted(own);
                message.rename(Part::Cursor, own);
            }
        }
        RequestOwner::Delegate(delegate)
    }

    /// The delegates at servers that can list their tasks.
    pub(super) fn task_keepers(&self, client: ClientId) -> Vec<ClientId> {
        let keeps = |delegate: &ClientId| {
            let offer = self.offer_for(*delegate);
            offer.is_some_and(|offer| offer.capabilities()["tasks"]["list"].is_object())
        };
        self.delegates(client).into_iter().filter(keeps).collect()
    }

    /// Stores the name under which a client subscribed, since notifications must use the same name.
    fn note_alias(&mut self, client: ClientId, delegate: ClientId, public: Vec<u8>, message: &Message) {
        let original = message.part(Part::Uri).filter(|_| message.method() == Method::Subscribe);
        let Some(original) = original.map(|original| same_spelling(original).into_owned()) else { return };
        // A repeated subscription replaces the name of the earlier one.
        self.forget_alias(delegate, &original);
        if let Some(aggregate) = self.aggregate_mut(client).filter(|_| *same_spelling(&public) != *original) {
            aggregate.add_alias(delegate, original, public);
        }
    }

    /// Forgets the name of a subscription once the server has confirmed its end.
    pub(crate) fn forget_alias(&mut self, delegate: ClientId, original: &[u8]) {
        let connection = self.connection_of(delegate);
        if let Some(aggregate) = self.aggregate_mut(connection) {
            aggregate.remove_alias(delegate, original);
        }
    }

    /// Passes the client's log level to all servers that log; to stopped ones when they start.
    fn aggregate_level(&mut self, client: ClientId, id: RawId, batch: Option<u32>, message: Message) {
        let level = Level::of(&message);
        let minted = self.accept(client, NOWHERE, id, batch, message);
        if let Some(level) = level {
            for delegate in self.delegates(client) {
                let takes_it = self.takes_level(delegate);
                let Some(c) = self.clients.get_mut(&delegate).filter(|_| takes_it) else { continue };
                c.set_level(level.clone());
                self.spread_level(delegate, NOWHERE);
            }
            if let Some(c) = self.clients.get_mut(&client) {
                c.set_level(level);
            }
        }
        self.conclude_empty(minted);
        self.tell_all_unavailable(client);
    }

    /// Whether a server may hear of a level. A legacy one that has not declared `logging` would refuse it; a modern one hears
    /// of it with each request, whatever it has declared.
    fn takes_level(&self, delegate: ClientId) -> bool {
        let home = self.clients.get(&delegate).and_then(|c| c.home());
        // Unknown counts as yes: the server gets the level when it has started.
        home.is_some_and(|home| self.is_translated(home))
            || self.offer_for(delegate).is_none_or(|offer| offer.declares_logging())
    }

    /// Confirms the handshake for a client that requests lists without having sent `initialized`: some
    /// servers answer nothing before it.
    pub(super) fn confirm_for(&mut self, client: ClientId) {
        let is_waited_for = self
            .clients
            .get(&client)
            .is_some_and(|c| c.greeting().is_some_and(|greeting| greeting.initialized().is_none()));
        if is_waited_for && let Some(message) = initialized_notice() {
            self.aggregate_initialized(client, &message);
        }
    }
}

/// As a JSON string.
fn quoted(text: &str) -> Bytes {
    serde_json::Value::from(text).to_string().into()
}
