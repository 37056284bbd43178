//! The filters of a server's entry (`allow`, `deny`, `rename`), narrowed by the rights of the client, for clients
//! that see this server alone. Names are checked before a request is sent, and hidden items are cut out of the
//! server's answers. Aggregate clients have views for that (`aggregate`). Without filters and rights this costs
//! nothing.

use crate::answers::Asked;
use crate::backends::Backend;
use crate::catalogue::{Access, List, Naming, Offer, Single};
use crate::clients::Client;
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::messages::same_spelling;
use crate::pending::Pending;
use crate::routing::NamedPath;
use serde_json::json;
use std::sync::Arc;
use switchboard_protocol::{ErrorAnswer, Message, Method, Outgoing, Part, Patch};

/// Verdict on a request.
#[derive(Debug)]
pub(crate) enum Screened {
    Passes,
    Refused(ErrorAnswer),
    /// Depends on the server's templates, which have not been fetched.
    Undecided,
}

/// The part of a request that names an item of the server.
enum NamedPart {
    Name(List, Part),
    Uri(Part),
}

impl Core {
    /// The naming of a client's server, if the client sees it alone and with filters.
    fn filters_of(&self, client: ClientId) -> Option<&Arc<Naming>> {
        let c = self.clients.get(&client)?;
        let naming = c.naming();
        (c.is_plain() && !naming.is_open()).then_some(naming)
    }

    /// Checks the names in a request, and replaces them with the server's own.
    pub(crate) fn screen(&self, client: ClientId, message: &mut Message) -> Screened {
        let Some(c) = self.clients.get(&client) else { return Screened::Passes };
        let naming = c.naming();
        if naming.is_open() {
            return Screened::Passes;
        }
        if let Some(error) = self.unknown_request(c, message) {
            return Screened::Refused(error);
        }
        // For a delegate, the view has checked and replaced the names.
        if !c.is_plain() {
            return Screened::Passes;
        }
        if message.method() == Method::Listen {
            return self.screen_listen(client, message);
        }
        for named in named_in(message) {
            match named {
                NamedPart::Name(list, part) => match single(naming, None).name(list, message.part(part)) {
                    Access::Granted => {}
                    Access::GrantedAs(original) => message.rename(part, original),
                    // Only a URI can be undecided.
                    Access::Refused | Access::Undecided => {
                        return Screened::Refused(self.unknown_to(client, list, &text(message, part)));
                    }
                },
                NamedPart::Uri(part) => match self.screen_uri(client, message, part) {
                    Screened::Passes => {}
                    other => return other,
                },
            }
        }
        Screened::Passes
    }

    fn screen_uri(&self, client: ClientId, message: &Message, part: Part) -> Screened {
        let Some(naming) = self.filters_of(client) else { return Screened::Passes };
        let offer = self.offer_for(client);
        match single(naming, offer.as_deref()).uri(message.part(part)) {
            Access::Granted | Access::GrantedAs(_) => Screened::Passes,
            Access::Refused => Screened::Refused(self.no_resource(client, &text(message, part))),
            Access::Undecided => Screened::Undecided,
        }
    }

    /// Verdict on a URI of a list, in the spelling of the client.
    pub(crate) fn screen_text(&self, client: ClientId, uri: &str) -> Screened {
        let Some(c) = self.clients.get(&client).filter(|c| !c.naming().resources.is_open()) else {
            return Screened::Passes;
        };
        let offer = self.offer_for(client);
        let quoted = serde_json::Value::from(uri).to_string();
        match single(c.naming(), offer.as_deref()).uri(Some(quoted.as_bytes())) {
            Access::Granted | Access::GrantedAs(_) => Screened::Passes,
            Access::Refused => Screened::Refused(self.no_resource(client, uri)),
            Access::Undecided => Screened::Undecided,
        }
    }

    /// Whether a changed list has no items that a client may see.
    pub(crate) fn hides_change_from(&self, client: ClientId, notice: Method) -> bool {
        let list = match notice {
            Method::ToolsChanged => List::Tools,
            Method::PromptsChanged => List::Prompts,
            _ => List::Resources,
        };
        self.clients.get(&client).is_none_or(|c| c.naming().hides_all(list))
    }

    /// Refuses an unknown method about a filtered kind of item: it may name one in a way that we do not know.
    fn unknown_request(&self, c: &Client, message: &Message) -> Option<ErrorAnswer> {
        if message.method() != Method::Other {
            return None;
        }
        let naming = c.naming();
        // Rights are stricter than filters: such a method needs a pattern of its own.
        if naming.is_narrowed() && !c.identity().names_method(&message.method_name()) {
            return Some(self.unscreened_method(c, &message.method_name()));
        }
        // Another letter case must not lead around the filter.
        let name = message.method_name().to_ascii_lowercase();
        let is_filtered = |list: List| !naming.filter(list).is_open();
        let is_about = match name.split('/').next().unwrap_or_default() {
            "tools" => is_filtered(List::Tools),
            "prompts" => is_filtered(List::Prompts),
            "resources" | "subscriptions" => is_filtered(List::Resources),
            "completion" => is_filtered(List::Prompts) || is_filtered(List::Resources),
            _ => false,
        };
        is_about.then(|| self.unscreened_method(c, &message.method_name()))
    }

