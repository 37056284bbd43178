//! The workspace of a request, with the reason. A pure function: all knowledge comes as arguments, and all
//! paths are absolute with links resolved.

use super::path::{Style, is_within};
use std::fmt;

/// A path named in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    pub named_by: NamedBy,
    pub path: String,
    /// The nearest enclosing folder that looks like a project.
    pub project: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedBy {
    Uri,
    Argument(String),
}

/// Everything known when a request arrives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Overrides everything else.
    pub pinned: Option<String>,
    /// Given at startup.
    pub given: Vec<String>,
    /// The client's own roots, as named last.
    pub client: Vec<String>,
    /// Roots learnt from earlier requests.
    pub seen: Vec<String>,
    /// Named in the client's environment.
    pub environment: Option<String>,
    pub working_folder: Option<String>,
    pub default: Option<String>,
    /// The user's home folder, which is not a workspace itself.
    pub home: Option<String>,
}

/// Permissions set by the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// An argument outside all roots makes its project a new root.
    pub open_roots: bool,
    /// Without a root, a backend without one is used.
    pub fallback: bool,
    pub style: Style,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Root {
        root: String,
        why: Why,
    },
    /// No root: use a backend without one.
    Fallback,
    /// No root, and none is permitted.
    Nowhere,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Pinned,
    /// Inside a known root.
    Within(NamedBy),
    /// Outside all roots; its project became one.
    Project(NamedBy),
    /// The client's only root, the default among its roots, or its first.
    Client,
    Environment,
    WorkingFolder,
    Default,
    FirstKnown,
}

pub fn decide(known: &Known, paths: &[NamedPath], policy: Policy) -> Decision {
    let root = |root: &str, why| Decision::Root { root: root.to_owned(), why };
    if let Some(pinned) = &known.pinned {
        return root(pinned, Why::Pinned);
    }
    // Paths in a request say most about its workspace, so they come before anything about the client.
    if let Some((found, why)) = paths.iter().find_map(|path| of_path(known, path, policy)) {
        return root(&found, why);
    }
    if let Some(found) = of_client(known, policy.style) {
        return root(found, Why::Client);
    }
    if let Some(found) = &known.environment {
        return root(found, Why::Environment);
    }
    if let Some(found) = of_folder(known, policy.style) {
        return root(found, Why::WorkingFolder);
    }
    if let Some(found) = &known.default {
        return root(found, Why::Default);
    }
    match known.given.first().or(known.seen.first()) {
        Some(found) => root(found, Why::FirstKnown),
        None if policy.fallback => Decision::Fallback,
        None => Decision::Nowhere,
    }
}

/// The innermost root around a path, or the project of a path outside all roots.
fn of_path(known: &Known, path: &NamedPath, policy: Policy) -> Option<(String, Why)> {
    let all = known.given.iter().chain(&known.client).chain(&known.seen);
    let around = all.filter(|root| is_within(&path.path, root, policy.style));
    // All of them enclose the path, so the longest is the innermost.
    if let Some(root) = around.max_by_key(|root| root.len()) {
        return Some((root.clone(), Why::Within(path.named_by.clone())));
    }
    let project = path.project.as_ref().filter(|_| policy.open_roots)?;
    match &path.named_by {
        // The URI of a resource is the server's choice, and does not tell where the user works.
        NamedBy::Uri => None,
        NamedBy::Argument(_) => Some((project.clone(), Why::Project(path.named_by.clone()))),
    }
}

fn of_client(known: &Known, style: Style) -> Option<&str> {
    let default = known.default.as_ref().filter(|default| {
        // Each within the other: equal, even where the system ignores case.
        known.client.iter().any(|root| is_within(root, default, style) && is_within(default, root, style))
    });
    default.or(known.client.first()).map(String::as_str)
}

/// The folder in which the client was started. If roots were given, it must lie in one of them.
fn of_folder(known: &Known, style: Style) -> Option<&str> {
    let folder = known.working_folder.as_deref().filter(|folder| is_workspace(folder, known, style))?;
    if known.given.is_empty() {
        return Some(folder);
    }
    let around = known.given.iter().filter(|root| is_within(folder, root, style));
    around.max_by_key(|root| root.len()).map(String::as_str)
}

/// Whether a folder can be a workspace. Clients started from a dock run in the root folder or in the user's home.
fn is_workspace(folder: &str, known: &Known, style: Style) -> bool {
    let is_outermost = match style {
        Style::Unix => folder == "/",
        // A drive: `C:\`.
        Style::Windows => folder.len() == 3,
    };
    let holds_home = known.home.as_ref().is_some_and(|home| is_within(home, folder, style));
    !is_outermost && !holds_home
}

/// For `explain` and the log.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned => write!(f, "it is pinned"),
            Self::Within(named) => write!(f, "{named} is inside it"),
            Self::Project(named) => write!(f, "{named} is in no known root, and this is its project"),
            Self::Client => write!(f, "it is the client's root"),
            Self::Environment => write!(f, "the client's environment names it"),
            Self::WorkingFolder => write!(f, "the client was started there"),
            Self::Default => write!(f, "it is the default root"),
            Self::FirstKnown => write!(f, "it is the first known root"),
        }
    }
}

