//! Explains which workspace a request would be routed to, without starting anything. The core makes the
//! decision; this module collects its input and lists the alternatives.
//!
//! # Layout
//! - `ladder`: everything that can name a workspace, in order of precedence.
//! - `shown`: the explanation as text.

mod ladder;
mod shown;

use crate::config::{Config, Lookup, ServerConfig};
use crate::launches::Launches;
use crate::paths;
use crate::settings::{self, RootOptions};
use ladder::Ladder;
use serde::Serialize;
use std::path::Path;
use switchboard_core::routing::path::{Style, of_uri};
use switchboard_core::routing::{Decision, Known, NamedPath, Policy, decide};
use switchboard_core::{NO_ROOT_HINT, Scope, StatePolicy};

/// A request to explain.
pub struct Question<'a> {
    pub method: &'a str,
    /// Parameters of the request: a JSON object.
    pub params: &'a str,
    pub roots: &'a RootOptions,
    /// The client's answer to `roots/list`: paths or `file:` URIs.
    pub client_roots: &'a [String],
    /// Path arguments in addition to those of the config.
    pub root_arguments: &'a [String],
    pub config: &'a Config,
    /// Servers of the config to consider.
    pub servers: &'a [&'a ServerConfig],
    /// Our own environment.
    pub vars: Lookup<'a>,
    /// Folder with the servers' stored records.
    pub state_folder: &'a Path,
}

/// Explanation of a request. `Display` is for people.
#[derive(Debug, Serialize)]
pub struct Explained {
    pub method: String,
    /// One for all servers that route the request alike.
    pub answers: Vec<RouteExplanation>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteExplanation {
    /// Empty without a config: the answer then holds for a server with one instance per workspace.
    pub servers: Vec<String>,
    pub instances: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_reason: Option<String>,
    pub root: Option<String>,
    pub why: String,
    /// Error that the client would get instead.
    pub error: Option<RouteError>,
    pub considered: Vec<Rung>,
}

#[derive(Debug, Serialize)]
pub struct RouteError {
    pub code: i32,
    pub kind: &'static str,
    pub hint: &'static str,
}

/// One source that can name a workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rung {
    pub rung: &'static str,
    pub value: Option<String>,
    /// Part of the request that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<String>,
    pub used: bool,
    /// Reason why it was not used, where the order does not explain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// Properties of a server that affect routing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RoutingMode {
    /// Scope and its reason; `None` without a server.
    scope: Option<(Scope, String)>,
    spread: Spread,
    /// Clients share no instance.
    is_private: bool,
    /// The server cannot be started without a root.
    needs_root: bool,
    root_arguments: Vec<String>,
}

/// Reach of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// One root.
    Root,
    /// All roots of a client.
    Roots,
    /// Everything, at the root that its launch contains.
    All,
    /// Everything, in the home folder.
    Home,
}

pub fn explain(question: &Question<'_>) -> Explained {
    let known = known(question);
    let policy = Policy {
        open_roots: question.config.open_roots,
        fallback: question.config.fallback,
        style: Style::OWN,
    };
    let mut groups: Vec<(RoutingMode, Vec<String>)> = Vec::new();
    for server in question.servers {
        let mode = mode(server, question);
        match groups.iter_mut().find(|(other, _)| *other == mode) {
            Some((_, servers)) => servers.push(server.name.clone()),
            None => groups.push((mode, vec![server.name.clone()])),
        }
    }
    if groups.is_empty() {
        let root_arguments = question.root_arguments.to_vec();
        let mode = RoutingMode {
            scope: None,
            spread: Spread::Root,
            is_private: false,
            needs_root: false,
            root_arguments,
        };
        groups.push((mode, Vec::new()));
    }
    let answers = groups.into_iter().map(|(mode, servers)| {
        let named = switchboard_core::routing::paths::named(
            question.params.as_bytes(),
            &mode.root_arguments,
            policy.style,
        );
        answer(&known, &paths::look_up(named), policy, &mode, servers)
    });
    Explained { method: question.method.to_owned(), answers: answers.collect() }
}

