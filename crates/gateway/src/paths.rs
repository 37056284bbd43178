//! Paths that messages and the environment name, looked up on disk: links are followed, and the project around a path is
//! found. Must not know which root a request gets: that is [`decide`](switchboard_core::routing::decide)'s.
//!
//! Calls may block on a file system that hangs.

use crate::config::{Lookup, folders};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use switchboard_core::routing::path::{self, Style};
use switchboard_core::routing::{NamedBy, NamedPath};

/// Entries that make a folder a repository.
const REPOSITORY_MARKS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Other entries in the topmost folder of a project. `Makefile` and `CMakeLists.txt` are not among them: many folders of one
/// project have them, and each would be a workspace.
const PROJECT_MARKS: [&str; 13] = [
    ".vscode",
    ".idea",
    "switchboard.json",
    "package.json",
    "deno.json",
    "Cargo.toml",
    "go.mod",
    "pyproject.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "composer.json",
    "Gemfile",
];

/// Variables in which clients name the folder that they were opened on. Claude Code sets the first, Cursor the second, which may name
/// several.
const ROOT_VARIABLES: [&str; 2] = ["CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS"];

/// Cached results expire: a folder may be moved, or become a project.
const CACHE_TTL: Duration = Duration::from_secs(10);
const MAX_CACHED_PATHS: usize = 256;

/// Looks the named paths up: one place for each, in their order.
pub fn look_up(named: Vec<(NamedBy, String)>) -> Vec<NamedPath> {
    static HOME: OnceLock<Option<String>> = OnceLock::new();
    let home = HOME.get_or_init(|| home(&|name| std::env::var_os(name)));
    look_up_beside(named, home.as_deref())
}

fn look_up_beside(named: Vec<(NamedBy, String)>, home: Option<&str>) -> Vec<NamedPath> {
    let places = named.into_iter().map(|(named_by, path)| {
        let path = canonical(Path::new(&path)).unwrap_or(path);
        let project = project(Path::new(&path), home);
        NamedPath { named_by, path, project }
    });
    places.collect()
}

/// The project that a path lies in: the nearest repository, so that the packages of one are not a workspace each; else
/// the nearest folder with another mark. A user's home is none, whatever lies in it, nor is what holds it.
fn project(path: &Path, home: Option<&str>) -> Option<String> {
    let has_one = |folder: &Path, marks: &[&str]| {
        marks.iter().any(|mark| fs::symlink_metadata(folder.join(mark)).is_ok())
    };
    let mut nearest = None;
    // A file has no marks in it, and may stand among the folders here.
    for folder in path.ancestors().take_while(|folder| folder.parent().is_some()) {
        let text = folder.to_str()?;
        if home.is_some_and(|home| path::is_within(home, text, Style::OWN)) {
            break;
        }
        if has_one(folder, &REPOSITORY_MARKS) {
            return Some(text.to_owned());
        }
        if nearest.is_none() && has_one(folder, &PROJECT_MARKS) {
            nearest = Some(text.to_owned());
        }
    }
    nearest
}

/// The absolute path with all links followed; nothing if it is no Unicode. Of a path that does not exist, the part
/// that does is followed, and the rest stands as it is.
pub fn canonical(path: &Path) -> Option<String> {
    // Does not touch `..`: what that means behind a link, only the system knows.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find_map(|above| {
        let followed = fs::canonicalize(above).ok()?;
        let rest = path.strip_prefix(above).ok()?;
        Some(followed.join(rest))
    });
    path::clean(found.unwrap_or(path).to_str()?, Style::OWN)
}

/// The folder that the client's environment names.
pub fn of_environment(vars: Lookup<'_>) -> Option<String> {
    ROOT_VARIABLES.iter().find_map(|name| {
        let value = vars(name)?;
        let value = value.to_str()?;
        // A folder's own name may have a comma or a colon in it.
        let parts = value.split([',', LIST_SEPARATOR]);
        std::iter::once(value).chain(parts).find_map(|text| folder(Path::new(text.trim())))
    })
}

const LIST_SEPARATOR: char = match Style::OWN {
    Style::Unix => ':',
    Style::Windows => ';',
};

pub fn working_folder() -> Option<String> {
    folder(&std::env::current_dir().ok()?)
}

/// The user's own folder.
pub fn home(vars: Lookup<'_>) -> Option<String> {
    folders::home(vars).as_deref().and_then(canonical)
}

/// A relative path would be another folder for everyone.
fn folder(path: &Path) -> Option<String> {
    (path.is_absolute() && path.is_dir()).then(|| canonical(path)).flatten()
}

/// Remembers for a moment what was looked up, so that a client that names one file again and again does not have the
/// disk asked each time.
#[derive(Default)]
pub(crate) struct Resolver {
    /// By the path as it was named.
    known: HashMap<String, Resolved>,
}

struct Resolved {
    path: String,
    project: Option<String>,
    at: Instant,
}

impl Resolver {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The places, if none of them has to be looked up.
    pub(crate) fn known(&self, named: &[(NamedBy, String)], now: Instant) -> Option<Vec<NamedPath>> {
        let places = named.iter().map(|(named_by, path)| {
            let Resolved { path, project, .. } = self.known.get(path).filter(|known| known.is_fresh(now))?;
            Some(NamedPath { named_by: named_by.clone(), path: path.clone(), project: project.clone() })
        });
        places.collect()
    }

    /// What [`look_up`] made of these.
    pub(crate) fn remember(&mut self, named: &[(NamedBy, String)], places: &[NamedPath], now: Instant) {
        for ((_, name), place) in named.iter().zip(places) {
            if self.known.len() >= MAX_CACHED_PATHS && !self.known.contains_key(name) {
                self.make_room(now);
            }
            let resolved = Resolved { path: place.path.clone(), project: place.project.clone(), at: now };
            self.known.insert(name.clone(), resolved);
        }
    }

    fn make_room(&mut self, now: Instant) {
        self.known.retain(|_, known| known.is_fresh(now));
        if self.known.len() >= MAX_CACHED_PATHS
            && let Some(oldest) =
                self.known.iter().min_by_key(|(_, known)| known.at).map(|(name, _)| name.clone())
        {
            self.known.remove(&oldest);
        }
    }
}

impl Resolved {
    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < CACHE_TTL
    }
}

#[cfg(test)]
mod tests;
