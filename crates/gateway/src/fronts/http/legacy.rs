//! HTTP+SSE, as it was in 2024-11-05: one stream for everything that a client hears, and a path for what it says.

use super::body::Events;
use super::listen::Origin;
use super::reply::{accepted, not_allowed, refusal, stream};
use super::route::{Target, messages_path, query};
use super::session::Manner;
use super::streamable::{check_type, unknown_session};
use super::{Front, Reply};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use std::sync::Arc;
use switchboard_protocol::Parsed;

impl Front {
    /// The client's stream. It begins with where its messages go, and the session ends with it.
    pub(super) fn old_stream(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: Target,
        from: Origin,
    ) -> Reply {
        if *request.method() != Method::GET {
            return not_allowed("GET");
        }
        let session = match self.open(&target, Manner::OneStream, request.headers(), from) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        let Ok(parcels) = session.open_own() else { return unknown_session() };
        session.say_endpoint(&messages_path(&target, &session.id));
        stream(Events::new(parcels, Some(session)))
    }

    /// Something that it says.
    pub(super) async fn old_message(self: &Arc<Self>, request: Request<Incoming>, target: &Target) -> Reply {
        if *request.method() != Method::POST {
            return not_allowed("POST");
        }
        if let Err(reply) = check_type(request.headers()) {
            return reply;
        }
        let id = query(request.uri().query(), "session");
        let Some(session) = id.and_then(|id| self.find(id, target, request.headers())) else {
            return unknown_session();
        };
        let (_, body) = request.into_parts();
        let members = match self.read(body).await {
            Ok(Ok(Parsed::One(message))) => vec![Ok(message)],
            Ok(Ok(Parsed::Batch(members))) => members,
            Ok(Err(broken)) => vec![Err(broken)],
            Err(reply) => return reply,
        };
        if members.is_empty() {
            return refusal(StatusCode::BAD_REQUEST, "there is nothing in this");
        }
        self.tell(&session, members).await;
        accepted()
    }
}
