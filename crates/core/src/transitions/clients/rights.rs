//! The rights of clients: requests that they exclude, and what follows when they change. A client with restricted
//! rights gets the same answer for everything that it may not use, whether it exists or not. Items of servers are
//! hidden by the client's naming (`filters`, `aggregate`), which its rights have narrowed.

use crate::access::{Identity, Rights};
use crate::answers::Asked;
use crate::catalogue::{List, Naming, Wishes};
use crate::clients::{Claim, Client};
use crate::core::Core;
use crate::ids::ClientId;
use crate::pending::NOWHERE;
use crate::routing::NamedPath;
use std::borrow::Cow;
use std::sync::Arc;
use switchboard_protocol::{ErrorAnswer, Message, Method, Part};

impl Core {
    /// The naming of a client's server, as its rights allow.
    pub(crate) fn naming_for(&mut self, c: &Client) -> Arc<Naming> {
        self.narrowings.naming(&c.settings().naming, &c.identity().rights)
    }

    /// Handles a request of a client with restricted rights.
    pub(super) fn restricted_request(
        &mut self,
        client: ClientId,
        message: Message,
        batch: Option<u32>,
        paths: Vec<NamedPath>,
    ) {
        let Some(c) = self.clients.get(&client) else { return };
        let Some(id) = message.id() else { return };
        match self.not_permitted(c, &message) {
            None => self.client_request(client, message, batch, paths),
            // A ping asks whether we are there, and must not reach a hidden server.
            Some(_) if message.method() == Method::Ping => {
                let minted = self.accept(client, NOWHERE, id, batch, message);
                self.conclude_empty(minted);
            }
            Some(error) => self.refuse(client, &id, batch, &message, &error),
        }
    }

    /// The refusal of a request whose method or server the client may not use.
    pub(crate) fn not_permitted(&self, c: &Client, message: &Message) -> Option<ErrorAnswer> {
        let is_ours = is_answered_by_us(message.method())
            && (!c.speaks_modern() || message.method() != Method::Discover);
        if !c.is_restricted() || is_ours {
            return None;
        }
        // An aggregate client has no server of its own.
        if c.aggregate().is_none() && !c.may_use_server() {
            return Some(match c.is_delegate() {
                // The client named an item or a method, not a server.
                true => self.forbidden_part(c, message),
                false => self.forbidden(c, Asked::Server(&c.settings().name)),
            });
        }
        // A method that cannot be decoded has no name that a pattern could allow.
        let method = message.text(Part::Method).unwrap_or_default();
        let is_permitted = matches!(
            message.method(),
            Method::Initialize | Method::Discover | Method::Ping | Method::SetLevel
        ) || c.identity().allows_method(&method);
        if !is_permitted {
            return Some(self.forbidden(c, Asked::Method(&method)));
        }
        if message.method() != Method::Listen {
            return None;
        }
        let wishes = Wishes::of(message)?;
        // A subscription to resources or tasks is a use of them, whatever the method is called.
        let used = [
            (!wishes.resource_subscriptions.is_empty(), Method::Subscribe),
            (!wishes.task_ids.is_empty(), Method::TasksGet),
        ];
        let mut names =
            used.into_iter().filter(|(is_used, _)| *is_used).filter_map(|(_, method)| method.name());
        let denied = names.find(|name| !c.identity().allows_method(name))?;
        Some(self.forbidden(c, Asked::Method(denied)))
    }

    /// Whether a client may have a subscription; for an aggregate client, ask for one of its delegates.
    pub(crate) fn may_subscribe(&self, client: ClientId, uri: &[u8]) -> bool {
        let Some(c) = self.clients.get(&client) else { return false };
        let is_permitted = |method: Method| c.identity().allows_method(method.name().unwrap_or_default());
        c.may_use_server() && is_permitted(Method::Subscribe) && self.may_see_uri(client, Some(uri))
    }

