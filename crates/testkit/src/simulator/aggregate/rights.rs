//! Rights of clients, by their profiles, and what they leave of a server. Judged here by plain rules of its own, so that
//! a mistake of the core is not repeated.

use super::AggregateWorld;
use super::menu::{fits, is_shown};
use super::verb::Verb;
use crate::simulator::engine::{Check, Rng};
use serde_json::Value;
use std::sync::Arc;
use switchboard_core::ClientId;
use switchboard_core::access::{Patterns, Rights};
use switchboard_core::catalogue::{List, Naming};

/// The one template that is allowed by its own text in these runs, and the start of its expansions.
const TEMPLATE: &str = "file:///w/{name}";
const EXPANDED: &str = "file:///w/";

/// Patterns of names, and of URIs: those that allow, and those that deny.
const NAMES: &[(&[&str], &[&str])] = &[
    (&["*e*", "x"], &[]),
    (&["git__*", "read"], &["a__read"]),
    (&["a__*"], &["*secret_*"]),
    (&[], &["write", "new"]),
];
const URIS: &[(&[&str], &[&str])] = &[(&[], &["*secret_*"]), (&["*db*", "*mem*", TEMPLATE], &[])];
const METHODS: &[(&[&str], &[&str])] = &[
    (&[], &["tools/call"]),
    (&[], &["prompts/get"]),
    (&[], &["resources/read"]),
    (&[], &["resources/subscribe"]),
    (&[], &["completion/complete", "acme/*"]),
    (&[], &["tasks/*"]),
];

pub(super) fn draw(rng: &mut Rng, servers: &[&str]) -> Rights {
    let some: Vec<&str> = servers.iter().copied().filter(|_| rng.percent(60)).collect();
    let some = if some.is_empty() { Patterns::nothing() } else { patterns(&some, &[]) };
    let one_of = |rng: &mut Rng, all: &[(&[&str], &[&str])], chance: usize| match rng.percent(chance) {
        true => {
            let (allow, deny) = *rng.pick(all);
            patterns(allow, deny)
        }
        false => Patterns::default(),
    };
    Rights {
        servers: if rng.percent(50) { some } else { Patterns::default() },
        tools: one_of(rng, NAMES, 50),
        prompts: one_of(rng, NAMES, 50),
        resources: one_of(rng, URIS, 40),
        methods: one_of(rng, METHODS, 40),
    }
}

fn patterns(allow: &[&str], deny: &[&str]) -> Patterns {
    let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
    Patterns { allow: globs(allow), deny: globs(deny) }
}

/// What a client sees of a server: its naming, and the rights of the client, if they are restricted.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) naming: &'a Naming,
    pub(super) rights: Option<&'a Rights>,
}

impl Seen<'_> {
    /// Whether an item is shown, by the server's own name for it.
    pub(super) fn shows(&self, list: List, own: &str) -> bool {
        is_shown(self.naming.filter(list), own) && self.may_use(list, own)
    }

    /// Whether the rights leave an item.
    pub(super) fn may_use(&self, list: List, own: &str) -> bool {
        let Some(rights) = self.rights else { return true };
        let server = &self.naming.server;
        let (patterns, used_by) = match list {
            List::Tools => (&rights.tools, "tools/call"),
            List::Prompts => (&rights.prompts, "prompts/get"),
            List::Resources | List::Templates => (&rights.resources, "resources/read"),
        };
        let full = |name: &str| format!("{server}__{name}");
        let renamed = self.naming.filter(list).renamed(own);
        let is_allowed = |glob: &String| match glob.contains("__") {
            true => fits(glob, &full(own)),
            false => fits(glob, own),
        };
        let is_denied = |glob: &String| {
            let names = [own.to_owned(), renamed.to_owned(), full(own), full(renamed)];
            names.iter().take(if glob.contains("__") { 4 } else { 2 }).any(|name| fits(glob, name))
        };
        allows_server(rights, server)
            && allows_method(rights, used_by)
            && (patterns.allow.is_empty() || patterns.allow.iter().any(is_allowed))
            && !patterns.deny.iter().any(is_denied)
    }

    /// Whether a URI is an expansion of the template that is shown.
    pub(super) fn has_template_for(&self, uri: &str) -> bool {
        let allow = |filter: &[String]| filter.iter().any(|allow| allow == TEMPLATE);
        let is_named = allow(&self.naming.resources.allow)
            || self.rights.is_some_and(|rights| allow(&rights.resources.allow));
        is_named
            && self.shows(List::Templates, TEMPLATE)
            && uri.strip_prefix(EXPANDED).is_some_and(|name| !name.contains('/'))
    }
}

