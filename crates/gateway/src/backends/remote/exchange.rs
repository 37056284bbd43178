//! One HTTP exchange, as both eras use it: a message posted, its redirects followed, its response read.

use super::body::Trace;
use super::fault::{Fault, innermost};
use super::requests::RemoteRequest;
use super::{Endpoint, Remote};
use bytes::BytesMut;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, Url};
use switchboard_core::Event;
use switchboard_protocol::RawId;
use switchboard_protocol::hunt::{Glimpse, Hunter};

pub(super) const MAX_REDIRECTS: u32 = 3;

impl Remote {
    /// Posts a message to this address and returns the response, whatever its status, after redirects.
    pub(super) async fn submit(
        &self,
        request: &RemoteRequest,
        endpoint: &Endpoint,
        headers: &HeaderMap,
    ) -> Result<Response, Fault> {
        let mut url = match endpoint {
            Endpoint::Streamable(url) | Endpoint::Legacy(Some(url)) => url.clone(),
            Endpoint::Legacy(None) => return Err(Fault::SessionLost),
        };
        for _ in 0..=MAX_REDIRECTS {
            // New for each attempt: a redirected request has not reached its new address yet.
            let trace = Trace::default();
            let sending = self
                .client
                .post(url.clone())
                .headers(headers.clone())
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream")
                .body(request.body.stream(&trace));
            let response = sending.send().await.map_err(|error| Fault::sending(error, trace.is_begun()))?;
            if response.status().is_success() {
                self.keep_to(endpoint, url);
                return Ok(response);
            }
            if !response.status().is_redirection() {
                return Ok(response);
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

    /// Reads a response body: one message, or an array. True if it holds the answer.
    pub(super) async fn hear_body(
        &self,
        mut response: Response,
        request: &RemoteRequest,
    ) -> Result<bool, Fault> {
        let Some(id) = &request.id else { return Ok(false) };
        // The length is the server's claim, so it is believed up to the limit only.
        let most = response.content_length().map_or(0, |length| (length as usize).min(self.limit));
        let mut body = BytesMut::with_capacity(most);
        let mut hunter: Option<(Box<Hunter>, u64)> = None;
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Err(Fault::Broken { why: innermost(&error) }),
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
        self.core.handle(Event::BackendTooLong { launch: self.launch, length, glimpses });
        is_it
    }
}

/// The fault of a response whose content is neither JSON nor an event stream.
pub(super) fn unusable(remote: &Remote, response: &Response) -> Fault {
    let what = match media_type(response.headers()).as_str() {
        "" => format!("no content ({})", response.status().as_u16()),
        other => format!("the content type is {}", remote.target.scrub(other)),
    };
    Fault::Unexpected { what }
}

pub(super) fn no_answer() -> Fault {
    Fault::Unexpected { what: "it contains no answer to this request".to_owned() }
}

pub(super) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
