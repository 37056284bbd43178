//! Clients that cannot set headers, and show their token in the body (`tokenInBody`). Their bodies are read
//! before they are known, so only so far.

use super::gate::text;
use super::guests::Caller;
use super::refusal::Asked;
use super::route::RouteTarget;
use super::streamable::{Accepts, SESSION, check_type};
use super::visitor::Visitor;
use super::{Front, HttpReply, Recognised, denied};
use hyper::Request;
use hyper::body::Incoming;
use std::sync::Arc;

/// Longest body of a client that has shown no token yet. Strangers have few places, so that this bounds the memory
/// that they can take.
const MAX_UNPROVEN_BYTES: usize = 1 << 20;

impl Front {
    /// Serves a POST without credentials in its head.
    pub(super) async fn post_unproven(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: RouteTarget,
        caller: &Caller,
    ) -> HttpReply {
        let headers = request.headers();
        let takes_streams = match check_type(headers).and_then(|()| Accepts::check(headers)) {
            Ok(accepts) => accepts.streams,
            Err(refusal) => return refusal.unread(),
        };
        let (head, body) = request.into_parts();
        let limit = MAX_UNPROVEN_BYTES.min(self.host.max_message_bytes());
        let said = match self.read_post(body, limit, caller).await {
            Ok(said) => said,
            Err(refusal) => return *refusal,
        };
        let visitor = Visitor::of_body(&said, self.host.authenticator()).map_err(|refused| denied(&refused));
        let known = visitor.as_ref().ok().map(|visitor| visitor.identity().clone());
        let admitted = visitor.and_then(|visitor| caller.admit().map(|()| visitor));
        let allowed =
            admitted.and_then(|visitor| self.check_target(&target, visitor.identity()).map(|()| visitor));
        let from = match allowed {
            Ok(visitor) => Recognised { visitor, caller },
            Err(refusal) => {
                self.record(&refusal, known.as_deref(), caller);
                return refusal.reply(&Asked::of(&said));
            }
        };
        let session = text(&head.headers, &SESSION).map(|id| self.find(id, &target, &from));
        self.serve_post(head.headers, said, takes_streams, session, (target, from)).await
    }
}
