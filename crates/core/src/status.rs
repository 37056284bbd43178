//! A snapshot for `switchboard status`: clients, servers, and their instances.

use crate::backends::{Backend, BackendState};
use crate::catalogue::{Collision, List};
use crate::core::Core;
use crate::ids::{BackendId, ServerId};
use crate::servers::{Crowding, LastError, LastStart, Server};
use crate::settings;
use serde::Serialize;
use switchboard_protocol::Part;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub clients: Vec<ClientStatus>,
    pub servers: Vec<ServerStatus>,
    /// Identities whose calls were refused because of a limit.
    pub limited: Vec<LimitedIdentity>,
    /// Name collisions between servers, and how they were resolved.
    pub collisions: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientStatus {
    pub id: String,
    /// The client's own name.
    pub name: Option<String>,
    /// The name of its identity: `owner`, the name of a token, or `anonymous`. `None` until it shows a token.
    pub identity: Option<String>,
    pub server: String,
    pub root: Option<String>,
    pub seconds: u64,
    /// Number of unanswered requests.
    pub open: usize,
}

/// An identity with refused calls.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitedIdentity {
    pub name: String,
    pub refused_calls: u64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    pub name: String,
    /// The scope of its instances, and the reason for it.
    pub scope: &'static str,
    pub scope_reason: String,
    /// The state that it keeps between calls.
    pub keeps: &'static str,
    pub is_held: bool,
    /// Its last start failed, and none of its instances works.
    pub is_failing: bool,
    #[serde(skip)]
    pub last_start: LastStart,
    /// The stored record of earlier starts.
    pub learnt: Vec<String>,
    /// The last failure, if it has not worked since.
    pub last_error: Option<LastError>,
    /// Number of its tools, if known.
    pub tools: Option<usize>,
    /// Tools that are defined otherwise than approved.
    pub changed_tools: Vec<String>,
    /// Those of them that are hidden.
    pub held_tools: Vec<String>,
    pub max_backends: usize,
    /// Backends that were stopped to make room, and started again soon after.
    pub crowding: Option<Crowding>,
    /// Calls that were refused because of a limit.
    pub refused_calls: u64,
    pub instances: Vec<InstanceStatus>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    pub id: String,
    pub state: &'static str,
    pub root: Option<String>,
    /// Independent of the workspace, in the user's home folder.
    pub in_home: bool,
    /// The difference to other backends at the same root.
    pub apart: Option<String>,
    pub pid: Option<u32>,
    pub clients: usize,
    pub open: usize,
    pub idle_seconds: u64,
    pub launches: u32,
    pub crashes: usize,
    pub requests: u64,
    pub errors: u64,
    pub quarantined: u64,
    pub memory_bytes: Option<u64>,
    /// CPU time of the process and its descendants since the start.
    pub cpu_seconds: Option<f64>,
}

impl Core {
    pub fn status(&self) -> Status {
        // Delegates and stand-ins are no clients to the user.
        let clients = self.clients.values().filter(|c| !c.is_lost() && c.is_connected()).map(|c| {
            let home = c.home().and_then(|home| self.backends.get(&home));
            let info = c.greeting().and_then(|greeting| {
                let params = greeting.initialize().part(Part::Params)?;
                let params: serde_json::Value = serde_json::from_slice(params).ok()?;
                params["clientInfo"]["name"].as_str().map(|name| self.settings.secrets.redact(name))
            });
            ClientStatus {
                id: c.id().to_string(),
                name: info,
                identity: c.identity_name().map(|name| name.to_string()),
                server: if c.aggregate().is_some() { "all".to_owned() } else { c.settings().name.clone() },
                root: home
                    .and_then(|home| home.key().root.clone())
                    .or_else(|| c.known().working_folder.clone()),
                seconds: c.connected_for(self.clock.now()).as_secs(),
                open: c.unanswered(),
            }
        });
        let servers = self.servers.iter().filter(|(_, server)| !server.is_removed()).map(|(id, server)| {
            let own = self.backends.of_server(id);
            let state = server.state_policy();
            let (scope, scope_reason) = server.scope_with_reason();
            let (changed_tools, held_tools) = Self::changed_tools(server);
            ServerStatus {
                name: server.name().to_owned(),
                scope: scope.name(),
                scope_reason: scope_reason.to_string(),
                keeps: match state {
                    settings::StatePolicy::None => "nothing",
                    settings::StatePolicy::Client => "state for each client",
                    settings::StatePolicy::Backend => "state shared by all clients",
                    settings::StatePolicy::Auto => "not known yet",
                },
                is_held: server.is_held(),
                is_failing: self.is_failing(id),
                last_start: server.last_start(),
                learnt: server.record().words(),
                last_error: self.last_error(id),
                tools: server.tool_count(),
                changed_tools,
                held_tools,
                max_backends: server.settings().max_backends,
                crowding: server.crowding(self.clock.now()),
                refused_calls: self.refusals.at_server(id),
                instances: own.map(|b| self.instance(b)).collect(),
            }
        });
        let limited = self.refusals.by_identity();
        let limited =
            limited.map(|(name, refused_calls)| LimitedIdentity { name: name.to_owned(), refused_calls });
        Status {
            clients: clients.collect(),
            servers: servers.collect(),
            limited: limited.collect(),
            collisions: self.collisions(),
        }
    }

