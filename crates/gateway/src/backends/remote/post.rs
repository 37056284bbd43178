//! One message, posted and read to its answer. Sent again only where that is safe: see `Retries`.

use super::body::Trace;
use super::budget::{jittered, pause};
use super::fault::{Fault, Prospect};
use super::lost::{Loss, is_answer, loss};
use super::requests::RemoteRequest;
use super::session::RemoteSession;
use super::streams;
use super::{Endpoint, Remote};
use bytes::BytesMut;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, Url};
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::Event;
use switchboard_protocol::hunt::{Glimpse, Hunter};
use switchboard_protocol::{Message, Method, Outgoing, RawId};
use tokio::sync::oneshot;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const MAX_CONNECTS: u32 = 5;
const MAX_WAITS: u32 = 3;
/// Longest wait before a message is sent again.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(30);
pub(super) const MAX_REDIRECTS: u32 = 3;
/// Time limit for a server to show that it knows a session.
const SESSION_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Retries of one message, by cause.
#[derive(Default)]
struct Retries {
    connects: u32,
    waits: u32,
    is_repeated: bool,
    is_renewed: bool,
}

impl Retries {
    /// Pause before the next attempt; `None` gives up.
    fn after(&mut self, fault: &Fault, request: &RemoteRequest) -> Option<Duration> {
        match fault {
            // Nothing was sent.
            Fault::Unreachable { prospect: Prospect::Soon, .. } if self.connects < MAX_CONNECTS => {
                self.connects += 1;
                Some(pause(self.connects - 1))
            }
            // The request may have been executed, which changed nothing.
            Fault::Broken { .. } | Fault::NotResumed { .. }
                if request.is_repeatable() && !self.is_repeated =>
            {
                self.is_repeated = true;
                Some(pause(0))
            }
            Fault::Busy { after, .. } if request.is_repeatable() && self.waits < MAX_WAITS => {
                self.waits += 1;
                let wait = after.map_or_else(|| pause(self.waits + 2), jittered_up);
                // A longer wait is left to the client, which is told the time.
                Some(wait).filter(|wait| *wait <= MAX_RETRY_WAIT)
            }
            _ => None,
        }
    }
}

/// Adds a little jitter, never going below the requested time.
fn jittered_up(time: Duration) -> Duration {
    time + jittered(Duration::from_millis(200))
}

impl Remote {
    /// Sends a message and reads the reply, either in the current session, which is renewed if it is lost, or
    /// in `session` as it is. Returns the id of a session that the server began.
    pub(super) async fn post(
        self: &Arc<Self>,
        request: &RemoteRequest,
        session: Option<&RemoteSession>,
    ) -> Result<Option<HeaderValue>, Fault> {
        let mut again = Retries::default();
        loop {
            // Read anew for each attempt: another task may have renewed the session.
            let under = session.cloned().unwrap_or_else(|| self.session());
            let fault = match self.attempt(request, &under).await {
                Ok(begun) => return Ok(begun),
                Err(fault) => fault,
            };
            // One renewal per message: a server that loses every session would otherwise loop for ever.
            if fault.is_about_session() && session.is_none() && !again.is_renewed {
                again.is_renewed = true;
                match self.make_up_for(fault, request, &under).await {
                    Ok(()) if self.is_wanted(request) => continue,
                    Ok(()) | Err(Fault::Answered) => return Ok(None),
                    Err(fault) => return Err(fault),
                }
            }
            match again.after(&fault, request) {
                Some(pause) if self.may_try_again() => tokio::time::sleep(pause).await,
                Some(_) | None => return Err(fault),
            }
        }
    }

