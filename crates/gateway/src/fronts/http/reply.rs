//! HTTP responses: messages, streams, and responses without a message.

use super::HttpReply;
use super::body::{AnswerBody, BodyPart};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderMap,
    HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use serde_json::json;
use switchboard_protocol::http_headers::PARAM_PREFIX;
use switchboard_protocol::{ErrorKind, Refusal};

/// Headers that a page may send, beside those for annotated arguments.
const ALLOWED_HEADERS: [&str; 9] = [
    "authorization",
    "content-type",
    "accept",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
    "switchboard-root",
];

pub(super) fn with(status: StatusCode, kind: &'static str, body: AnswerBody) -> HttpReply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// Short response for people and probes.
pub(super) fn status(code: StatusCode, text: &str) -> HttpReply {
    with(code, "application/json", AnswerBody::text(json!({ "error": text }).to_string()))
}

pub(super) fn accepted() -> HttpReply {
    // 202 has no body: the specification asks for this if a POST holds no request.
    let mut reply = Response::new(AnswerBody::Whole(None));
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

/// Response with a message. Reuses the request's header map, which is large enough, to save an allocation.
/// A refusal of the whole request has the status of its kind.
pub(super) fn message(part: BodyPart, mut headers: HeaderMap, refusal: Option<Refusal>) -> HttpReply {
    headers.clear();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut reply = Response::new(AnswerBody::Message(Some(part)));
    *reply.headers_mut() = headers;
    if let Some(refusal) = refusal {
        mark_refused(&mut reply, refusal);
    }
    reply
}

/// Sets the status of refusals that HTTP has one for. All other errors are answers as good as any.
fn mark_refused(reply: &mut HttpReply, refusal: Refusal) {
    let status = match refusal.kind {
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        _ => return,
    };
    *reply.status_mut() = status;
    challenge(reply);
    if let Some(seconds) = refusal.retry_after() {
        reply.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
}

/// Adds the challenge that RFC 9110 requires with every 401.
pub(super) fn challenge(reply: &mut HttpReply) {
    if reply.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"switchboard\"");
        reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

pub(super) fn stream(events: super::body::Events) -> HttpReply {
    let mut reply = with(StatusCode::OK, "text/event-stream", AnswerBody::Stream(events));
    let headers = reply.headers_mut();
    // Proxies that compress would hold events back until a block is full.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Turns off buffering in proxies such as nginx, which would delay events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// Answer to a CORS preflight of an allowed page.
pub(super) fn preflight(asked: &HeaderMap) -> HttpReply {
    let mut reply = Response::new(AnswerBody::Whole(None));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, POST, DELETE"));
    // A wildcard would not cover `authorization`.
    let wanted = asked.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|names| names.to_str().ok());
    let is_param = |name: &&str| {
        name.get(..PARAM_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PARAM_PREFIX))
    };
    let params = wanted.flat_map(|names| names.split(',').map(str::trim)).filter(is_param);
    let allowed: Vec<&str> = ALLOWED_HEADERS.into_iter().chain(params).collect();
    if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    // Saves a preflight before each request of a page.
    headers.insert("access-control-max-age", HeaderValue::from_static("600"));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refusals_have_the_status_of_their_kind() {
        let second = Duration::from_millis(1100);
        for (kind, wait, status, retry) in [
            (ErrorKind::Unauthorized, None, 401, None),
            (ErrorKind::Forbidden, None, 403, None),
            (ErrorKind::RateLimited, Some(second), 429, Some("2")),
            (ErrorKind::BackendTimeout, Some(second), 200, None),
        ] {
            let part = BodyPart::new("{}".into(), None);
            let reply = message(part, HeaderMap::new(), Some(Refusal::new(kind, wait)));
            assert_eq!(reply.status(), status, "{kind:?}");
            let header = |name| reply.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header("retry-after").as_deref(), retry, "{kind:?}");
            assert_eq!(header("www-authenticate").is_some(), status == 401, "{kind:?}");
        }
    }
}
