//! From a POST without a session to its response.

use super::super::body::Events;
use super::super::refusal::{Asked, HttpRefusal};
use super::super::reply::{accepted, message, stream};
use super::super::route::RouteTarget;
use super::super::sessions::{may_name_folders, named_root};
use super::super::{Front, HttpReply, Recognised};
use super::call::{CallGuard, Failure, Outcome};
use super::check::{self, Checked};
use super::client::{Opening, StatelessClient};
use super::owner::Origin;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use std::sync::Arc;
use std::time::Instant;
use switchboard_core::Event;
use switchboard_protocol::{Kind, Message, Method, Parsed, Part};
use tokio::sync::oneshot;

/// Content of a POST without a session.
pub(crate) struct Posted {
    pub(crate) headers: HeaderMap,
    pub(crate) said: Parsed,
    pub(crate) takes_streams: bool,
}

/// A request that may be served.
struct Admitted {
    headers: HeaderMap,
    message: Message,
    is_modern: bool,
    takes_streams: bool,
}

impl Front {
    /// Serves a modern POST.
    pub(in crate::fronts::http) async fn post_modern(
        self: &Arc<Self>,
        posted: Posted,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> HttpReply {
        let Posted { headers, said, takes_streams } = posted;
        let asked = Asked::of(&said);
        if !self.host.serves_modern() {
            return HttpRefusal::legacy_only().reply(&asked);
        }
        match check::check(said, &headers) {
            Ok(Checked::Notification) => accepted(),
            Ok(Checked::Request(message)) => {
                let admitted = Admitted { headers, message, is_modern: true, takes_streams };
                self.serve_alone(admitted, asked, target, from).await
            }
            Err(refusal) => refusal.modern().reply(&asked),
        }
    }

    /// Serves a POST of a client that knows no handshake.
    pub(in crate::fronts::http) async fn post_plain(
        self: &Arc<Self>,
        posted: Posted,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> HttpReply {
        let Posted { headers, said, .. } = posted;
        let asked = Asked::of(&said);
        match check::single(said) {
            Ok(message) if message.kind() == Kind::Request => {
                let admitted = Admitted { headers, message, is_modern: false, takes_streams: false };
                self.serve_alone(admitted, asked, target, from).await
            }
            // Such as `notifications/initialized` of a client that ignores its session: it changes nothing.
            Ok(message) if message.kind() == Kind::Notification => accepted(),
            Ok(_) | Err(_) => HttpRefusal::not_initialized().reply(&asked),
        }
    }

    async fn serve_alone(
        self: &Arc<Self>,
        admitted: Admitted,
        asked: Asked,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> HttpReply {
        let is_modern = admitted.is_modern;
        let opened = match self.open_alone(&admitted, target, from) {
            Ok((call, answer)) if is_modern => {
                let Admitted { headers, message, .. } = &admitted;
                self.check_arguments(&call, message, headers, target).await.map(|()| (call, answer))
            }
            opened => opened,
        };
        let (mut call, answer) = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                self.record(&refusal, Some(from.visitor.identity()), from.caller);
                return if is_modern { refusal.modern() } else { refusal }.reply(&asked);
            }
        };
        if admitted.takes_streams {
            self.slow_alone.may_be(call.client(), call.number());
        }
        let Admitted { headers, message: said, .. } = admitted;
        let client = call.client().clone();
        let method = said.method();
        let page = (method == Method::ToolsList && is_modern).then(|| !said.has(Part::Cursor));
        let frame = Ok(Parsed::One(said));
        let paths = client.paths(&frame).await;
        call.tell();
        self.inbox.said(Event::FromClient { client: client.id, frame, paths });
        match answer.await {
            Ok(Outcome::Whole { part, refusal, failure }) => {
                if let Some(is_first) = page.filter(|_| failure.is_none()) {
                    client.params.learn(&part.bytes, is_first);
                }
                // Its client comes back with a handshake: until then, servers must not ask the one that remains here.
                if failure.is_some_and(|failure| failure.is_wrong_era(method)) && client.close_if_idle() {
                    self.end_client(&client);
                }
                let mut reply = message(part, headers, refusal);
                if let Some(status) = failure.filter(|_| is_modern).and_then(Failure::status) {
                    *reply.status_mut() = status;
                }
                reply
            }
            Ok(Outcome::Stream(parts)) => stream(Events::guarded(parts, call)),
            // The core has disconnected the client while the request waited.
            Err(_) if self.hub.is_ending() => HttpRefusal::shutting_down().reply(&asked),
            Err(_) => HttpRefusal::unauthorized("the token is no longer valid").reply(&asked),
        }
    }

    /// Opens a request at a client of its party: one in use, or a new one.
    fn open_alone(
        self: &Arc<Self>,
        admitted: &Admitted,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> Result<(CallGuard, oneshot::Receiver<Outcome>), HttpRefusal> {
        let Admitted { headers, message, is_modern, takes_streams } = admitted;
        let is_listen = message.method() == Method::Listen && *is_modern;
        if is_listen && !takes_streams {
            return Err(HttpRefusal::malformed(
                StatusCode::NOT_ACCEPTABLE,
                "the answer to `subscriptions/listen` is an event stream",
                "accept both: `Accept: application/json, text/event-stream`",
            ));
        }
        if self.hub.is_ending() {
            return Err(HttpRefusal::shutting_down());
        }
        let origin = Origin {
            visitor: &from.visitor,
            target,
            root: named_root(headers),
            may_name_folders: may_name_folders(headers, from),
            is_plain: !is_modern,
            message,
        };
        let Some(id) = message.id() else { return Err(HttpRefusal::not_initialized()) };
        let opening = Opening { id, takes_streams: *takes_streams };
        if let Some(opened) = self.pool.open(&origin, &opening) {
            // A client that is known keeps its connection, even without a token.
            from.caller.admit()?;
            return Ok(opened);
        }
        let expected = self.expect(target, headers, from)?;
        let reader = self.reader_for(&expected);
        let (id, params) = (self.host.next_client(), self.pool.params(&origin));
        let client = StatelessClient::new(id, params, self.inbox.clone(), reader);
        // Before others can find the client, so that the id is free.
        let Some(opened) = client.open(&opening) else { return Err(HttpRefusal::shutting_down()) };
        self.make_room(|_| self.pool.reserve())?;
        self.connect(client.id, client.clone(), &from.visitor, expected, true);
        // After the core has heard of the client, so that no message of another request comes before that.
        self.pool.add(&origin, client);
        Ok(opened)
    }

    /// Ends a client of the core that has no session.
    pub(crate) fn end_client(&self, client: &Arc<StatelessClient>) {
        if self.pool.remove(client) {
            self.disconnect(client.id);
        }
    }

    /// Ends clients that nobody uses.
    pub(crate) fn tidy_pool(&self, now: Instant) {
        let is_old = |client: &Arc<StatelessClient>| {
            let since = client.idle_since();
            since.is_some_and(|since| now.saturating_duration_since(since) >= self.options.session_ttl)
        };
        for client in self.pool.all() {
            if client.is_spent() || (is_old(&client) && client.close_if_idle()) {
                self.end_client(&client);
            }
        }
    }
}
