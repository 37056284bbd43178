//! Streamable HTTP: a POST carries a client's messages and is answered as a whole or as a stream; a GET opens
//! the client's own stream or resumes one; a DELETE ends the session.

use super::body::Events;
use super::events::EventId;
use super::gate::text;
use super::gather::{Unread, gather};
use super::guests::Caller;
use super::refusal::{Asked, HttpRefusal};
use super::reply::{accepted, message, stream};
use super::route::RouteTarget;
use super::session::{CallOutcome, ClientTransport, NoStream, Session};
use super::stateless::{NamedSession, PostEra, Posted as PostedAlone, era_of, is_opening};
use super::{Front, HttpReply, Recognised};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method as HttpMethod, Request, StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use switchboard_core::Event;
use switchboard_process::aside;
use switchboard_protocol::{Broken, HANDSHAKE_VERSIONS, Message, Method, Parsed, Part, RawId, parse};

pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Longer bodies are parsed on another thread.
const MAX_INLINE_BYTES: usize = 256 << 10;

impl Front {
    pub(super) async fn streamable(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: RouteTarget,
        from: Recognised<'_>,
    ) -> HttpReply {
        match *request.method() {
            HttpMethod::POST => self.post(request, target, from).await,
            HttpMethod::GET => self.get(&request, &target, &from).unwrap_or_else(|why| why.unread()),
            HttpMethod::DELETE => self.delete(&request, &target, &from).unwrap_or_else(|why| why.unread()),
            _ => self.refuse(request, &HttpRefusal::method("GET, POST, DELETE")).await,
        }
    }

    async fn post(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: RouteTarget,
        from: Recognised<'_>,
    ) -> HttpReply {
        if let Err(refusal) = check_type(request.headers()) {
            return refusal.unread();
        }
        let takes_streams = match Accepts::check(request.headers()) {
            Ok(accepts) => accepts.streams,
            Err(refusal) => return self.refuse(request, &refusal).await,
        };
        let (head, body) = request.into_parts();
        // Where there is no token, a session proves a known client. Checked before a long body is read.
        let session = text(&head.headers, &SESSION).map(|id| self.find(id, &target, &from));
        match self.read_post(body, self.host.max_message_bytes(), from.caller).await {
            Ok(said) => self.serve_post(head.headers, said, takes_streams, session, (target, from)).await,
            Err(refusal) => *refusal,
        }
    }

