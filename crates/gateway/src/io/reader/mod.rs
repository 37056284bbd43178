//! Reading: from frames to events, and the folders that a client's messages name. Must not know who acts upon them.
//!
//! # Layout
//! - `events`: from frames to events.
//! - `tap`: sees what a client says before anybody acts upon it.

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

/// Names of the arguments that hold folders, in messages to a server with a backend per root. `None`: nothing is read.
pub(crate) type RootArguments = Option<Vec<String>>;

/// Reads out of a client's messages which folders they name, for servers with a backend per root.
pub(crate) struct ClientReader {
    root_arguments: watch::Receiver<RootArguments>,
    resolver: Resolver,
    tap: Option<Arc<dyn InputTap>>,
}

/// Reads no folder.
impl Default for ClientReader {
    fn default() -> Self {
        Self::new(watch::channel(None).1)
    }
}

/// Paths that a frame names: member of the batch, who named it, path.
pub(crate) type Unresolved = Vec<(usize, (NamedBy, String))>;

impl ClientReader {
    /// As the server's settings say, which may change.
    pub(crate) fn new(root_arguments: watch::Receiver<RootArguments>) -> Self {
        Self { root_arguments, resolver: Resolver::new(), tap: None }
    }

    /// With a tap that sees each message first.
    pub(crate) fn with_tap(self, tap: Arc<dyn InputTap>) -> Self {
        Self { tap: Some(tap), ..self }
    }

    pub(crate) fn tap(&self) -> Option<&dyn InputTap> {
        self.tap.as_deref()
    }

    /// The places that a frame names, if nobody has to look for them.
    pub(crate) fn places_now(&self, frame: &Result<Parsed, Broken>) -> Option<Vec<MemberPath>> {
        self.known(&self.names(frame))
    }

    /// The places that a frame names.
    pub(crate) async fn places(&mut self, frame: &Result<Parsed, Broken>) -> Vec<MemberPath> {
        let unresolved = self.names(frame);
        self.resolve(&unresolved).await
    }

    pub(crate) async fn resolve(&mut self, unresolved: &Unresolved) -> Vec<MemberPath> {
        match self.known(unresolved) {
            Some(places) => places,
            None => self.look_up(unresolved).await,
        }
    }

    pub(crate) fn names(&self, frame: &Result<Parsed, Broken>) -> Unresolved {
        let read = self.root_arguments.borrow();
        let (Some(root_arguments), Ok(parsed)) = (&*read, frame) else { return Vec::new() };
        let in_one = |message: &Message| {
            let params = message.part(Part::Params).unwrap_or_default();
            match message.method() {
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

    /// The places, if the disk need not be asked.
    pub(crate) fn known(&self, unresolved: &Unresolved) -> Option<Vec<MemberPath>> {
        if unresolved.is_empty() {
            return Some(Vec::new());
        }
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        let places = self.resolver.known(&named, Instant::now())?;
        Some(with_members(unresolved, places))
    }

    /// Asks the disk, without holding up anyone but this client.
    async fn look_up(&mut self, unresolved: &Unresolved) -> Vec<MemberPath> {
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        let asked = named.clone();
        let places = aside::run(move || paths::look_up(asked)).await;
        self.resolver.remember(&named, &places, Instant::now());
        with_members(unresolved, places)
    }
}

fn with_members(unresolved: &Unresolved, places: Vec<NamedPath>) -> Vec<MemberPath> {
    unresolved
        .iter()
        .zip(places)
        .map(|((member, _), place)| MemberPath { member: *member, path: place })
        .collect()
}