impl fmt::Display for NamedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri => write!(f, "the URI"),
            Self::Argument(name) => write!(f, "the argument `{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `key=value` words: `pin`, `given`, `client`, `seen`, `env`, `cwd`, `default`, `home`, then `uri`
    /// and `arg:NAME`, whose project follows a `|`; and the policies `closed` and `no-fallback`.
    fn decided(words: &str) -> String {
        let mut known = Known::default();
        let mut paths = Vec::new();
        let mut policy = Policy { open_roots: true, fallback: true, style: Style::Unix };
        for word in words.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let text = value.to_owned();
            let path = |named_by| {
                let (path, project) = value.split_once('|').unwrap_or((value, ""));
                let project = Some(project.to_owned()).filter(|project| !project.is_empty());
                NamedPath { named_by, path: path.to_owned(), project }
            };
            match key {
                "pin" => known.pinned = Some(text),
                "given" => known.given.push(text),
                "client" => known.client.push(text),
                "seen" => known.seen.push(text),
                "env" => known.environment = Some(text),
                "cwd" => known.working_folder = Some(text),
                "default" => known.default = Some(text),
                "home" => known.home = Some(text),
                "uri" => paths.push(path(NamedBy::Uri)),
                "closed" => policy.open_roots = false,
                "no-fallback" => policy.fallback = false,
                key => paths.push(path(NamedBy::Argument(key.strip_prefix("arg:").unwrap().to_owned()))),
            }
        }
        match decide(&known, &paths, policy) {
            Decision::Root { root, why } => format!("{root}: {why}"),
            Decision::Fallback => "fallback".to_owned(),
            Decision::Nowhere => "nowhere".to_owned(),
        }
    }

    #[test]
    fn decisions_follow_the_table() {
        const TABLE: &[(&str, &str)] = &[
            // A pin overrides everything.
            ("pin=/p given=/a client=/b uri=/b/x", "/p: it is pinned"),
            // A path, by the longest prefix, from any source of roots.
            ("client=/a client=/b uri=/b/x", "/b: the URI is inside it"),
            ("client=/a client=/a/b uri=/a/b/c", "/a/b: the URI is inside it"),
            ("client=/a given=/a/b uri=/a/b/c", "/a/b: the URI is inside it"),
            ("client=/a seen=/s uri=/s/x", "/s: the URI is inside it"),
            ("client=/a uri=/ab/x", "/a: it is the client's root"),
            ("client=/a client=/b arg:path=/b", "/b: the argument `path` is inside it"),
            ("client=/a client=/b uri=/b arg:path=/a", "/b: the URI is inside it"),
            ("client=/a client=/b uri=/x arg:path=/b", "/b: the argument `path` is inside it"),
            // Outside all roots: its own project, for arguments, if permitted.
            (
                "client=/a arg:dir=/c/d|/c",
                "/c: the argument `dir` is in no known root, and this is its project",
            ),
            ("client=/a arg:dir=/c/d|/c closed", "/a: it is the client's root"),
            ("client=/a arg:dir=/c/d", "/a: it is the client's root"),
            ("client=/a uri=/c/d|/c", "/a: it is the client's root"),
            // Without a path: the client's root, its environment, its folder, the default, the first.
            ("client=/a client=/b env=/e cwd=/w default=/d", "/a: it is the client's root"),
            ("client=/a client=/b default=/b", "/b: it is the client's root"),
            ("env=/e cwd=/w default=/d given=/g", "/e: the client's environment names it"),
            ("cwd=/w default=/d", "/w: the client was started there"),
            ("cwd=/w default=/d given=/g", "/d: it is the default root"),
            ("cwd=/w given=/g", "/g: it is the first known root"),
            ("cwd=/g/x given=/h given=/g", "/g: the client was started there"),
            ("cwd=/ default=/d given=/g", "/d: it is the default root"),
            ("cwd=/home/me home=/home/me given=/g", "/g: it is the first known root"),
            ("cwd=/home home=/home/me given=/g", "/g: it is the first known root"),
            ("cwd=/home/me/x home=/home/me default=/g", "/home/me/x: the client was started there"),
            ("seen=/s given=/g", "/g: it is the first known root"),
            ("seen=/s", "/s: it is the first known root"),
            // Without any information.
            ("", "fallback"),
            ("cwd=/", "fallback"),
            ("uri=/x/y|/x", "fallback"),
            ("no-fallback", "nowhere"),
            ("cwd=/ no-fallback", "nowhere"),
        ];
        for (words, expect) in TABLE {
            assert_eq!(decided(words), *expect, "{words}");
        }
    }

    #[test]
    fn case_does_not_matter_on_windows() {
        let known = Known { client: vec![r"C:\Work".into()], ..Known::default() };
        let path = NamedPath { named_by: NamedBy::Uri, path: r"c:\work\x".into(), project: None };
        let policy = Policy { open_roots: false, fallback: false, style: Style::Windows };
        let expect = Decision::Root { root: r"C:\Work".into(), why: Why::Within(NamedBy::Uri) };
        assert_eq!(decide(&known, &[path], policy), expect);
    }
}
