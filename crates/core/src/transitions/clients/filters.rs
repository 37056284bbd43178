//! The filters of a server's entry (`allow`, `deny`, `rename`), for clients that see this server alone. Names
//! are checked before a request is sent, and hidden items are cut out of the server's answers. Aggregate
//! clients have views for that (`aggregate`). A server without filters costs nothing here.

use crate::catalogue::{Access, List, Naming, Offer, Single};
use crate::clients::Client;
use crate::core::Core;
use crate::ids::{BackendId, ClientId, ServerId};
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
        let naming = &c.settings().naming;
        (c.is_plain() && !naming.is_open()).then_some(naming)
    }

    /// Checks the names in a request, and replaces them with the server's own.
    pub(crate) fn screen(&self, client: ClientId, message: &mut Message) -> Screened {
        let Some(c) = self.clients.get(&client) else { return Screened::Passes };
        let naming = &c.settings().naming;
        if naming.is_open() {
            return Screened::Passes;
        }
        if let Some(error) = self.unknown_request(naming, message) {
            return Screened::Refused(error);
        }
        // For a delegate, the view has checked and replaced the names.
        if !c.is_plain() {
            return Screened::Passes;
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
            Access::Refused => Screened::Refused(self.unknown_resource(&text(message, part), &[])),
            Access::Undecided => Screened::Undecided,
        }
    }

    /// Refuses an unknown method about a filtered kind of item: it may name one in a way that we do not know.
    fn unknown_request(&self, naming: &Naming, message: &Message) -> Option<ErrorAnswer> {
        if message.method() != Method::Other {
            return None;
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
        is_about.then(|| self.filtered_method(&message.method_name()))
    }

    /// The answer for a hidden name: the same as for a name that does not exist.
    fn unknown_to(&self, client: ClientId, list: List, name: &str) -> ErrorAnswer {
        let offer = self.offer_for(client);
        let naming = self.filters_of(client);
        let nearest = naming.map(|naming| single(naming, offer.as_deref()).nearest(list, name));
        self.unknown_name(list, name, nearest.unwrap_or_default())
    }

    /// Whether a client's requests may depend on its server's lists.
    pub(crate) fn needs_templates(&self, client: ClientId) -> bool {
        self.filters_of(client).is_some_and(|naming| !naming.resources.allow.is_empty())
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
        let verdicts = uris.map(|part| self.screen_uri(client, &message, part));
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
        let naming = &c.settings().naming;
        if naming.resources.is_open() {
            return true;
        }
        let offer = self.offer_for(client);
        single(naming, offer.as_deref()).uri(quoted) == Access::Granted
    }

    /// Ends subscriptions to resources that a changed filter hides.
    fn drop_hidden_subscriptions(&mut self, server: ServerId) {
        let own = self.backends.of_server(server);
        let all = own.flat_map(|b| {
            b.subscriptions().iter().map(|(uri, clients)| (b.id(), uri.to_vec(), clients.to_vec()))
        });
        for (backend, uri, clients) in all.collect::<Vec<_>>() {
            for client in clients {
                if self.may_see_uri(client, Some(&uri)) {
                    continue;
                }
                self.unsubscribed(backend, client, &uri);
                let launch = self
                    .backends
                    .get(&backend)
                    .filter(|b| b.handshake().is_initialized())
                    .and_then(|b| b.launch());
                if let Some(launch) = launch {
                    self.unsubscribe(launch, client, vec![uri.clone()]);
                }
            }
        }
    }

    /// The refusal that a queued request would get now: a reload may have hidden what it names. Its names are
    /// the server's own by now; the answer uses the client's.
    pub(crate) fn hidden_since(&self, client: ClientId, message: &Message) -> Option<ErrorAnswer> {
        let naming = &self.clients.get(&client)?.settings().naming;
        if naming.is_open() {
            return None;
        }
        named_in(message).into_iter().find_map(|named| match named {
            NamedPart::Name(list, part) => {
                let filter = naming.filter(list);
                // As on arrival: without a filter on this list, the server judges a missing name.
                let is_shown = filter.is_open() || message.text(part).is_some_and(|own| filter.allows(&own));
                (!is_shown).then(|| self.unknown_name(list, &said(message, part), Vec::new()))
            }
            NamedPart::Uri(part) => {
                let offer = self.offer_for(client);
                let access = single(naming, offer.as_deref()).uri(message.part(part));
                (access == Access::Refused).then(|| self.unknown_resource(&said(message, part), &[]))
            }
        })
    }

    /// Refuses queued requests whose names are hidden now.
    pub(crate) fn refuse_hidden(&mut self, server: ServerId) {
        let is_of = |p: &Pending| {
            let owner = p.client().and_then(|client| self.clients.get(&client));
            p.waiting().is_some() && owner.is_some_and(|c| c.server() == server)
        };
        for minted in self.pending.ids(is_of) {
            let Some(pending) = self.pending.get(minted) else { continue };
            let (Some(client), Some(message)) = (pending.client(), pending.waiting()) else { continue };
            let (backend, error) = (pending.backend(), self.hidden_since(client, message));
            if let Some(error) = error {
                self.unqueue(backend, minted);
                self.fail_one(minted, &error);
            }
        }
    }

    /// Applies changed filters: notifies clients of the lists that differ.
    pub(crate) fn filters_changed(&mut self, server: ServerId, before: &Naming, naming: &Naming) {
        if before.resources != naming.resources {
            self.drop_hidden_subscriptions(server);
        }
        self.refuse_hidden(server);
        let notices = List::change_notices(|list| before.filter(list) != naming.filter(list));
        let is_concerned = |c: &&Client| {
            let is_greeted = c.greeting().is_some();
            c.server() == server && c.is_plain() && is_greeted && !c.is_lost()
        };
        for client in self.clients.values().filter(is_concerned).map(|c| c.id()).collect::<Vec<ClientId>>() {
            for method in &notices {
                self.notify_client(client, json!({ "method": method }));
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

fn text(message: &Message, part: Part) -> String {
    message.text(part).unwrap_or_default().into_owned()
}
