//! HTTP+SSE, as it was in 2024-11-05: one stream for everything that a client hears, and a path for what it says.

use super::body::Events;
use super::listen::Origin;
use super::reply::{accepted, not_allowed, stream};
use super::route::{Target, messages_path, query};
use super::session::Manner;
use super::streamable::{check_type, unknown_session};
use super::{Front, Reply};
use hyper::body::Incoming;
use hyper::{Method, Request};
use std::sync::Arc;

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
        match self.read(body).await {
            Ok(Ok(said)) => self.tell(&session, said).await,
            Ok(Err(broken)) => self.tell_one(&session, Err(broken)).await,
            Err(reply) => return reply,
        }
        accepted()
    }
}
