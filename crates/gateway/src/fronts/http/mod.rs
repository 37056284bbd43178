//! Clients over HTTP: Streamable HTTP, and HTTP+SSE for those who have nothing else.
//!
//! - `gate`: who is let in; `token`: by what. `route`: where a path leads. `gather`: the body of a request.
//! - `listen`: addresses, connections, TLS; `punctual`: clients that take too long.
//! - `streamable`, `legacy`: the two ways to talk. `health`: whether we live, and can serve.
//! - `session`: one client, and which message goes where; `sessions`: all of them; `events`: what was said, kept for those
//!   who come back; `slow`: calls that take long. `body`: what is answered. `news`: what the core is told.

#![expect(
    clippy::result_large_err,
    reason = "what is wrong with a request is answered in place of it, once, and not passed through many hands"
)]

mod body;
mod events;
mod gate;
mod gather;
mod health;
mod legacy;
pub mod listen;
mod news;
mod punctual;
mod reply;
mod route;
mod session;
mod sessions;
mod slow;
mod streamable;
pub mod token;

use crate::daemon::Household;
use body::Answer;
use events::Budget;
use gate::{Gate, Refused};
use hyper::body::Incoming;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use listen::Origin;
use news::News;
use reply::{refusal, status};
use route::{Door, Route};
use session::Session;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// How clients over HTTP are served.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub listen: Vec<listen::Address>,
    pub tls: Option<listen::TlsFiles>,
    /// Nothing: nobody needs one.
    pub token: Option<String>,
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub session_ttl: Duration,
    pub max_sessions: usize,
    /// What all sessions may keep together for clients that come back.
    pub event_bytes: usize,
    /// Folders that clients on other machines may name, by the names that they use.
    pub root_map: Vec<(String, String)>,
}

/// All clients over HTTP.
pub(crate) struct Front {
    household: Arc<Household>,
    options: HttpOptions,
    gate: Gate,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    budget: Arc<Budget>,
    news: Arc<News>,
    gone: mpsc::UnboundedSender<String>,
    visits: health::Visits,
    slow: slow::Slow,
}

type Reply = Response<Answer>;

impl Front {
    pub(crate) fn new(
        household: Arc<Household>,
        options: HttpOptions,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let gate = Gate {
            hosts: options.hosts.clone(),
            origins: options.origins.clone(),
            token: options.token.clone(),
        };
        #[expect(clippy::disallowed_methods, reason = "a session says once that it is over")]
        let (gone, left) = mpsc::unbounded_channel();
        let front = Self {
            household,
            gate,
            sessions: Mutex::default(),
            budget: Budget::new(options.event_bytes),
            news: Arc::default(),
            gone,
            visits: health::Visits::default(),
            slow: slow::Slow::default(),
            options,
        };
        (Arc::new(front), left)
    }

    /// One request, from its head to the head of its answer.
    pub(crate) async fn serve(self: &Arc<Self>, request: Request<Incoming>, from: Origin) -> Reply {
        let origin = request.headers().get(ORIGIN).cloned();
        let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
        let mut reply = match self.gate.check_way(request.headers(), authority.as_deref()) {
            Err(refused) => return denied(&refused),
            Ok(()) => self.answer(request, from).await,
        };
        if let Some(origin) = origin {
            allow_page(&mut reply, origin);
        }
        reply
    }

    async fn answer(self: &Arc<Self>, request: Request<Incoming>, from: Origin) -> Reply {
        let route = route::route(request.uri().path());
        match (&route, request.method()) {
            // A page asks whether it may; its real request comes after.
            (_, &Method::OPTIONS) => return reply::preflight(),
            (Route::Health, &Method::GET) => return health::alive(),
            _ => {}
        }
        if let Err(refused) = self.gate.check_token(request.headers()) {
            return denied(&refused);
        }
        match route {
            Route::Readiness => self.readiness(),
            Route::Health => status(StatusCode::METHOD_NOT_ALLOWED, "GET only"),
            Route::Nowhere => status(
                StatusCode::NOT_FOUND,
                "there is nothing here; MCP is at /mcp, /servers/NAME/mcp and /profiles/NAME/mcp",
            ),
            Route::To(target, door) => {
                if let Err(unknown) = self.check_target(&target) {
                    return unknown;
                }
                match door {
                    Door::Streamable => self.streamable(request, target, from).await,
                    Door::Events => self.old_stream(request, target, from),
                    Door::Messages => self.old_message(request, &target).await,
                }
            }
        }
    }
}

fn denied(refused: &Refused) -> Reply {
    match refused {
        Refused::Host(host) => refusal(
            StatusCode::FORBIDDEN,
            &format!("`{host}` is not one of our names; add it to `serve.allowedHosts` if it should be"),
        ),
        Refused::Origin(origin) => refusal(
            StatusCode::FORBIDDEN,
            &format!(
                "pages of `{origin}` may not talk to us; add it to `serve.allowedOrigins` if they should"
            ),
        ),
        Refused::NoToken => reply::unauthorized("a token is wanted: `switchboard token show` shows it"),
        Refused::WrongToken => {
            reply::unauthorized("this is not the token: `switchboard token show` shows it")
        }
    }
}

/// The page was let in; its browser is told so.
fn allow_page(reply: &mut Reply, origin: HeaderValue) {
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        "access-control-expose-headers",
        HeaderValue::from_static("mcp-session-id, mcp-protocol-version"),
    );
    headers.insert("vary", HeaderValue::from_static("origin"));
}