    /// Handles a session that is, or may be, lost. `Ok` if the message may be sent again in the new session.
    async fn make_up_for(
        self: &Arc<Self>,
        fault: Fault,
        request: &RemoteRequest,
        under: &RemoteSession,
    ) -> Result<(), Fault> {
        let Fault::PerhapsLost { status, said, answer } = fault else {
            return self.renew(under.number).await;
        };
        if !self.is_forgotten(under).await {
            // The session is fine; the refusal had another reason.
            if let Some(answer) = &answer
                && self.hear(answer.clone(), request.id.as_ref()).await
            {
                return Err(Fault::Answered);
            }
            return Err(Fault::PerhapsLost { status, said, answer });
        }
        self.renew(under.number).await?;
        // The server may have executed the request before it refused it.
        if request.is_repeatable() { Ok(()) } else { Err(Fault::Forgotten { status, said }) }
    }

    /// Whether the answer is still awaited. The request may have been cancelled, or answered with
    /// an error when a stream broke.
    fn is_wanted(&self, request: &RemoteRequest) -> bool {
        request.method == Method::Initialize
            || request.id.as_ref().is_none_or(|id| self.state().in_flight.has(id))
    }

    /// Pings in this session to find out whether the server knows it.
    async fn is_forgotten(self: &Arc<Self>, session: &RemoteSession) -> bool {
        let id = self.next_id();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let request = RemoteRequest::of(&Outgoing::request(Method::Ping, id.clone(), text.into()));
        // Boxed because posting may lead here again.
        let asking = Box::pin(self.ask(&request, session));
        let asked = tokio::time::timeout(SESSION_CHECK_TIMEOUT, asking).await;
        // After a timeout the entry would stay for ever.
        self.state().own.remove(&id);
        matches!(asked, Ok(Err(fault)) if fault.is_about_session())
    }

    /// Sends a request of our own and waits for its answer.
    pub(super) async fn ask(
        self: &Arc<Self>,
        request: &RemoteRequest,
        session: &RemoteSession,
    ) -> Result<(Message, Option<HeaderValue>), Fault> {
        let Some(id) = &request.id else { return Err(no_answer()) };
        let (asker, answer) = oneshot::channel();
        // Registered before sending: the answer may arrive on another stream before the response.
        self.state().own.insert(id.clone(), asker);
        let posted = self.post(request, Some(session)).await;
        if posted.is_err() {
            self.state().own.remove(id);
        }
        let begun = posted?;
        let answer = answer.await.map_err(|_| Fault::Broken { why: "the event stream ended".to_owned() })?;
        Ok((answer, begun))
    }

    pub(super) fn may_try_again(&self) -> bool {
        self.budget.lock().spend(Instant::now())
    }

    async fn attempt(
        &self,
        request: &RemoteRequest,
        session: &RemoteSession,
    ) -> Result<Option<HeaderValue>, Fault> {
        let response = match self.send(request, session).await {
            Err(Fault::Answered) => return Ok(None),
            sent => sent?,
        };
        let begun = response.headers().get(SESSION_ID).cloned();
        // The answer comes on the event stream, so the response to the POST holds nothing of use.
        if self.is_legacy() {
            streams::drain(response).await;
            return Ok(None);
        }
        let Some(id) = &request.id else {
            // Read to its end, so that the connection can be reused.
            streams::drain(response).await;
            return Ok(None);
        };
        match media_type(response.headers()).as_str() {
            "application/json" => match self.hear_body(response, request).await? {
                true => Ok(begun),
                false => Err(no_answer()),
            },
            "text/event-stream" => {
                // The response itself may have begun a session, which resuming its stream must name.
                let session =
                    RemoteSession { id: begun.clone().or_else(|| session.id.clone()), ..session.clone() };
                self.hear_to_answer(response, id, &session).await.map(|()| begun)
            }
            "" => Err(Fault::Unexpected { what: format!("no content ({})", response.status().as_u16()) }),
            other => {
                let what = format!("the content type is {}", self.target.scrub(other));
                Err(Fault::Unexpected { what })
            }
        }
    }

