//! The clients' workspace folders: requested when a route or a backend needs them, and followed when they change.

use crate::clients::{Client, ClientRoot, RootsStage};
use crate::core::{Core, Followup};
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::messages::{root_entry, version_member};
use crate::pending::{AskedBy, Question};
use crate::routing::path;
use crate::transitions::Route;
use serde_json::json;
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{Dialect, Message, Method, Outgoing, Part, Patch, RawId, dialect};

/// Time limit for a client to name its roots, before it is assumed to have none.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(5);

impl Core {
    /// Requests a client's roots after its handshake, if they matter.
    pub(crate) fn ask_roots_if_wanted(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        let was_told = |id: BackendId| self.backends.get(&id).is_some_and(|b| b.roots().matter());
        let is_wanted = match c.settings().is_split() {
            true => c.known().pinned.is_none(),
            // A client without a home was greeted by us, and its roots decide about the server.
            false => (c.home().is_none() && !c.is_delegate()) || c.leases().any(was_told),
        };
        let may_be = c.has_roots() && self.may_be_asked(client);
        if is_wanted && may_be && c.roots_stage() == RootsStage::Unasked {
            self.ask_roots(client);
        }
    }

    /// Whether the handshake is complete on the client's own connection. A delegate's is complete earlier.
    pub(crate) fn may_be_asked(&self, client: ClientId) -> bool {
        self.clients.get(&self.connection_of(client)).is_some_and(|c| c.is_initialized())
    }

