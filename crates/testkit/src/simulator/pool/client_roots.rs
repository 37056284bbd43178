//! The clients' workspaces: the roots that they name, the roots that the core should know, and the routes of their requests.

use super::PoolTurn;
use super::PoolWorld;
use super::client::{Answering, some_folders};
use super::plan::PROJECTS;
use crate::simulator::engine::{Check, Found, answer, notice};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use switchboard_core::routing::path::{Style, is_within};
use switchboard_core::routing::{Decision, Known, NamedBy, NamedPath, decide};
use switchboard_core::{ClientId, Moment, Scope};

/// Folders that clients may have open, and the folders on disk, including a link and a missing one.
pub(super) const FOLDERS: &[(&str, Option<&str>)] = &[
    ("/w/a", Some("/w/a")),
    ("/w/a/in", Some("/w/a/in")),
    ("/w/b", Some("/w/b")),
    ("/w/c", Some("/w/c")),
    ("/l/b", Some("/w/b")),
    ("/w/gone", None),
];

/// Files that calls may name.
const FILES: &[&str] = &["/w/a/x", "/w/a/in/y", "/w/a/in", "/w/b/x", "/w/c/x/y", "/x/d/x", "/tmp/x", "/w/ab"];

impl PoolWorld {
    pub(super) fn some_place(&mut self) -> NamedPath {
        let path = *self.rng.pick(FILES);
        let around = PROJECTS.iter().filter(|project| is_within(path, project, Style::Unix));
        let project = around.max_by_key(|project| project.len()).map(|project| project.to_string());
        let named_by = if self.rng.percent(25) { NamedBy::Uri } else { NamedBy::Argument("path".into()) };
        NamedPath { named_by, path: path.to_owned(), project }
    }

    /// Roots that a client's request belongs to now. Empty: it must be refused.
    pub(super) fn roots_for(
        &mut self,
        client: ClientId,
        place: Option<&NamedPath>,
    ) -> BTreeSet<Option<String>> {
        let is_split = self.is_split() && self.clients[&client].known.pinned.is_none();
        match place {
            Some(place) if is_split => {
                self.decided(client, std::slice::from_ref(place)).into_iter().collect()
            }
            Some(_) | None => {
                if self.clients[&client].home.is_empty() {
                    self.settle_home(client);
                }
                self.clients[&client].home.clone()
            }
        }
    }

    /// Root for requests without a path from now on.
    pub(super) fn settle_home(&mut self, client: ClientId) {
        let home = self.decided(client, &[]);
        let is_split = self.is_split();
        let c = self.client(client);
        if is_split {
            c.home.clear();
        }
        c.home.extend(home);
    }

    fn decided(&mut self, client: ClientId, places: &[NamedPath]) -> Option<Option<String>> {
        let needs_root = self.settings.servers[0].needs_root;
        let roots = &self.settings.roots;
        let is_global = self.settings.servers[0].scope == Scope::Global;
        let known = &self.clients[&client].known;
        let root = if is_global {
            let root = known.pinned.as_ref().or(known.default.as_ref()).or(known.given.first());
            root.filter(|_| needs_root).cloned()
        } else {
            match decide(known, places, roots.policy) {
                Decision::Root { root, .. } => Some(root),
                Decision::Fallback => None,
                Decision::Nowhere => return None,
            }
        };
        if root.is_none() && needs_root {
            return None;
        }
        let c = self.client(client);
        if let Some(root) = &root {
            note_root(&mut c.known, root);
        }
        c.homes.insert(root.clone());
        Some(root)
    }

    /// Whether a client's workspace is unknown, although it was known once.
    pub(super) fn has_no_root(&mut self, client: ClientId) -> bool {
        self.decided(client, &[]).is_none()
    }

    /// Whether a request of this client cannot be routed yet.
    pub(super) fn is_undecided(&self, client: ClientId) -> bool {
        let c = &self.clients[&client];
        let is_asked = c.initialize.is_some_and(|number| !self.ledger.requests[number].is_answered);
        self.is_split() && c.known.pinned.is_none() && (is_asked || c.is_asked_roots)
    }

    /// Handles our question for a client's roots.
    pub(super) fn roots_asked(&mut self, client: ClientId, id: Value) -> Check {
        let c = self.client(client);
        if !c.has_roots {
            return Err(format!("{client} is asked for roots that it does not have"));
        }
        if !c.is_confirmed {
            return Err(format!("{client} is asked for its roots before it is ready"));
        }
        c.own.is_asked_roots = true;
        c.questions.push((id, None));
        Ok(())
    }

