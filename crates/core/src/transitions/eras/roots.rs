//! The roots of modern clients at legacy servers. A modern client can be asked only during a call. Its roots go only to a
//! process that no other client uses; all other processes get the folder of their workspace. Must not know how a call is
//! paused.

use crate::backends::Backend;
use crate::clients::{Client, RootsAnswer, ShownRoots};
use crate::core::Core;
use crate::fact::Outcome;
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::{AskedBy, Question};
use crate::transitions::NO_ROOTS;
use crate::translation::for_modern::Need;
use std::sync::Arc;
use switchboard_protocol::{Message, RawId};

impl Core {
    /// Asks a modern client for its roots, by pausing the only call that the process works on for it. Returns whether the
    /// client is asked.
    pub(crate) fn asks_for_roots(
        &mut self,
        launch: Launch,
        client: ClientId,
        id: &RawId,
        message: &Message,
    ) -> bool {
        let backend = launch.backend;
        self.forget_failed_pauses();
        let Some(c) = self.clients.get(&client).filter(|c| c.is_here() && may_show_roots(c)) else {
            return false;
        };
        let is_ended_meant =
            self.may_ask_about_ended(backend) || self.may_mean_another_program(backend, client);
        let Some(b) = self.backends.get(&backend).filter(|_| !is_ended_meant) else { return false };
        let Some(call) = self.only_call(backend, client) else { return false };
        let is_known = c.shown_roots().is_some_and(|shown| shown.count_in(Some(call)));
        let open = self.questions.iter().filter(|(_, asked)| asked.is_of(backend)).count();
        let may_wait = open < self.settings.limits.asked_per_backend
            && self.may_pause(c.principal())
            && self.may_store_question(c.principal(), call, message);
        // Others would have to share the answer, and have not been asked.
        if is_known || !may_wait || self.has_other_users(client, b) {
            return false;
        }
        self.ask_in_call(call, launch, client, id, message)
    }

    /// The only call of a modern client that a process works on.
    pub(crate) fn only_call(&self, backend: BackendId, client: ClientId) -> Option<u64> {
        let c = self.clients.get(&client).filter(|c| c.is_translated())?;
        let (open, paused) = self.calls_at(backend, client, c.principal());
        let mut calls = open.into_iter().chain(paused);
        calls.next().filter(|_| calls.next().is_none())
    }

    /// Handles the roots in a continuation. If they are malformed, the process gets its folder.
    pub(super) fn roots_shown(&mut self, question: u64, call: u64, by: ClientId, result: &str) {
        let Some(asked) = self.questions.remove(question) else { return };
        let style = self.settings.roots.policy.style;
        // Programs with the same token and the same declaration are one client, and may work in different folders.
        let counts_for = self.has_no_session(by).then_some(call);
        let shown = ShownRoots::read(result, style, counts_for);
        if let (Some(shown), Some(c)) = (shown, self.clients.get_mut(&by).filter(|c| may_show_roots(c))) {
            c.show_roots(shown);
        }
        self.end_roots_question(&asked, call, by);
    }

    /// Answers a roots question whose roots have become known. Returns whether it did.
    pub(super) fn knows_roots(&mut self, question: u64, call: u64, by: ClientId) -> bool {
        let is_its = |asked: &Question| asked.is_for_roots() && asked.client() == by;
        let shown = self.clients.get(&by).and_then(Client::shown_roots);
        let is_known = shown.is_some_and(|shown| shown.count_in(Some(call)));
        if !is_known || !self.questions.get(question).is_some_and(is_its) {
            return false;
        }
        if let Some(asked) = self.questions.remove(question) {
            self.end_roots_question(&asked, call, by);
        }
        true
    }

    /// Answers a roots question with the client's known roots, or with the folder.
    pub(super) fn end_roots_question(&mut self, asked: &Question, call: u64, by: ClientId) {
        self.report_asked(asked, Outcome::Ok);
        if let AskedBy::Backend { launch, id } = asked.by() {
            self.backend_is_active(launch.backend);
            self.tell_roots(*launch, id, by, Some(call));
        }
    }

    /// Answers `roots/list` of a process that works for a modern client: with the client's roots if no other client uses
    /// the process, else with the folder. `call`: the call that the process works on.
    pub(crate) fn tell_roots(&mut self, launch: Launch, id: &RawId, client: ClientId, call: Option<u64>) {
        let Some(b) = self.backends.get(&launch.backend) else { return };
        let connection = self.connection_of(client);
        let told = b.roots().told();
        let key = self.shown_at(client, b).filter(|shown| shown.count_in(call)).map(|it| it.answer().key());
        let key = key.filter(|key| told == Some(key) || !self.has_other_users(client, b)).cloned();
        let was_told_others =
            b.roots().told_by() == Some(connection) && told.is_some_and(|told| **told != *NO_ROOTS);
        let key = key.or_else(|| (told.is_none() || was_told_others).then(|| NO_ROOTS.into()));
        if let (Some(key), Some(b)) = (key, self.backends.get_mut(&launch.backend)) {
            // From now on, clients with other roots get another process.
            b.roots_mut().bind(Some(key), connection);
        }
        self.name_roots(launch, id, client);
    }

    /// The key of the roots that a modern client has shown, at a backend; `None` for the folder.
    pub(crate) fn key_of_shown(&self, client: ClientId, b: &Backend) -> Option<Arc<str>> {
        let shown = self.shown_at(client, b)?;
        match shown.count_in(None) {
            true => Some(shown.answer().key().clone()),
            // The roots of the next call may differ.
            false => {
                let is_its = b.roots().told_by() == Some(self.connection_of(client));
                b.roots().told().filter(|_| is_its).cloned()
            }
        }
    }

    /// The answer of a modern client, if the process is bound to it.
    pub(crate) fn told_shown(&self, client: ClientId, b: &Backend) -> Option<&RootsAnswer> {
        let answer = self.shown_at(client, b)?.answer();
        (b.roots().told() == Some(answer.key())).then_some(answer)
    }

    /// The roots that a modern client has shown, if a backend may be told them and they are not its folder.
    fn shown_at(&self, client: ClientId, b: &Backend) -> Option<&ShownRoots> {
        let c = self.clients.get(&client)?;
        let shown = c.shown_roots().filter(|_| may_show_roots(c) && !b.settings().is_split())?;
        let style = self.settings.roots.policy.style;
        (!shown.are_folder(b.key().root.as_deref(), style)).then_some(shown)
    }
}

/// Whether a modern client may show its roots to a legacy server.
fn may_show_roots(c: &Client) -> bool {
    let is_bound = c.is_elsewhere() || c.known().pinned.is_some();
    !is_bound && c.is_translated() && c.declares(&Need::Roots)
}