    /// Serves the messages of a POST in their era.
    pub(super) async fn serve_post(
        self: &Arc<Self>,
        headers: HeaderMap,
        said: Parsed,
        takes_streams: bool,
        session: Option<Result<Arc<Session>, HttpRefusal>>,
        (target, from): (RouteTarget, Recognised<'_>),
    ) -> HttpReply {
        let named = match &session {
            None => NamedSession::None,
            Some(Ok(_)) => NamedSession::Ours,
            Some(Err(_)) => NamedSession::Unknown,
        };
        match era_of(&said, text(&headers, &VERSION), named) {
            PostEra::Modern => {
                self.post_modern(PostedAlone { headers, said, takes_streams }, &target, &from).await
            }
            PostEra::Plain => {
                self.post_plain(PostedAlone { headers, said, takes_streams }, &target, &from).await
            }
            PostEra::Legacy => match check_version(&headers) {
                Ok(()) => self.take((headers, said, takes_streams), session, (target, from)).await,
                Err(refusal) => refusal.reply(&Asked::of(&said)),
            },
        }
    }

    /// The messages of a POST, or the answer to what is not one.
    pub(super) async fn read_post(
        &self,
        body: Incoming,
        limit: usize,
        caller: &Caller,
    ) -> Result<Parsed, Box<HttpReply>> {
        match self.read(body, limit, Some(caller)).await {
            Ok(Ok(said)) => Ok(said),
            // Answered here: the core could only answer on a stream, and this POST waits for a response.
            Ok(Err(broken)) => Err(HttpRefusal::broken(&broken).reply(&Asked::of_broken(&broken))),
            Err((refusal, asked)) => Err(refusal.reply(&asked)),
        }
        .map_err(Box::new)
    }

    /// Passes the messages of a POST on: to the session that it names, or to a new one.
    async fn take(
        self: &Arc<Self>,
        (headers, said, takes_streams): (HeaderMap, Parsed, bool),
        session: Option<Result<Arc<Session>, HttpRefusal>>,
        (target, from): (RouteTarget, Recognised<'_>),
    ) -> HttpReply {
        let asked = Asked::of(&said);
        let is_opening = match &said {
            Parsed::One(only) => is_opening(only),
            // A batch of one is accepted; `initialize` beside other requests is not a handshake.
            Parsed::Batch(members) => matches!(&members[..], [Ok(only)] if is_opening(only)),
        };
        let is_new = session.is_none() && is_opening;
        let session = match session {
            Some(session) => session,
            None if is_new => self.open(&target, ClientTransport::Streamable, &headers, &from),
            None => Err(HttpRefusal::not_initialized()),
        };
        let session = match session {
            Ok(session) => session,
            Err(refusal) => {
                self.record(&refusal, Some(from.visitor.identity()), from.caller);
                return refusal.reply(&asked);
            }
        };
        session.touch(text(&headers, &VERSION));
        let call = Posted { said, asked, takes_streams };
        let reply = self.pass(&session, call, headers).await;
        self.introduce(&session, reply, is_new)
    }

    /// Refuses a request under the ids in its body, as far as the body can be read.
    pub(super) async fn refuse(&self, request: Request<Incoming>, refusal: &HttpRefusal) -> HttpReply {
        // Only a POST of the right type can hold ids to answer under.
        if *request.method() != HttpMethod::POST || check_type(request.headers()).is_err() {
            return refusal.unread();
        }
        let asked = match self.read(request.into_body(), self.host.max_message_bytes(), None).await {
            Ok(Ok(said)) => Asked::of(&said),
            Ok(Err(broken)) => Asked::of_broken(&broken),
            Err((_, asked)) => asked,
        };
        refusal.reply(&asked)
    }

    /// Reads and parses a body within its limits.
    pub(super) async fn read(
        &self,
        body: Incoming,
        limit: usize,
        caller: Option<&Caller>,
    ) -> Result<Result<Parsed, Broken>, (HttpRefusal, Asked)> {
        let bytes = match gather(body, limit).await {
            Ok(bytes) => bytes,
            Err(Unread::TooLong(seen)) => {
                let is_usual = limit == self.host.max_message_bytes();
                let refusal = if is_usual {
                    HttpRefusal::too_large(limit)
                } else {
                    HttpRefusal::too_large_unproven(limit)
                };
                return Err((refusal, Asked::of_glimpses(seen)));
            }
            Err(Unread::TooSlow) => return Err((HttpRefusal::too_slow(), Asked::default())),
            Err(Unread::Cut) => {
                let hint = "send as many bytes as `Content-Length` says";
                let refusal = HttpRefusal::malformed(StatusCode::BAD_REQUEST, "the body is incomplete", hint);
                return Err((refusal, Asked::default()));
            }
        };
        Ok(match bytes.len() {
            0..MAX_INLINE_BYTES => match caller {
                Some(caller) => caller.parse(bytes),
                None => parse(bytes),
            },
            _ => aside::run(move || parse(bytes)).await,
        })
    }

    /// Passes a client's messages to the core, and waits for the result.
    async fn pass(&self, session: &Arc<Session>, posted: Posted, headers: HeaderMap) -> HttpReply {
        let Posted { said, asked, takes_streams } = posted;
        let call = match asked.ids.is_empty() {
            true => None,
            false if self.hub.is_ending() => return HttpRefusal::shutting_down().reply(&asked),
            false => match session.open_call(&asked.ids, asked.is_batch, takes_streams) {
                Some(call) => Some(call),
                None if session.is_closed() => return self.gone().reply(&asked),
                None => {
                    let refusal = HttpRefusal::malformed(
                        StatusCode::BAD_REQUEST,
                        "one of these ids is in use: its request is not answered yet",
                        "use another id for each request",
                    );
                    return refusal.reply(&asked);
                }
            },
        };
        // The call is open before the core hears of it: the answer may come at once.
        self.tell(session, said).await;
        let Some((number, answer)) = call else { return accepted() };
        // Only a client that takes streams can be given one when the call takes long.
        if takes_streams {
            self.slow.may_be(session, number);
        }
        match answer.await {
            Ok(CallOutcome::Whole(part, refusal)) => message(part, headers, refusal),
            Ok(CallOutcome::Stream(parts)) => stream(Events::new(parts)),
            // The session was closed while the call waited.
            Err(_) => self.gone().reply(&asked),
        }
    }

    /// Refusal for a session that cannot be found.
    pub(super) fn gone(&self) -> HttpRefusal {
        if self.hub.is_ending() { HttpRefusal::shutting_down() } else { HttpRefusal::no_session() }
    }

    /// Passes a client's messages to the core.
    pub(super) async fn tell(&self, session: &Arc<Session>, said: Parsed) {
        match said {
            Parsed::One(message) => self.tell_one(session, Ok(message)).await,
            Parsed::Batch(members) => {
                for member in members {
                    self.tell_one(session, member).await;
                }
            }
        }
    }

    pub(super) async fn tell_one(&self, session: &Arc<Session>, member: Result<Message, Broken>) {
        let cancelled = member.as_ref().ok().and_then(cancelled_by);
        let frame = member.map(Parsed::One);
        let paths = session.paths(&frame).await;
        self.inbox.said(Event::FromClient { client: session.client, frame, paths });
        // After the core, which may have answered it before.
        if let Some(id) = cancelled {
            session.cancelled(&id);
        }
    }

    /// Adds the session's id to a successful handshake; ends the session if the handshake failed.
    fn introduce(&self, session: &Arc<Session>, mut reply: HttpReply, is_new: bool) -> HttpReply {
        if !is_new {
            return reply;
        }
        let version = match reply.body() {
            super::body::AnswerBody::Message(Some(part)) => negotiated(&part.bytes),
            // The answer is in the stream; the version is learnt from the client's next header.
            super::body::AnswerBody::Stream(_) => Some(String::new()),
            super::body::AnswerBody::Message(None) | super::body::AnswerBody::Whole(_) => None,
        };
        match (version, HeaderValue::from_str(&session.id)) {
            (Some(version), Ok(id)) => {
                session.set_version(&version);
                reply.headers_mut().insert(SESSION.clone(), id);
            }
            // A failed handshake leaves no session, so that retries do not pile up.
            _ => self.end(&session.id),
        }
        reply
    }

    fn get(
        &self,
        request: &Request<Incoming>,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> Result<HttpReply, HttpRefusal> {
        let headers = request.headers();
        let session = self.session_of(headers, target, from)?;
        if !Accepts::read(headers).streams {
            return Err(HttpRefusal::malformed(
                StatusCode::NOT_ACCEPTABLE,
                "this is an event stream",
                "send `Accept: text/event-stream`",
            ));
        }
        let parts = match text(headers, &LAST_EVENT) {
            None => session.open_own(),
            Some(last) => session.resume(EventId::read(last).ok_or_else(|| {
                HttpRefusal::malformed(
                    StatusCode::BAD_REQUEST,
                    "unknown `Last-Event-ID`",
                    "send the `id` of the last event received",
                )
            })?),
        };
        match parts {
            Ok(parts) => Ok(stream(Events::new(parts))),
            Err(NoStream::Taken) => Err(HttpRefusal::malformed(
                StatusCode::CONFLICT,
                "this session already has an open stream",
                "read the open stream; a session has only one",
            )),
            Err(NoStream::Closed) => Err(self.gone()),
        }
    }

    fn delete(
        &self,
        request: &Request<Incoming>,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> Result<HttpReply, HttpRefusal> {
        let session = self.session_of(request.headers(), target, from)?;
        self.end(&session.id);
        Ok(super::reply::with(StatusCode::OK, "application/json", super::body::AnswerBody::text("{}")))
    }

    fn session_of(
        &self,
        headers: &HeaderMap,
        target: &RouteTarget,
        from: &Recognised<'_>,
    ) -> Result<Arc<Session>, HttpRefusal> {
        // Modern clients have no stream and no session of their own: only a session's client uses other methods.
        let id = text(headers, &SESSION).ok_or_else(|| HttpRefusal::method("POST"))?;
        check_version(headers)?;
        self.find(id, target, from)
    }
}

/// Content of a POST.
struct Posted {
    said: Parsed,
    asked: Asked,
    takes_streams: bool,
}

/// The request that a notification cancels.
fn cancelled_by(message: &Message) -> Option<RawId> {
    let is_it = message.id().is_none() && message.method() == Method::Cancelled;
    message.part(Part::RequestId).filter(|_| is_it).map(RawId::from_bytes)
}

/// The specification asks for 400; a missing header is fine.
fn check_version(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    match text(headers, &VERSION).filter(|version| !HANDSHAKE_VERSIONS.contains(version)) {
        None => Ok(()),
        Some(version) => Err(HttpRefusal::malformed(
            StatusCode::BAD_REQUEST,
            format!("the protocol version `{version}` is not supported"),
            format!("supported versions: {}", HANDSHAKE_VERSIONS.join(", ")),
        )),
    }
}

pub(super) fn check_type(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    // Fast path for the usual spelling.
    if kind == "application/json" {
        return Ok(());
    }
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // A page may send other types without a CORS preflight.
    if kind.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(HttpRefusal::malformed(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "messages must be JSON",
            "send `Content-Type: application/json`",
        ))
    }
}

/// Accepted forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    whole: bool,
    pub(super) streams: bool,
}

impl Accepts {
    /// The specification demands both forms, but one is enough for an answer.
    pub(super) fn check(headers: &HeaderMap) -> Result<Self, HttpRefusal> {
        let accepts = Self::read(headers);
        if accepts.whole || accepts.streams {
            return Ok(accepts);
        }
        Err(HttpRefusal::malformed(
            StatusCode::NOT_ACCEPTABLE,
            "answers are application/json or text/event-stream",
            "accept both: `Accept: application/json, text/event-stream`",
        ))
    }

    fn read(headers: &HeaderMap) -> Self {
        let mut found = Self { whole: false, streams: false };
        for value in headers.get_all(ACCEPT) {
            // Fast path for the header that the official clients send.
            if value.as_bytes() == b"application/json, text/event-stream" {
                return Self { whole: true, streams: true };
            }
            for kind in value.to_str().unwrap_or_default().split(',') {
                let kind = kind.split(';').next().unwrap_or_default().trim();
                // Wildcards are valid, and some HTTP libraries send nothing else.
                let is = |wanted: &str, group: &str| {
                    kind.eq_ignore_ascii_case(wanted) || kind == "*/*" || kind == group
                };
                found.whole |= is("application/json", "application/*");
                found.streams |= is("text/event-stream", "text/*");
            }
        }
        found
    }
}

/// Negotiated version of a handshake; `None` if it failed.
fn negotiated(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct AnswerBody {
        result: Welcome,
    }
    #[derive(Deserialize)]
    struct Welcome {
        #[serde(rename = "protocolVersion", default)]
        version: String,
    }
    serde_json::from_slice::<AnswerBody>(answer).ok().map(|answer| answer.result.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_header_is_read() {
        let headers = |value: &str| HeaderMap::from_iter([(ACCEPT, value.parse().unwrap())]);
        for (value, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("application/json;q=0.5,TEXT/EVENT-STREAM", true, true),
            ("*/*", true, true),
            ("text/*", false, true),
            ("text/html", false, false),
        ] {
            let expect = Accepts { whole: json, streams: events };
            assert_eq!(Accepts::read(&headers(value)), expect, "{value}");
        }
        assert_eq!(Accepts::read(&HeaderMap::new()), Accepts { whole: false, streams: false });
    }

    #[test]
    fn only_json_is_taken() {
        let check =
            |value: &str| check_type(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())])).is_ok();
        assert!(check("application/json") && check("Application/JSON; charset=utf-8"));
        for other in [
            "text/plain",
            "text/plain;application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
        ] {
            assert!(!check(other), "{other}");
        }
    }
}
