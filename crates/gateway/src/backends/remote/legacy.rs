//! HTTP with server-sent events, as of 2024-11-05: one event stream carries all messages, the first of which
//! names the address to post to. The stream is the session.

use super::budget::pause;
use super::fault::{Fault, Prospect};
use super::retries::MAX_CONNECTS;
use super::session::RemoteSession;
use super::streams::{CLOSED, Heard, Mark};
use super::{Endpoint, Remote};
use reqwest::{Response, Url};
use std::sync::Arc;
use switchboard_protocol::{SseItem, SseParser};

/// A lost stream is reopened with pauses that grow from a second to half a minute, for about ten minutes.
/// After that the next request reopens it.
const FIRST_RENEWALS: u32 = 3;
const MAX_RENEWALS: u32 = 24;

impl Remote {
    /// Opens the stream and waits for its `endpoint` event.
    pub(super) async fn open_legacy(self: &Arc<Self>, number: u32) -> Result<(), Fault> {
        let mut response = self.open_patiently().await?;
        let (endpoint, rest) = self.endpoint(&mut response).await?;
        let stream = {
            let mut state = self.state();
            state.endpoint = Endpoint::Legacy(Some(endpoint));
            state.stream += 1;
            state.stream
        };
        let remote = self.clone();
        self.spawn("listening", async move {
            // Events that arrived in the same chunk as the endpoint.
            for data in rest {
                remote.hear(data, None).await;
            }
            let mut mark = Mark::default();
            let why = match remote.hear_stream(&mut response, None, &mut mark).await {
                // Not returned without an awaited id.
                Heard::Answer => String::new(),
                Heard::Closed => CLOSED.to_owned(),
                Heard::Broken(why) => why,
            };
            remote.lose_stream(number, stream, why);
        });
        Ok(())
    }

    /// Opens the stream with retries, which are safe because nothing is sent.
    async fn open_patiently(&self) -> Result<Response, Fault> {
        let mut tries = 0;
        loop {
            match self.open_stream(&RemoteSession::default(), None).await {
                Err(Fault::Unreachable { prospect: Prospect::Soon, .. })
                    if tries < MAX_CONNECTS && self.may_try_again() =>
                {
                    tokio::time::sleep(pause(tries)).await;
                    tries += 1;
                }
                opened => return opened,
            }
        }
    }

    /// Address to post to, and the events that arrived with it.
    async fn endpoint(&self, response: &mut Response) -> Result<(Url, Vec<bytes::Bytes>), Fault> {
        let mut parser = SseParser::new(self.limit);
        let mut found: Option<String> = None;
        let mut rest = Vec::new();
        while found.is_none() {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) | Err(_) => {
                    let what = "the event stream ended before its `endpoint` event".to_owned();
                    return Err(Fault::Unexpected { what });
                }
            };
            parser.feed(&chunk, &mut |item| match item {
                SseItem::Event { name, data } if name == "endpoint" && found.is_none() => {
                    found = Some(String::from_utf8_lossy(&data).trim().to_owned());
                }
                SseItem::Event { data, .. } => rest.push(data),
                // Dropped: no request is open before the endpoint is known.
                SseItem::TooLong { .. } => {}
            });
        }
        // The endpoint may be relative to the stream's address.
        let endpoint = found.and_then(|text| self.target.url.join(&text).ok());
        match endpoint {
            // A foreign origin would receive the headers, and with them the tokens.
            Some(endpoint) if endpoint.origin() == self.target.url.origin() => Ok((endpoint, rest)),
            endpoint => Err(Fault::elsewhere(200, endpoint.as_ref())),
        }
    }

    /// Answers the requests whose answers were due on this stream, and opens a new one at once: the server
    /// may send messages of its own.
    fn lose_stream(self: &Arc<Self>, number: u32, stream: u32, why: String) {
        let (waiting, is_latest) = {
            let mut state = self.state();
            let is_latest = state.stream == stream;
            if is_latest {
                state.endpoint = Endpoint::Legacy(None);
                // Dropping the senders fails our own requests, which wait for answers on this stream.
                state.own.clear();
            }
            (state.in_flight.take_elsewhere(stream), is_latest)
        };
        let fault = Fault::NotResumed { why };
        for id in waiting {
            self.answer(&id, &fault);
        }
        // A newer stream has replaced this one already.
        if !is_latest {
            return;
        }
        let remote = self.clone();
        self.spawn("listening", async move {
            for tries in FIRST_RENEWALS..MAX_RENEWALS {
                match remote.renew(number).await {
                    Ok(()) => return,
                    Err(fault) => remote
                        .note(&format!("cannot start a new session: {}", fault.words(&remote.target).text)),
                }
                tokio::time::sleep(pause(tries)).await;
            }
        });
    }
}