    pub(crate) fn ask_roots(&mut self, client: ClientId) {
        if self.ending.is_stopping() {
            return;
        }
        let connection = self.connection_of(client);
        if connection != client {
            return self.ask_roots_through(connection, client);
        }
        let minted = self.questions.mint();
        let style = self.settings.roots.policy.style;
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.begin_roots_inquiry(style);
        // In the spelling of the SDKs' servers.
        let version = version_member(c.dialect());
        let question = format!(r#"{{"method":"roots/list",{version}"id":{minted}}}"#);
        // Only the newest request counts.
        self.questions.drop_our_own(Some(client));
        let id = RawId::from_number(minted);
        // A client that does not read cannot answer: go on with what is known.
        if !self.tell_client(client, Outgoing::request(Method::RootsList, id, question.into())) {
            return self.roots_unknown(client);
        }
        let deadline = Some(self.clock.now() + ROOTS_TIMEOUT);
        let name = Cow::Borrowed("roots/list");
        let question = Question::new(client, AskedBy::Ourselves, name, self.clock.now(), deadline);
        self.questions.insert(minted, question);
        self.clock.wake_at(self.clock.now() + ROOTS_TIMEOUT);
    }

    /// Handles the client's answer: its paths are looked up on disk.
    pub(crate) fn roots_answered(&mut self, client: ClientId, answer: &Message, failed: bool) {
        let style = self.settings.roots.policy.style;
        let Some(c) = self.clients.get_mut(&client) else { return };
        // Even an error: it tells which clients would give a server the same answer.
        c.note_roots_answer(answer);
        if failed {
            return self.roots_unknown(client);
        }
        let Some((inquiry, paths)) = c.read_roots(answer, style) else { return };
        self.actions.push(Action::LookUp { client, inquiry, paths });
    }

    /// Ends an inquiry without an answer: the previous roots stay valid.
    pub(crate) fn roots_unknown(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if let Some(before) = c.give_up_roots_inquiry() {
            self.roots_known(client, before);
        }
    }

    pub(crate) fn roots_looked_up(&mut self, client: ClientId, inquiry: u32, found: Vec<Option<String>>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let Some(said) = c.look_up_roots(inquiry, found) else { return };
        self.roots_known(client, said);
    }

    pub(crate) fn roots_known(&mut self, client: ClientId, roots: Vec<ClientRoot>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let (is_split, is_delegate) = (c.settings().is_split(), c.is_delegate());
        if c.aggregate().is_some() {
            let paths = c.set_roots(roots.clone());
            self.report(Fact::RootsKnown { client, roots: paths });
            return self.tell_delegates_roots(client, &roots);
        }
        let paths = c.set_roots(roots);
        // The client itself has reported them.
        if !is_delegate {
            self.report(Fact::RootsKnown { client, roots: paths });
        }
        if is_split {
            self.move_home(client);
        } else {
            self.tell_backends(client);
        }
        if self.clients.get(&client).is_some_and(|c| c.home().is_none()) {
            self.find_home(client);
        }
        self.unpark(client);
        if is_delegate {
            self.rouse_if_unknown(client);
        }
    }

    /// Moves the client's home to its roots. Backends at roots that it no longer has are left.
    fn move_home(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let before = c.take_home();
        let Route::To(home) = self.find_home(client) else { return };
        let Some(before) = before.filter(|&before| before != home) else { return };
        let welcome = self.backends.get(&home).and_then(|b| b.handshake().welcome().cloned());
        if let Some(welcome) = welcome.or_else(|| self.origin(home)?.welcome().cloned()) {
            self.lists_changed(client, &welcome);
        }
        let root = self.backends.get(&before).and_then(|b| b.key().root.clone());
        let is_kept = |c: &Client| root.is_some_and(|root| c.known().client.contains(&root));
        if !self.clients.get(&client).is_some_and(is_kept) {
            // That home was a guess for the handshake.
            self.leave(client, before);
            let why = "no client uses this workspace any more";
            self.followups.push(Followup::EndDeserted { backend: before, why });
            self.end_deserted();
        }
    }

    /// Notifies a client that made its handshake elsewhere, and may have lists from there.
    pub(crate) fn lists_changed(&mut self, client: ClientId, welcome: &Message) {
        if self.clients.get(&client).is_some_and(|c| c.is_delegate()) {
            return self.renew_soon(client);
        }
        let Some(result) = welcome.part(Part::Result) else { return };
        let offers = serde_json::from_slice::<serde_json::Value>(result).unwrap_or_default();
        for list in ["tools", "prompts", "resources"] {
            // MCP allows the notification only to a server that has declared it.
            if offers["capabilities"][list]["listChanged"] != json!(true) {
                continue;
            }
            self.notify_client(client, json!({ "method": format!("notifications/{list}/list_changed") }));
        }
    }

    /// Notifies backends that asked for the client's roots of the change, or answers them.
    fn tell_backends(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        let leases: Vec<BackendId> = c.leases().collect();
        for backend in leases {
            let Some(b) = self.backends.get(&backend) else { continue };
            let Some(mine) = self.roots_key(client, b) else { continue };
            let has_others = b.roots().told().is_some_and(|told| *told != mine);
            // A process has one answer for all its clients; with company, the client with other roots leaves.
            if has_others && self.has_company(client, b) {
                self.leave_other_roots(client, backend);
                continue;
            }
            let connection = self.connection_of(client);
            let Some(b) = self.backends.get_mut(&backend) else { continue };
            if has_others {
                b.roots_mut().bind(Some(mine.clone()), connection);
            }
            let Some(launch) = b.launch().filter(|_| b.is_ready()) else {
                continue;
            };
            if has_others {
                let notice = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
                let notice = Outgoing::notification(Method::RootsChanged, notice.to_string().into());
                self.tell_backend(launch, notice);
            }
            self.answer_roots(launch);
        }
    }

    /// Answers `roots/list`: with the root of the key, or with the client's own answer.
    pub(crate) fn name_roots(&mut self, launch: Launch, id: &RawId, client: ClientId) {
        let style = self.settings.roots.policy.style;
        let Some(b) = self.backends.get(&launch.backend) else { return };
        if let Some(answer) = self.told_shown(client, b) {
            let message = answer.message();
            let mut out = Outgoing::of(message);
            out.replace(message.span(Part::Id), Patch::Id(id.clone()));
            return self.send_to_backend(launch, out);
        }
        // A split server has one root; so has a pinned client, one whose folders are not on this machine, and a modern
        // one that has shown no others.
        let pinned = self.clients.get(&client).and_then(|c| c.known().pinned.clone());
        let is_elsewhere = self.clients.get(&client).is_some_and(|c| c.is_elsewhere());
        let is_translated = self.clients.get(&client).is_some_and(|c| c.is_translated());
        let has_root = b.key().root.is_some();
        let is_ours = b.settings().is_split() || is_elsewhere || (is_translated && has_root);
        let only = if is_ours { b.key().root.clone() } else { pinned };
        let answer = self.clients.get(&self.connection_of(client)).and_then(|c| c.roots_answer());
        if let Some(answer) = answer.filter(|_| only.is_none() && !is_ours) {
            let message = answer.message();
            let mut out = Outgoing::of(message);
            out.replace(message.span(Part::Id), Patch::Id(id.clone()));
            dialect::translate(message, Dialect::Standard, &mut out);
            return self.send_to_backend(launch, out);
        }
        let told = self.clients.get(&client).map(|c| c.named_roots(style)).unwrap_or_default();
        let roots: Vec<Cow<'_, str>> = match &only {
            Some(root) => {
                let named = told.iter().find(|told| told.path() == Some(root));
                let own = || root_entry(&path::to_uri(root, style)).into();
                vec![named.map_or_else(own, |named| Cow::Borrowed(named.raw()))]
            }
            None if is_elsewhere => Vec::new(),
            None => told.iter().map(|root| Cow::Borrowed(root.raw())).collect(),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[{}]}}}}"#, roots.join(","));
        self.send_to_backend(launch, Outgoing::response(id.clone(), answer.into()));
    }

    /// Handles a change of the client's roots: asks again if they are in use; otherwise the server may want to know.
    pub(crate) fn roots_changed(&mut self, client: ClientId, message: &Message) {
        let Some(c) = self.clients.get(&client) else { return };
        let was_told =
            c.leases().any(|id| self.backends.get(&id).is_some_and(|b| b.roots().told().is_some()));
        if c.has_roots() && self.may_be_asked(client) && (c.settings().is_split() || was_told) {
            return self.ask_roots(client);
        }
        // A split server has a single root, which a change of the list does not affect.
        if !c.settings().is_split() && c.settings().asks.roots {
            self.notify_home(client, message);
        }
    }
}
