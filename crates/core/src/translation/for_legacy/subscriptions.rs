//! Subscriptions of legacy clients, as messages to and from the server.

use super::listens::{Change, text};
use super::{ForLegacy, answer, cancel, json};
use crate::translation::Step;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use switchboard_protocol::{Message, Method, Part, RawId, modern};

/// Error for a resource that the server leaves out of its acknowledgement.
const NOT_TOLD: &str = r#"{"code":-32602,"message":"the server does not tell of changes of this resource"}"#;

/// Error for pending subscriptions if the server ends its subscription without an error.
const ENDED: &str = r#"{"code":-32603,"message":"the server has ended the subscription"}"#;

impl ForLegacy {
    pub(super) fn subscribe(&mut self, minted: u64, message: &Message) -> Vec<Step> {
        match self.listens.subscribe(minted, message.part(Part::Uri)) {
            true => self.listen(),
            false => Vec::new(),
        }
    }

    pub(super) fn unsubscribe(&mut self, id: &RawId, message: &Message) -> Vec<Step> {
        let opened = match self.listens.unsubscribe(message.part(Part::Uri)) {
            true => self.listen(),
            false => Vec::new(),
        };
        opened.into_iter().chain(answer(id, "{}")).collect()
    }

    /// Subscribes to the list changes that the server announces.
    pub(super) fn open_listens(&mut self, welcome: &Message) -> Vec<Step> {
        if self.listens.learn(welcome) { self.listen() } else { Vec::new() }
    }

    /// Opens a subscription to everything that clients need now.
    pub(super) fn listen(&mut self) -> Vec<Step> {
        let number = self.number();
        match self.listens.begin(number) {
            Ok(filter) => {
                let params = format!(r#","notifications":{filter}"#);
                vec![Step::ToServer(self.speaker.request(number, Method::Listen, &params))]
            }
            Err(change) => self.changed(change, NOT_TOLD),
        }
    }

    /// `why`: the error for requests that are refused.
    fn changed(&mut self, change: Change, why: &str) -> Vec<Step> {
        let mut steps: Vec<Step> = change.over.into_iter().map(|over| Step::ToServer(cancel(over))).collect();
        let refused = change.refused.iter().filter_map(|minted| json::error(&minted.to_string(), why));
        steps.extend(refused.map(Step::ToCore));
        steps
            .extend(change.answered.into_iter().flat_map(|minted| answer(&RawId::from_number(minted), "{}")));
        if change.opens {
            steps.extend(self.listen());
        }
        steps
    }

    /// Handles the end of a subscription: an answer to it, or its cancellation by the server. `None` if the id is not that
    /// of a subscription.
    pub(super) fn listen_ended(&mut self, number: u64, error: Option<&[u8]>) -> Option<Vec<Step>> {
        let change = self.listens.ended(number, self.now)?;
        let why = error.map_or(ENDED.into(), String::from_utf8_lossy);
        Some(self.changed(change, &why))
    }

    /// Handles a notification of the server.
    pub(super) fn told(&mut self, message: Message) -> Vec<Step> {
        let listen = message.part(Part::MetaSubscriptionId).and_then(RawId::minted);
        match (message.method(), listen) {
            (Method::Acknowledged, Some(listen)) => {
                let change = self.listens.acknowledged(listen, agreed(&message).as_ref());
                self.changed(change, NOT_TOLD)
            }
            (Method::Acknowledged, None) => Vec::new(),
            (Method::Cancelled, _) => {
                let number = message.part(Part::RequestId).and_then(RawId::minted);
                // A modern server cancels only subscriptions.
                number.and_then(|number| self.listen_ended(number, None)).unwrap_or_default()
            }
            // Notification of a replaced subscription.
            (_, Some(listen)) if !self.listens.hears(listen) => Vec::new(),
            (_, Some(_)) => {
                let path = ["params", "_meta", modern::SUBSCRIPTION_ID];
                let parent = (Part::Meta, &["params", "_meta"][..]);
                vec![Step::ToCore(json::without(message, &[&path], parent))]
            }
            (_, None) => vec![Step::ToCore(message)],
        }
    }
}

/// The resources in an acknowledgement; `None` if it has no list, which the specification requires.
fn agreed(acknowledged: &Message) -> Option<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        notifications: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Agreed<'a> {
        #[serde(borrow)]
        resource_subscriptions: Vec<&'a RawValue>,
    }
    let filter = json::read::<Params<'_>>(acknowledged, Part::Params)?.notifications?;
    // An unreadable list accepts nothing.
    let agreed: Agreed<'_> = serde_json::from_str(filter.get()).unwrap_or_default();
    Some(agreed.resource_subscriptions.into_iter().map(|uri| text(uri.get().as_bytes())).collect())
}
