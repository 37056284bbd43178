//! The modern era (MCP 2026-07-28): each request is one POST, whose response ends with the answer. There is no session, no
//! stream of the server's own and nothing to resume. A response that is closed early is a cancelled request.

use super::Remote;
use super::exchange::{media_type, no_answer, unusable};
use super::fault::Fault;
use super::refusal;
use super::requests::RemoteRequest;
use super::retries::Retries;
use super::streams::{self, CLOSED, EPILOGUE_TIMEOUT, Heard, Mark};
use super::tool_headers::KnownTools;
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use switchboard_protocol::http_headers::{self, RejectedTool, ToolList};
use switchboard_protocol::modern::{self, HEADER_MISMATCH};
use switchboard_protocol::{Message, Method, Outgoing, OutgoingKind, Part, RawId};
use tokio::sync::{Notify, mpsc};

/// State of a modern connection.
#[derive(Default)]
pub(super) struct ModernState {
    pub(super) tools: KnownTools,
    /// Protocol version of the first request, for notifications without one of their own.
    version: Option<HeaderValue>,
}

/// Result of sending a request once.
pub(super) enum Attempt {
    /// The core has the answer, or there is none to come.
    Done,
    /// The server refused the request with this answer.
    Refused(Bytes),
}

/// Delivers messages until the mailbox closes. Ends early if the server cannot be reached, or with an `initialize`: then the
/// core has concluded that the server is legacy.
pub(super) async fn deliver(
    remote: &Arc<Remote>,
    first: RemoteRequest,
    messages: &mut mpsc::UnboundedReceiver<Outgoing>,
) -> Result<Option<Outgoing>, Fault> {
    remote.state().modern = Some(ModernState::default());
    remote.discover(first).await?;
    while let Some(out) = messages.recv().await {
        if out.method() == Method::Initialize {
            remote.state().modern = None;
            return Ok(Some(out));
        }
        remote.deliver_one(&out);
    }
    Ok(None)
}

impl Remote {
    /// Sends the first request. A server that answers HTTP but not this request is not modern, which the core must learn; a
    /// server that is not reached, or that denies access, proves nothing.
    async fn discover(self: &Arc<Self>, mut request: RemoteRequest) -> Result<(), Fault> {
        let discovered = match self.is_legacy() {
            true => {
                Err(Fault::Unexpected { what: "`type` is \"sse\", a transport of 2024-11-05".to_owned() })
            }
            false => self.exchange(&mut request).await,
        };
        // Before the error is returned, since the byte credit must be released in any case.
        self.release_credit(&request);
        match (discovered, &request.id) {
            (Err(fault @ (Fault::NotFound | Fault::Refused { .. } | Fault::Unexpected { .. })), Some(id)) => {
                let text = fault.words(&self.target).text;
                self.tell_core(refusal::unknown_method(id, &text));
                Ok(())
            }
            (discovered, _) => discovered,
        }
    }

    fn deliver_one(self: &Arc<Self>, out: &Outgoing) {
        let request = RemoteRequest::of(out);
        match out.kind() {
            OutgoingKind::Request => {
                // Registered here, in order: a cancellation that follows must find the request.
                let cancelled = self.state().in_flight.begin(&request);
                self.spawn("exchange", self.clone().ask_modern(request, cancelled));
            }
            OutgoingKind::Notification if request.method == Method::Cancelled => {
                // Closes the response, which is how a modern server learns of it.
                let _ = self.cancelled_by(&request);
                self.release_credit(&request);
            }
            OutgoingKind::Notification => self.spawn("exchange", self.clone().tell_modern(request)),
            OutgoingKind::Response { .. } | OutgoingKind::BatchResponse => {
                self.note("an answer was not sent: modern servers ask nothing");
                self.release_credit(&request);
            }
        }
    }

