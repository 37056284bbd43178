//! The tokens of a running process, by which clients are recognised. Must not know how a token arrives, or what
//! becomes of the clients of a revoked one.

use super::entry::TokenEntry;
use super::file::TokenFile;
use super::owner;
use super::secret::{Digest, Secret, digest, same};
use crate::secrets;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use switchboard_core::Principal;
use switchboard_core::access::{Authenticator, Identity, Rights};
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::Notify;

/// Rights of the profiles of a config, by name.
pub(crate) type ProfileRights = Vec<(String, Arc<Rights>)>;

/// Bytes of a digest by which tokens are found. The rest is compared in constant time.
type Prefix = [u8; 8];

#[derive(Debug)]
pub(crate) struct TokenStore {
    folder: PathBuf,
    inside: Lock<Inside>,
    /// Held while the files are read, so that no older content replaces a newer one.
    reading: Lock<()>,
    /// The rights of profiles or the tokens have changed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    owner: Option<(Secret, Arc<Identity>)>,
    tokens: HashMap<Prefix, Vec<Known>>,
    /// A number per token, for as long as the process runs: a token that comes back is the same party.
    principals: HashMap<Digest, Principal>,
    profiles: ProfileRights,
    /// Reason why the tokens cannot be read.
    fault: Option<String>,
    /// The state of the file of tokens when it was read.
    stamp: Option<Stamp>,
    /// Results of reading that were not returned yet.
    unreported: Refreshed,
}

/// Time and length of a file.
type Stamp = (SystemTime, u64);

#[derive(Debug)]
struct Known {
    entry: TokenEntry,
    identity: Arc<Identity>,
}

/// Result of reading the files again.
#[derive(Debug, Default)]
pub(crate) struct Refreshed {
    /// Identities that are no longer valid: revoked, expired, or with other rights.
    pub(crate) ended: Vec<Arc<Identity>>,
    /// Reason why the tokens cannot be read, if it is new.
    pub(crate) fault: Option<String>,
}

/// Content of the files.
struct Content {
    owner: Option<Secret>,
    tokens: Vec<TokenEntry>,
    fault: Option<String>,
}

