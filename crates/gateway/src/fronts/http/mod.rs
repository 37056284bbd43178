//! Clients over HTTP: Streamable HTTP, and HTTP+SSE for older clients. Must not know what messages mean,
//! apart from the handshake and request ids.
//!
//! # Layout
//! - `gate`: checks of host, origin and credentials; `visitor`: the party behind a request; `route`: from paths to
//!   targets.
//! - `listen`: addresses, connections, TLS; `guests`: limits on connections;
//!   `idle_timeout`: timeouts of stalled ones.
//! - `gather`: the body of a request; `body`: the body of an answer; `frames`: messages as bytes; `reply`:
//!   responses; `refusal`: errors for requests that are not served.
//! - `inbox`: events for the core; `events`: stored events for clients that reconnect; `session`: one client;
//!   `slow`: calls that take long; `sessions`: all clients.
//! - `streamable`, `legacy`: the two transports; `stateless`: requests without a session. `unproven`: clients that show their token in the body. `health`: liveness and readiness.
//!   `page`: the page for browsers.

mod body;
mod events;
mod frames;
mod gate;
mod gather;
mod guests;
mod health;
mod legacy;
pub mod listen;
mod inbox;
mod page;
mod idle_timeout;
mod refusal;
mod reply;
mod route;
mod session;
mod sessions;
mod slow;
mod stateless;
mod streamable;
mod unproven;
mod visitor;

use super::ClientHost;
use crate::hub::Hub;
use body::AnswerBody;
use events::EventStore;
use gate::{Gate, Refused};
use guests::Caller;
pub(crate) use guests::Guests;
use hyper::body::Incoming;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use inbox::Inbox;
use refusal::HttpRefusal;
use reply::status;
use route::{Door, Route};
use session::Session;
use slow::Slow;
use stateless::{Pool, StatelessClient};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::Fact;
use switchboard_core::access::{self, Identity};
use switchboard_process::lock::Lock;
use switchboard_protocol::ErrorKind;
use tokio::sync::mpsc;
use visitor::Visitor;

/// Time after which a call of a session is answered by a stream, so that its client can reconnect to it.
const STREAM_AFTER: Duration = Duration::from_secs(1);

/// Options of the HTTP front.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub listen: Vec<listen::Address>,
    pub tls: Option<listen::TlsFiles>,
    /// Whether clients need a token. If not, those without one are anonymous.
    pub needs_token: bool,
    /// Whether a token in a message counts.
    pub token_in_body: bool,
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub session_ttl: Duration,
    pub max_sessions: usize,
    /// Budget of stored events, for all sessions together.
    pub event_bytes: usize,
    /// Folders that clients on other machines may name, by the names that they use.
    pub root_map: Vec<(String, String)>,
}

/// All HTTP clients.
pub(crate) struct Front {
    host: Arc<dyn ClientHost>,
    hub: Arc<Hub>,
    options: HttpOptions,
    gate: Gate,
    /// Identity of clients without a token, where none is needed.
    anonymous: Option<Arc<Identity>>,
    sessions: Lock<HashMap<String, Arc<Session>>>,
    events: Arc<EventStore>,
    inbox: Arc<Inbox>,
    gone: mpsc::UnboundedSender<String>,
    visits: health::Visits,
    slow: Slow<Session>,
    /// Clients of requests without a session.
    pool: Pool,
    slow_alone: Slow<StatelessClient>,
}

type HttpReply = Response<AnswerBody>;

impl Front {
    pub(crate) fn new(
        host: Arc<dyn ClientHost>,
        options: HttpOptions,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let gate = Gate { hosts: options.hosts.clone(), origins: options.origins.clone() };
        let anonymous = (!options.needs_token).then(|| Arc::new(Identity::anonymous()));
        #[expect(clippy::disallowed_methods, reason = "a session says once that it is over")]
        let (gone, left) = mpsc::unbounded_channel();
        let front = Self {
            hub: host.hub().clone(),
            host,
            gate,
            anonymous,
            sessions: Lock::default(),
            events: EventStore::new(options.event_bytes),
            inbox: Arc::default(),
            gone,
            visits: health::Visits::default(),
            slow: Slow::after(STREAM_AFTER),
            pool: Pool::default(),
            slow_alone: Slow::after(body::keep_alive_interval()),
            options,
        };
        (Arc::new(front), left)
    }

