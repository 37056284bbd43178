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
    /// MCP methods, such as `tools/call`. Handshake, pings and notifications are always allowed.
    pub methods: Patterns,
}

impl Patterns {
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
}
