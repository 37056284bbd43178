//! Whether we live, and whether calls would be served.

use super::body::Answer;
use super::reply::with;
use super::{Front, Reply};
use hyper::StatusCode;
use serde_json::json;
use std::sync::Arc;
use switchboard_core::status::ServerStatus;

pub(super) fn alive() -> Reply {
    with(StatusCode::OK, "application/json", Answer::text(r#"{"status":"ok"}"#))
}

impl Front {
    /// Green if every server that is required works or could, and not all of the others are broken.
    pub(super) async fn readiness(self: &Arc<Self>) -> Reply {
        let status = self.household.hub.turn().status();
        let is_required = |server: &&ServerStatus| {
            self.household.register.find(&server.name).is_some_and(|(_, config)| config.required)
        };
        let broken: Vec<&str> = status
            .servers
            .iter()
            .filter(|server| is_broken(server))
            .map(|server| server.name.as_str())
            .collect();
        let is_wanting = status.servers.iter().filter(is_required).any(is_broken);
        let is_ready = !is_wanting
            && self.household.hub.is_serving()
            && (broken.is_empty() || broken.len() < status.servers.len());
        let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let body = json!({ "status": if is_ready { "ready" } else { "not ready" }, "failing": broken });
        with(code, "application/json", Answer::text(body.to_string()))
    }
}

/// It was tried, and nothing of it works. One that nobody has needed yet may well.
fn is_broken(server: &ServerStatus) -> bool {
    server.is_held || server.is_failing
}