    pub(super) fn client_names_roots(&mut self, client: ClientId, id: &Value) -> Check {
        let c = self.client(client);
        let words = match c.answering {
            Answering::Silent => {
                self.stats.count("roots_never_answered");
                return Ok(());
            }
            Answering::Refuses => {
                self.stats.count("roots_refused");
                r#""error":{"code":-32603,"message":"not now"}"#.to_owned()
            }
            Answering::Prompt | Answering::Late => {
                let name = |&folder: &usize| json!({ "uri": format!("file://{}", FOLDERS[folder].0), "name": format!("the folder {folder}") });
                let roots: Vec<Value> = c.folders.iter().map(name).collect();
                c.named.insert(id.as_u64().unwrap_or_default(), roots.clone());
                self.stats.count("roots_answered");
                format!(r#""result":{}"#, json!({ "roots": roots }))
            }
        };
        self.client_says(PoolTurn::default(), client, answer(id, words))
    }

    pub(super) fn look_up(&mut self, paths: Vec<String>) -> Found {
        let is_late = self.rng.percent(25);
        self.stats.count_if("late_lookups", is_late);
        let wait = if is_late { self.rng.millis(1..=4000) } else { Duration::ZERO };
        (paths.iter().map(|path| on_disk(path).map(str::to_owned)).collect(), wait)
    }

    /// The folders in a client's last answer, once they are looked up.
    fn named_on_disk(&self, client: ClientId) -> Option<Vec<String>> {
        let real = |root: &Value| {
            let name = root["uri"].as_str().and_then(|uri| uri.strip_prefix("file://")).unwrap_or_default();
            on_disk(name).unwrap_or(name).to_owned()
        };
        self.clients[&client].named.last_key_value().map(|(_, roots)| roots.iter().map(real).collect())
    }

    /// Sets the roots that the core should know.
    pub(super) fn roots_known(&mut self, client: ClientId, roots: &[String]) -> Check {
        self.stats.count("roots_known");
        let named = self.named_on_disk(client);
        let before = &self.clients[&client].known.client;
        let is_last = named.as_ref().is_some_and(|last| last == roots);
        if !is_last && before != roots {
            return Err(format!("{client} named {named:?}, had {before:?}, and is taken to have {roots:?}"));
        }
        let now = self.now;
        let c = self.client(client);
        c.known.client = roots.to_vec();
        c.is_asked_roots = false;
        let before = c.home.clone();
        self.own.last_move = now;
        self.unsettle(client);
        self.settle_home(client);
        if self.is_split() && !before.is_empty() && self.clients[&client].home != before {
            self.stats.count("homes_moved");
        }
        self.decide_anew(client);
        Ok(())
    }

    /// Routes the requests that waited for this, in their order.
    fn decide_anew(&mut self, client: ClientId) -> Vec<usize> {
        let mut numbers = Vec::new();
        for number in 0..self.ledger.requests.len() {
            let request = &self.ledger.requests[number];
            if request.client != client
                || !request.is_undecided
                || !request.handed.is_empty()
                || !request.is_open()
            {
                continue;
            }
            let place = request.place.clone();
            self.ledger.requests[number].roots = self.roots_for(client, place.as_ref());
            self.stats.count("parked_and_routed");
            numbers.push(number);
        }
        numbers
    }

    /// Ends a client's handshake: waiting requests are routed, unless its roots are being asked for.
    pub(super) fn decide_tentatively(&mut self, client: ClientId, failed: bool) {
        let before = self.clients[&client].known.clone();
        let numbers = self.decide_anew(client);
        for &number in &numbers {
            // Some may be answered at this very moment; the others then do not know what those opened.
            self.ledger.requests[number].is_unclear = failed;
        }
        self.turn.tentative.push((client, before, numbers));
    }

    /// Takes note, after each event, of the requests that could be routed.
    pub(super) fn note_decided(&mut self) {
        for (client, before, numbers) in std::mem::take(&mut self.turn.tentative) {
            self.client(client).known = before;
            let numbers = if self.is_undecided(client) { Vec::new() } else { numbers };
            for number in numbers {
                let request = &self.ledger.requests[number];
                if request.is_open() || !request.handed.is_empty() {
                    let place = request.place.clone();
                    self.roots_for(client, place.as_ref());
                }
            }
        }
        let undecided: Vec<ClientId> =
            self.clients.keys().copied().filter(|&client| self.is_undecided(client)).collect();
        for request in self.ledger.requests.iter_mut().filter(|request| request.is_undecided) {
            request.is_undecided = undecided.contains(&request.client);
        }
    }

    /// A folder is opened or closed.
    pub(super) fn client_changes_roots(&mut self, client: ClientId) -> Check {
        let folders = some_folders(&mut self.rng);
        let c = self.client(client);
        if !c.has_roots || !c.is_confirmed {
            return Ok(());
        }
        c.own.folders = folders;
        let times = if self.rng.percent(30) { 2 } else { 1 };
        for _ in 0..times {
            let text = notice("notifications/roots/list_changed", "{}");
            self.client_says(PoolTurn::default(), client, text)?;
        }
        Ok(())
    }

    /// Fails if a process asked for its roots long ago, and still waits.
    pub(super) fn roots_are_overdue(&self, sent: Moment) -> bool {
        // Five seconds for the client, as much again for a later question, and the disk lookup.
        const ROOTS_TIMEOUT: Duration = Duration::from_secs(20);
        self.now.since(sent.max(self.told_since)) > ROOTS_TIMEOUT
    }
}

fn on_disk(folder: &str) -> Option<&'static str> {
    FOLDERS.iter().find(|(name, _)| *name == folder).and_then(|(_, real)| *real)
}

fn note_root(known: &mut Known, root: &str) {
    let mut all = known.given.iter().chain(&known.client).chain(&known.seen);
    if !all.any(|other| other == root) {
        known.seen.push(root.to_owned());
    }
}
