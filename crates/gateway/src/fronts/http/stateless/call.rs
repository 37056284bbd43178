//! One request on its way: its result, and what follows if its client closes the response first.

use super::super::body::BodyPart;
use super::client::StatelessClient;
use hyper::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use switchboard_protocol::modern::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use switchboard_protocol::{RawId, Refusal};
use tokio::sync::mpsc;

/// JSON-RPC code: the method does not exist.
const METHOD_NOT_FOUND: i32 = -32601;

/// Result of a request.
pub(super) enum Outcome {
    Whole {
        part: BodyPart,
        /// The reason, if it is an error of ours.
        refusal: Option<Refusal>,
        error: Option<ServerError>,
    },
    Stream(mpsc::UnboundedReceiver<BodyPart>),
}

/// An error for which HTTP has a status of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerError(StatusCode);

impl ServerError {
    pub(super) fn read(answer: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Answer {
            error: Code,
        }
        #[derive(Deserialize)]
        struct Code {
            code: i32,
        }
        let Answer { error } = serde_json::from_slice(answer).ok()?;
        match error.code {
            METHOD_NOT_FOUND => Some(Self(StatusCode::NOT_FOUND)),
            HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION => Some(Self(StatusCode::BAD_REQUEST)),
            _ => None,
        }
    }

    pub(super) fn status(self) -> StatusCode {
        self.0
    }
}

/// Held as long as somebody waits for the answer. Dropped before it, the request is cancelled.
pub(super) struct CallGuard {
    client: Arc<StatelessClient>,
    id: RawId,
    number: u64,
}

impl CallGuard {
    pub(super) fn new(client: Arc<StatelessClient>, id: RawId, number: u64) -> Self {
        Self { client, id, number }
    }

    pub(super) fn client(&self) -> &Arc<StatelessClient> {
        &self.client
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Removes a request that the core has not heard of.
    pub(super) fn withdraw(self) {
        self.client.drop_call(&self.id);
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.client.abandon(&self.id, self.number);
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
            let found = ServerError::read(answer.as_bytes()).map(|error| error.status().as_u16());
            assert_eq!(found, status, "{code}");
        }
        assert_eq!(ServerError::read(br#"{"id":1,"error":{"code":"x"}}"#), None);
    }
}