/// Whether some items are excluded: an unknown method may name them.
fn restricts_items(rights: &Rights) -> bool {
    let uses = ["tools/call", "prompts/get", "resources/read"];
    [&rights.tools, &rights.prompts, &rights.resources].iter().any(|patterns| !patterns.is_open())
        || uses.iter().any(|method| !allows_method(rights, method))
}

pub(super) fn allows_server(rights: &Rights, server: &str) -> bool {
    let Patterns { allow, deny } = &rights.servers;
    deny.is_empty() && (allow.is_empty() || allow.iter().any(|known| known == server))
}

pub(super) fn allows_method(rights: &Rights, method: &str) -> bool {
    !rights.methods.deny.iter().any(|glob| fits(glob, method))
}

impl AggregateWorld {
    /// The present rights of a client, if they are restricted.
    pub(super) fn rights_of(&self, client: ClientId) -> Option<&Rights> {
        let profile = self.clients[&client].profile?;
        Some(&**self.own.profiles[profile].last()?).filter(|rights| !rights.is_open())
    }

    /// The rights that may count for an answer: the present ones, or in a batch all since the request.
    pub(super) fn rights_for(&self, tag: usize) -> Vec<Option<Arc<Rights>>> {
        let request = &self.ledger.requests[tag];
        let Some(profile) = self.clients[&request.client].profile else { return vec![None] };
        let all = &self.own.profiles[profile];
        let from = if request.is_in_batch { request.rights_from } else { all.len() - 1 };
        all[from..].iter().map(|rights| Some(rights.clone()).filter(|rights| !rights.is_open())).collect()
    }

    pub(super) fn may_use_server(&self, client: ClientId, server: usize) -> bool {
        self.rights_of(client).is_none_or(|rights| allows_server(rights, self.name_of(server)))
    }

    /// A request that reaches a process is one that its client may make.
    pub(super) fn check_rights(&self, server: usize, tag: usize, heard: &str) -> Check {
        let request = &self.ledger.requests[tag];
        let Some(rights) = self.rights_of(request.client) else { return Ok(()) };
        let method = request.verb.method();
        let is_unknown = request.verb == Verb::Unknown && restricts_items(rights);
        if !allows_server(rights, self.name_of(server)) || !allows_method(rights, method) || is_unknown {
            return Err(format!("{} may not ask {} for {method}", request.client, self.name_of(server)));
        }
        let Some(list) = request.verb.list() else { return Ok(()) };
        let may = |naming: &Arc<Naming>| {
            let seen = Seen { naming, rights: Some(rights) };
            seen.may_use(list, heard) || seen.has_template_for(heard)
        };
        match self.own.servers[server].namings.iter().any(may) {
            true => Ok(()),
            false => Err(format!("{} may not use {heard} of {}", request.client, self.name_of(server))),
        }
    }

    /// A client is refused what it may not use, and nothing else; and never learns whether there is such a thing.
    pub(super) fn check_refusal(&mut self, tag: usize, kind: &str, error: &Value) -> Check {
        let request = &self.ledger.requests[tag];
        let client = request.client;
        let candidates = self.rights_for(tag);
        let is_task = request.rule.name.starts_with("tasks/");
        let tells = match kind {
            "unknown_name" => !is_task,
            "resource_not_found" => error.pointer("/data/servers").is_none(),
            _ => false,
        };
        if tells && candidates.iter().all(Option::is_some) {
            return Err(format!("{client} has restricted rights, and learns what there is: {error}"));
        }
        if kind != "forbidden" {
            return Ok(());
        }
        if self.is_about_held(tag, error) {
            self.stats.count("held_back");
            return Ok(());
        }
        self.stats.count("refused");
        let request = &self.ledger.requests[tag];
        let is_excluded = |rights: &Rights| {
            let server = self.clients[&client].server;
            let is_hidden = |mark: usize| {
                let item = &self.own.items[mark];
                let may =
                    |naming: &Arc<Naming>| Seen { naming, rights: Some(rights) }.shows(item.list, &item.name);
                !self.own.servers[item.server].namings.iter().all(may)
            };
            !allows_method(rights, request.verb.method())
                || (request.verb == Verb::Unknown && restricts_items(rights))
                || server.is_some_and(|server| !allows_server(rights, self.name_of(server)))
                || match (server, request.meant) {
                    (None, Some(mark)) => is_hidden(mark),
                    // A name that is not shown; or a request was on its way to a server that is hidden now.
                    (None, None) => {
                        let all = 0..self.own.servers.len();
                        request.verb.list().is_some()
                            || all.into_iter().any(|at| !allows_server(rights, self.name_of(at)))
                    }
                    (Some(_), _) => self.is_hidden_alone(tag, Some(rights)),
                }
        };
        match candidates.iter().flatten().any(|rights| is_excluded(rights)) {
            true => Ok(()),
            false => Err(format!("{client} may have {:?}, and is refused: {error}", request.name)),
        }
    }
}