    /// Sends a request of the core until it is answered or cancelled.
    pub(super) async fn ask_modern(self: Arc<Self>, mut request: RemoteRequest, cancelled: Arc<Notify>) {
        let carried = request.clone();
        let exchange = async {
            tokio::select! {
                exchanged = self.exchange(&mut request) => exchanged,
                // Dropping the exchange closes the connection, or its stream.
                () = cancelled.notified() => Ok(()),
            }
        };
        self.carry(&carried, exchange).await;
    }

    async fn tell_modern(self: Arc<Self>, mut request: RemoteRequest) {
        let told = self.exchange(&mut request).await;
        self.release_credit(&request);
        self.report(&request, told.err());
    }

    /// Sends a message until it is answered, with retries where they are safe.
    async fn exchange(self: &Arc<Self>, request: &mut RemoteRequest) -> Result<(), Fault> {
        let message = request.parsed().await;
        // Its state at the server may be good for one use only.
        request.is_once = message.as_ref().is_some_and(modern::is_continued);
        if request.method == Method::Discover {
            let version = message.as_ref().and_then(version_header);
            if let Some(modern) = &mut self.state().modern {
                modern.version = version;
            }
        }
        let (mut again, mut is_refetched) = (Retries::default(), false);
        loop {
            let seen = self.state().modern.as_ref().map_or(0, |modern| modern.tools.fetches());
            let headers = self.modern_headers(message.as_ref());
            let fault = match self.attempt_modern(request, &headers).await {
                Ok(Attempt::Done) => return Ok(()),
                Ok(Attempt::Refused(answer)) => {
                    let call = message.as_ref().filter(|_| !is_refetched && is_mismatch(request, &answer));
                    is_refetched = true;
                    match call {
                        Some(call) if self.has_fetched(call, seen).await => continue,
                        Some(_) | None => return self.hear_refusal(answer, request).await,
                    }
                }
                Err(fault) => fault,
            };
            match again.after(&fault, request) {
                Some(pause) if self.may_try_again() => tokio::time::sleep(pause).await,
                Some(_) | None => return Err(fault),
            }
        }
    }

    /// Fetches the tools again. False if that failed, so that the call cannot be sent with other headers.
    async fn has_fetched(&self, call: &Message, seen: u64) -> bool {
        let fetched = self.fetch_tools(call, seen).await;
        if let Err(fault) = &fetched {
            self.note(&format!("cannot fetch the tools again: {}", fault.words(&self.target).text));
        }
        fetched.is_ok()
    }

    async fn hear_refusal(&self, answer: Bytes, request: &RemoteRequest) -> Result<(), Fault> {
        if self.hear(answer, request.id.as_ref()).await { Ok(()) } else { Err(no_answer()) }
    }

    /// Sends a message once and reads the response to its end.
    pub(super) async fn attempt_modern(
        &self,
        request: &RemoteRequest,
        headers: &HeaderMap,
    ) -> Result<Attempt, Fault> {
        let endpoint = self.state().endpoint.clone();
        let response = self.submit(request, &endpoint, headers).await?;
        if !response.status().is_success() {
            return self.why_refused(response, request).await;
        }
        let Some(id) = &request.id else {
            // Read to its end, so that the connection can be reused.
            streams::drain(response).await;
            return Ok(Attempt::Done);
        };
        match media_type(response.headers()).as_str() {
            "application/json" => match self.hear_body(response, request).await? {
                true => Ok(Attempt::Done),
                false => Err(no_answer()),
            },
            "text/event-stream" => self.hear_events(response, request, id).await.map(|()| Attempt::Done),
            _ => Err(unusable(self, &response)),
        }
    }

    /// Reads an event stream to the answer.
    async fn hear_events(
        &self,
        mut response: Response,
        request: &RemoteRequest,
        id: &RawId,
    ) -> Result<(), Fault> {
        match self.hear_stream(&mut response, Some(id), &mut Mark::default()).await {
            Heard::Answer => {
                let _ = tokio::time::timeout(EPILOGUE_TIMEOUT, streams::drain(response)).await;
                Ok(())
            }
            // Servers may end a subscription without an answer.
            Heard::Closed if request.method == Method::Listen => {
                self.state().in_flight.arrived(id);
                self.tell_core(refusal::end_of_listen(id));
                Ok(())
            }
            Heard::Closed => Err(Fault::Broken { why: CLOSED.to_owned() }),
            Heard::Broken(why) => Err(Fault::Broken { why }),
        }
    }

