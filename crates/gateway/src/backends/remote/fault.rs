//! Failures of a remote server, with their texts: the cause, and the fix. No header value appears in them.

use super::target::{Target, shown};
use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::json;
use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};
use switchboard_protocol::{ErrorAnswer, ErrorKind};

#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// No connection; nothing was sent.
    Unreachable {
        why: String,
        hint: &'static str,
        prospect: Prospect,
    },
    /// Sent, but the connection broke before the answer.
    Broken {
        why: String,
    },
    /// Like `Broken`, on an event stream that the server does not resume.
    NotResumed {
        why: String,
    },
    /// The server does not know our session, or no longer does.
    SessionLost,
    /// Refused with a mention of a session; the server may have executed the request all the same.
    PerhapsLost {
        status: u16,
        said: String,
        /// The refusal, if it answers this very request.
        answer: Option<Bytes>,
    },
    /// Like `PerhapsLost`, and the session was indeed lost. A new one exists.
    Forgotten {
        status: u16,
        said: String,
    },
    Unauthorized {
        wants_oauth: bool,
        said: String,
    },
    Forbidden {
        said: String,
    },
    /// 404 or 410 without a session that could be lost.
    NotFound,
    /// 400, 405 or another refusal.
    Refused {
        status: u16,
        said: String,
    },
    /// 429 or 503.
    Busy {
        status: u16,
        after: Option<Duration>,
        said: String,
    },
    Failed {
        status: u16,
        said: String,
    },
    Elsewhere {
        status: u16,
        to: Option<String>,
    },
    /// Redirect of a request that the server may have executed.
    NotFollowed {
        status: u16,
        to: Option<String>,
    },
    /// The refusal was a complete answer and has been delivered.
    Answered,
    /// Response without a usable answer.
    Unexpected {
        what: String,
    },
}

/// Whether a failed connection may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prospect {
    /// Within seconds: the server is being restarted.
    Soon,
    /// Once the machine is online or a firewall is opened.
    Later,
    Never,
}

/// Text of a failure, for people.
pub(super) struct FaultWords {
    pub(super) kind: ErrorKind,
    pub(super) text: String,
    pub(super) hint: String,
    pub(super) retryable: bool,
}

