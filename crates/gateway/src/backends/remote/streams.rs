//! Event streams: read to the awaited answer, and resumed after a break if the server supports that.

use super::budget::{pause, prolonged};
use super::exchange::MAX_REDIRECTS;
use super::fault::{Fault, Prospect, innermost};
use super::session::RemoteSession;
use super::{Endpoint, Remote};
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use serde_json::Value;
use std::time::Duration;
use switchboard_core::Event;
use switchboard_protocol::{RawId, SseItem, SseParser};

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Bytes and time spent on the text of an error response.
pub(super) const MAX_QUOTED_BYTES: usize = 8 << 10;
const QUOTE_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of the text that is quoted.
const MAX_GIST_CHARS: usize = 300;
/// Time to wait for a stream's end after the answer, so that its connection can be reused.
pub(super) const EPILOGUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Failed attempts in a row before a stream is given up.
const MAX_RESUMES: u32 = 5;
const MIN_RETRY_WAIT: Duration = Duration::from_millis(100);
const DEFAULT_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);

/// Reason for a missing answer on a stream that the server ended.
pub(super) const CLOSED: &str = "the server ended the stream";

/// Result of reading a stream.
pub(super) enum Heard {
    /// The awaited answer has come.
    Answer,
    /// The server ended the stream.
    Closed,
    /// The connection broke, with the reason.
    Broken(String),
}

/// Position from which to resume a stream, and the server's requested pause.
#[derive(Debug, Default, Clone)]
pub(super) struct Mark {
    pub(super) last_id: Option<String>,
    retry: Option<Duration>,
}

impl Mark {
    pub(super) fn pause(&self) -> Duration {
        prolonged(self.retry.unwrap_or(DEFAULT_RETRY_WAIT).clamp(MIN_RETRY_WAIT, MAX_RETRY_PAUSE))
    }
}

impl Remote {
    /// Reads a stream to the answer. Earlier messages are passed on.
    pub(super) async fn hear_to_answer(
        &self,
        mut response: Response,
        id: &RawId,
        session: &RemoteSession,
    ) -> Result<(), Fault> {
        let mut mark = Mark::default();
        let mut fruitless = 0;
        loop {
            let before = mark.last_id.clone();
            let why = match self.hear_stream(&mut response, Some(id), &mut mark).await {
                Heard::Answer => {
                    let _ = tokio::time::timeout(EPILOGUE_TIMEOUT, drain(response)).await;
                    return Ok(());
                }
                Heard::Closed => CLOSED.to_owned(),
                Heard::Broken(why) => why,
            };
            // Without an event id the server cannot know where to resume.
            if mark.last_id.is_none() {
                return Err(Fault::Broken { why });
            }
            fruitless = if mark.last_id == before { fruitless + 1 } else { 0 };
            // A server may close the stream again and again while it works, as a way of polling.
            let patience = if fruitless > MAX_RESUMES { pause(fruitless) } else { Duration::ZERO };
            response = self.resume(session, &mark, patience).await?;
        }
    }

    async fn resume(
        &self,
        session: &RemoteSession,
        mark: &Mark,
        patience: Duration,
    ) -> Result<Response, Fault> {
        let mut tries = 0;
        loop {
            // Before the first try too: the server may have asked for a pause with `retry`.
            tokio::time::sleep(mark.pause().max(patience)).await;
            let fault = match self.open_stream(session, mark.last_id.as_deref()).await {
                Ok(response) => return Ok(response),
                Err(fault) => fault,
            };
            tries += 1;
            let may_pass = matches!(
                fault,
                Fault::Unreachable { prospect: Prospect::Soon, .. }
                    | Fault::Broken { .. }
                    | Fault::Busy { .. }
                    | Fault::Failed { .. }
            );
            if !may_pass || tries >= MAX_RESUMES {
                // No renewal here: the answer was due in the lost session and cannot come in a new one.
                let why = match fault {
                    Fault::SessionLost => "the server has lost the session".to_owned(),
                    fault => fault.words(&self.target).text,
                };
                return Err(Fault::NotResumed { why });
            }
        }
    }