    /// The answer for a tool or prompt that a client does not see.
    pub(crate) fn no_item(
        &self,
        client: ClientId,
        list: List,
        name: &str,
        nearest: Vec<String>,
    ) -> ErrorAnswer {
        match self.clients.get(&client).filter(|c| c.is_restricted()) {
            Some(c) => self.forbidden(c, Asked::Item(list, name, nearest)),
            None => self.unknown_name(list, name, nearest),
        }
    }

    /// The answer for a resource that a client does not see.
    pub(crate) fn no_resource(&self, client: ClientId, uri: &str) -> ErrorAnswer {
        match self.clients.get(&client).filter(|c| c.is_restricted()) {
            Some(c) => self.forbidden(c, Asked::Resource(uri)),
            None => self.unknown_resource(uri, &[]),
        }
    }

    /// The answer for a method that may name a hidden item in a way that we do not know.
    pub(crate) fn unscreened_method(&self, c: &Client, method: &str) -> ErrorAnswer {
        match c.is_restricted() {
            true => self.forbidden(c, Asked::Method(method)),
            false => self.filtered_method(method, c.naming()),
        }
    }

    /// An error as a client may see it. Errors of the program as a whole name the only server, if there is just
    /// one; an error about the lack of room lists the workspaces of others.
    pub(crate) fn disclosed<'a>(&self, c: &Client, error: &'a ErrorAnswer) -> Cow<'a, ErrorAnswer> {
        if !c.is_restricted() {
            return Cow::Borrowed(error);
        }
        let is_hidden = error.server_name().is_some_and(|server| !c.identity().allows_server(server));
        let error = error.clone().without("running");
        Cow::Owned(if is_hidden { error.without("server") } else { error })
    }

    /// The identity of a client with profiles. A profile that does not exist, or no longer, allows nothing.
    pub(super) fn narrowed(&self, claim: &Claim) -> Arc<Identity> {
        if claim.profiles.is_empty() {
            return claim.identity.clone();
        }
        let rights = claim.profiles.iter().map(|name| {
            let known = self.settings.profiles.iter().find(|(known, _)| **known == **name);
            known.map_or_else(|| Arc::new(Rights::nothing()), |(_, rights)| rights.clone())
        });
        Arc::new(claim.identity.narrowed_by(rights))
    }

    /// Applies other profiles.
    pub(crate) fn set_profiles(&mut self, profiles: Vec<(String, Arc<Rights>)>) {
        if self.settings.profiles == profiles {
            return;
        }
        self.settings.profiles = profiles;
        let profiled = self.clients.values().filter_map(|c| Some((c.id(), c.profiled()?.clone())));
        for (client, claim) in profiled.collect::<Vec<_>>() {
            self.set_identity(client, self.narrowed(&claim));
        }
    }

    /// Applies other rights of a client. Open requests finish; hidden items, subscriptions and servers are gone at once.
    pub(super) fn set_identity(&mut self, client: ClientId, identity: Arc<Identity>) {
        if self.clients.get(&client).is_none_or(|c| c.is_lost() || **c.identity() == *identity) {
            return;
        }
        let mut changed = Vec::new();
        // Including delegates from before its last handshake, which may have requests in a queue.
        for c in self.clients.values_mut().filter(|c| c.connection() == client) {
            c.set_identity(identity.clone());
            let naming = self.narrowings.naming(&c.settings().naming, &identity.rights);
            // An aggregate client itself has no items: its delegates have.
            if c.aggregate().is_none() {
                changed.push((c.id(), c.set_naming(naming)));
            }
        }
        self.shown_otherwise(&changed);
        // Methods may be excluded while all names are still visible.
        self.refuse_hidden(&[client]);
        if self.clients.get(&client).is_some_and(|c| c.is_plain() && !c.may_use_server()) {
            self.refuse_asked(client);
            self.leave_all(client);
        }
    }
}

/// Whether a request is about the connection, and names nothing of a server.
fn is_answered_by_us(method: Method) -> bool {
    matches!(method, Method::Discover | Method::Alive | Method::Servers | Method::Shutdown)
}
