//! Recognition of a lost session in a server's refusal. Pure.
//!
//! Certainty matters: a request that the transport refused was not executed and may be sent again, even a
//! call. An application's words about sessions of its own mean nothing to us.

use super::session::RemoteSession;
use serde::Deserialize;
use switchboard_protocol::RawId;
use switchboard_protocol::hunt;

/// Texts that the official SDKs' transports send with 400, before they look at the message. The specification
/// asks for 404; these servers are older, or have no session to look up.
const REFUSALS: [&str; 5] = [
    // server-everything, Python 1
    "Bad Request: No valid session ID provided",
    // TypeScript 1 and 2
    "Bad Request: Server not initialized",
    "Bad Request: Mcp-Session-Id header is required",
    // Python 1 and 2
    "Bad Request: Missing session ID",
    // HTTP+SSE of Python 1 and 2
    "Invalid session ID",
];

/// Texts that they send with 404.
const NOT_FOUND: [&str; 5] = [
    // TypeScript 1 and 2, Python 1 and 2
    "Session not found",
    // Python 1 and 2
    "Not Found: Session has been terminated",
    "Not Found: Invalid or expired session ID",
    // HTTP+SSE of Python 1 and 2
    "Could not find session",
    // rmcp
    "Not Found: Session not found",
];

/// Certainty that the session is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    No,
    /// The refusal mentions a session, but which one, and whether the request was executed, is unclear.
    Perhaps,
    /// The transport said so, and did not pass the request on.
    Surely,
}

/// Meaning of a refusal of the request with this id.
pub(super) fn loss(status: u16, session: &RemoteSession, said: &[u8], id: Option<&RawId>) -> Loss {
    let known: &[&str] = match status {
        400 => &REFUSALS,
        404 => &NOT_FOUND,
        // No known transport uses 410.
        410 => &[],
        _ => return Loss::No,
    };
    let is_known =
        sentence(said).is_some_and(|sentence| known.iter().any(|it| it.eq_ignore_ascii_case(&sentence)));
    let text = String::from_utf8_lossy(said).to_lowercase();
    let is_about_sessions = text.contains("session") || text.contains("not initialized");
    match (status, id.is_some_and(|id| is_answer(said, id))) {
        // Read and answered, so it may be the application that speaks.
        (_, true) if is_known || (status != 400 && is_about_sessions) => Loss::Perhaps,
        (_, true) => Loss::No,
        (_, false) if is_known => Loss::Surely,
        (404, false) if session.id.is_some() && is_of_transport(said) => Loss::Surely,
        // A page may come from a router, or from an application that has done its work.
        (404 | 410, false) if session.id.is_some() => Loss::Perhaps,
        (_, false) if is_about_sessions => Loss::Perhaps,
        (_, false) => Loss::No,
    }
}

/// Whether a refusal has a transport's form: empty, or a JSON-RPC error.
fn is_of_transport(said: &[u8]) -> bool {
    said.trim_ascii().is_empty() || (hunt::look(said).is_answer && is_json(said))
}

fn is_json(said: &[u8]) -> bool {
    serde_json::from_slice::<&serde_json::value::RawValue>(said).is_ok()
}

/// The refusal's only sentence: the message of a JSON-RPC error, or a bare text.
fn sentence(said: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        error: Told,
    }
    #[derive(Deserialize)]
    struct Told {
        message: String,
    }
    match serde_json::from_slice::<Answer>(said) {
        Ok(answer) => Some(answer.error.message),
        Err(_) => std::str::from_utf8(said).ok().map(|text| text.trim().to_owned()),
    }
}

/// Whether an error's body answers this very request.
pub(super) fn is_answer(said: &[u8], id: &RawId) -> bool {
    let glimpse = hunt::look(said);
    glimpse.is_answer && glimpse.id.as_ref() == Some(id) && is_json(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[track_caller]
    fn check(status: u16, has_id: bool, said: &str, expect: Loss) {
        let id = has_id.then(|| HeaderValue::from_static("x"));
        let session = RemoteSession { id, number: 1, version: None };
        let loss = loss(status, &session, said.as_bytes(), Some(&RawId::from_bytes(b"7")));
        assert_eq!(loss, expect, "{status} {said}");
    }

    fn error(id: &str, code: i32, message: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}},"id":{id}}}"#)
    }

    #[test]
    fn known_texts_mean_a_lost_session() {
        for sentence in REFUSALS {
            check(400, true, &error("7", -32000, sentence), Loss::Perhaps);
            check(400, true, &error("null", -32600, sentence), Loss::Surely);
            check(400, false, sentence, Loss::Surely);
        }
        for sentence in NOT_FOUND {
            check(404, true, &error("7", -32001, sentence), Loss::Perhaps);
            check(404, true, &error("null", -32001, sentence), Loss::Surely);
            check(410, true, &error("null", -32001, sentence), Loss::Perhaps);
            check(404, false, &format!("{sentence}\n"), Loss::Surely);
        }
        check(
            400,
            true,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            Loss::Surely,
        );
    }

    #[test]
    fn plain_404_means_a_lost_session() {
        for said in ["", "\n", &error("null", -32001, "who?")] {
            check(404, true, said, Loss::Surely);
            check(410, true, said, Loss::Perhaps);
            check(404, false, said, Loss::No);
        }
    }

    #[test]
    fn html_page_leaves_doubt() {
        for said in ["<html>", "gone", r#"{"detail":"Not Found"}"#] {
            check(404, true, said, Loss::Perhaps);
            check(410, true, said, Loss::Perhaps);
            check(404, false, said, Loss::No);
        }
    }

    #[test]
    fn application_error_is_no_lost_session() {
        check(400, true, &error("7", -32602, "argument `session` is missing"), Loss::No);
        check(400, true, &error("7", -32000, "Session not found"), Loss::No);
        check(404, true, &error("7", -32601, "Method not found"), Loss::No);
        check(500, true, "session", Loss::No);
        check(400, true, "bad json", Loss::No);
    }

    #[test]
    fn unknown_session_text_leaves_doubt() {
        check(400, true, "your session is over", Loss::Perhaps);
        check(400, true, &error("null", -32000, "server not initialized"), Loss::Perhaps);
        check(400, true, &error("8", -32602, "no such session"), Loss::Perhaps);
        check(404, true, &error("7", -32602, "browser session 5 not found"), Loss::Perhaps);
        check(404, false, "no such session here", Loss::Perhaps);
    }
}
