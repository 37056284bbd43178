//! From a client's frames to events, with the folders that its messages name. Must not know who handles them.
//!
//! # Layout
//! - `events`: from frames to events.
//! - `tap`: a view of a client's messages before the core handles them.

pub(crate) mod events;
pub(crate) mod tap;

use crate::paths::{self, Resolver};
use std::sync::Arc;
use std::time::Instant;
use switchboard_core::MemberPath;
use switchboard_core::routing::path::{self, Style};
use switchboard_core::routing::paths::{named, roots_in_initialize};
use switchboard_core::routing::{NamedBy, NamedPath};
use switchboard_process::aside;
use switchboard_protocol::{Broken, Message, Method, Parsed, Part};
use tap::InputTap;
use tokio::sync::watch;

/// Names of the arguments that hold folders, for a server with a backend per root. `None` reads none.
pub(crate) type RootArguments = Option<Vec<String>>;

/// Extracts the folders that a client's messages name, for servers with a backend per root.
pub(crate) struct ClientReader {
    root_arguments: watch::Receiver<RootArguments>,
    resolver: Resolver,
    tap: Option<Arc<dyn InputTap>>,
}

/// Reader that extracts no folders.
impl Default for ClientReader {
    fn default() -> Self {
        Self::new(watch::channel(None).1)
    }
}

/// Paths that a frame names: index in the batch, source, path.
pub(crate) type Unresolved = Vec<(usize, (NamedBy, String))>;

impl ClientReader {
    /// Follows the server's settings, which may change.
    pub(crate) fn new(root_arguments: watch::Receiver<RootArguments>) -> Self {
        Self { root_arguments, resolver: Resolver::new(), tap: None }
    }

    /// Adds a tap, which sees each message first.
    pub(crate) fn with_tap(self, tap: Arc<dyn InputTap>) -> Self {
        Self { tap: Some(tap), ..self }
    }

    pub(crate) fn tap(&self) -> Option<&dyn InputTap> {
        self.tap.as_deref()
    }

    /// Paths in a frame, if all of them are cached.
    pub(crate) fn paths_now(&self, frame: &Result<Parsed, Broken>) -> Option<Vec<MemberPath>> {
        self.known(&self.names(frame))
    }

    /// Paths in a frame.
    pub(crate) async fn paths(&mut self, frame: &Result<Parsed, Broken>) -> Vec<MemberPath> {
        let unresolved = self.names(frame);
        self.resolve(&unresolved).await
    }

    pub(crate) async fn resolve(&mut self, unresolved: &Unresolved) -> Vec<MemberPath> {
        match self.known(unresolved) {
            Some(found) => found,
            None => self.look_up(unresolved).await,
        }
    }

    pub(crate) fn names(&self, frame: &Result<Parsed, Broken>) -> Unresolved {
        let read = self.root_arguments.borrow();
        let (Some(root_arguments), Ok(parsed)) = (&*read, frame) else { return Vec::new() };
        let in_one = |message: &Message| {
            let params = message.part(Part::Params).unwrap_or_default();
            match message.method() {
                // Not part of the protocol: some clients name their folders in `initialize`, as editors do.
                Method::Initialize => {
                    let paths = roots_in_initialize(params);
                    let paths = paths.iter().filter_map(|uri| path::of_uri(uri, Style::OWN));
                    paths.map(|path| (NamedBy::Uri, path)).collect()
                }
                _ => named(params, root_arguments, Style::OWN),
            }
        };
        match parsed {
            Parsed::One(message) => in_one(message).into_iter().map(|named| (0, named)).collect(),
            Parsed::Batch(members) => {
                let members =
                    members.iter().enumerate().filter_map(|(at, member)| Some((at, member.as_ref().ok()?)));
                members
                    .flat_map(|(at, message)| in_one(message).into_iter().map(move |named| (at, named)))
                    .collect()
            }
        }
    }

    /// Resolved paths, if all of them are cached.
    pub(crate) fn known(&self, unresolved: &Unresolved) -> Option<Vec<MemberPath>> {
        if unresolved.is_empty() {
            // Nearly every message names no path, and needs no look into the cache.
            return Some(Vec::new());
        }
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        let found = self.resolver.known(&named, Instant::now())?;
        Some(with_members(unresolved, found))
    }

    /// Resolves paths on disk, on another thread: only this client waits.
    async fn look_up(&mut self, unresolved: &Unresolved) -> Vec<MemberPath> {
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        // Cloned for the other thread; the originals are the cache's keys.
        let asked = named.clone();
        let found = aside::run(move || paths::look_up(asked)).await;
        self.resolver.remember(&named, &found, Instant::now());
        with_members(unresolved, found)
    }
}

fn with_members(unresolved: &Unresolved, found: Vec<NamedPath>) -> Vec<MemberPath> {
    unresolved
        .iter()
        .zip(found)
        .map(|((member, _), place)| MemberPath { member: *member, path: place })
        .collect()
}
