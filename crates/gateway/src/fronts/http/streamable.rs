//! Streamable HTTP: a POST for what a client says, answered whole or as a stream; a GET for its own stream, or to go on
//! with one; a DELETE to end.

use super::body::Events;
use super::events::EventId;
use super::gate::text;
use super::gather::{Unread, gather};
use super::listen::Origin;
use super::reply::{accepted, message, not_allowed, refusal, session_is_over, stream};
use super::route::Target;
use super::session::{Manner, NoStream, Reply as Outcome, Session};
use super::{Front, Reply};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method as HttpMethod, Request, StatusCode};
use serde::Deserialize;
use smallvec::SmallVec;
use std::sync::Arc;
use switchboard_core::Event;
use switchboard_process::aside;
use switchboard_protocol::{
    Broken, Dialect, ErrorAnswer, HANDSHAKE_VERSIONS, Kind, Message, Method, Parsed, RawId, parse,
};

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Longer bodies are scanned on another thread.
const LONG: usize = 256 << 10;

impl Front {
    pub(super) async fn streamable(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: Target,
        from: Origin,
    ) -> Reply {
        if let Some(version) = text(request.headers(), &VERSION)
            && !HANDSHAKE_VERSIONS.contains(&version)
        {
            let text = format!(
                "the protocol version `{version}` is not spoken here; these are: {}",
                HANDSHAKE_VERSIONS.join(", ")
            );
            return refusal(StatusCode::BAD_REQUEST, &text);
        }
        match *request.method() {
            HttpMethod::POST => self.post(request, target, from).await,
            HttpMethod::GET => self.get(&request, &target),
            HttpMethod::DELETE => self.delete(&request, &target),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    async fn post(self: &Arc<Self>, request: Request<Incoming>, target: Target, from: Origin) -> Reply {
        let (head, body) = request.into_parts();
        if let Err(reply) = check_type(&head.headers) {
            return reply;
        }
        let Accepts { whole, streams: takes_streams } = Accepts::read(&head.headers);
        if !whole && !takes_streams {
            return refusal(
                StatusCode::NOT_ACCEPTABLE,
                "answers are application/json or text/event-stream: say so in `Accept`",
            );
        }
        let said = match self.read(body).await {
            Ok(Ok(said)) => said,
            Ok(Err(broken)) => return bad_message(&broken),
            Err(reply) => return reply,
        };
        let is_opening = match &said {
            Parsed::One(only) => is_opening(only),
            Parsed::Batch(members) => matches!(&members[..], [Ok(only)] if is_opening(only)),
        };
        let session = match (text(&head.headers, &SESSION), is_opening) {
            (Some(id), _) => match self.find(id, &target, &head.headers) {
                Some(session) => session,
                None => return unknown_session(),
            },
            (None, true) => match self.open(&target, Manner::Streamable, &head.headers, from) {
                Ok(session) => session,
                Err(reply) => return reply,
            },
            (None, false) => {
                return refusal(
                    StatusCode::BAD_REQUEST,
                    "begin with `initialize`; what follows needs its `Mcp-Session-Id`",
                );
            }
        };
        session.touch(text(&head.headers, &VERSION));
        let is_new = is_opening && text(&head.headers, &SESSION).is_none();
        let reply = self.pass(&session, said, takes_streams, head.headers).await;
        self.introduce(&session, reply, is_new)
    }

    /// Reads a body, as far as it may go.
    pub(super) async fn read(&self, body: Incoming) -> Result<Result<Parsed, Broken>, Reply> {
        let limit = self.household.limit;
        let bytes = match gather(body, limit).await {
            Ok(bytes) => bytes,
            Err(Unread::TooLong) => {
                let text = format!(
                    "a message may have {limit} bytes; raise `maxMessageBytes` in the config, or say less"
                );
                return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, &text));
            }
            Err(Unread::Cut) => {
                return Err(refusal(StatusCode::BAD_REQUEST, "the request ended before its time"));
            }
        };
        Ok(match bytes.len() {
            0..LONG => parse(bytes),
            _ => aside::run(move || parse(bytes)).await,
        })
    }

    /// Passes what a client says to the core, and waits for what comes of it.
    async fn pass(
        &self,
        session: &Arc<Session>,
        said: Parsed,
        takes_streams: bool,
        headers: HeaderMap,
    ) -> Reply {
        let (ids, is_batch): (SmallVec<[RawId; 1]>, bool) = match &said {
            Parsed::One(message) => (asked(message).into_iter().collect(), false),
            Parsed::Batch(members) => (members.iter().filter_map(asked_by_member).collect(), true),
        };
        let call = match ids.is_empty() {
            true => None,
            false => match session.open_call(&ids, is_batch, takes_streams) {
                Some(call) => Some(call),
                None => {
                    return refusal(
                        StatusCode::BAD_REQUEST,
                        "one of these ids is in use: its request is not answered yet",
                    );
                }
            },
        };
        self.tell(session, said).await;
        let Some((number, answer)) = call else { return accepted() };
        if takes_streams {
            self.slow.may_be(session, number);
        }
        match answer.await {
            Ok(Outcome::Whole(parcel)) => message(parcel, headers),
            Ok(Outcome::Stream(parcels)) => stream(Events::new(parcels, None)),
            Err(_) => unknown_session(),
        }
    }

