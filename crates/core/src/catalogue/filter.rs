//! The visible items of a server and their new names. All names here are the server's own.

use super::held::Held;
use super::layer::Layer;
use super::list::List;
use super::readings;
use crate::text::glob::matches;
use std::sync::Arc;

/// `allow` and `deny` are globs: `*` matches any text, `?` any one character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// An empty list allows everything.
    pub allow: Vec<String>,
    /// Takes precedence over `allow`.
    pub deny: Vec<String>,
    /// From the server's name to another, before the prefix. Not for resources.
    pub rename: Vec<(String, String)>,
    /// Rights of a client: each must allow an item as well.
    pub layers: Vec<Layer>,
    /// Tools that are hidden until their owner approves them.
    pub held: Option<Arc<Held>>,
}

impl Filter {
    pub fn allows(&self, name: &str) -> bool {
        self.admits(name) && !self.holds(name)
    }

    /// Whether an item would be visible, were it not held back.
    pub fn is_held(&self, name: &str) -> bool {
        self.holds(name) && self.admits(name)
    }

    fn holds(&self, name: &str) -> bool {
        self.held.as_ref().is_some_and(|held| held.hides(name))
    }

    fn admits(&self, name: &str) -> bool {
        (self.allow.is_empty() || any(&self.allow, name))
            && !any(&self.deny, name)
            && self.layers.iter().all(|layer| layer.allows_name(name, self.renamed(name)))
    }

    /// Same as [`allows`](Self::allows) for URIs and templates, which are compared by meaning, not by spelling.
    pub fn allows_uri(&self, uri: &str) -> bool {
        (self.allow.is_empty() || readings::allows(&self.allow, uri))
            && !readings::denies(&self.deny, uri)
            && self.layers.iter().all(|layer| layer.allows_uri(uri))
    }

    pub fn denies_uri(&self, uri: &str) -> bool {
        readings::denies(&self.deny, uri) || self.layers.iter().any(|layer| layer.denies_uri(uri))
    }

    /// Whether only named items are visible, so that a template may allow a URI that is not named.
    pub fn is_selective(&self) -> bool {
        !self.allow.is_empty() || self.layers.iter().any(Layer::is_selective)
    }

    /// Whether some items may be hidden.
    pub fn hides(&self) -> bool {
        !(self.allow.is_empty() && self.deny.is_empty() && self.layers.is_empty() && self.held.is_none())
    }

    /// Whether no item can be visible, whatever its name.
    pub fn hides_all(&self) -> bool {
        self.deny.iter().any(|glob| glob == "*")
            || self.layers.iter().any(Layer::hides_all)
            || self.held.as_ref().is_some_and(|held| held.hides_all())
    }

    /// Whether an item of this list is visible, by its name, URI or template.
    pub fn shows(&self, list: List, key: &str) -> bool {
        match list {
            List::Tools | List::Prompts => self.allows(key),
            List::Resources | List::Templates => self.allows_uri(key),
        }
    }

    /// The name for clients of this server alone; `None` if the item is hidden. A name that `rename` gives to
    /// another item is not available.
    pub fn shown_as<'a>(&'a self, own: &'a str) -> Option<&'a str> {
        let shown = self.renamed(own);
        (self.allows(own) && self.original(shown) == own).then_some(shown)
    }

    /// The server's name for an item visible under this name; `None` if there cannot be one.
    pub fn meant_by<'a>(&'a self, shown: &'a str) -> Option<&'a str> {
        let own = self.original(shown);
        (self.allows(own) && self.renamed(own) == shown).then_some(own)
    }

    /// The server's name for an item that would be visible under this name, were it not held back.
    pub fn held_by_name<'a>(&'a self, shown: &'a str) -> Option<&'a str> {
        let own = self.original(shown);
        (self.is_held(own) && self.renamed(own) == shown).then_some(own)
    }

    /// Whether everything is visible under its own name.
    pub fn is_open(&self) -> bool {
        !self.hides() && self.rename.is_empty()
    }

    /// The new name, before the prefix.
    pub fn renamed<'a>(&'a self, name: &'a str) -> &'a str {
        self.rename.iter().find(|(from, _)| from == name).map_or(name, |(_, to)| to)
    }

    /// The server's name for a renamed item.
    pub fn original<'a>(&'a self, name: &'a str) -> &'a str {
        self.rename.iter().find(|(_, to)| to == name).map_or(name, |(from, _)| from)
    }
}

fn any(globs: &[String], name: &str) -> bool {
    globs.iter().any(|glob| matches(glob, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_wins_and_empty_allow_means_all() {
        let filter = |allow: &[&str], deny: &[&str]| Filter {
            allow: allow.iter().map(|&s| s.into()).collect(),
            deny: deny.iter().map(|&s| s.into()).collect(),
            ..Filter::default()
        };
        assert!(filter(&[], &[]).allows("x"));
        assert!(filter(&["read*"], &[]).allows("read"));
        assert!(!filter(&["read*"], &[]).allows("write"));
        assert!(!filter(&["*"], &["w*"]).allows("write"));
        assert!(!filter(&[], &["w*"]).allows("write"));
    }

    #[test]
    fn rename_is_reversible() {
        let filter = Filter { rename: vec![("a".into(), "b".into())], ..Filter::default() };
        assert_eq!((filter.renamed("a"), filter.renamed("c")), ("b", "c"));
        assert_eq!((filter.original("b"), filter.original("c")), ("a", "c"));
    }

    #[test]
    fn rename_target_is_not_available() {
        let pairs = [("a", "b"), ("x", "y"), ("y", "x")].map(|(from, to)| (from.into(), to.into()));
        let filter = Filter { deny: vec!["bad*".into()], rename: pairs.to_vec(), ..Filter::default() };
        for (own, shown) in [("a", Some("b")), ("b", None), ("c", Some("c")), ("x", Some("y")), ("bad", None)]
        {
            assert_eq!(filter.shown_as(own), shown, "{own}");
        }
        for (shown, own) in [("b", Some("a")), ("a", None), ("c", Some("c")), ("x", Some("y")), ("bad", None)]
        {
            assert_eq!(filter.meant_by(shown), own, "{shown}");
        }
    }
}