    /// Meaning of an error response: an answer, if the server wrote one.
    async fn why_refused(&self, response: Response, request: &RemoteRequest) -> Result<Attempt, Fault> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // Errors may carry data of any size, so the whole answer is read.
        let said = streams::first_bytes(response, self.limit).await;
        // Authorization and rate limits get our own texts, which say what to do.
        let is_ours = matches!(status, 401 | 403 | 429 | 503);
        // A server that fails proves nothing about its era.
        let proves_nothing = request.method == Method::Discover && status >= 500;
        if let Some(id) = request.id.as_ref().filter(|_| !is_ours && !proves_nothing)
            && let Some(answer) = refusal::answer(status, said.clone().into(), id)
        {
            return Ok(Attempt::Refused(answer));
        }
        let said = self.target.scrub(&streams::gist(&said));
        // The server exists and may have executed the request before this answer.
        if matches!(status, 404 | 410) && !request.is_repeatable() {
            return Err(Fault::Failed { status, said });
        }
        Err(Fault::status(status, &headers, said))
    }

    /// The message, or the answer that it stands for: a server may end a subscription by cancelling it.
    pub(super) fn as_answer(&self, message: Message, wanted: Option<&RawId>) -> Message {
        let Some(id) = wanted.filter(|_| message.method() == Method::Cancelled) else { return message };
        let is_listen = self.state().in_flight.method(id) == Some(Method::Listen);
        if !is_listen || message.part(Part::RequestId) != Some(id.as_bytes()) {
            return message;
        }
        refusal::parsed(refusal::end_of_listen(id)).unwrap_or(message)
    }

    /// Learns the headers of the tools in a list. Returns the list without invalid tools, as a client over HTTP must.
    pub(super) fn learn_tools(&self, answer: Message) -> Message {
        let is_known = self.state().modern.as_ref().map(|modern| !modern.tools.is_empty());
        let Some(is_known) = is_known else { return answer };
        // An earlier list may have had headers that this one no longer has.
        if !is_known && !ToolList::may_have_headers(answer.bytes()) {
            return answer;
        }
        let page = ToolList::of(&answer);
        if let Some(modern) = &mut self.state().modern {
            modern.tools.note(&page);
        }
        for RejectedTool { tool, why } in &page.rejected {
            self.note(&format!("the tool `{tool}` is left out: {why}"));
        }
        page.rest.unwrap_or(answer)
    }

    /// Headers of a message: the configured ones, and those that repeat parts of the body.
    pub(super) fn modern_headers(&self, message: Option<&Message>) -> HeaderMap {
        let mut headers = self.target.headers.clone();
        let Some(message) = message else { return headers };
        let mut params = Vec::new();
        if let Some(modern) = &self.state().modern {
            params = modern.tools.headers(message);
            headers.extend(modern.version.clone().map(|version| (VERSION, version)));
        }
        let standard =
            http_headers::standard(message).into_iter().map(|(name, value)| (name.to_owned(), value));
        for (name, value) in standard.chain(params) {
            // Both are checked when they are made, so that none is left out here.
            if let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                // Arguments may be secrets.
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        headers
    }
}

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

fn version_header(message: &Message) -> Option<HeaderValue> {
    HeaderValue::from_str(&http_headers::protocol_version(message)?).ok()
}

/// Whether a call was refused for its headers: it was not executed, and may be sent again with others.
fn is_mismatch(request: &RemoteRequest, answer: &[u8]) -> bool {
    request.method == Method::ToolsCall && refusal::code(answer) == Some(HEADER_MISMATCH)
}

#[cfg(test)]
mod tests;