    /// Tells the core what a client said.
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
        let frame = member.map(Parsed::One);
        let places = session.places(&frame).await;
        self.news.said(Event::FromClient { client: session.client, frame, places });
    }

    /// The answer to a handshake says which session it began; without an answer there is none.
    fn introduce(&self, session: &Arc<Session>, mut reply: Reply, is_new: bool) -> Reply {
        if !is_new {
            return reply;
        }
        let version = match reply.body() {
            super::body::Answer::Message(Some(parcel)) => negotiated(&parcel.bytes),
            super::body::Answer::Stream(_) => Some(String::new()),
            super::body::Answer::Message(None) | super::body::Answer::Whole(_) => None,
        };
        match (version, HeaderValue::from_str(&session.id)) {
            (Some(version), Ok(id)) => {
                session.set_version(&version);
                reply.headers_mut().insert(SESSION.clone(), id);
            }
            _ => self.end(&session.id),
        }
        reply
    }

    fn get(&self, request: &Request<Incoming>, target: &Target) -> Reply {
        let headers = request.headers();
        if !Accepts::read(headers).streams {
            return refusal(StatusCode::NOT_ACCEPTABLE, "this is a stream: say `Accept: text/event-stream`");
        }
        let session = match self.session_of(headers, target) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        let parcels = match text(headers, &LAST_EVENT) {
            None => session.open_own(),
            Some(last) => match EventId::read(last) {
                Some(last) => session.resume(last),
                None => return refusal(StatusCode::BAD_REQUEST, "this `Last-Event-ID` is none of ours"),
            },
        };
        match parcels {
            Ok(parcels) => stream(Events::new(parcels, None)),
            Err(NoStream::Taken) => {
                refusal(StatusCode::CONFLICT, "this session has its stream already; one is enough")
            }
            Err(NoStream::Closed) => unknown_session(),
        }
    }

    fn delete(&self, request: &Request<Incoming>, target: &Target) -> Reply {
        match self.session_of(request.headers(), target) {
            Ok(session) => {
                self.end(&session.id);
                super::reply::with(StatusCode::OK, "application/json", super::body::Answer::text("{}"))
            }
            Err(reply) => reply,
        }
    }

    fn session_of(&self, headers: &HeaderMap, target: &Target) -> Result<Arc<Session>, Reply> {
        let Some(id) = text(headers, &SESSION) else {
            return Err(refusal(StatusCode::BAD_REQUEST, "which session? `Mcp-Session-Id` is missing"));
        };
        self.find(id, target, headers).ok_or_else(unknown_session)
    }
}

fn is_opening(message: &Message) -> bool {
    message.method() == Method::Initialize && message.kind() == Kind::Request
}

/// The id that will be answered.
fn asked(message: &Message) -> Option<RawId> {
    if message.kind() == Kind::Request { message.id() } else { None }
}

/// The same in a batch: a request's, or that of something that was meant as one.
fn asked_by_member(member: &Result<Message, Broken>) -> Option<RawId> {
    match member {
        Ok(message) => asked(message),
        Err(broken) if broken.is_answer => None,
        Err(broken) => Some(broken.id.clone().unwrap_or_else(RawId::null)),
    }
}

pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Reply> {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    if kind == "application/json" {
        return Ok(());
    }
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // Anything else a page could send without being asked whether it may.
    if kind.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "messages are `Content-Type: application/json`"))
    }
}

/// How a client may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Accepts {
    whole: bool,
    streams: bool,
}

impl Accepts {
    fn read(headers: &HeaderMap) -> Self {
        let mut found = Self { whole: false, streams: false };
        for value in headers.get_all(ACCEPT) {
            // What the official clients say need not be taken apart.
            if value.as_bytes() == b"application/json, text/event-stream" {
                return Self { whole: true, streams: true };
            }
            for kind in value.to_str().unwrap_or_default().split(',') {
                let kind = kind.split(';').next().unwrap_or_default().trim();
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

fn bad_message(broken: &Broken) -> Reply {
    let id = broken.id.clone().unwrap_or_else(RawId::null);
    let error = ErrorAnswer::of_fault(broken.fault);
    let bytes: Bytes = error.to_bytes(&id, Dialect::Standard);
    super::reply::with(StatusCode::BAD_REQUEST, "application/json", super::body::Answer::text(bytes))
}

pub(super) fn unknown_session() -> Reply {
    session_is_over("this session is over, or was never begun: begin again with `initialize`")
}

/// The version that a handshake ended with; nothing if it failed.
fn negotiated(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        result: Welcome,
    }
    #[derive(Deserialize)]
    struct Welcome {
        #[serde(rename = "protocolVersion", default)]
        version: String,
    }
    serde_json::from_slice::<Answer>(answer).ok().map(|answer| answer.result.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_accepts_is_read_as_it_is_written() {
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
