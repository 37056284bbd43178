//! Whether we live, and whether calls would be served.
//!
//! A server that is required is asked before anybody needs it, by a visitor of our own; so is one that failed when it was
//! needed last, for nobody is sent to us while we are not ready, and it would fail for ever.

use super::body::AnswerBody;
use super::guests::Caller;
use super::reply::with;
use super::route::RouteTarget;
use super::session::{CallOutcome, ClientTransport};
use super::{Front, HttpReply};
use crate::config::ServerConfig;
use crate::io::task;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::LastStart;
use switchboard_core::status::ServerStatus;
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::{ErrorKind, Parsed, RawId, parse};

/// How often a server that fails is asked again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

const READINESS_INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"ready?","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"switchboard-readiness","version":"1"}}}"#;

/// What was asked by a visitor of ours.
#[derive(Default)]
pub(super) struct Visits(Lock<HashMap<String, Visit>>);

#[derive(Debug, Clone)]
enum Visit {
    /// Not answered yet.
    UnderWay,
    /// What came of it, the core remembers.
    Over { at: Instant },
    /// It cannot be asked without a workspace, and our visitor has none. That holds for this entry of the config.
    Homeless { config: Arc<ServerConfig> },
}

/// What a server is to a client that would come now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// It works; or nobody has needed it yet, and nobody has to.
    Fine,
    /// It is required, and has yet to answer for the first time.
    Unproven,
    Broken,
}

pub(super) fn alive() -> HttpReply {
    with(StatusCode::OK, "application/json", AnswerBody::text(r#"{"status":"ok"}"#))
}

impl Front {
    /// Green if every server that is required answers, and not all of the others are broken.
    pub(super) fn readiness(self: &Arc<Self>) -> HttpReply {
        let status = self.hub.turn().status();
        let (mut is_wanting, mut failing, mut starting) = (false, Vec::new(), Vec::new());
        for server in &status.servers {
            let config = self.host.servers().find(&server.name).map(|(_, config)| config);
            let config = config.filter(|config| config.required);
            match self.condition(server, config.as_ref()) {
                Condition::Fine => continue,
                Condition::Unproven => starting.push(&server.name),
                Condition::Broken => failing.push(&server.name),
            }
            is_wanting |= config.is_some();
            if !server.is_held {
                self.visit(&server.name);
            }
        }
        let is_all = !failing.is_empty() && failing.len() == status.servers.len();
        let is_ready = !is_wanting && !is_all && self.hub.is_serving();
        let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let word = if is_ready { "ready" } else { "not ready" };
        let body = json!({ "status": word, "failing": failing, "starting": starting });
        with(code, "application/json", AnswerBody::text(body.to_string()))
    }

    /// `required` is its entry in the config, if it is.
    fn condition(&self, server: &ServerStatus, required: Option<&Arc<ServerConfig>>) -> Condition {
        match (server.last_start, required) {
            _ if server.is_held || server.is_failing => Condition::Broken,
            (LastStart::Untried, Some(config)) if !self.visits.is_homeless(config) => Condition::Unproven,
            (LastStart::Untried | LastStart::Well | LastStart::Failed, _) => Condition::Fine,
        }
    }

    /// Somebody of ours makes the handshake with a server, and leaves.
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

    /// Whether it cannot be greeted without a workspace.
    async fn greet(self: &Arc<Self>, name: &str) -> bool {
        let target = RouteTarget::Server(name.to_owned());
        let opened = self.open(&target, ClientTransport::Streamable, &HeaderMap::new(), &Caller::ourselves());
        let (Ok(session), Ok(Parsed::One(hello))) = (opened, parse(READINESS_INITIALIZE.into())) else {
            return false;
        };
        let id: Vec<RawId> = hello.id().into_iter().collect();
        let mut is_homeless = false;
        if let Some((_, answer)) = session.open_call(&id, false, false) {
            self.tell_one(&session, Ok(hello)).await;
            // There is always one: the core sees to it.
            if let Ok(CallOutcome::Whole(part)) = answer.await {
                let answer: Value = serde_json::from_slice(&part.bytes).unwrap_or_default();
                is_homeless = answer["error"]["data"]["kind"] == ErrorKind::RoutingFailed.name();
            }
        }
        self.end(&session.id);
        is_homeless
    }
}

impl Visits {
    /// Whether now is the time for one.
    fn begin(&self, name: &str) -> bool {
        let mut visits = self.lock();
        let may = match visits.get(name) {
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
        matches!(visits.get(&config.name), Some(Visit::Homeless { config: then }) if Arc::ptr_eq(config, then))
    }

    fn lock(&self) -> LockGuard<'_, HashMap<String, Visit>> {
        self.0.lock()
    }
}
