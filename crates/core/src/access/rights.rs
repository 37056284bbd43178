//! Servers, items and methods that an identity may use. Decides by name alone, never by whether the named thing
//! exists: a refusal must not tell.

use crate::text::glob::matches;

/// Globs: `*` matches any text, `?` any one character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    /// An empty list allows everything.
    pub allow: Vec<String>,
    /// Takes precedence over `allow`.
    pub deny: Vec<String>,
}

/// Rights of a token or a profile. The default allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    pub servers: Patterns,
    /// A pattern that contains `__` is compared with `SERVER__NAME`, any other with the server's own name.
    pub tools: Patterns,
    pub prompts: Patterns,
    pub resources: Patterns,
    /// MCP methods, such as `tools/call`. Handshake, pings, log levels and notifications are always allowed.
    pub methods: Patterns,
}

impl Patterns {
    /// Patterns that allow nothing.
    pub fn nothing() -> Self {
        Self { allow: Vec::new(), deny: vec!["*".to_owned()] }
    }

    pub fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    pub fn allows(&self, name: &str) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| matches(glob, name));
        (self.allow.is_empty() || any(&self.allow)) && !any(&self.deny)
    }
}

impl Rights {
    /// Whether everything is allowed.
    pub fn is_open(&self) -> bool {
        [&self.servers, &self.tools, &self.prompts, &self.resources, &self.methods]
            .into_iter()
            .all(Patterns::is_open)
    }

    /// Rights that allow nothing but a handshake.
    pub fn nothing() -> Self {
        Self { servers: Patterns::nothing(), methods: Patterns::nothing(), ..Self::default() }
    }

    /// Whether a server may be used, by its name in the config.
    pub fn allows_server(&self, name: &str) -> bool {
        self.servers.allows(name)
    }

    /// Whether a method may be used. Ignores letter case, since a server may do so too. A name that is not
    /// plain text may mean anything to a server, so it is allowed only where all methods are.
    pub fn allows_method(&self, name: &str) -> bool {
        if self.methods.is_open() {
            return true;
        }
        let any = |globs: &[String]| {
            globs.iter().any(|glob| matches(&glob.to_ascii_lowercase(), &name.to_ascii_lowercase()))
        };
        let is_plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic());
        is_plain && (self.methods.allow.is_empty() || any(&self.methods.allow)) && !any(&self.methods.deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_takes_precedence() {
        let patterns = |allow: &[&str], deny: &[&str]| Patterns {
            allow: allow.iter().map(|&glob| glob.to_owned()).collect(),
            deny: deny.iter().map(|&glob| glob.to_owned()).collect(),
        };
        for (allow, deny, name, expect) in [
            (&[][..], &[][..], "a", true),
            (&["read_*"], &[], "read_file", true),
            (&["read_*"], &[], "write_file", false),
            (&["read_*"], &["*_secret"], "read_secret", false),
            (&[], &["write_*"], "read_file", true),
            (&[], &["*"], "read_file", false),
        ] {
            assert_eq!(patterns(allow, deny).allows(name), expect, "{allow:?} {deny:?} {name}");
        }
    }

    #[test]
    fn letter_case_leads_around_nothing() {
        let rights = |allow: &[&str], deny: &[&str]| {
            let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
            Rights { methods: Patterns { allow: globs(allow), deny: globs(deny) }, ..Rights::default() }
        };
        for (allow, deny, method, expect) in [
            (&[][..], &[][..], "any\u{0}thing", true),
            (&[], &["tools/call"], "tools/call", false),
            (&[], &["tools/call"], "Tools/CALL", false),
            (&[], &["Tools/*"], "tools/list", false),
            (&[], &["tools/call"], "tools/call ", false),
            (&[], &["tasks/*"], "tas\u{212a}s/list", false),
            (&[], &["tools/call"], "", false),
            (&[], &["tools/call"], "tools/list", true),
            (&["tools/*"], &[], "tools/list", true),
            (&["tools/*"], &[], "prompts/list", false),
        ] {
            assert_eq!(rights(allow, deny).allows_method(method), expect, "{allow:?} {deny:?} {method}");
        }
    }

    #[test]
    fn nothing_is_not_open() {
        let nothing = Rights::nothing();
        assert!(!nothing.is_open() && !nothing.allows_server("a") && !nothing.allows_method("tools/list"));
        assert!(Rights::default().is_open());
    }
}