impl Fault {
    /// Error of the HTTP client before there was a response.
    pub(super) fn sending(error: reqwest::Error, was_begun: bool) -> Self {
        let why = innermost(&error);
        // A connect error means that nothing reached the server, even if the body was polled.
        if was_begun && !error.is_connect() {
            return Self::Broken { why };
        }
        let (hint, prospect) = advice(&error, &why);
        Self::Unreachable { why, hint, prospect }
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Busy { .. } | Self::Failed { .. }
        )
    }

    /// Response with an error status.
    pub(super) fn status(status: u16, headers: &HeaderMap, said: String) -> Self {
        match status {
            401 => {
                let challenge =
                    headers.get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()).unwrap_or_default();
                // Both are signs of the authorization that MCP specifies.
                let wants_oauth =
                    challenge.contains("resource_metadata") || challenge.contains("authorization_uri");
                Self::Unauthorized { wants_oauth, said }
            }
            403 => Self::Forbidden { said },
            404 | 410 => Self::NotFound,
            429 | 503 => Self::Busy { status, after: retry_after(headers), said },
            400..=499 => Self::Refused { status, said },
            _ => Self::Failed { status, said },
        }
    }

    pub(super) fn elsewhere(status: u16, to: Option<&Url>) -> Self {
        Self::Elsewhere { status, to: to.map(shown) }
    }

    pub(super) fn not_followed(status: u16, to: Option<&Url>) -> Self {
        Self::NotFollowed { status, to: to.map(shown) }
    }

    /// Whether the server may be of 2024-11-05, which accepts no POST at this address.
    pub(super) fn may_be_older(&self) -> bool {
        // The specification's test for an older server: a POST is refused with 400, 404 or 405.
        matches!(self, Self::NotFound | Self::Refused { status: 400 | 405, .. })
    }

    /// Whether the server says that it never offers this.
    pub(super) fn is_not_offered(&self) -> bool {
        // 405 is the specified answer to a GET at a server without a stream.
        matches!(self, Self::Refused { status: 405, .. })
    }

    pub(super) fn is_about_session(&self) -> bool {
        matches!(self, Self::SessionLost | Self::PerhapsLost { .. })
    }

    /// Texts about the fault, for people. The server's own words in them may repeat a secret.
    pub(super) fn words(&self, target: &Target) -> FaultWords {
        let words = self.plain_words(target);
        FaultWords { text: target.scrub(&words.text), hint: target.scrub_hint(&words.hint), ..words }
    }

    fn plain_words(&self, target: &Target) -> FaultWords {
        let at = shown(&target.url);
        let unavailable = |text: String, hint: &str| FaultWords {
            kind: ErrorKind::BackendUnavailable,
            text,
            hint: hint.to_owned(),
            retryable: true,
        };
        let unknown = "whether this request took effect is unknown; it was not sent a second time";
        match self {
            Self::Unreachable { why, hint, prospect } => FaultWords {
                retryable: *prospect != Prospect::Never,
                ..unavailable(format!("cannot reach {at}: {why}"), &format!("{hint}; nothing was sent"))
            },
            Self::Broken { why } => unavailable(
                format!("the connection to {at} was lost before the answer arrived: {why}"),
                unknown,
            ),
            Self::NotResumed { why } => unavailable(
                format!(
                    "the connection to {at} was lost before the answer arrived, and could not be resumed: {why}"
                ),
                unknown,
            ),
            Self::SessionLost => unavailable(
                format!("{at} loses every new session at once"),
                "this is a bug in that server, or in a load balancer before it: all requests of a session must \
                 reach the same instance",
            ),
            Self::Forgotten { status, said } => unavailable(
                with(
                    format!(
                        "{at} had lost the session and refused this request ({status}); a new session was started"
                    ),
                    said,
                ),
                unknown,
            ),
            Self::Unauthorized { wants_oauth, said } => unauthorized(&at, *wants_oauth, said),
            Self::Forbidden { said } => forbidden(&at, said),
            Self::NotFound => FaultWords {
                kind: ErrorKind::BackendUnavailable,
                text: format!("there is no MCP server at {at} (404)"),
                hint: "check `url`; most end in /mcp or /sse".to_owned(),
                retryable: false,
            },
            Self::PerhapsLost { status, said, .. } => FaultWords {
                retryable: false,
                ..unavailable(with(format!("{at} refused this request ({status})"), said), unknown)
            },
            Self::NotFollowed { status, to } => {
                let to = to.as_deref().unwrap_or("no valid address");
                FaultWords {
                    retryable: false,
                    ..unavailable(
                        format!(
                            "{at} redirects to {to} ({status}); redirects are followed for lists and reads only"
                        ),
                        &format!("{unknown}; if the server has moved, set `url` to its new address"),
                    )
                }
            }
            Self::Refused { status, said } => FaultWords {
                kind: ErrorKind::BackendUnavailable,
                text: with(format!("{at} refused this request ({status})"), said),
                hint: "check `url`, `type` and `headers` of this server".to_owned(),
                retryable: false,
            },
            Self::Busy { status, after, said } => {
                let wait =
                    after.map_or("later".to_owned(), |after| format!("in {} s", after.as_secs().max(1)));
                FaultWords {
                    kind: if *status == 429 { ErrorKind::RateLimited } else { ErrorKind::BackendUnavailable },
                    text: with(format!("{at} is too busy ({status})"), said),
                    hint: format!("try again {wait}"),
                    retryable: true,
                }
            }
            Self::Failed { status, said } => FaultWords {
                text: with(format!("{at} failed ({status})"), said),
                ..unavailable(String::new(), unknown)
            },
            Self::Elsewhere { status, to } => {
                elsewhere(&at, *status, to.as_deref().map(|to| target.scrub(to)))
            }
            Self::Answered => unavailable(format!("{at} refused this"), "see its answer"),
            Self::Unexpected { what } => FaultWords {
                kind: ErrorKind::BadAnswer,
                text: format!("{at} sent an unusable answer: {what}"),
                hint: "check that `url` leads to an MCP server; if it does, this is a bug in that server"
                    .to_owned(),
                retryable: false,
            },
        }
    }

    pub(super) fn answer(&self, target: &Target, server: &str, root: Option<&str>) -> ErrorAnswer {
        let FaultWords { kind, text, hint, retryable } = self.words(target);
        let answer = ErrorAnswer::new(kind, format!("the server `{server}`: {text}"))
            .server(server)
            .with("root", json!(root))
            .retryable(retryable)
            .hint(hint);
        match self.after() {
            Some(after) => answer.with("retryAfterMs", json!(after.as_millis() as u64)),
            None => answer,
        }
    }

    /// Time after which the server accepts a retry, if it named one.
    pub(super) fn after(&self) -> Option<Duration> {
        match self {
            Self::Busy { after, .. } => *after,
            _ => None,
        }
    }
}

/// Texts for a missing or wrong token at the remote server.
fn unauthorized(at: &str, wants_oauth: bool, said: &str) -> FaultWords {
    let (text, hint) = match wants_oauth {
        true => (
            format!("{at} requires an OAuth login (401), which Switchboard does not support yet"),
            "if the server also accepts a token, add it to `headers` as \"Authorization\": \"Bearer ${TOKEN}\"",
        ),
        false => (
            format!("{at} requires a valid token (401)"),
            "add a token to `headers`, such as \"Authorization\": \"Bearer ${TOKEN}\", and set the variable where \
             Switchboard is started; OAuth logins are not supported yet",
        ),
    };
    FaultWords {
        kind: ErrorKind::Unauthorized,
        text: with(text, said),
        hint: hint.to_owned(),
        retryable: false,
    }
}

