//! Session with a remote server, and the messages that restore it after a loss. Pure.

use bytes::Bytes;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::setup::subscription_request;
use switchboard_protocol::{
    Dialect, Kind, Message, Method, Outgoing, Parsed, Part, Patch, PeerSetup, RawId, SetupMessage, parse,
};

/// One session, from `initialize` on.
#[derive(Debug, Clone, Default)]
pub(super) struct RemoteSession {
    /// Unique per session; 0 means no session.
    pub(super) number: u32,
    pub(super) id: Option<HeaderValue>,
    /// Negotiated protocol version.
    pub(super) version: Option<HeaderValue>,
}

/// Messages to repeat in a new session.
#[derive(Debug, Default)]
pub(super) struct RepeatedMessages {
    setup: PeerSetup,
    /// The server's answer to `initialize`.
    welcome: Option<Bytes>,
}

impl RepeatedMessages {
    /// Records a message on its way to the server.
    pub(super) fn note(&mut self, message: &Message) {
        let bytes = || message.bytes().clone();
        let uri = || message.part(Part::Uri).unwrap_or_default();
        match message.method() {
            Method::Initialize => {
                // A new handshake discards the settings of the old session.
                *self = Self::default();
                self.setup.set(SetupMessage::Initialize, bytes());
            }
            Method::Initialized => self.setup.set(SetupMessage::Initialized, bytes()),
            Method::SetLevel => self.setup.set(SetupMessage::Level, bytes()),
            Method::Subscribe => self.setup.subscribe(Bytes::copy_from_slice(uri())),
            Method::Unsubscribe => self.setup.unsubscribe(uri()),
            // Other messages leave no state at the server that a new session would lack.
            _ => {}
        }
    }

    pub(super) fn initialize(&self) -> Option<Message> {
        self.setup.get(SetupMessage::Initialize).and_then(one)
    }

    /// The form of our messages, which is that of the handshake.
    pub(super) fn dialect(&self) -> Dialect {
        match self.initialize() {
            Some(hello) if !hello.has(Part::Jsonrpc) => Dialect::Bare,
            Some(_) | None => Dialect::Standard,
        }
    }

    pub(super) fn initialized(&self) -> Option<&Bytes> {
        self.setup.get(SetupMessage::Initialized)
    }

    /// Requests that restore the log level and the subscriptions.
    pub(super) fn settings(&self) -> Vec<Message> {
        let level = self.setup.get(SetupMessage::Level).and_then(one);
        // The id is replaced when the request is sent.
        let dialect = self.dialect();
        let subscribe = |uri: &Bytes| one(&subscription_request(Method::Subscribe, 0, uri, dialect));
        level.into_iter().chain(self.setup.subscriptions().iter().filter_map(subscribe)).collect()
    }

    /// Records the server's answer to `initialize`. True if it differs from the last one.
    pub(super) fn welcome(&mut self, answer: &Message) -> bool {
        let result = result_of(answer.bytes()).map(|result| Bytes::copy_from_slice(result.get().as_bytes()));
        let before = std::mem::replace(&mut self.welcome, result);
        // The first answer is no change.
        before.is_some() && before != self.welcome
    }
}

/// Parses bytes that are known to be one message.
fn one(bytes: &Bytes) -> Option<Message> {
    match parse(bytes.clone()) {
        Ok(Parsed::One(message)) => Some(message),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

/// The same request under another id.
pub(super) fn readdressed(message: &Message, id: &RawId) -> Outgoing {
    let mut out = Outgoing::of(message);
    out.replace(message.span(Part::Id), Patch::Id(id.clone()));
    // SDKs use the request's id as its progress token.
    if message.has(Part::MetaProgressToken) {
        out.replace(message.span(Part::MetaProgressToken), Patch::Id(id.clone()));
    }
    out
}

/// Protocol version that the server chose.
pub(super) fn version(answer: &Message) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Welcome {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let welcome: Welcome = serde_json::from_str(result_of(answer.bytes())?.get()).ok()?;
    HeaderValue::from_str(&welcome.version).ok()
}

fn result_of(answer: &[u8]) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    serde_json::from_slice::<Answer<'_>>(answer).ok()?.result
}

pub(super) fn is_refusal(answer: &Message) -> bool {
    matches!(answer.kind(), Kind::Response { failed: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn settings_are_restored() {
        let mut repeated = RepeatedMessages::default();
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:b"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"a:c"}}"#,
            r#"{"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"a:b"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/unsubscribe","params":{"uri":"a:c"}}"#,
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/list"}"#,
        ] {
            repeated.note(&message(text));
        }
        let settings = repeated.settings();
        let set: Vec<_> = settings.iter().map(|it| (it.method(), it.text(Part::Uri))).collect();
        assert_eq!(set, [(Method::SetLevel, None), (Method::Subscribe, Some("a:b".into()))]);
        assert!(repeated.initialized().is_some());
        let out = readdressed(&repeated.initialize().unwrap(), &RawId::from_bytes(b"\"x\"")).to_vec();
        assert_eq!(out, br#"{"jsonrpc":"2.0","id":"x","method":"initialize","params":{}}"#);
    }

    #[test]
    fn changed_welcome_is_noticed() {
        let mut repeated = RepeatedMessages::default();
        let answer = |id, name| {
            message(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","x":"{name}"}}}}"#
            ))
        };
        assert_eq!(version(&answer(1, "a")), Some(HeaderValue::from_static("2025-06-18")));
        assert!(!repeated.welcome(&answer(1, "a")));
        assert!(!repeated.welcome(&answer(2, "a")));
        assert!(repeated.welcome(&answer(3, "b")));
    }
}