    /// Posts a message to the server's address. Only a success is returned.
    async fn send(&self, request: &RemoteRequest, session: &RemoteSession) -> Result<Response, Fault> {
        let (endpoint, stream) = {
            let state = self.state();
            (state.endpoint.clone(), state.stream)
        };
        let mut url = match &endpoint {
            Endpoint::Streamable(url) | Endpoint::Legacy(Some(url)) => url.clone(),
            Endpoint::Legacy(None) => return Err(Fault::SessionLost),
        };
        for _ in 0..=MAX_REDIRECTS {
            // New for each attempt: a redirected request has not reached its new address yet.
            let trace = Trace::default();
            let sending = self
                .client
                .post(url.clone())
                .headers(self.headers(session))
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream")
                .body(request.body.stream(&trace));
            if let (Endpoint::Legacy(_), Some(id)) = (&endpoint, &request.id) {
                // The answer on the event stream may precede the response to this POST.
                self.state().in_flight.goes_on_elsewhere(id, stream);
            }
            let response = sending.send().await.map_err(|error| Fault::sending(error, trace.is_begun()))?;
            let status = response.status();
            if status.is_success() {
                self.keep_to(&endpoint, url);
                return Ok(response);
            }
            // No event stream owes an answer to a refused request.
            if let Some(id) = &request.id {
                self.state().in_flight.is_refused(id);
            }
            if !status.is_redirection() {
                return Err(self.why_not(response, session, Some(request)).await);
            }
            url = self.redirected(&url, &response, request.is_repeatable())?;
        }
        Err(Fault::elsewhere(307, Some(&self.target.url)))
    }

    /// Remembers the address that a redirect led to, once it has accepted a message.
    fn keep_to(&self, from: &Endpoint, url: Url) {
        let to = match from {
            Endpoint::Streamable(_) => Endpoint::Streamable(url),
            Endpoint::Legacy(_) => Endpoint::Legacy(Some(url)),
        };
        let mut state = self.state();
        // Another request may have been redirected meanwhile.
        if *from != to && state.endpoint == *from {
            state.endpoint = to;
        }
    }

    /// Target of a redirect within the same origin. 307 and 308 promise that the request was not executed;
    /// the other codes do not, and are followed only by repeatable requests.
    pub(super) fn redirected(&self, from: &Url, response: &Response, may_repeat: bool) -> Result<Url, Fault> {
        let status = response.status().as_u16();
        let to = response
            .headers()
            .get(LOCATION)
            .and_then(|to| to.to_str().ok())
            .and_then(|to| from.join(to).ok());
        let is_untouched = matches!(status, 307 | 308);
        if !is_untouched && !may_repeat {
            return Err(Fault::not_followed(status, to.as_ref()));
        }
        let is_near =
            |to: &Url| to.origin() == from.origin() && (is_untouched || matches!(status, 301 | 302));
        match to {
            Some(to) if is_near(&to) => Ok(to),
            to => Err(Fault::elsewhere(status, to.as_ref())),
        }
    }

    pub(super) fn headers(&self, session: &RemoteSession) -> HeaderMap {
        let mut headers = self.target.headers.clone();
        headers.extend(session.id.clone().map(|id| (SESSION_ID, id)));
        headers.extend(session.version.clone().map(|version| (VERSION, version)));
        headers
    }

    pub(super) fn is_legacy(&self) -> bool {
        matches!(self.state().endpoint, Endpoint::Legacy(_))
    }

    /// Meaning of an error response.
    pub(super) async fn why_not(
        &self,
        response: Response,
        session: &RemoteSession,
        to: Option<&RemoteRequest>,
    ) -> Fault {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let said = streams::first_words(response).await;
        let is_greeting = to.is_some_and(|request| request.method == Method::Initialize);
        let is_known = session.number > 0 || session.id.is_some() || self.is_legacy();
        let id = to.and_then(|request| request.id.as_ref());
        if is_known && !is_greeting {
            match loss(status, session, &said, id) {
                Loss::Surely => return Fault::SessionLost,
                // Listening executes nothing, so a new session does no harm.
                Loss::Perhaps if to.is_none() => return Fault::SessionLost,
                Loss::Perhaps => {
                    let gist = self.target.scrub(&streams::gist(&said));
                    let answer = id.filter(|id| is_answer(&said, id)).map(|_| said.into());
                    return Fault::PerhapsLost { status, said: gist, answer };
                }
                // Judged by its status below.
                Loss::No => {}
            }
        }
        // Authorization and rate limits get our own texts, which say what to do.
        if let Some(id) = id
            && !matches!(status, 401 | 403 | 429 | 503)
            && is_answer(&said, id)
            && self.hear(said.clone().into(), Some(id)).await
        {
            return Fault::Answered;
        }
        let said = self.target.scrub(&streams::gist(&said));
        // The server exists and may have executed the request before this answer.
        if is_known && matches!(status, 404 | 410) && to.is_some_and(|request| !request.is_repeatable()) {
            return Fault::Failed { status, said };
        }
        Fault::status(status, &headers, said)
    }