    /// Reads a stream to its end, or to the `wanted` answer.
    pub(super) async fn hear_stream(
        &self,
        response: &mut Response,
        wanted: Option<&RawId>,
        mark: &mut Mark,
    ) -> Heard {
        let mut parser = SseParser::new(self.limit);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Heard::Closed,
                Err(error) => return Heard::Broken(innermost(&error)),
            };
            let mut items = Vec::new();
            parser.feed(&chunk, &mut |item| items.push(item));
            // Freed before the messages are handled, which may wait for room.
            drop(chunk);
            let mut is_answered = false;
            for item in items {
                is_answered |= self.hear_item(item, wanted).await;
            }
            // After the events, so that a resumed stream starts behind them.
            if let Some(last_id) = parser.last_id() {
                mark.last_id = Some(last_id.to_owned());
            }
            mark.retry = parser.retry().or(mark.retry);
            if is_answered {
                return Heard::Answer;
            }
        }
    }

    async fn hear_item(&self, item: SseItem, wanted: Option<&RawId>) -> bool {
        match (item, wanted) {
            (SseItem::Event { name, data }, wanted) if name.is_empty() || name == "message" => {
                self.hear(data, wanted).await
            }
            // Some servers send events of their own, such as `ping`.
            (SseItem::Event { .. }, _) => false,
            (SseItem::TooLong { length, glimpses }, Some(wanted)) => {
                self.hear_too_long(length, glimpses, wanted)
            }
            (SseItem::TooLong { length, glimpses }, None) => {
                // `BackendTooLong` answers these requests, so a lost stream must not answer them again.
                for id in glimpses.iter().filter(|it| it.method.is_none()).filter_map(|it| it.id.as_ref()) {
                    self.state().in_flight.arrived(id);
                }
                self.core.handle(Event::BackendTooLong { launch: self.launch, length, glimpses });
                false
            }
        }
    }

    /// Opens an event stream: the server's own messages, or the continuation after `last_id`.
    pub(super) async fn open_stream(
        &self,
        session: &RemoteSession,
        last_id: Option<&str>,
    ) -> Result<Response, Fault> {
        let mut url = match self.state().endpoint.clone() {
            Endpoint::Streamable(url) => url,
            // The endpoint that the stream named is for posts only.
            Endpoint::Legacy(_) => self.target.url.clone(),
        };
        let mut redirects = 0;
        let response = loop {
            let headers = self.headers(session);
            let mut request =
                self.client.get(url.clone()).headers(headers).header(ACCEPT, "text/event-stream");
            if let Some(last_id) = last_id {
                request = request.header(LAST_EVENT, last_id);
            }
            // A GET executes nothing, so it never counts as begun.
            let response = request.send().await.map_err(|error| Fault::sending(error, false))?;
            if !response.status().is_redirection() {
                break response;
            }
            // Listening executes nothing, so any redirect may be followed.
            let to = self.redirected(&url, &response, true)?;
            redirects += 1;
            if redirects > MAX_REDIRECTS {
                return Err(Fault::elsewhere(response.status().as_u16(), Some(&to)));
            }
            url = to;
        };
        if !response.status().is_success() {
            return Err(self.why_not(response, session, None).await);
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(Fault::Unexpected { what: "it is not an event stream".to_owned() });
        }
        Ok(response)
    }
}

/// Discards a short rest of a response, so that the connection can be reused.
pub(super) async fn drain(mut response: Response) {
    let mut left = MAX_QUOTED_BYTES;
    while let Ok(Some(chunk)) = response.chunk().await {
        // Reading a long rest costs more than a new connection.
        let Some(less) = left.checked_sub(chunk.len()) else { return };
        left = less;
    }
}

/// The beginning of an error response.
pub(super) async fn first_words(response: Response) -> Vec<u8> {
    first_bytes(response, MAX_QUOTED_BYTES).await
}

/// The body of an error response, up to a limit.
pub(super) async fn first_bytes(mut response: Response, limit: usize) -> Vec<u8> {
    let mut said = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            said.extend_from_slice(&chunk[..chunk.len().min(limit - said.len())]);
            if said.len() == limit {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(QUOTE_TIMEOUT, reading).await;
    said
}

/// Readable message in an error's body; empty for a page.
pub(super) fn gist(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let told = |value: &Value| {
        let error = &value["error"];
        let text =
            [&error["message"], &value["error_description"], &value["message"], &value["detail"], error];
        text.into_iter().find_map(Value::as_str).map(str::to_owned)
    };
    let text = match serde_json::from_slice::<Value>(said) {
        Ok(value) => told(&value).unwrap_or_default(),
        // A page, or JSON that was cut off at the limit: neither is a sentence to quote.
        Err(_) if text.trim_start().starts_with(['<', '{', '[']) => String::new(),
        Err(_) => text.into_owned(),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_GIST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_not_reopened_before_retry() {
        for millis in [100, 1000, 5000, 60_000] {
            let retry = Duration::from_millis(millis);
            let mark = Mark { last_id: None, retry: Some(retry) };
            for _ in 0..200 {
                assert!(mark.pause() >= retry, "{retry:?}");
            }
        }
    }

    #[test]
    fn error_gist_is_readable() {
        let check = |said: &str, expect: &str| assert_eq!(gist(said.as_bytes()), expect, "{said}");
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No\nway"}}"#, "No way");
        check(r#"{"error":"invalid_token","error_description":"it expired"}"#, "it expired");
        check(r#"{"error":"invalid_token"}"#, "invalid_token");
        check(r#"{"detail":"Not authenticated"}"#, "Not authenticated");
        check("<html><body>502</body></html>", "");
        check("  upstream\n timed out ", "upstream timed out");
        check("", "");
    }
}
