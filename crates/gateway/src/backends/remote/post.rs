//! One message of the legacy era, posted in a session and read to its answer.

use super::exchange::{media_type, no_answer, unusable};
use super::fault::Fault;
use super::lost::{Loss, is_answer, loss};
use super::refusal;
use super::requests::RemoteRequest;
use super::retries::Retries;
use super::session::RemoteSession;
use super::streams;
use super::{Endpoint, Remote};
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_protocol::{Dialect, Message, Method, Outgoing, dialect};
use tokio::sync::oneshot;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Time limit for a server to show that it knows a session.
const SESSION_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

impl Remote {
    /// Sends a message and reads the reply, either in the current session, which is renewed if it is lost, or
    /// in `session` as it is. Returns the id of a session that the server began.
    pub(super) async fn post(
        self: &Arc<Self>,
        request: &RemoteRequest,
        session: Option<&RemoteSession>,
    ) -> Result<Option<HeaderValue>, Fault> {
        let (mut again, mut is_renewed) = (Retries::default(), false);
        loop {
            // Read anew for each attempt: another task may have renewed the session.
            let under = session.cloned().unwrap_or_else(|| self.session());
            let fault = match self.attempt(request, &under).await {
                Ok(begun) => return Ok(begun),
                Err(fault) => fault,
            };
            // One renewal per message: a server that loses every session would otherwise loop for ever.
            if fault.is_about_session() && session.is_none() && !is_renewed {
                is_renewed = true;
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
        let mut ping = Outgoing::request(Method::Ping, id.clone(), text.into());
        if self.state().repeated.dialect() == Dialect::Bare {
            dialect::make_bare(&mut ping);
        }
        let request = RemoteRequest::of(&ping);
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
            _ => Err(unusable(self, &response)),
        }
    }

    /// Posts a message to the server's address. Only a success is returned.
    async fn send(&self, request: &RemoteRequest, session: &RemoteSession) -> Result<Response, Fault> {
        let endpoint = {
            let mut state = self.state();
            if let (Endpoint::Legacy(_), Some(id)) = (&state.endpoint, &request.id) {
                // The answer on the event stream may precede the response to this POST.
                let stream = state.stream;
                state.in_flight.goes_on_elsewhere(id, stream);
            }
            state.endpoint.clone()
        };
        let response = self.submit(request, &endpoint, &self.headers(session)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        // No event stream owes an answer to a refused request.
        if let Some(id) = &request.id {
            self.state().in_flight.is_refused(id);
        }
        Err(self.why_not(response, session, Some(request)).await)
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
        // A modern server may not have read as far as the id.
        if let Some(id) = id.filter(|_| is_greeting)
            && let Some(refusal) = refusal::of_handshake(status, said.clone().into(), id)
            && self.hear(refusal, Some(id)).await
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
}