    /// The answer for a hidden name: the same as for a name that does not exist. A tool that is held back has a
    /// remedy of its own.
    fn unknown_to(&self, client: ClientId, list: List, name: &str) -> ErrorAnswer {
        let offer = self.offer_for(client);
        let naming = self.filters_of(client);
        if let Some(naming) = naming.filter(|naming| naming.filter(list).held_by_name(name).is_some()) {
            return self.held_tool(&naming.server, name);
        }
        let nearest = naming.map(|naming| single(naming, offer.as_deref()).nearest(list, name));
        self.no_item(client, list, name, nearest.unwrap_or_default())
    }

    /// The refusal of what a request names, in the client's spelling, or of its method.
    pub(super) fn forbidden_part(&self, c: &Client, message: &Message) -> ErrorAnswer {
        match named_in(message).into_iter().next() {
            Some(NamedPart::Name(list, part)) => self.no_item(c.id(), list, &said(message, part), Vec::new()),
            Some(NamedPart::Uri(part)) => self.no_resource(c.id(), &said(message, part)),
            None => self.forbidden(c, Asked::Method(&message.method_name())),
        }
    }

    /// Whether a client's requests may depend on its server's lists.
    pub(crate) fn needs_templates(&self, client: ClientId) -> bool {
        self.filters_of(client).is_some_and(|naming| naming.resources.is_selective())
    }

    /// Handles an accepted request that cannot be judged before the server's templates are known.
    pub(crate) fn hold_undecided(&mut self, minted: u64, backend: BackendId, paths: Vec<NamedPath>) {
        if let Some(pending) = self.pending.get_mut(minted) {
            pending.set_undecided(true);
        }
        self.decide(minted, backend, paths);
    }

    /// Judges a request that waited for its server's templates, or lets it wait further: in the backend's
    /// queue until that is ready, then until the lists have been fetched.
    pub(crate) fn decide(&mut self, minted: u64, backend: BackendId, paths: Vec<NamedPath>) {
        let Some(pending) = self.pending.get(minted) else { return };
        let (Some(client), Some(message)) = (pending.client(), pending.waiting().cloned()) else { return };
        // The backend may have changed its state since the request was accepted.
        if let Some(error) = self.why_not_now(client, backend, &message) {
            return self.fail_one(minted, &error);
        }
        let uris = named_in(&message).into_iter().filter_map(|named| match named {
            NamedPart::Uri(part) => Some(part),
            NamedPart::Name(..) => None,
        });
        let listen = (message.method() == Method::Listen).then(|| self.screen_listen(client, &message));
        let verdicts = uris.map(|part| self.screen_uri(client, &message, part)).chain(listen);
        match verdicts.reduce(stricter).unwrap_or(Screened::Passes) {
            Screened::Refused(error) => self.fail_one(minted, &error),
            Screened::Passes => {
                if let Some(pending) = self.pending.get_mut(minted) {
                    pending.set_undecided(false);
                }
                self.hand_to(minted, backend);
            }
            Screened::Undecided => self.wait_for_templates(client, minted, backend, paths),
        }
    }

    fn wait_for_templates(
        &mut self,
        client: ClientId,
        minted: u64,
        backend: BackendId,
        paths: Vec<NamedPath>,
    ) {
        let b = self.backends.get(&backend);
        let launch = b.filter(|b| b.is_ready()).and_then(|b| b.launch());
        let Some(launch) = launch else { return self.hand_to(minted, backend) };
        if let Some(pending) = self.pending.get_mut(minted) {
            pending.unroute();
        }
        self.park(client, minted, paths);
        self.fetch_offer(launch);
    }

    /// Judges the requests that waited for a backend's lists.
    pub(crate) fn decide_parked(&mut self, backend: BackendId) {
        let waits = |client: &ClientId| self.needs_templates(*client) && self.has_parked(*client);
        for client in self.lessees(backend).filter(waits).collect::<Vec<ClientId>>() {
            self.unpark(client);
        }
    }

