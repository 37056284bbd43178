//! A client's roots: the progress of asking for them, and its answers. Must not know who needs the roots.

use crate::messages::{in_order, own_message};
use crate::routing::path::{self, Style, is_within};
use crate::routing::paths;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use switchboard_protocol::{Message, Part};

/// Limit on bytes of the roots that a modern client shows. A longer answer counts as malformed.
const MAX_SHOWN_BYTES: usize = 256 << 10;

/// The roots that a client has named, and the state of the current inquiry.
#[derive(Debug, Default)]
pub(super) struct ClientRoots {
    inquiry: Inquiry,
    /// The last answer to `roots/list`, including an error. Delegates use their client's.
    answer: Option<Box<RootsAnswer>>,
    /// The last answer of a modern client to a legacy server.
    shown: Option<Box<ShownRoots>>,
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

/// Roots that a modern client has shown to a legacy server, in a continued call.
#[derive(Debug)]
pub(crate) struct ShownRoots {
    answer: RootsAnswer,
    /// The folder of each; `None` if it is not one of this machine.
    paths: Vec<Option<String>>,
    /// The call for which they count; `None` for all calls.
    call: Option<u64>,
}

impl ShownRoots {
    /// The roots in a result of `roots/list`; `None` if it is malformed. `call`: the call for which they count.
    pub(crate) fn read(result: &str, style: Style, call: Option<u64>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Shown<'a> {
            #[serde(borrow)]
            roots: Vec<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Root {
            uri: String,
        }
        let Shown { mut roots } =
            serde_json::from_str(result).ok().filter(|_| result.len() <= MAX_SHOWN_BYTES)?;
        roots.truncate(paths::MAX_ROOTS);
        let uri = |root: &&RawValue| serde_json::from_str::<Root>(root.get()).ok().map(|root| root.uri);
        let uris = roots.iter().map(uri).collect::<Option<Vec<String>>>()?;
        let paths = uris.iter().map(|uri| path::of_uri(uri, style)).collect();
        let roots: Vec<&str> = roots.into_iter().map(RawValue::get).collect();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"roots":[{}]}}}}"#, roots.join(","));
        Some(Self { answer: RootsAnswer::new(&own_message(answer.into())?), paths, call })
    }

    pub(crate) fn answer(&self) -> &RootsAnswer {
        &self.answer
    }

    /// Whether they count in a call; `None`: outside of calls.
    pub(crate) fn count_in(&self, call: Option<u64>) -> bool {
        self.call.is_none() || self.call == call
    }

    /// Whether they are just this folder, or none if there is no folder.
    pub(crate) fn are_folder(&self, folder: Option<&str>, style: Style) -> bool {
        match (&self.paths[..], folder) {
            ([], None) => true,
            ([Some(only)], Some(folder)) => is_within(only, folder, style) && is_within(folder, only, style),
            _ => false,
        }
    }
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
        self.answer.as_deref()
    }

    pub(super) fn shown(&self) -> Option<&ShownRoots> {
        self.shown.as_deref()
    }

    pub(super) fn show(&mut self, shown: Option<ShownRoots>) {
        self.shown = shown.map(Box::new);
    }

    /// Starts an inquiry, which makes earlier ones outdated.
    pub(super) fn ask(&mut self, before: Vec<ClientRoot>) {
        self.inquiry = Inquiry::Asked { before, said: Vec::new() };
        self.inquiries += 1;
    }

    pub(super) fn note_answer(&mut self, answer: &Message) {
        self.answer = Some(Box::new(RootsAnswer::new(answer)));
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