    /// Serves one request, from its head to the head of its answer.
    pub(crate) async fn serve(self: &Arc<Self>, request: Request<Incoming>, caller: &Caller) -> HttpReply {
        // HTTP/2 names the host here instead of in a header.
        let authority = request.uri().authority().map(Authority::as_str);
        // Before anything else: DNS rebinding must not reach even the routes without a token.
        if let Err(refused) = self.gate.check_way(request.headers(), authority) {
            return self.deny(&refused, caller);
        }
        let origin = request.headers().get(ORIGIN).cloned();
        let mut reply = self.answer(request, caller).await;
        if let Some(origin) = origin {
            allow_page(&mut reply, origin);
        }
        reply
    }

    fn recognise(&self, headers: &HeaderMap) -> Result<Visitor, Refused> {
        let credentials = gate::credentials(headers);
        Visitor::recognise(credentials, self.host.authenticator(), self.anonymous.as_ref())
    }

    /// Whether the token may come with the body.
    fn may_show_in_body(&self, request: &Request<Incoming>) -> bool {
        self.options.token_in_body && *request.method() == Method::POST
    }

    async fn answer(self: &Arc<Self>, request: Request<Incoming>, caller: &Caller) -> HttpReply {
        let route = route::route(request.uri().path());
        match (&route, request.method()) {
            // A CORS preflight carries no token; the actual request follows.
            (_, &Method::OPTIONS) => return reply::preflight(request.headers()),
            // Without a token, so that a probe needs no secret.
            (Route::Health, &Method::GET) => return health::alive(),
            (Route::Home, &Method::GET | &Method::HEAD) => return self.page(&request),
            _ => {}
        }
        // Before the target is looked up, so that strangers learn no server's name.
        let visitor = match (self.recognise(request.headers()), &route) {
            (Ok(visitor), _) => visitor,
            (Err(Refused::NoToken), Route::To(target, Door::Streamable))
                if self.may_show_in_body(&request) =>
            {
                return self.post_unproven(request, target.clone(), caller).await;
            }
            (Err(refused), _) => return self.deny(&refused, caller),
        };
        // Without a token, only a session proves a known client.
        if self.options.needs_token
            && let Err(refusal) = caller.admit()
        {
            return refusal.unread();
        }
        match route {
            Route::Readiness => self.readiness(visitor.identity()),
            Route::Health => status(StatusCode::METHOD_NOT_ALLOWED, "use GET"),
            Route::Home | Route::Nowhere => {
                self.refuse(request, &HttpRefusal::unknown_name("nothing is served at this path")).await
            }
            Route::To(target, door) => {
                let from = Recognised { visitor, caller };
                if let Err(refusal) = self.check_target(&target, from.visitor.identity()) {
                    self.record(&refusal, Some(from.visitor.identity()), caller);
                    return self.refuse(request, &refusal).await;
                }
                match door {
                    Door::Streamable => self.streamable(request, target, from).await,
                    Door::Events => self.old_stream(request, target, from).await,
                    Door::Messages => self.old_message(request, &target, from).await,
                }
            }
        }
    }

    /// Refuses a request that did not pass the gate.
    fn deny(&self, refused: &Refused, caller: &Caller) -> HttpReply {
        let refusal = denied(refused);
        self.record(&refusal, None, caller);
        refusal.unread()
    }

    /// Records the refusal of a request that does not reach the core, if it is about access.
    fn record(&self, refusal: &HttpRefusal, identity: Option<&Identity>, caller: &Caller) {
        if matches!(refusal.kind(), ErrorKind::Unauthorized | ErrorKind::Forbidden) {
            let identity = identity.map(|identity| identity.name.clone());
            let (front, kind, from) = (access::Front::Http, refusal.kind(), caller.origin.to_string());
            self.hub.telemetry().desk().take(Fact::AccessRefused { front, kind, identity, from });
        }
    }
}

/// A recognised client, and the connection of its request.
#[derive(Clone)]
struct Recognised<'a> {
    visitor: Visitor,
    caller: &'a Caller,
}

fn denied(refused: &Refused) -> HttpRefusal {
    match refused {
        Refused::Host(host) => HttpRefusal::forbidden(
            format!("the host `{host}` is not allowed"),
            "add it to `serve.allowedHosts` if it is yours",
        ),
        Refused::Origin(origin) => HttpRefusal::forbidden(
            format!("the origin `{origin}` is not allowed"),
            "add it to `serve.allowedOrigins` if it is yours",
        ),
        Refused::NoToken => HttpRefusal::unauthorized("missing bearer token"),
        Refused::WrongToken => HttpRefusal::unauthorized("wrong bearer token"),
    }
}

/// Allows the page to read the answer: its origin passed the gate.
fn allow_page(reply: &mut HttpReply, origin: HeaderValue) {
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        "access-control-expose-headers",
        HeaderValue::from_static("mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"),
    );
    // Caches must not give one page an answer that was made for another.
    headers.insert("vary", HeaderValue::from_static("origin"));
}
