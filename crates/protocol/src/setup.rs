//! Messages to replay to a new peer: handshake, log level, subscriptions. Every part that can replace a peer,
//! or its session, stores one [`PeerSetup`]. Must not know how a peer is replaced.

use crate::dialect::Dialect;
use crate::method::Method;
use bytes::Bytes;

/// Messages to replay to a new peer, in the order in which they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerSetup {
    initialize: Option<Bytes>,
    initialized: Option<Bytes>,
    level: Option<Bytes>,
    /// URIs, as JSON.
    subscriptions: Vec<Bytes>,
}

/// Kinds of setup messages; a newer message replaces the older one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupMessage {
    Initialize,
    Initialized,
    Level,
}

impl SetupMessage {
    pub const ALL: [Self; 3] = [Self::Initialize, Self::Initialized, Self::Level];
}

impl PeerSetup {
    pub fn get(&self, which: SetupMessage) -> Option<&Bytes> {
        match which {
            SetupMessage::Initialize => self.initialize.as_ref(),
            SetupMessage::Initialized => self.initialized.as_ref(),
            SetupMessage::Level => self.level.as_ref(),
        }
    }

    pub fn set(&mut self, which: SetupMessage, message: Bytes) {
        let place = match which {
            SetupMessage::Initialize => &mut self.initialize,
            SetupMessage::Initialized => &mut self.initialized,
            SetupMessage::Level => &mut self.level,
        };
        *place = Some(message);
    }

    /// URIs as JSON, in order of subscription.
    pub fn subscriptions(&self) -> &[Bytes] {
        &self.subscriptions
    }

    pub fn subscribe(&mut self, uri: Bytes) {
        // A repeated subscription moves to the end instead of being sent twice.
        self.unsubscribe(&uri);
        self.subscriptions.push(uri);
    }

    pub fn unsubscribe(&mut self, uri: &[u8]) {
        self.subscriptions.retain(|known| known != uri);
    }
}

/// Request that begins or ends a subscription (`method`), with the required fields only: clients may add others that
/// must not be replayed. `uri` is JSON.
pub fn subscription_request(method: Method, id: u64, uri: &[u8], dialect: Dialect) -> Bytes {
    let jsonrpc = match dialect {
        Dialect::Standard => r#""jsonrpc":"2.0","#,
        Dialect::Bare => "",
    };
    let method = if method == Method::Unsubscribe { "resources/unsubscribe" } else { "resources/subscribe" };
    let head = format!(r#"{{{jsonrpc}"id":{id},"method":"{method}","params":{{"uri":"#);
    [head.as_bytes(), uri, b"}}"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parsed, Part, parse};

    #[test]
    fn last_message_of_each_kind_counts() {
        let mut setup = PeerSetup::default();
        setup.set(SetupMessage::Level, "loud".into());
        setup.set(SetupMessage::Level, "quiet".into());
        assert_eq!(setup.get(SetupMessage::Level), Some(&"quiet".into()));
        for uri in ["a", "b", "a"] {
            setup.subscribe(uri.into());
        }
        assert_eq!(setup.subscriptions(), ["b", "a"]);
        setup.unsubscribe(b"b");
        assert_eq!(setup.subscriptions(), ["a"]);
    }

    #[test]
    fn subscription_request_is_a_message() {
        for (method, dialect) in [
            (Method::Subscribe, Dialect::Standard),
            (Method::Subscribe, Dialect::Bare),
            (Method::Unsubscribe, Dialect::Standard),
            (Method::Unsubscribe, Dialect::Bare),
        ] {
            let request = subscription_request(method, 7, br#""a:b""#, dialect);
            let Ok(Parsed::One(message)) = parse(request) else { panic!() };
            assert_eq!((message.method(), message.part(Part::Uri)), (method, Some(&br#""a:b""#[..])));
            assert_eq!(message.part(Part::Id), Some(&b"7"[..]));
            assert_eq!(message.has(Part::Jsonrpc), dialect == Dialect::Standard);
        }
    }
}