    fn is_failing(&self, server: ServerId) -> bool {
        let own = || self.backends.values().filter(|b| b.server() == server && !b.is_retired());
        // A running process counts as working only once it has answered.
        let works = |b: &Backend| {
            b.has_answered()
                && matches!(b.state(), BackendState::Ready { .. } | BackendState::Starting { .. })
        };
        let is_down = |b: &Backend| match b.state() {
            BackendState::Failed { .. } | BackendState::Backoff { .. } => true,
            BackendState::Stopped => b.has_never_worked(),
            BackendState::Starting { .. } | BackendState::Ready { .. } | BackendState::Stopping { .. } => {
                false
            }
        };
        let last_start = self.servers.get(server).map(Server::last_start);
        (own().any(is_down) || last_start == Some(LastStart::Failed)) && !own().any(works)
    }

    /// Records the result of a start. A backend with outdated settings says nothing about the next one.
    pub(crate) fn record_start(&mut self, backend: BackendId, last_start: LastStart) {
        let Some(b) = self.backends.get(&backend).filter(|b| !b.is_retired()) else { return };
        if let Some(server) = self.servers.get_mut(b.server()) {
            server.record_start(last_start);
        }
    }

    /// Name collisions in the current views of aggregate clients.
    fn collisions(&self) -> Vec<String> {
        let views = self.clients.values().filter_map(|c| c.aggregate()?.view());
        let mut all: Vec<String> = views.flat_map(|view| view.collisions().iter().map(told)).collect();
        // Clients with the same servers report the same collisions.
        all.sort();
        all.dedup();
        all
    }

    fn instance(&self, b: &Backend) -> InstanceStatus {
        let state = match b.state() {
            BackendState::Stopped if self.backends.waits_for_room(b.id()) => "queued",
            // Started, but never worked.
            BackendState::Stopped if b.has_never_worked() => "failed",
            BackendState::Stopped => "stopped",
            BackendState::Starting { .. } => "starting",
            BackendState::Ready { .. } => "ready",
            BackendState::Stopping { .. } => "stopping",
            BackendState::Backoff { .. } => "backoff",
            BackendState::Failed { .. } => "failed",
        };
        InstanceStatus {
            id: b.id().to_string(),
            state,
            root: b.key().root.clone(),
            in_home: b.key().in_home,
            apart: self.apart(b),
            pid: b.pid(),
            clients: self.real_lessees(b.id()).count(),
            open: self.pending.wanted_at(b.id()).count(),
            idle_seconds: self.clock.now().since(b.last_used()).as_secs(),
            launches: b.launches(),
            crashes: b.breaker().crashes(),
            requests: b.counters().requests(),
            errors: b.counters().errors(),
            quarantined: b.quarantine().total(),
            memory_bytes: b.health().memory().filter(|_| b.has_process()),
            cpu_seconds: b.health().cpu().filter(|_| b.has_process()).map(|cpu| cpu.as_secs_f64()),
        }
    }

    /// Reason for a second instance at the same root.
    fn apart(&self, b: &Backend) -> Option<String> {
        let is_beside = |other: &&Backend| {
            other.server() == b.server()
                && other.id() != b.id()
                && other.key().root == b.key().root
                && other.has_process()
        };
        let others = || self.backends.values().filter(is_beside);
        let other = others().find(|other| other.key() == b.key()).or_else(|| others().next())?;
        let why = match () {
            () if b.owner().is_some() || other.key().owner.is_some() => "it belongs to one client",
            () if b.key().principal != other.key().principal => "its clients have another token",
            () if b.key().profile != other.key().profile => "its clients have other capabilities",
            () if b.environment() != other.environment() => {
                return Some(format!(
                    "its clients have different variables: {}",
                    b.environment().differences(other.environment())
                ));
            }
            () if b.roots().told() != other.roots().told() => "its clients have different roots",
            () => "it is being replaced",
        };
        Some(why.to_owned())
    }
}

/// A collision, for people.
pub fn told(collision: &Collision) -> String {
    let what = match collision.list {
        List::Tools => "tool",
        List::Prompts => "prompt",
        List::Resources => "resource",
        List::Templates => "resource template",
    };
    let (name, servers) = (&collision.name, collision.servers.join("` and `"));
    match &collision.becomes {
        Some(other) => format!("{what} `{name}` of `{servers}`: the last one is shown as `{other}`"),
        None => {
            format!("{what} `{name}` of `{servers}`: only the first is shown, or both under the same name")
        }
    }
}