fn known(question: &Question<'_>) -> Known {
    let RootOptions { pinned, given, default } = question.roots;
    let text = |path: &std::path::PathBuf| paths::canonical(path);
    let client = question.client_roots.iter().filter_map(|root| {
        let path = of_uri(root, Style::OWN);
        paths::canonical(Path::new(path.as_ref().unwrap_or(root)))
    });
    Known {
        pinned: pinned.as_ref().and_then(text),
        given: given.iter().filter_map(text).collect(),
        client: client.collect(),
        // No earlier request has opened a root.
        seen: Vec::new(),
        environment: paths::of_environment(question.vars),
        working_folder: paths::working_folder(),
        default: default.as_ref().and_then(text),
        home: paths::home(question.vars),
    }
}

fn mode(server: &ServerConfig, question: &Question<'_>) -> RoutingMode {
    let mut server = server.clone();
    server.root_arguments.extend_from_slice(question.root_arguments);
    let record = Launches::new(question.state_folder).load(&server);
    let settings = settings::server_settings(&server, question.vars, record);
    let state = if settings.record.keeps_state { StatePolicy::Client } else { settings.state };
    let (scope, reason) = settings.scope_with_reason(&settings.record, state);
    RoutingMode {
        spread: match scope {
            Scope::Global if settings.launch_uses_root => Spread::All,
            Scope::Global => Spread::Home,
            Scope::Root | Scope::Client if settings.splits => Spread::Root,
            Scope::Root | Scope::Client => Spread::Roots,
        },
        is_private: scope == Scope::Client || state == StatePolicy::Client,
        scope: Some((scope, reason.to_string())),
        needs_root: settings.needs_root,
        root_arguments: server.root_arguments,
    }
}

fn answer(
    known: &Known,
    paths: &[NamedPath],
    policy: Policy,
    mode: &RoutingMode,
    servers: Vec<String>,
) -> RouteExplanation {
    let asked = match mode.spread {
        Spread::Root => paths,
        Spread::Roots | Spread::All | Spread::Home => &[],
    };
    let decision = match mode.spread {
        Spread::Root | Spread::Roots => decide(known, asked, policy),
        // An instance that all clients share does not follow one client's open folders.
        Spread::All => {
            let (pinned, default, given) = (known.pinned.clone(), known.default.clone(), known.given.clone());
            let common = Known { pinned, default, given, ..Known::default() };
            decide(&common, &[], Policy { fallback: true, ..policy })
        }
        Spread::Home => Decision::Fallback,
    };
    let considered = Ladder { known, paths, policy, spread: mode.spread, decision: &decision }.rungs();
    let (root, why, error) = match decision {
        Decision::Root { root, why } => (Some(root), why.to_string(), None),
        Decision::Fallback if mode.spread == Spread::Home => (None, AT_HOME.to_owned(), None),
        Decision::Fallback if !mode.needs_root => (None, UNKNOWN.to_owned(), None),
        Decision::Fallback => {
            (None, format!("{UNKNOWN}, and the server needs one"), Some(RouteError::NO_ROOT))
        }
        Decision::Nowhere => (None, format!("{UNKNOWN}, and `fallback` is off"), Some(RouteError::NO_ROOT)),
    };
    let (scope, scope_reason) = mode.scope.clone().unzip();
    let scope = scope.map(Scope::name);
    RouteExplanation {
        servers,
        instances: mode.instances(),
        scope,
        scope_reason,
        root,
        why,
        error,
        considered,
    }
}

const UNKNOWN: &str = "no workspace is known for this request";
const AT_HOME: &str = "the server needs no workspace and runs in the home folder";

impl RouteError {
    const NO_ROOT: Self = Self { code: -32004, kind: "routing_failed", hint: NO_ROOT_HINT };
}

impl RoutingMode {
    fn instances(&self) -> &'static str {
        match (self.spread, self.is_private) {
            (Spread::Root, false) => "one for each workspace",
            (Spread::Root, true) => "one for each workspace and client",
            (Spread::Roots, false) => "one for each set of roots; clients with the same roots share it",
            (Spread::Roots, true) => "one for each client, for all its roots",
            (Spread::All | Spread::Home, false) => "one for all clients",
            (Spread::All | Spread::Home, true) => "one for each client, whatever its roots",
        }
    }
}
