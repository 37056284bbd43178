//! What servers offer, kept on disk between runs, so that it can be told before any of them is started. A file for each
//! launch, as it is written in the config, and each profile: what the server was told of its client.
//!
//! What is kept is bytes to us. Nothing here is worth failing for: what cannot be read was never there.

use crate::config::{ServerConfig, os};
use crate::hex::hex;
use crate::telemetry::clock::Stamp;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use switchboard_process::private;

#[cfg(test)]
mod tests;

/// Raised when older ones could not make sense of newer ones.
const FORMAT: u32 = 1;
const FOLDER: &str = "catalogue";
const ENDING: &str = ".catalogue";
const DRAFT_ENDING: &str = ".draft";
/// Of one launch. Clients differ in a few ways only.
const MOST_PROFILES: usize = 16;
const MOST_FILES: usize = 512;
/// A file beyond this is nobody's catalogue.
const MOST_BYTES: u64 = 64 << 20;
/// Whoever began a draft that long ago will not finish it.
const DRAFTS_LIVE: Duration = Duration::from_secs(60 * 60);

/// All catalogues of this user.
#[derive(Clone)]
pub(crate) struct Shelf {
    folder: Arc<Path>,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// For whoever looks into the folder: the same launch may have several names.
    server: String,
    profile: String,
    saved: String,
    /// How many follow. A file that was cut off is no catalogue.
    bytes: usize,
}

/// A file of the folder, by its name alone.
struct Found {
    entry: fs::DirEntry,
    launch: String,
    profile: String,
}

impl Shelf {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.join(FOLDER).into() }
    }

    /// All that is known of this server: profile and content, what was saved last first.
    pub(crate) fn load(&self, server: &ServerConfig) -> Vec<(String, Bytes)> {
        self.load_all(std::slice::from_ref(server)).pop().unwrap_or_default()
    }

    /// The same for each of these, with one look at the folder.
    pub(crate) fn load_all(&self, servers: &[ServerConfig]) -> Vec<Vec<(String, Bytes)>> {
        let launches: Vec<String> = servers.iter().map(launch).collect();
        let mut found: HashMap<&str, Vec<Found>> = launches.iter().map(|key| (&**key, Vec::new())).collect();
        for file in self.files() {
            if let Some(files) = found.get_mut(&*file.launch) {
                files.push(file);
            }
        }
        // Most launches have one profile, and then nobody need ask how old it is.
        for files in found.values_mut().filter(|files| files.len() > 1) {
            files.sort_by_cached_key(|file| (Reverse(file.saved()), file.profile.clone()));
        }
        let read = |launch: &String| found[&**launch].iter().filter_map(Found::read).collect();
        launches.iter().map(read).collect()
    }

    /// Replaces what is known of this server with this profile, at once or not at all.
    pub(crate) fn save(&self, server: &ServerConfig, profile: &str, payload: &[u8]) -> io::Result<()> {
        let header = Header {
            format: FORMAT,
            server: server.name.clone(),
            profile: profile.to_owned(),
            saved: Stamp(SystemTime::now()).to_string(),
            bytes: payload.len(),
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        if (line.len() + payload.len()) as u64 > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than a catalogue may have"));
        }
        private::folder(&self.folder)?;
        let name = format!("{}-{}", launch(server), hash(&[profile]));
        let draft = self.folder.join(draft_name(&name));
        let written = write(&draft, &[&line, payload])
            .and_then(|()| fs::rename(&draft, self.folder.join(format!("{name}{ENDING}"))));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        self.clean();
        written
    }

    /// Removes what is too much, the oldest first. Another process may do the same at the same time.
    fn clean(&self) {
        let mut files: Vec<Found> = self.files().collect();
        files.sort_by_cached_key(|file| Reverse(file.saved()));
        let mut of_launch: HashMap<&str, usize> = HashMap::new();
        let mut kept = 0;
        for file in &files {
            let count = of_launch.entry(&file.launch).or_default();
            if *count < MOST_PROFILES && kept < MOST_FILES {
                *count += 1;
                kept += 1;
            } else {
                let _ = fs::remove_file(file.entry.path());
            }
        }
        for (path, _) in self.entries().filter(|(path, begun)| is_draft(path) && is_long_ago(*begun)) {
            let _ = fs::remove_file(path);
        }
    }

    fn files(&self) -> impl Iterator<Item = Found> {
        self.listing().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (launch, profile) = name.strip_suffix(ENDING)?.split_once('-')?;
            Some(Found { launch: launch.to_owned(), profile: profile.to_owned(), entry })
        })
    }

    fn entries(&self) -> impl Iterator<Item = (PathBuf, SystemTime)> {
        self.listing().filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
    }

    /// Nothing if there is no such folder, or if others could have put something there.
    fn listing(&self) -> impl Iterator<Item = fs::DirEntry> {
        let is_ours = self.folder.exists() && private::folder(&self.folder).is_ok();
        let listing = is_ours.then(|| fs::read_dir(&self.folder).ok()).flatten();
        listing.into_iter().flatten().filter_map(Result::ok)
    }
}

impl Found {
    /// Of the link itself, if it is one; it is not followed by `read` either.
    fn saved(&self) -> Option<SystemTime> {
        self.entry.metadata().ok()?.modified().ok()
    }

    /// Its profile and its content; nothing if it is not what we wrote.
    fn read(&self) -> Option<(String, Bytes)> {
        let content = Bytes::from(private::read(&self.entry.path(), MOST_BYTES).ok()?);
        let line = memchr::memchr(b'\n', &content)?;
        let header: Header = serde_json::from_slice(&content[..line]).ok()?;
        let is_whole = content.len() - line - 1 == header.bytes;
        if header.format != FORMAT || !is_whole || hash(&[&header.profile]) != self.profile {
            return None;
        }
        Some((header.profile, content.slice(line + 1..)))
    }
}

/// What is started, as it stands in the config: two servers that are started the same way offer the same, whatever they
/// are called and whatever of it is shown.
fn launch(server: &ServerConfig) -> String {
    let cwd = server.cwd.as_deref();
    let (args, env) = (server.args.len().to_string(), server.env.len().to_string());
    let mut words = vec![server.command.as_str(), &args];
    words.extend(server.args.iter().map(String::as_str));
    words.push(&env);
    words.extend(server.env.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
    words.extend([if cwd.is_some() { "in" } else { "" }, cwd.unwrap_or_default()]);
    // `${HOME}` is a folder to one and six letters to the other.
    words.push(if server.expand { "expand" } else { "" });
    if let Some(remote) = &server.remote {
        words.extend(["remote", &remote.url]);
        words.extend(remote.headers.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
    }
    hash(&words)
}

fn hash(words: &[&str]) -> String {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word.as_bytes());
    }
    hex(&hash.finalize())
}

/// Another for each attempt of each process.
fn draft_name(name: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let (process, attempt) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    format!("{name}.{process}-{attempt}{DRAFT_ENDING}")
}

fn is_draft(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(DRAFT_ENDING))
}

fn is_long_ago(begun: SystemTime) -> bool {
    begun.elapsed().is_ok_and(|elapsed| elapsed > DRAFTS_LIVE)
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    // A process with our number may have been killed at it.
    let _ = fs::remove_file(path);
    let mut file = os::create_private_file(path)?;
    for part in parts {
        file.write_all(part)?;
    }
    // Otherwise a power cut could leave the new name with nothing in it.
    file.sync_data()
}
