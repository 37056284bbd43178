//! HTTP+SSE of 2024-11-05: one stream for all messages to a client, and a path for its own messages.

use super::body::Events;
use super::refusal::{Asked, HttpRefusal};
use super::reply::{accepted, stream};
use super::route::{RouteTarget, messages_path, query};
use super::session::{ClientTransport, Session};
use super::streamable::check_type;
use super::{Front, HttpReply, Recognised};
use hyper::body::Incoming;
use hyper::{Method, Request};
use std::sync::Arc;

impl Front {
    /// Opens the client's stream. Its first event names the path for messages; the session ends with it.
    pub(super) async fn old_stream(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: RouteTarget,
        from: Recognised<'_>,
    ) -> HttpReply {
        if *request.method() != Method::GET {
            return self.refuse(request, &HttpRefusal::method("GET")).await;
        }
        let session = match self.open(&target, ClientTransport::OneStream, request.headers(), &from) {
            Ok(session) => session,
            // Not read: the request is a GET, and has no body to take ids from.
            Err(refusal) => {
                self.record(&refusal, Some(from.visitor.identity()), from.caller);
                return refusal.unread();
            }
        };
        let Ok(parts) = session.open_own() else { return self.gone().unread() };
        // The stream exists by now, so this is its first event, as the protocol demands.
        session.say_endpoint(&messages_path(&target, &session.id));
        stream(Events::guarded(parts, LeavesWithStream(session)))
    }

    /// Receives a message of the client.
    pub(super) async fn old_message(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: &RouteTarget,
        from: Recognised<'_>,
    ) -> HttpReply {
        if *request.method() != Method::POST {
            return HttpRefusal::method("POST").unread();
        }
        if let Err(refusal) = check_type(request.headers()) {
            return refusal.unread();
        }
        let id = query(request.uri().query(), "session").unwrap_or_default();
        let session = match self.find(id, target, &from) {
            Ok(session) => session,
            Err(refusal) => return self.refuse(request, &refusal).await,
        };
        match self.read(request.into_body(), self.host.max_message_bytes(), None).await {
            Ok(Ok(said)) => {
                let asked = Asked::of(&said);
                // Refused here, since the core accepts no new requests.
                if self.hub.is_ending() && !asked.ids.is_empty() {
                    return HttpRefusal::shutting_down().reply(&asked);
                }
                self.tell(&session, said).await;
            }
            // The core answers broken messages on the stream, where this client waits for it.
            Ok(Err(broken)) => self.tell_one(&session, Err(broken)).await,
            Err((refusal, asked)) => return refusal.reply(&asked),
        }
        // 202: the answer comes on the stream, not here.
        accepted()
    }
}

/// Ends a session with its stream: a client of 2024-11-05 has no other way to end it.
struct LeavesWithStream(Arc<Session>);

impl Drop for LeavesWithStream {
    fn drop(&mut self) {
        self.0.leave();
    }
}