    pub(crate) fn has_parked(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.is_plain() && c.has_parked())
    }

    /// Cuts hidden items out of an answer. `Err` if the answer cannot be parsed.
    pub(crate) fn screen_answer(
        &self,
        c: &Client,
        pending: &Pending,
        answer: &Message,
        out: &mut Outgoing,
    ) -> Result<(), ErrorAnswer> {
        let Some(list) = List::of(pending.method()) else { return Ok(()) };
        let (Some(naming), Some(result)) = (self.filters_of(c.id()), answer.part(Part::Result)) else {
            return Ok(());
        };
        match single(naming, None).page(list, result) {
            Ok(None) => {}
            Ok(Some(page)) => out.replace(answer.span(Part::Result), Patch::Text(page)),
            Err(unreadable) => return Err(self.bad_answer(pending.backend(), &unreadable.to_string())),
        }
        Ok(())
    }

    /// A stored list as shown to a client; `None` if it cannot be parsed.
    pub(crate) fn screen_stored(&self, client: ClientId, list: List, result: String) -> Option<String> {
        let Some(naming) = self.filters_of(client) else { return Some(result) };
        match single(naming, None).page(list, result.as_bytes()).ok()? {
            None => Some(result),
            Some(page) => String::from_utf8(page.into()).ok(),
        }
    }

    /// Whether a client's server shows this quoted URI; for an aggregate client, ask for one of its delegates.
    pub(crate) fn may_see_uri(&self, client: ClientId, quoted: Option<&[u8]>) -> bool {
        let Some(c) = self.clients.get(&client) else { return false };
        let naming = c.naming();
        if naming.resources.is_open() {
            return true;
        }
        let offer = self.offer_for(client);
        single(naming, offer.as_deref()).uri(quoted) == Access::Granted
    }

    /// Ends a client's subscriptions to resources that are hidden from it now; those that the server is being told
    /// of, with its answer.
    fn drop_hidden_subscriptions(&mut self, client: ClientId) {
        let own =
            |b: &Backend| b.subscriptions().of_client(client).into_iter().map(|uri| (b.id(), uri)).collect();
        let all: Vec<(BackendId, Vec<u8>)> =
            self.backends.values().flat_map(|b| -> Vec<_> { own(b) }).collect();
        for (backend, uri) in all {
            if !self.may_subscribe(client, &uri) {
                self.drop_subscription(backend, client, uri);
            }
        }
        let is_sent = |p: &Pending| p.is_of(client) && p.method() == Method::Subscribe && p.sent().is_some();
        for minted in self.pending.ids(is_sent) {
            let Some(pending) = self.pending.get(minted) else { continue };
            let uri = pending.sent().and_then(|request| request.part(Part::Uri)).map(same_spelling);
            let is_hidden = uri.is_some_and(|uri| !self.may_subscribe(client, &uri));
            if let Some(pending) = self.pending.get_mut(minted).filter(|_| is_hidden) {
                pending.mark_hidden();
            }
        }
    }

    /// Ends a subscription in place of its client.
    pub(crate) fn drop_subscription(&mut self, backend: BackendId, client: ClientId, uri: Vec<u8>) {
        self.unsubscribed(backend, client, &uri);
        let b = self.backends.get(&backend).filter(|b| b.handshake().is_initialized());
        if let Some(launch) = b.and_then(|b| b.launch()) {
            self.unsubscribe(launch, client, vec![uri]);
        }
    }

    /// The refusal that a queued request would get now: a reload may have hidden what it names.
    pub(crate) fn hidden_since(&self, client: ClientId, message: &Message) -> Option<ErrorAnswer> {
        match self.screen_queued(client, message) {
            Screened::Refused(error) => Some(error),
            Screened::Passes | Screened::Undecided => None,
        }
    }

    /// Whether a request may be sent once more: everything that it names is visible now.
    pub(crate) fn still_passes(&self, client: ClientId, message: &Message) -> bool {
        matches!(self.screen_queued(client, message), Screened::Passes)
    }

    /// Verdict on a queued request. Its names are the server's own by now; a refusal uses the client's.
    fn screen_queued(&self, client: ClientId, message: &Message) -> Screened {
        let Some(c) = self.clients.get(&client) else { return Screened::Passes };
        if let Some(error) = self.not_permitted(c, message) {
            return Screened::Refused(error);
        }
        let naming = c.naming();
        if naming.is_open() {
            return Screened::Passes;
        }
        if let Some(error) = self.unknown_request(c, message) {
            return Screened::Refused(error);
        }
        if message.method() == Method::Listen {
            return self.screen_listen(client, message);
        }
        let verdicts = named_in(message).into_iter().map(|named| match named {
            NamedPart::Name(list, part) => {
                let (filter, own) = (naming.filter(list), message.text(part));
                let own = own.as_deref();
                // As on arrival: without a filter on this list, the server judges a missing name.
                match filter.is_open() || own.is_some_and(|own| filter.allows(own)) {
                    true => Screened::Passes,
                    false if own.is_some_and(|own| filter.is_held(own)) => {
                        Screened::Refused(self.held_tool(&naming.server, &said(message, part)))
                    }
                    false => Screened::Refused(self.no_item(client, list, &said(message, part), Vec::new())),
                }
            }
            NamedPart::Uri(part) => {
                let offer = self.offer_for(client);
                match single(naming, offer.as_deref()).uri(message.part(part)) {
                    Access::Granted | Access::GrantedAs(_) => Screened::Passes,
                    Access::Refused => Screened::Refused(self.no_resource(client, &said(message, part))),
                    Access::Undecided => Screened::Undecided,
                }
            }
        });
        verdicts.reduce(stricter).unwrap_or(Screened::Passes)
    }

    /// Refuses queued requests of these clients that name something hidden.
    pub(crate) fn refuse_hidden(&mut self, clients: &[ClientId]) {
        let is_of =
            |p: &Pending| p.waiting().is_some() && p.client().is_some_and(|client| clients.contains(&client));
        for minted in self.pending.ids(is_of) {
            let Some(pending) = self.pending.get(minted) else { continue };
            let (Some(client), Some(message)) = (pending.client(), pending.waiting()) else { continue };
            let (backend, is_ping) = (pending.backend(), pending.method() == Method::Ping);
            let is_plain = self.clients.get(&client).is_some_and(Client::is_plain);
            let error = match self.screen_queued(client, message) {
                Screened::Passes => continue,
                // Decided before it is sent.
                Screened::Undecided if is_plain => {
                    if let Some(pending) = self.pending.get_mut(minted) {
                        pending.set_undecided(true);
                    }
                    continue;
                }
                // For a delegate, only the view could tell, and the request has left it behind.
                Screened::Undecided => self.no_resource(client, &said_uri(message)),
                Screened::Refused(error) => error,
            };
            self.unqueue(backend, minted);
            match is_ping {
                // It asks whether we are there.
                true => self.conclude_empty(minted),
                false => self.fail_one(minted, &error),
            }
        }
    }

    /// Applies changed filters or rights of clients, each with its previous naming: ends what is hidden now,
    /// and notifies clients of the lists that differ. Aggregate clients compare their views instead.
    pub(crate) fn shown_otherwise(&mut self, changed: &[(ClientId, Arc<Naming>)]) {
        let clients: Vec<ClientId> = changed.iter().map(|(client, _)| *client).collect();
        for client in &clients {
            self.drop_hidden_subscriptions(*client);
        }
        self.refuse_hidden(&clients);
        for (client, before) in changed {
            let Some(c) = self.clients.get(client) else { continue };
            if !c.is_plain() || c.greeting().is_none() || c.is_lost() {
                continue;
            }
            let naming = c.naming().clone();
            for method in List::change_notices(|list| before.filter(list) != naming.filter(list)) {
                self.notify_client(*client, json!({ "method": method }));
            }
        }
    }
}

