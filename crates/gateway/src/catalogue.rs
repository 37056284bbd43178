//! Catalogues of servers, stored on disk between runs, so that lists can be answered before a
//! server is started. One file per launch, as the config has it, and profile: the
//! capabilities that the server was told.
//!
//! The content is opaque here. No error is fatal: an unreadable file counts as missing.

use crate::config::ServerConfig;
use crate::launches::{hash, launch_key};
use crate::stored_file;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use switchboard_core::Principal;
use switchboard_core::catalogue::OfferKey;
use switchboard_core::text::dates::Timestamp;
use switchboard_process::private;

#[cfg(test)]
mod tests;

/// Format of the files. To be raised when older versions of the program cannot read newer files.
const FORMAT_VERSION: u32 = 1;
const FOLDER: &str = "catalogue";
const ENDING: &str = ".catalogue";
/// Limit per launch. Clients differ in few ways, but some launches depend on the root.
const MAX_PROFILES_PER_LAUNCH: usize = 64;
const MAX_FILES: usize = 512;
/// Largest file that is read or written.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// All catalogues of this user.
#[derive(Clone)]
pub(crate) struct Shelf {
    folder: Arc<Path>,
}

/// First line of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// For readers of the folder; one launch may have several names.
    server: String,
    profile: String,
    /// Root, where the launch depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// Whether it is for the owner only.
    #[serde(default, skip_serializing_if = "is_false")]
    private: bool,
    saved: String,
    /// Number of bytes after this line, to detect a truncated file.
    bytes: usize,
}

/// File of the folder, known by its name alone.
struct CatalogueFile {
    entry: fs::DirEntry,
    launch: String,
    /// Hash of the offer's key.
    key: String,
}

impl Shelf {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.join(FOLDER).into() }
    }

    /// Stored catalogues of this server, newest first.
    pub(crate) fn load(&self, server: &ServerConfig) -> Vec<(OfferKey, Bytes)> {
        self.load_all(std::slice::from_ref(server)).pop().unwrap_or_default()
    }

    /// Stored catalogues of each server, with one listing of the folder.
    pub(crate) fn load_all(&self, servers: &[ServerConfig]) -> Vec<Vec<(OfferKey, Bytes)>> {
        let launches: Vec<String> = servers.iter().map(launch_key).collect();
        let mut found: HashMap<&str, Vec<CatalogueFile>> =
            launches.iter().map(|key| (&**key, Vec::new())).collect();
        for file in self.files() {
            if let Some(files) = found.get_mut(&*file.launch) {
                files.push(file);
            }
        }
        // Most launches have one profile and need no look at the time.
        for files in found.values_mut().filter(|files| files.len() > 1) {
            // Times may be equal; the key then makes the order the same in every run.
            files.sort_by_cached_key(|file| (Reverse(file.saved()), file.key.clone()));
        }
        let read = |launch: &String| found[&**launch].iter().filter_map(CatalogueFile::read).collect();
        launches.iter().map(read).collect()
    }

    /// Replaces the catalogue of this server and key atomically. One for everybody takes the place of the owner's, and one
    /// for a single principal the place of that for everybody.
    pub(crate) fn save(&self, server: &ServerConfig, key: &OfferKey, payload: &[u8]) -> io::Result<()> {
        let replaced = match key.principal {
            None => Some(Principal::OWNER),
            Some(_) => None,
        };
        let replaced = OfferKey { principal: replaced, ..key.clone() };
        let _ = fs::remove_file(self.folder.join(file_name(server, &replaced)));
        // The numbers of other principals end with this process.
        if key.principal.is_some_and(|principal| principal != Principal::OWNER) {
            return Ok(());
        }
        let header = Header {
            format: FORMAT_VERSION,
            server: server.name.clone(),
            profile: key.profile.to_string(),
            root: key.root.as_deref().map(str::to_owned),
            private: key.principal.is_some(),
            saved: Timestamp(SystemTime::now()).to_string(),
            bytes: payload.len(),
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        if (line.len() + payload.len()) as u64 > MAX_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "larger than a stored catalogue may be"));
        }
        private::folder(&self.folder)?;
        let written = stored_file::replace(&self.folder.join(file_name(server, key)), &[&line, payload]);
        self.clean();
        written
    }

    /// Removes all catalogues of this server.
    pub(crate) fn forget(&self, server: &ServerConfig) {
        let launch = launch_key(server);
        for file in self.files().filter(|file| file.launch == launch) {
            let _ = fs::remove_file(file.entry.path());
        }
    }

    /// Removes the oldest files beyond the limits. Another process may do the same at the same time.
    fn clean(&self) {
        let mut files: Vec<CatalogueFile> = self.files().collect();
        files.sort_by_cached_key(|file| Reverse(file.saved()));
        let mut of_launch: HashMap<&str, usize> = HashMap::new();
        let mut kept = 0;
        for file in &files {
            let count = of_launch.entry(&file.launch).or_default();
            if *count < MAX_PROFILES_PER_LAUNCH && kept < MAX_FILES {
                *count += 1;
                kept += 1;
            } else {
                let _ = fs::remove_file(file.entry.path());
            }
        }
    }

    fn files(&self) -> impl Iterator<Item = CatalogueFile> {
        self.listing().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (launch, key) = name.strip_suffix(ENDING)?.split_once('-')?;
            Some(CatalogueFile { launch: launch.to_owned(), key: key.to_owned(), entry })
        })
    }

    /// Entries of the folder. None if it is missing, or if other users could write to it.
    fn listing(&self) -> impl Iterator<Item = fs::DirEntry> {
        let is_ours = self.folder.exists() && private::folder(&self.folder).is_ok();
        let listing = is_ours.then(|| fs::read_dir(&self.folder).ok()).flatten();
        listing.into_iter().flatten().filter_map(Result::ok)
    }
}

impl CatalogueFile {
    /// Modification time. Of a symbolic link, its own: `read` does not follow it either.
    fn saved(&self) -> Option<SystemTime> {
        self.entry.metadata().ok()?.modified().ok()
    }

    /// Key and content; `None` if the file is not as we wrote it.
    fn read(&self) -> Option<(OfferKey, Bytes)> {
        let content = Bytes::from(private::read(&self.entry.path(), MAX_FILE_BYTES).ok()?);
        let line = memchr::memchr(b'\n', &content)?;
        let header: Header = serde_json::from_slice(&content[..line]).ok()?;
        let is_whole = content.len() - line - 1 == header.bytes;
        let principal = header.private.then_some(Principal::OWNER);
        let key = OfferKey { profile: header.profile.into(), root: header.root.map(Into::into), principal };
        // A renamed or copied file must not stand for another key.
        if header.format != FORMAT_VERSION || !is_whole || key_hash(&key) != self.key {
            return None;
        }
        Some((key, content.slice(line + 1..)))
    }
}

fn file_name(server: &ServerConfig, key: &OfferKey) -> String {
    format!("{}-{}{ENDING}", launch_key(server), key_hash(key))
}

fn key_hash(key: &OfferKey) -> String {
    match (&key.root, key.principal) {
        (None, None) => hash(&[&key.profile]),
        (Some(root), None) => hash(&[&key.profile, root]),
        // Three parts, as no other key has.
        (root, Some(_)) => hash(&[&key.profile, root.as_deref().unwrap_or_default(), "private"]),
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
