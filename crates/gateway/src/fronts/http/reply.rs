//! Answers that are not a server's: what was wrong with a request, and what to do.

use super::Reply;
use super::body::{Answer, Parcel};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::json;

pub(super) fn with(status: StatusCode, kind: &'static str, body: Answer) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// A JSON-RPC error about no request in particular: what clients of MCP expect where HTTP alone would say enough.
pub(super) fn refusal(code: StatusCode, message: &str) -> Reply {
    numbered(code, -32000, message)
}

/// The number is that of the official servers, by which a client knows that it must begin again.
pub(super) fn session_is_over(message: &str) -> Reply {
    numbered(StatusCode::NOT_FOUND, -32001, message)
}

fn numbered(code: StatusCode, number: i32, message: &str) -> Reply {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": number, "message": message } });
    with(code, "application/json", Answer::text(body.to_string()))
}

/// For people and probes.
pub(super) fn status(code: StatusCode, text: &str) -> Reply {
    with(code, "application/json", Answer::text(json!({ "error": text }).to_string()))
}

pub(super) fn unauthorized(text: &str) -> Reply {
    let mut reply = refusal(StatusCode::UNAUTHORIZED, text);
    reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"switchboard\""));
    reply
}

pub(super) fn accepted() -> Reply {
    let mut reply = Response::new(Answer::Whole(None));
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

pub(super) fn not_allowed(methods: &'static str) -> Reply {
    let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, "this is not done here");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
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
