//! Environments of clients, and which backend has enough variables for which client. Compares names and
//! digests of values; the values themselves stay with the gateway.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::iter::Peekable;
use std::sync::Arc;

/// Limit on names that `status` shows for a difference.
const MAX_SHOWN_NAMES: usize = 6;

/// A digest of a variable's value, computed by the gateway.
pub type ValueDigest = [u8; 16];

/// A variable that matters when clients share a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: Arc<str>,
    pub value: ValueDigest,
}

/// Variables sorted by name, without duplicates.
pub type Variables = Arc<[Variable]>;

/// The variables of a client as the gateway knows them. Opaque here, and held only as long as a backend may need them.
#[derive(Clone)]
pub struct Source(Arc<dyn Any + Send + Sync>);

impl Source {
    pub fn new<T: Any + Send + Sync>(variables: Arc<T>) -> Self {
        Self(variables)
    }

    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

/// The environment that a client brings for a server, or that a backend's process has. A pointer: a client
/// has one per server, and most of them are equal.
#[derive(Debug, Clone, Default)]
pub struct Environment(Arc<Content>);

#[derive(Debug, Clone, Default)]
struct Content {
    /// Variables named in the server's entry. A client shares only a backend with exactly these.
    named: Variables,
    /// Variables that every server gets. A client shares a backend that has at least these.
    common: Variables,
    /// The clients' actual variables, largest environment first.
    sources: Vec<(usize, Source)>,
}

/// Two environments are equal if they separate the same clients.
impl PartialEq for Environment {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.named == other.0.named && self.0.common == other.0.common)
    }
}

impl Eq for Environment {}

impl Environment {
    pub fn new(named: Variables, common: Variables, source: Option<Source>) -> Self {
        let sources = source.into_iter().map(|source| (common.len(), source)).collect();
        Self(Arc::new(Content { named, common, sources }))
    }

    /// Returns `other` instead if it is equal and from the same client, so that memory is shared.
    pub fn or_same(self, other: &Self) -> Self {
        let pairs = || self.0.sources.iter().zip(&other.0.sources);
        let is_drawn_from_same = self.0.sources.len() == other.0.sources.len()
            && pairs().all(|((_, one), (_, other))| Arc::ptr_eq(&one.0, &other.0));
        if is_drawn_from_same && self == *other { other.clone() } else { self }
    }

    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.0.sources.iter().map(|(_, source)| source)
    }

    /// Whether a client misses nothing in a backend with this environment.
    pub fn serves(&self, client: &Self) -> bool {
        let is_same = |one: &Variables, other: &Variables| Arc::ptr_eq(one, other) || one == other;
        is_same(&self.0.named, &client.0.named)
            && (is_same(&self.0.common, &client.0.common)
                || pairs(&client.0.common, &self.0.common)
                    .all(|(mine, there)| mine.is_none() || mine == there))
    }

    /// An environment that serves both, unless a variable has two values.
    pub fn merged(&self, other: &Self) -> Option<Self> {
        if self.0.named != other.0.named {
            return None;
        }
        let mut common = Vec::new();
        for pair in pairs(&self.0.common, &other.0.common) {
            match pair {
                (Some(one), Some(other)) if one != other => return None,
                (one, other) => common.extend(one.or(other).cloned()),
            }
        }
        let mut merged = Self::new(self.0.named.clone(), common.into(), None);
        merged.draw_from([self, other]);
        Some(merged)
    }

    /// Replaces the sources. Where the clients' values differ without consequence, the largest environment counts.
    pub(crate) fn draw_from<'a>(&mut self, environments: impl IntoIterator<Item = &'a Self>) {
        let mut sources: Vec<(usize, Source)> = Vec::new();
        for (size, source) in environments.into_iter().flat_map(|environment| &environment.0.sources) {
            if !sources.iter().any(|(_, known)| Arc::ptr_eq(&known.0, &source.0)) {
                sources.push((*size, source.clone()));
            }
        }
        sources.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        Arc::make_mut(&mut self.0).sources = sources;
    }

    /// A copy for comparisons, which must not keep a client's values alive.
    pub(crate) fn without_sources(&self) -> Self {
        Self::new(self.0.named.clone(), self.0.common.clone(), None)
    }

    /// Number of variables that every server gets.
    pub(crate) fn size(&self) -> usize {
        self.0.common.len()
    }

    /// The names of the variables that separate clients of the two, for people.
    pub(crate) fn differences(&self, other: &Self) -> String {
        let named = pairs(&self.0.named, &other.0.named);
        let common = pairs(&self.0.common, &other.0.common);
        let different: Vec<_> = named.chain(common).filter(|(one, other)| one != other).collect();
        // If some variables have two values, those that only one side has are not the reason.
        let are_two =
            |(one, other): &&(Option<&Variable>, Option<&Variable>)| one.is_some() && other.is_some();
        let has_two = different.iter().any(|pair| are_two(&pair));
        let different = different.iter().filter(|pair| !has_two || are_two(pair));
        let names: Vec<&str> =
            different.filter_map(|(one, other)| one.or(*other)).map(|variable| &*variable.name).collect();
        match names.len().saturating_sub(MAX_SHOWN_NAMES) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names[..MAX_SHOWN_NAMES].join(", ")),
        }
    }
}