fn forbidden(at: &str, said: &str) -> FaultWords {
    FaultWords {
        kind: ErrorKind::Forbidden,
        text: with(format!("{at} denied access (403)"), said),
        hint: "the token in `headers` may lack a permission, or the server does not accept requests from this machine"
            .to_owned(),
        retryable: false,
    }
}

/// Texts for a redirect to another origin.
fn elsewhere(at: &str, status: u16, to: Option<String>) -> FaultWords {
    let (to, hint) = match to {
        Some(to) => (format!("to {to}"), format!("if that address is right, set `url` to {to}")),
        None => ("to no valid address".to_owned(), "check `url`".to_owned()),
    };
    FaultWords {
        kind: ErrorKind::BackendUnavailable,
        text: format!(
            "{at} redirects {to} ({status}), which is not followed: `headers` are sent only to the origin of `url` \
             (scheme, host and port)"
        ),
        hint,
        retryable: false,
    }
}

fn with(text: String, said: &str) -> String {
    if said.is_empty() { text } else { format!("{text}; it said: {said}") }
}

/// `Retry-After` in seconds, or as a date by the server's own clock if it sent one.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let after = text(&RETRY_AFTER)?;
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(after).ok()?;
    let now = text(&DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    Some(at.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
}

/// The innermost cause: the outer ones only say that there is one.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if cause.downcast_ref::<reqwest::Error>().is_some() {
        // Its text would repeat the address.
        return if error.is_timeout() { "timed out".to_owned() } else { "the request failed".to_owned() };
    }
    cause.to_string()
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let this = next?;
        next = this.source();
        Some(this)
    })
}

/// Advice about a failed connection, and whether a retry may succeed.
fn advice(error: &reqwest::Error, why: &str) -> (&'static str, Prospect) {
    let texts = || causes(error).map(ToString::to_string);
    if texts().any(|text| text.contains("dns error")) {
        return ("check the name in `url`, and that this machine is online", Prospect::Later);
    }
    if why.contains("certificate") || causes(error).any(|it| it.downcast_ref::<rustls::Error>().is_some()) {
        let hint = "the server's certificate is not trusted on this machine; add its CA to the system's trust \
                    store, or set SSL_CERT_FILE to a file with it";
        return (hint, Prospect::Never);
    }
    let kind = causes(error).find_map(|it| it.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => {
            ("nothing is listening there: start the server, or check `url`", Prospect::Soon)
        }
        _ if error.is_timeout() => {
            ("check `url`, and that a firewall or proxy lets this through", Prospect::Later)
        }
        Some(_) | None => ("check `url`, and that the server is running", Prospect::Soon),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn status_has_a_hint() {
        let headers = |pairs: &[(reqwest::header::HeaderName, &'static str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
        };
        let oauth = headers(&[(WWW_AUTHENTICATE, "Bearer resource_metadata=\"https://x\"")]);
        let fault = |status, headers: &HeaderMap| Fault::status(status, headers, String::new());
        assert!(matches!(fault(401, &oauth), Fault::Unauthorized { wants_oauth: true, .. }));
        assert!(matches!(fault(401, &headers(&[])), Fault::Unauthorized { wants_oauth: false, .. }));
        assert!(matches!(fault(404, &headers(&[])), Fault::NotFound));
        let later = headers(&[(RETRY_AFTER, "7")]);
        assert!(matches!(fault(503, &later), Fault::Busy { after: Some(after), .. } if after.as_secs() == 7));
        let date = "Mon, 16 Nov 2026 09:00:00 GMT";
        for (date, later, seconds) in [
            (date, "Mon, 16 Nov 2026 09:01:30 GMT", 90),
            (date, "Monday, 16-Nov-26 09:01:30 GMT", 90),
            (date, "Mon, 16 Nov 2026 08:00:00 GMT", 0),
            ("no date", "Wed, 16 Nov 1994 08:00:00 GMT", 0),
        ] {
            let headers = headers(&[(DATE, date), (RETRY_AFTER, later)]);
            assert_eq!(fault(503, &headers).after(), Some(Duration::from_secs(seconds)), "{later}");
        }
        assert_eq!(fault(503, &headers(&[(RETRY_AFTER, "soon")])).after(), None);
        assert!(matches!(fault(405, &headers(&[])), Fault::Refused { status: 405, .. }));
        assert!(matches!(fault(502, &headers(&[])), Fault::Failed { status: 502, .. }));
        assert!(fault(405, &headers(&[])).may_be_older());
        assert!(!fault(401, &headers(&[])).may_be_older());
    }
}
