//! Liveness and readiness.
//!
//! A required server is probed before any client needs it, by a client of our own. So is a server that failed
//! last time: while we are not ready no clients are sent here, and it would stay failed for ever.

use super::body::AnswerBody;
use super::guests::Caller;
use super::reply::with;
use super::route::RouteTarget;
use super::session::{CallOutcome, ClientTransport};
use super::visitor::Visitor;
use super::{Front, HttpReply, Recognised};
use crate::config::ServerConfig;
use crate::io::task;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::LastStart;
use switchboard_core::access::Identity;
use switchboard_core::status::ServerStatus;
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::{ErrorKind, Parsed, RawId, parse};

/// Interval of probes to a failing server.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

const READINESS_INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"ready?","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"switchboard-readiness","version":"1"}}}"#;

/// Probes by server.
#[derive(Default)]
pub(super) struct Visits(Lock<HashMap<String, Visit>>);

#[derive(Debug, Clone)]
enum Visit {
    /// Not answered yet.
    UnderWay,
    /// The core remembers the result.
    Over { at: Instant },
    /// The server needs a workspace, which our probe does not have. Holds for this entry of the config.
    Homeless { config: Arc<ServerConfig> },
}

/// Condition of a server for a new client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// It works; or it has not been needed yet and is not required.
    Fine,
    /// Required, and has yet to answer for the first time.
    Unproven,
    Broken,
}

pub(super) fn alive() -> HttpReply {
    with(StatusCode::OK, "application/json", AnswerBody::text(r#"{"status":"ok"}"#))
}

impl Front {
    /// Ready if every required server answers and not all of the others fail. Names servers that the caller may use.
    pub(super) fn readiness(self: &Arc<Self>, identity: &Identity) -> HttpReply {
        let status = self.hub.turn().status();
        let (mut is_wanting, mut failing, mut starting) = (false, Vec::new(), Vec::new());
        for server in &status.servers {
            let config = self.host.servers().find(&server.name).map(|(_, config)| config);
            let config = config.filter(|config| config.required);
            match self.condition(server, config.as_ref()) {
                // Not probed: a server that works, or is not required, may stay as it is.
                Condition::Fine => continue,
                Condition::Unproven => starting.push(&server.name),
                Condition::Broken => failing.push(&server.name),
            }
            is_wanting |= config.is_some();
            // A server that its owner stopped must not be started by a probe.
            if !server.is_held {
                self.visit(&server.name);
            }
        }
        // A single failing server must not take the others out of service.
        let is_all = !failing.is_empty() && failing.len() == status.servers.len();
        let is_ready = !is_wanting && !is_all && self.hub.is_serving();
        let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let word = if is_ready { "ready" } else { "not ready" };
        // Names of servers that the caller may not use are not told; whether they work is.
        for names in [&mut failing, &mut starting] {
            names.retain(|name| identity.allows_server(name));
        }
        let body = json!({ "status": word, "failing": failing, "starting": starting });
        with(code, "application/json", AnswerBody::text(body.to_string()))
    }

    /// Condition of a server. `required` is its entry in the config, if it is required.
    fn condition(&self, server: &ServerStatus, required: Option<&Arc<ServerConfig>>) -> Condition {
        match (server.last_start, required) {
            // A server that its owner stopped cannot be used, whatever its last start was.
            _ if server.is_held || server.is_failing => Condition::Broken,
            (LastStart::Untried, Some(config)) if !self.visits.is_homeless(config) => Condition::Unproven,
            (LastStart::Untried | LastStart::Well | LastStart::Failed, _) => Condition::Fine,
        }
    }

    /// Probes a server: a client of ours makes the handshake and leaves.
    fn visit(self: &Arc<Self>, name: &str) {
        if !self.visits.begin(name) {
            return;
        }
        let (front, name) = (self.clone(), name.to_owned());
        task::spawn("visiting", async move {
            let config = front.host.servers().find(&name).map(|(_, config)| config);
            let is_homeless = front.greet(&name).await;
            let visit = match config.filter(|_| is_homeless) {
                Some(config) => Visit::Homeless { config },
                None => Visit::Over { at: Instant::now() },
            };
            front.visits.lock().insert(name, visit);
        });
    }

    /// Makes the handshake. True if the server needs a workspace.
    async fn greet(self: &Arc<Self>, name: &str) -> bool {
        let target = RouteTarget::Server(name.to_owned());
        // Through the front, like a real client, so that the probe uses the same code.
        let caller = Caller::ourselves();
        let from = Recognised { visitor: Visitor::ourselves(), caller: &caller };
        let opened = self.open(&target, ClientTransport::Streamable, &HeaderMap::new(), &from);
        let (Ok(session), Ok(Parsed::One(hello))) = (opened, parse(READINESS_INITIALIZE.into())) else {
            return false;
        };
        let id: Vec<RawId> = hello.id().into_iter().collect();
        let mut is_homeless = false;
        if let Some((_, answer)) = session.open_call(&id, false, false) {
            self.tell_one(&session, Ok(hello)).await;
            // The core answers every request, so this cannot wait for ever.
            if let Ok(CallOutcome::Whole(part, _)) = answer.await {
                let answer: Value = serde_json::from_slice(&part.bytes).unwrap_or_default();
                is_homeless = answer["error"]["data"]["kind"] == ErrorKind::RoutingFailed.name();
            }
        }
        // Ended at once: the probe must not keep the server's process alive.
        self.end(&session.id);
        is_homeless
    }
}

impl Visits {
    /// Starts a probe unless one is running or was recent.
    fn begin(&self, name: &str) -> bool {
        let mut visits = self.lock();
        let may = match visits.get(name) {
            // A reload may have changed what the server needs, so it is asked again.
            None | Some(Visit::Homeless { .. }) => true,
            Some(Visit::UnderWay) => false,
            Some(Visit::Over { at }) => at.elapsed() >= RETRY_INTERVAL,
        };
        if may {
            visits.insert(name.to_owned(), Visit::UnderWay);
        }
        may
    }

    fn is_homeless(&self, config: &Arc<ServerConfig>) -> bool {
        let visits = self.lock();
        // A reload replaces the entry, and thereby discards this verdict.
        matches!(visits.get(&config.name), Some(Visit::Homeless { config: then }) if Arc::ptr_eq(config, then))
    }

    fn lock(&self) -> LockGuard<'_, HashMap<String, Visit>> {
        self.0.lock()
    }
}