    /// Reads a response body: one message, or an array. True if it holds the answer.
    async fn hear_body(&self, mut response: Response, request: &RemoteRequest) -> Result<bool, Fault> {
        let Some(id) = &request.id else { return Ok(false) };
        // The length is the server's claim, so it is believed up to the limit only.
        let most = response.content_length().map_or(0, |length| (length as usize).min(self.limit));
        let mut body = BytesMut::with_capacity(most);
        let mut hunter: Option<(Box<Hunter>, u64)> = None;
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Err(Fault::Broken { why: super::fault::innermost(&error) }),
            };
            match &mut hunter {
                Some((hunter, length)) => {
                    hunter.feed(&chunk);
                    *length += chunk.len() as u64;
                }
                None if body.len() + chunk.len() <= self.limit => body.extend_from_slice(&chunk),
                None => {
                    // Beyond the limit only the ids are kept, so that the request can get an error.
                    let mut fresh = Box::<Hunter>::default();
                    fresh.feed(&body);
                    fresh.feed(&chunk);
                    hunter = Some((fresh, (body.len() + chunk.len()) as u64));
                    body = BytesMut::new();
                }
            }
        }
        match hunter {
            None => Ok(self.hear(body.freeze(), Some(id)).await),
            Some((hunter, length)) => Ok(self.hear_too_long(length, hunter.finish(), id)),
        }
    }

    /// Reports a message beyond the size limit. True if it was the answer to `wanted`.
    pub(super) fn hear_too_long(&self, length: u64, glimpses: Vec<Glimpse>, wanted: &RawId) -> bool {
        let is_it =
            glimpses.iter().any(|glimpse| glimpse.method.is_none() && glimpse.id.as_ref() == Some(wanted));
        self.hub.handle(Event::BackendTooLong { launch: self.launch, length, glimpses });
        is_it
    }
}

fn no_answer() -> Fault {
    Fault::Unexpected { what: "it contains no answer to this request".to_owned() }
}

fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> RemoteRequest {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        RemoteRequest::of(&Outgoing::request(Method::from_name(method), RawId::from_number(1), text.into()))
    }

    #[test]
    fn call_is_resent_only_if_unsent() {
        let unreachable = Fault::Unreachable { why: String::new(), hint: "", prospect: Prospect::Soon };
        let broken = Fault::Broken { why: String::new() };
        let busy = |seconds| Fault::Busy {
            status: 503,
            after: Some(Duration::from_secs(seconds)),
            said: String::new(),
        };
        let tries = |method: &str, fault: &Fault| {
            let (mut again, request) = (Retries::default(), request(method));
            std::iter::from_fn(|| again.after(fault, &request)).take(100).count()
        };
        assert_eq!(tries("tools/call", &unreachable), MAX_CONNECTS as usize);
        assert_eq!(tries("tools/call", &broken), 0);
        assert_eq!(tries("tools/call", &busy(1)), 0);
        assert_eq!(tries("tools/list", &broken), 1);
        assert_eq!(tries("tools/list", &busy(1)), MAX_WAITS as usize);
        assert_eq!(tries("tools/list", &busy(3600)), 0);
        assert_eq!(tries("some/other", &broken), 0);
        for prospect in [Prospect::Later, Prospect::Never] {
            let unreachable = Fault::Unreachable { why: String::new(), hint: "", prospect };
            assert_eq!(tries("tools/list", &unreachable), 0);
        }
    }
}
