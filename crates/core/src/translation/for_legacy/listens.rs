//! One subscription for all clients of a process: to the changes of lists that the server announces, and to the resources
//! that clients have subscribed to. It is replaced when these change. Must not know how it is sent.

use super::json;
use serde::Deserialize;
use std::collections::BTreeSet;
use switchboard_protocol::{Message, Part};

#[derive(Debug, Default)]
pub(super) struct Listens {
    lists: Lists,
    /// JSON strings.
    uris: BTreeSet<String>,
    /// The subscription that counts.
    current: Option<Listen>,
    /// Minted ids of requests that the next acknowledgement answers.
    waiting: Vec<u64>,
}

#[derive(Debug)]
struct Listen {
    number: u64,
    is_acknowledged: bool,
}

/// Lists whose changes the server announces.
#[derive(Debug, Default, Clone, Copy)]
struct Lists {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// A subscription that the server has ended.
#[derive(Debug)]
pub(super) struct ListenEnd {
    /// Minted ids of requests that waited for its acknowledgement.
    pub(super) waiting: Vec<u64>,
}

#[derive(Deserialize)]
struct Welcome {
    capabilities: Capabilities,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Capabilities {
    tools: Announced,
    prompts: Announced,
    resources: Announced,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Announced {
    list_changed: bool,
}

impl Listens {
    /// Learns from the welcome of a server which changes it announces. Returns whether there are any.
    pub(super) fn learn(&mut self, welcome: &Message) -> bool {
        let found =
            json::read::<Welcome>(welcome, Part::Result).map(|it| it.capabilities).unwrap_or_default();
        self.lists = Lists {
            tools: found.tools.list_changed,
            prompts: found.prompts.list_changed,
            resources: found.resources.list_changed,
        };
        self.lists.tools || self.lists.prompts || self.lists.resources
    }

    /// Adds a resource; `minted` is answered when the server has acknowledged it.
    pub(super) fn subscribe(&mut self, minted: u64, uri: Option<&[u8]>) {
        self.uris.extend(uri.map(text));
        self.waiting.push(minted);
    }

    pub(super) fn unsubscribe(&mut self, uri: Option<&[u8]>) {
        if let Some(uri) = uri {
            self.uris.remove(&text(uri));
        }
    }

    /// Begins another subscription. Returns its filter, unless nothing is wanted, and the one that it replaces.
    pub(super) fn begin(&mut self, number: u64) -> (Option<String>, Option<u64>) {
        let replaced = self.current.take().map(|listen| listen.number);
        let filter = self.filter();
        self.current = Some(Listen { number, is_acknowledged: filter.is_none() });
        (filter, replaced)
    }

    fn filter(&self) -> Option<String> {
        let lists = [
            ("toolsListChanged", self.lists.tools),
            ("promptsListChanged", self.lists.prompts),
            ("resourcesListChanged", self.lists.resources),
        ];
        let mut members: Vec<String> = lists
            .into_iter()
            .filter(|(_, is_wanted)| *is_wanted)
            .map(|(name, _)| format!(r#""{name}":true"#))
            .collect();
        if !self.uris.is_empty() {
            let uris: Vec<&str> = self.uris.iter().map(String::as_str).collect();
            members.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
        }
        (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        self.current.as_ref().is_some_and(|listen| listen.number == number)
    }

    /// Handles an acknowledgement. Returns the requests to be answered.
    pub(super) fn acknowledged(&mut self, number: u64) -> Vec<u64> {
        match &mut self.current {
            Some(listen) if listen.number == number => listen.is_acknowledged = true,
            Some(_) | None => return Vec::new(),
        }
        std::mem::take(&mut self.waiting)
    }

    /// Handles the end of a subscription; `None` if the number is not one.
    pub(super) fn ended(&mut self, number: u64) -> Option<ListenEnd> {
        if !self.is_current(number) {
            return None;
        }
        self.current = None;
        Some(ListenEnd { waiting: std::mem::take(&mut self.waiting) })
    }
}

fn text(uri: &[u8]) -> String {
    String::from_utf8_lossy(uri).into_owned()
}
