//! One request on its way: its result, and what follows if its client closes the response first.

use super::super::body::BodyPart;
use super::client::StatelessClient;
use hyper::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use switchboard_protocol::modern::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use switchboard_protocol::{Method, RawId, Refusal};
use tokio::sync::mpsc;

/// JSON-RPC code: the method does not exist.
const METHOD_NOT_FOUND: i32 = -32601;

/// Result of a request.
pub(super) enum Outcome {
    Whole {
        part: BodyPart,
        /// The reason, if it is an error of ours.
        refusal: Option<Refusal>,
        /// `None` for a result.
        failure: Option<Failure>,
    },
    Stream(mpsc::UnboundedReceiver<BodyPart>),
}

/// An error answer, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure(Option<i32>);

impl Failure {
    pub(super) fn read(answer: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Answer {
            error: Code,
        }
        #[derive(Deserialize)]
        struct Code {
            code: i32,
        }
        let answer: Option<Answer> = serde_json::from_slice(answer).ok();
        Self(answer.map(|answer| answer.error.code))
    }

    /// The status that HTTP has for it.
    pub(super) fn status(self) -> Option<StatusCode> {
        match self.0 {
            Some(METHOD_NOT_FOUND) => Some(StatusCode::NOT_FOUND),
            Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => Some(StatusCode::BAD_REQUEST),
            Some(_) | None => None,
        }
    }

    /// Whether it tells a client to use another era.
    pub(super) fn is_wrong_era(self, method: Method) -> bool {
        match self.0 {
            Some(UNSUPPORTED_VERSION) => true,
            Some(METHOD_NOT_FOUND) => method == Method::Discover,
            Some(_) | None => false,
        }
    }
}

/// Held as long as somebody waits for the answer. Dropped before it, the request is cancelled.
pub(super) struct CallGuard {
    client: Arc<StatelessClient>,
    id: RawId,
    number: u64,
    /// Whether the core has heard of it.
    is_told: bool,
}

impl CallGuard {
    pub(super) fn new(client: Arc<StatelessClient>, id: RawId, number: u64) -> Self {
        Self { client, id, number, is_told: false }
    }

    pub(super) fn client(&self) -> &Arc<StatelessClient> {
        &self.client
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Records that the core is about to hear of the request: from now on it must be cancelled.
    pub(super) fn tell(&mut self) {
        self.is_told = true;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        match self.is_told {
            true => self.client.abandon(&self.id, self.number),
            false => {
                self.client.drop_call(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_errors_have_a_status() {
        for (code, status) in [
            (-32601, Some(404)),
            (-32020, Some(400)),
            (-32021, Some(400)),
            (-32022, Some(400)),
            (-32602, None),
        ] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"x"}}}}"#);
            let found = Failure::read(answer.as_bytes()).status().map(|status| status.as_u16());
            assert_eq!(found, status, "{code}");
        }
        assert_eq!(Failure::read(br#"{"id":1,"error":{"code":"x"}}"#).status(), None);
    }
}
