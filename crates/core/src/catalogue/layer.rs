//! One set of a client's rights over the items of one server. Several layers may lie over each other, and over
//! the server's own filter. Decides by name alone, never by whether the named item exists.

use super::names::{self, SEPARATOR};
use super::readings;
use crate::access::Patterns;
use crate::text::glob::matches;
use std::sync::Arc;

/// Rights over one kind of items of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    server: Arc<str>,
    patterns: Patterns,
}

impl Layer {
    pub fn new(server: Arc<str>, patterns: Patterns) -> Self {
        Self { server, patterns }
    }

    /// A layer that hides everything.
    pub fn nothing(server: Arc<str>) -> Self {
        Self { server, patterns: Patterns::nothing() }
    }

    /// Whether a tool or prompt is allowed. `own` is the server's name for it, `renamed` the one that the
    /// config gives it.
    pub(super) fn allows_name(&self, own: &str, renamed: &str) -> bool {
        let Patterns { allow, deny } = &self.patterns;
        (allow.is_empty() || allow.iter().any(|glob| self.allows_by(glob, own)))
            && !deny.iter().any(|glob| self.denies_by(glob, own, renamed))
    }

    pub(super) fn allows_uri(&self, uri: &str) -> bool {
        let allow = &self.patterns.allow;
        (allow.is_empty() || readings::allows(allow, uri)) && !self.denies_uri(uri)
    }

    pub(super) fn denies_uri(&self, uri: &str) -> bool {
        readings::denies(&self.patterns.deny, uri)
    }

    pub(super) fn is_selective(&self) -> bool {
        !self.patterns.allow.is_empty()
    }

    pub(super) fn hides_all(&self) -> bool {
        self.patterns.deny.iter().any(|glob| glob == "*")
    }

    /// A pattern with a separator names the server as well.
    fn allows_by(&self, glob: &str, own: &str) -> bool {
        match glob.contains(SEPARATOR) {
            true => matches(glob, &format!("{}{SEPARATOR}{own}", self.server)),
            false => matches(glob, own),
        }
    }

    /// A denied name is denied in every form in which people see it: a pattern that misses its target because
    /// of a rename would go unnoticed. Ignores case, and what a server may trim.
    fn denies_by(&self, glob: &str, own: &str, renamed: &str) -> bool {
        let lower = glob.to_lowercase();
        let is_it = |name: &str| {
            let trimmed = name.trim_matches(|c: char| c.is_whitespace() || c.is_control());
            matches(glob, name) || matches(&lower, &trimmed.to_lowercase())
        };
        let joined = |name: &str| format!("{}{SEPARATOR}{name}", self.server);
        is_it(own)
            || is_it(renamed)
            || glob.contains(SEPARATOR)
                && (is_it(&joined(own))
                    || is_it(&joined(renamed))
                    || is_it(&names::prefixed(&self.server, own, renamed).text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(allow: &[&str], deny: &[&str]) -> Layer {
        let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
        Layer::new("my.server".into(), Patterns { allow: globs(allow), deny: globs(deny) })
    }

    #[test]
    fn separator_names_the_server() {
        for (glob, name, expect) in [
            ("read", "read", true),
            ("read*", "read_all", true),
            ("my.server__read", "read", true),
            ("my.server__*", "read", true),
            ("*__read", "read", true),
            ("other__*", "read", false),
            // The own name of a tool of another Switchboard does not name the server.
            ("inner__read", "inner__read", false),
            ("my.server__inner__read", "inner__read", true),
        ] {
            assert_eq!(layer(&[glob], &[]).allows_name(name, name), expect, "{glob} {name}");
        }
    }

    #[test]
    fn every_form_of_a_name_is_denied() {
        for (glob, expect) in [
            ("old", false),
            ("new", false),
            ("my.server__old", false),
            ("my.server__new", false),
            ("my_server__new", false),
            ("*__old", false),
            ("other__old", true),
            ("my.server", true),
        ] {
            assert_eq!(layer(&[], &[glob]).allows_name("old", "new"), expect, "{glob}");
        }
        assert!(!layer(&[], &["inner__read"]).allows_name("inner__read", "inner__read"));
        for disguised in ["Old", " old", "old\n", "OLD\0"] {
            assert!(!layer(&[], &["old"]).allows_name(disguised, disguised), "{disguised:?}");
            assert!(!layer(&["old"], &[]).allows_name(disguised, disguised), "{disguised:?}");
        }
    }
}
