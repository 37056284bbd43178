//! Answers of HTTP: messages, streams, and what needs no message.

use super::Reply;
use super::body::{Answer, Parcel};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

pub(super) fn with(status: StatusCode, kind: &'static str, body: Answer) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// For people and probes.
pub(super) fn status(code: StatusCode, text: &str) -> Reply {
    with(code, "application/json", Answer::text(json!({ "error": text }).to_string()))
}

pub(super) fn accepted() -> Reply {
    let mut reply = Response::new(Answer::Whole(None));
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

/// The headers of the request are emptied for it: they have all the room that is needed.
pub(super) fn message(parcel: Parcel, mut headers: HeaderMap) -> Reply {
    headers.clear();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut reply = Response::new(Answer::Message(Some(parcel)));
    *reply.headers_mut() = headers;
    reply
}

pub(super) fn stream(events: super::body::Events) -> Reply {
    let mut reply = with(StatusCode::OK, "text/event-stream", Answer::Stream(events));
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // For proxies that would gather what is meant to be seen at once.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// What a page that was let in may do.
pub(super) fn preflight() -> Reply {
    let mut reply = Response::new(Answer::Whole(None));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, POST, DELETE"));
    let allowed = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id, switchboard-root";
    headers.insert("access-control-allow-headers", HeaderValue::from_static(allowed));
    headers.insert("access-control-max-age", HeaderValue::from_static("600"));
    reply
}
