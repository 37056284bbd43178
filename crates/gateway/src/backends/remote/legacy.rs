//! HTTP with server-sent events, as of 2024-11-05: one stream says everything, and first of all where to post to. The
//! session is the stream.

use super::budget::pause;
use super::fault::{Fault, Prospect};
use super::post::MAX_CONNECTS;
use super::session::RemoteSession;
use super::streams::{Heard, Mark};
use super::{Endpoint, Remote};
use reqwest::{Response, Url};
use std::sync::Arc;
use switchboard_protocol::{SseItem, SseParser};

/// A stream that is lost is asked for again after pauses that grow from a second to half a minute, for some ten minutes.
/// After that, by whoever has something to say.
const FIRST_RENEWALS: u32 = 3;
const MAX_RENEWALS: u32 = 24;

impl Remote {
    /// Opens the stream and waits for its first word.
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
            for data in rest {
                remote.hear(data, None).await;
            }
            let mut mark = Mark::default();
            let why = match remote.hear_stream(&mut response, None, &mut mark).await {
                Heard::Answer => String::new(),
                Heard::End(why) => why,
            };
            remote.lose_stream(number, stream, why);
        });
        Ok(())
    }

    /// Nothing is sent, so that it can be tried again.
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

    /// Where to post to; and what came along with that.
    async fn endpoint(&self, response: &mut Response) -> Result<(Url, Vec<bytes::Bytes>), Fault> {
        let mut parser = SseParser::new(self.limit);
        let mut found: Option<String> = None;
        let mut rest = Vec::new();
        while found.is_none() {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) | Err(_) => {
                    let what = "the stream of events ended before it named an address to post to".to_owned();
                    return Err(Fault::Unexpected { what });
                }
            };
            parser.feed(&chunk, &mut |item| match item {
                SseItem::Event { name, data } if name == "endpoint" && found.is_none() => {
                    found = Some(String::from_utf8_lossy(&data).trim().to_owned());
                }
                SseItem::Event { data, .. } => rest.push(data),
                SseItem::TooLong { .. } => {}
            });
        }
        let endpoint = found.and_then(|text| self.target.url.join(&text).ok());
        match endpoint {
            Some(endpoint) if endpoint.origin() == self.target.url.origin() => Ok((endpoint, rest)),
            endpoint => Err(Fault::elsewhere(200, endpoint.as_ref())),
        }
    }

    /// Whoever waits for an answer waits in vain: it would have come by the stream. A new one is made at once, since the
    /// server may have something to say by itself.
    fn lose_stream(self: &Arc<Self>, number: u32, stream: u32, why: String) {
        let (waiting, is_latest) = {
            let mut state = self.state();
            let is_latest = state.stream == stream;
            if is_latest {
                state.endpoint = Endpoint::Legacy(None);
                state.own.clear();
            }
            (state.in_flight.take_elsewhere(stream), is_latest)
        };
        let fault = Fault::NotResumed { why };
        for id in waiting {
            self.answer(&id, &fault);
        }
        // Another has taken its place before it ended.
        if !is_latest {
            return;
        }
        let remote = self.clone();
        self.spawn("listening", async move {
            for tries in FIRST_RENEWALS..MAX_RENEWALS {
                match remote.renew(number).await {
                    Ok(()) => return,
                    Err(fault) => {
                        remote.note(&format!("no new session: {}", fault.words(&remote.target).text))
                    }
                }
                tokio::time::sleep(pause(tries)).await;
            }
        });
    }
}
