//! Paths from messages and the environment, resolved on disk: links are followed, and the project around
//! a path is found. Must not know which root a request gets:
//! [`decide`](switchboard_core::routing::decide) knows.
//!
//! Calls may block on an unresponsive file system.

use crate::config::{Lookup, folders};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use switchboard_core::routing::path::{self, Style};
use switchboard_core::routing::{NamedBy, NamedPath};
use switchboard_process::real_path::real;

/// Entries that mark a repository.
const REPOSITORY_MARKS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Entries that mark the top folder of a project. `Makefile` and `CMakeLists.txt` are missing on purpose:
/// many folders of one project have them, and each would become a workspace.
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

/// Variables in which clients name the folder they were opened on. Claude Code sets the first; Cursor sets
/// the second, which may name several.
const ROOT_VARIABLES: [&str; 2] = ["CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS"];

/// Cached results expire: a folder may be moved, or become a project.
const CACHE_TTL: Duration = Duration::from_secs(10);
const MAX_CACHED_PATHS: usize = 256;

/// Resolves the named paths, in their order.
pub fn look_up(named: Vec<(NamedBy, String)>) -> Vec<NamedPath> {
    static HOME: OnceLock<Option<String>> = OnceLock::new();
    // The user's home does not change, and resolving it needs the disk.
    let home = HOME.get_or_init(|| home(&|name| std::env::var_os(name)));
    look_up_beside(named, home.as_deref())
}

fn look_up_beside(named: Vec<(NamedBy, String)>, home: Option<&str>) -> Vec<NamedPath> {
    let found = named.into_iter().map(|(named_by, path)| {
        // A path that cannot be resolved counts as it was written.
        let path = canonical(Path::new(&path)).unwrap_or(path);
        let project = project(Path::new(&path), home);
        NamedPath { named_by, path, project }
    });
    found.collect()
}

/// Project around a path: the nearest repository, so that its packages are not separate workspaces; otherwise
/// the nearest folder with another mark. A user's home and the folders above it never count.
fn project(path: &Path, home: Option<&str>) -> Option<String> {
    let has_one = |folder: &Path, marks: &[&str]| {
        marks.iter().any(|mark| fs::symlink_metadata(folder.join(mark)).is_ok())
    };
    let mut nearest = None;
    // A file among the ancestors is harmless: it contains no marks.
    // The root of the file system is never a project.
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

/// Absolute path with all links followed; `None` if it is not Unicode. If the path does not exist, links are
/// followed in the part that does.
pub fn canonical(path: &Path) -> Option<String> {
    // Leaves `..` alone: behind a link, only the system knows what it means.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find_map(|above| {
        let followed = real(above).ok()?;
        let rest = path.strip_prefix(above).ok()?;
        Some(followed.join(rest))
    });
    path::clean(found.unwrap_or(path).to_str()?, Style::OWN)
}

/// Folder that the client's environment names.
pub fn of_environment(vars: Lookup<'_>) -> Option<String> {
    ROOT_VARIABLES.iter().find_map(|name| {
        let value = vars(name)?;
        let value = value.to_str()?;
        // Tried as a whole first: a folder's name may contain a comma or a colon.
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

/// The user's home folder.
pub fn home(vars: Lookup<'_>) -> Option<String> {
    folders::home(vars).as_deref().and_then(canonical)
}

/// Canonical path of a folder. Relative paths are refused: they would mean another folder in every process.
fn folder(path: &Path) -> Option<String> {
    (path.is_absolute() && path.is_dir()).then(|| canonical(path)).flatten()
}

/// Short-lived cache of resolved paths, for a client that names one file again and again.
#[derive(Default)]
pub(crate) struct Resolver {
    /// Keyed by the path as it was named.
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

    /// Resolved paths, if all of them are cached.
    pub(crate) fn known(&self, named: &[(NamedBy, String)], now: Instant) -> Option<Vec<NamedPath>> {
        let found = named.iter().map(|(named_by, path)| {
            let Resolved { path, project, .. } = self.known.get(path).filter(|known| known.is_fresh(now))?;
            Some(NamedPath { named_by: named_by.clone(), path: path.clone(), project: project.clone() })
        });
        found.collect()
    }

    /// Stores the results of [`look_up`].
    pub(crate) fn remember(&mut self, named: &[(NamedBy, String)], found: &[NamedPath], now: Instant) {
        for ((_, name), place) in named.iter().zip(found) {
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