impl Content {
    /// Whatever cannot be read recognises nobody.
    fn read(folder: &Path) -> Self {
        let (owner, owner_fault) = match owner::read(folder) {
            Ok(owner) => (owner, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (tokens, fault) = match TokenFile::new(folder).list() {
            Ok(tokens) => (tokens, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Self { owner, tokens, fault: fault.or(owner_fault) }
    }
}

impl TokenStore {
    /// Reads the tokens of a state folder. [`refresh`](Self::refresh) reports a fault.
    pub(crate) fn new(state_folder: &Path, profiles: ProfileRights) -> Arc<Self> {
        let inside = Inside { profiles, ..Inside::default() };
        let store = Self {
            folder: state_folder.to_owned(),
            inside: Lock::new(inside),
            reading: Lock::new(()),
            changed: Notify::new(),
        };
        store.read();
        store.lock().fault = None;
        Arc::new(store)
    }

    fn lock(&self) -> LockGuard<'_, Inside> {
        self.inside.lock()
    }

    /// Files whose changes matter.
    pub(super) fn files(&self) -> [PathBuf; 2] {
        [TokenFile::new(&self.folder).path(), owner::path(&self.folder)]
    }

    /// Reads the files again.
    pub(crate) fn refresh(&self) -> Refreshed {
        let read = self.read();
        let mut refreshed = std::mem::take(&mut self.lock().unreported);
        refreshed.ended.extend(read.ended);
        refreshed.fault = read.fault.or(refreshed.fault);
        refreshed
    }

    fn read(&self) -> Refreshed {
        let _one = self.reading.lock();
        // Before the content: a change in between is then noticed.
        let stamp = self.stamp();
        let content = Content::read(&self.folder);
        let mut inside = self.lock();
        inside.stamp = stamp;
        inside.take(content, SystemTime::now())
    }

    /// The present state of the file of tokens; `None` if there is none.
    fn stamp(&self) -> Option<Stamp> {
        let file = std::fs::metadata(TokenFile::new(&self.folder).path()).ok()?;
        Some((file.modified().ok()?, file.len()))
    }

    /// Reads tokens that were made a moment ago, and that the watch has not noticed yet. Returns whether there are any.
    /// Costs strangers with a wrong token a look at the file's time, not its content.
    fn catch_up(&self) -> bool {
        if self.stamp() == self.lock().stamp {
            return false;
        }
        let Refreshed { ended, fault } = self.read();
        let mut inside = self.lock();
        inside.unreported.ended.extend(ended);
        inside.unreported.fault = fault.or(inside.unreported.fault.take());
        drop(inside);
        // The watch disconnects the clients of ended tokens.
        self.changed.notify_one();
        true
    }

    /// Sets the rights of profiles after a reload.
    pub(crate) fn set_profiles(&self, profiles: ProfileRights) {
        let mut inside = self.lock();
        if inside.profiles != profiles {
            inside.profiles = profiles;
            drop(inside);
            self.changed.notify_one();
        }
    }

    /// Waits until the rights of profiles or the tokens have changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The next time at which a token expires.
    pub(super) fn next_expiry(&self) -> Option<SystemTime> {
        let inside = self.lock();
        inside.tokens.values().flatten().filter_map(|known| known.entry.expires()).min()
    }
}

impl Inside {
    /// Takes over the content of the files. Unchanged tokens keep their identity, by which their clients are known.
    fn take(&mut self, content: Content, now: SystemTime) -> Refreshed {
        let mut ended = Vec::new();
        let before = std::mem::take(&mut self.tokens);
        let mut before: HashMap<Digest, Known> =
            before.into_values().flatten().map(|known| (*known.entry.digest(), known)).collect();
        for entry in content.tokens.into_iter().filter(|entry| !entry.is_expired(now)) {
            let identity = Arc::new(self.identity_of(&entry));
            let known = match before.remove(entry.digest()) {
                Some(known) if known.identity == identity => Known { entry, ..known },
                Some(known) => {
                    ended.push(known.identity);
                    Known { entry, identity }
                }
                None => Known { entry, identity },
            };
            self.tokens.entry(prefix(known.entry.digest())).or_default().push(known);
        }
        ended.extend(before.into_values().map(|known| known.identity));
        ended.extend(self.take_owner(content.owner));
        // Reported once, however often the files are read in this state.
        let is_new = content.fault != self.fault;
        self.fault = content.fault;
        Refreshed { ended, fault: self.fault.clone().filter(|_| is_new) }
    }

    /// Returns the identity of the owner's previous token, if that is no longer valid.
    fn take_owner(&mut self, owner: Option<Secret>) -> Option<Arc<Identity>> {
        let before = self.owner.take();
        match (owner, before) {
            (Some(now), Some((then, identity))) if now == then => {
                self.owner = Some((then, identity));
                None
            }
            (now, before) => {
                // Made by hand or by an old version, it may not look like one of ours.
                secrets::learn(now.iter().map(|secret| secret.expose().to_owned()).collect());
                self.owner = now.map(|secret| (secret, Arc::new(Identity::owner())));
                before.map(|(_, identity)| identity)
            }
        }
    }

    fn find(&self, token: &str) -> Option<Arc<Identity>> {
        // The owner's first: it is the most frequent one, and costs no digest.
        if let Some((secret, identity)) = &self.owner
            && same(secret.expose().as_bytes(), token.as_bytes())
        {
            return Some(identity.clone());
        }
        let digest = digest(token);
        let alike = self.tokens.get(&prefix(&digest))?;
        let found = alike.iter().find(|known| same(known.entry.digest(), &digest))?;
        // Its sessions end a moment later, but no new one begins.
        (!found.entry.is_expired(SystemTime::now())).then(|| found.identity.clone())
    }

    fn identity_of(&mut self, entry: &TokenEntry) -> Identity {
        let next = Principal(Principal::ANONYMOUS.0 + 1 + self.principals.len() as u32);
        let principal = *self.principals.entry(*entry.digest()).or_insert(next);
        let profile = entry.profile.as_ref().map(|name| {
            let known = self.profiles.iter().find(|(known, _)| known == name);
            // A profile that is not in the config allows nothing.
            known.map_or_else(|| Arc::new(Rights::nothing()), |(_, rights)| rights.clone())
        });
        let profile = profile.filter(|rights| !rights.is_open());
        Identity {
            principal,
            name: entry.name.as_str().into(),
            rights: entry.rights().into_iter().chain(profile).collect(),
            limits: entry.limits(),
        }
    }
}

fn prefix(digest: &Digest) -> Prefix {
    std::array::from_fn(|at| digest[at])
}

impl Authenticator for TokenStore {
    fn identify(&self, token: &str) -> Option<Arc<Identity>> {
        let found = self.lock().find(token);
        found.or_else(|| self.catch_up().then(|| self.lock().find(token)).flatten())
    }

    fn is_valid(&self, identity: &Arc<Identity>) -> bool {
        let inside = self.lock();
        let is_it = |known: &Arc<Identity>| Arc::ptr_eq(known, identity);
        inside.owner.as_ref().is_some_and(|(_, owner)| is_it(owner))
            || inside.tokens.values().flatten().any(|known| is_it(&known.identity))
    }
}

#[cfg(test)]
mod tests;