/// Walks through two sorted lists in parallel, name by name.
fn pairs<'a>(
    one: &'a [Variable],
    other: &'a [Variable],
) -> impl Iterator<Item = (Option<&'a Variable>, Option<&'a Variable>)> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    std::iter::from_fn(move || next_pair(&mut one, &mut other))
}

fn next_pair<'a>(
    one: &mut Peekable<impl Iterator<Item = &'a Variable>>,
    other: &mut Peekable<impl Iterator<Item = &'a Variable>>,
) -> Option<(Option<&'a Variable>, Option<&'a Variable>)> {
    match (one.peek(), other.peek()) {
        (None, None) => None,
        (Some(_), None) => Some((one.next(), None)),
        (None, Some(_)) => Some((None, other.next())),
        (Some(mine), Some(theirs)) => Some(match mine.name.cmp(&theirs.name) {
            Ordering::Less => (one.next(), None),
            Ordering::Equal => (one.next(), other.next()),
            Ordering::Greater => (None, other.next()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(text: &str) -> Variables {
        let variable = |word: &str| {
            let (name, value) = word.split_once('=').unwrap();
            Variable { name: name.into(), value: [value.as_bytes()[0]; 16] }
        };
        text.split_whitespace().map(variable).collect()
    }

    fn environment(named: &str, common: &str) -> Environment {
        let source = Source::new(Arc::new(common.to_owned()));
        Environment::new(variables(named), variables(common), Some(source))
    }

    #[test]
    fn client_needs_a_subset_of_backend_env() {
        let backend = environment("", "B=1 C=1 D=1");
        for (client, expect) in
            [("", true), ("C=1", true), ("B=1 D=1", true), ("A=1", false), ("C=2", false), ("E=1", false)]
        {
            assert_eq!(backend.serves(&environment("", client)), expect, "{client}");
        }
    }

    #[test]
    fn named_variables_must_be_equal() {
        let backend = environment("T=1", "A=1");
        assert!(backend.serves(&environment("T=1", "")));
        assert!(!backend.serves(&environment("", "")));
        assert!(!backend.serves(&environment("T=2", "")));
        assert_eq!(backend.merged(&environment("T=2", "B=1")), None);
    }

    #[test]
    fn merging_keeps_what_both_have() {
        let merged = environment("", "A=1 C=1").merged(&environment("", "B=1 C=1 D=1")).unwrap();
        assert_eq!(merged, environment("", "A=1 B=1 C=1 D=1"));
        let sources: Vec<String> =
            merged.sources().map(|source| source.get::<String>().unwrap().to_string()).collect();
        assert_eq!(sources, ["B=1 C=1 D=1", "A=1 C=1"], "the richest first");
        assert_eq!(environment("", "A=1").merged(&environment("", "A=2")), None);
    }

    #[test]
    fn differences_are_named() {
        let one = environment("T=1", "A=1 B=1");
        assert_eq!(one.differences(&environment("T=2", "B=1 C=1")), "T");
        assert_eq!(one.differences(&environment("", "C=1 D=1 E=1 F=1 G=1")), "T, A, B, C, D, E and 2 more");
    }
}
