//! A client's roots: the progress of asking for them, and its answers. Must not know who needs the roots.

use crate::clients::declared::in_order;
use crate::routing::path::{self, Style};
use crate::routing::paths;
use serde_json::json;
use std::sync::Arc;
use switchboard_protocol::{Message, Part};

/// The roots that a client has named, and the state of the current inquiry.
#[derive(Debug, Default)]
pub(super) struct ClientRoots {
    inquiry: Inquiry,
    /// The last answer to `roots/list`, including an error. Delegates use their client's.
    answer: Option<RootsAnswer>,
    /// Number of the newest inquiry. Results of older ones are outdated.
    inquiries: u32,
}

#[derive(Debug, Default)]
enum Inquiry {
    /// The client has not been asked.
    #[default]
    Unasked,
    /// A request to the client is open, or its answer is being looked up. The previous roots stay valid meanwhile.
    Asked {
        before: Vec<ClientRoot>,
        said: Vec<ClientRoot>,
    },
    Told(Vec<ClientRoot>),
}

/// Stage of asking a client for its roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootsStage {
    Unasked,
    Asked,
    Told,
}

/// One root of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientRoot {
    /// Canonical; `None` if it is not a folder of this machine.
    path: Option<String>,
    /// As the client sent it.
    raw: Box<str>,
}

/// A client's answer to `roots/list`.
#[derive(Debug, Clone)]
pub(crate) struct RootsAnswer {
    message: Message,
    /// Equal for equal answers, however they are spelled.
    key: Arc<str>,
}

impl ClientRoot {
    pub(super) fn of_path(path: &str, style: Style) -> Self {
        let raw = json!({ "uri": path::to_uri(path, style) }).to_string().into();
        Self { path: Some(path.to_owned()), raw }
    }

    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }
}

impl RootsAnswer {
    fn new(message: &Message) -> Self {
        let part = message.part(Part::Result).or_else(|| message.part(Part::Error)).unwrap_or_default();
        let key = match serde_json::from_slice(part) {
            Ok(value) => in_order(value).to_string(),
            // `serde_json` refuses deep nesting; the spelling is the next best key.
            Err(_) => String::from_utf8_lossy(part).into_owned(),
        };
        Self { message: message.clone(), key: key.into() }
    }

    pub(crate) fn message(&self) -> &Message {
        &self.message
    }

    pub(crate) fn key(&self) -> &Arc<str> {
        &self.key
    }
}

impl ClientRoots {
    pub(super) fn told(roots: Vec<ClientRoot>) -> Self {
        Self { inquiry: Inquiry::Told(roots), ..Self::default() }
    }

    pub(super) fn stage(&self) -> RootsStage {
        match self.inquiry {
            Inquiry::Unasked => RootsStage::Unasked,
            Inquiry::Asked { .. } => RootsStage::Asked,
            Inquiry::Told(_) => RootsStage::Told,
        }
    }

    /// The roots that the client named last.
    pub(super) fn latest(&self) -> &[ClientRoot] {
        match &self.inquiry {
            Inquiry::Unasked => &[],
            Inquiry::Asked { before, .. } => before,
            Inquiry::Told(roots) => roots,
        }
    }

    pub(super) fn answer(&self) -> Option<&RootsAnswer> {
        self.answer.as_ref()
    }

    /// Starts an inquiry, which makes earlier ones outdated.
    pub(super) fn ask(&mut self, before: Vec<ClientRoot>) {
        self.inquiry = Inquiry::Asked { before, said: Vec::new() };
        self.inquiries += 1;
    }

    pub(super) fn note_answer(&mut self, answer: &Message) {
        self.answer = Some(RootsAnswer::new(answer));
    }

    /// Parses the roots from an answer. Returns the paths to look up on disk, with the number of the inquiry.
    pub(super) fn read(&mut self, answer: &Message, style: Style) -> Option<(u32, Vec<String>)> {
        let Inquiry::Asked { said, .. } = &mut self.inquiry else { return None };
        let named = paths::roots_in_answer(answer.part(Part::Result).unwrap_or_default());
        let named = named.into_iter().map(|(uri, raw)| ClientRoot { path: path::of_uri(&uri, style), raw });
        *said = named.collect();
        // A new number, so that the result of an older lookup is recognised as outdated.
        self.inquiries += 1;
        let paths = said.iter().filter_map(|root| root.path.clone()).collect();
        Some((self.inquiries, paths))
    }

    /// The roots of an answer, with the paths found on disk; `None` if the inquiry is outdated.
    pub(super) fn look_up(&mut self, inquiry: u32, found: Vec<Option<String>>) -> Option<Vec<ClientRoot>> {
        let Inquiry::Asked { said, .. } = &mut self.inquiry else { return None };
        if self.inquiries != inquiry {
            return None;
        }
        let mut said = std::mem::take(said);
        let named = said.iter_mut().filter(|root| root.path.is_some());
        for (root, found) in named.zip(found) {
            // A missing folder may appear later, so its name is kept.
            root.path = found.or(root.path.take());
        }
        Some(said)
    }

    /// Ends an inquiry without an answer: the previous roots stay valid.
    pub(super) fn give_up(&mut self) -> Option<Vec<ClientRoot>> {
        match &mut self.inquiry {
            Inquiry::Asked { before, .. } => Some(std::mem::take(before)),
            Inquiry::Unasked | Inquiry::Told(_) => None,
        }
    }

    pub(super) fn tell(&mut self, roots: Vec<ClientRoot>) {
        self.inquiry = Inquiry::Told(roots);
    }
}

/// A key that is equal for equal roots, for a client that never answered `roots/list` itself.
pub(crate) fn key_of_roots(roots: &[ClientRoot]) -> Arc<str> {
    let raw: Vec<&str> = roots.iter().map(ClientRoot::raw).collect();
    format!("named {}", raw.join(",")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_protocol::{Parsed, parse};

    #[test]
    fn roots_are_limited() {
        let named: Vec<String> = (0..5000).map(|n| format!(r#"{{"uri":"file:///{n}"}}"#)).collect();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"roots":[{}]}}}}"#, named.join(","));
        let Ok(Parsed::One(answer)) = parse(answer.into()) else { panic!("no message") };
        let mut roots = ClientRoots::default();
        roots.ask(Vec::new());
        let (_, looked_up) = roots.read(&answer, Style::Unix).unwrap();
        assert_eq!(looked_up.len(), paths::MAX_ROOTS);
    }
}