fn single<'a>(naming: &'a Naming, offer: Option<&'a Offer>) -> Single<'a> {
    Single { naming, offer }
}

/// The names in a request. A request that lacks a required name is judged as well.
fn named_in(message: &Message) -> Vec<NamedPart> {
    match message.method() {
        Method::ToolsCall => vec![NamedPart::Name(List::Tools, Part::Name)],
        Method::PromptsGet => vec![NamedPart::Name(List::Prompts, Part::Name)],
        Method::ResourcesRead | Method::Subscribe | Method::Unsubscribe => vec![NamedPart::Uri(Part::Uri)],
        // If both are present, the server decides which counts, so both are checked.
        Method::Complete => {
            let (is_prompt, is_resource) = (message.has(Part::RefName), message.has(Part::RefUri));
            let prompt = (is_prompt || !is_resource).then_some(NamedPart::Name(List::Prompts, Part::RefName));
            let resource = (is_resource || !is_prompt).then_some(NamedPart::Uri(Part::RefUri));
            prompt.into_iter().chain(resource).collect()
        }
        _ => Vec::new(),
    }
}

fn stricter(one: Screened, other: Screened) -> Screened {
    match (one, other) {
        (Screened::Refused(error), _) | (_, Screened::Refused(error)) => Screened::Refused(error),
        (Screened::Undecided, _) | (_, Screened::Undecided) => Screened::Undecided,
        (Screened::Passes, Screened::Passes) => Screened::Passes,
    }
}

/// The client's own spelling, whatever the server's name is.
pub(super) fn said(message: &Message, part: Part) -> String {
    let quoted = &message.bytes()[message.span(part).range()];
    serde_json::from_slice(quoted).unwrap_or_default()
}

/// The URI in a request, as the client spelled it.
fn said_uri(message: &Message) -> String {
    let uri = |named| match named {
        NamedPart::Uri(part) => Some(said(message, part)),
        NamedPart::Name(..) => None,
    };
    named_in(message).into_iter().find_map(uri).unwrap_or_default()
}

fn text(message: &Message, part: Part) -> String {
    message.text(part).unwrap_or_default().into_owned()
}
