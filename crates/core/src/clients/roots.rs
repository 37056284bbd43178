//! A client's roots: how far we have come in asking for them, and its answers.

use crate::clients::in_order;
use std::sync::Arc;
use switchboard_protocol::{Message, Part};

/// So many roots of a client count.
const MAX_ROOTS: usize = 1024;

/// How far we have come in asking a client for its roots.
#[derive(Debug)]
pub(crate) enum Roots {
    /// Nobody wanted to know.
    Unasked,
    /// A request to it is on its way, or what it said is being looked up. What it said before counts until then.
    Asked {
        before: Vec<ClientRoot>,
        said: Vec<ClientRoot>,
    },
    Told(Vec<ClientRoot>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientRoot {
    /// Canonical; nothing if it is no folder of this machine.
    pub(crate) path: Option<String>,
    /// As the client put it.
    pub(crate) raw: Box<str>,
}

/// What a client answered to `roots/list`.
#[derive(Debug, Clone)]
pub(crate) struct RootsAnswer {
    pub(crate) message: Message,
    /// Equal for equal answers, however they are spelled.
    pub(crate) key: Arc<str>,
}

impl RootsAnswer {
    pub(crate) fn new(message: &Message) -> Self {
        let part = message.part(Part::Result).or_else(|| message.part(Part::Error)).unwrap_or_default();
        let key = match serde_json::from_slice(part) {
            Ok(value) => in_order(value).to_string(),
            Err(_) => String::from_utf8_lossy(part).into_owned(),
        };
        Self { message: message.clone(), key: key.into() }
    }
}

impl Roots {
    /// What the client said last.
    pub(crate) fn latest(&self) -> &[ClientRoot] {
        match self {
            Self::Unasked => &[],
            Self::Asked { before, .. } => before,
            Self::Told(roots) => roots,
        }
    }
}

/// The roots of a client that count.
pub(crate) fn limited(roots: impl Iterator<Item = ClientRoot>) -> Vec<ClientRoot> {
    roots.take(MAX_ROOTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_limited() {
        let roots = (0..5000).map(|_| ClientRoot { path: None, raw: "{}".into() });
        assert_eq!(limited(roots).len(), MAX_ROOTS);
    }
}
