//! Aggregates: the state of a client that sees several servers as one. Such a client has a delegate at each server, which to
//! the server's backends is a client like any other. This folder holds the client's own side, shared by its delegates.
//!
//! # Layout
//! - `views`: the servers as they look to clients, prepared once for all that see the same.

mod views;

pub(crate) use views::Views;

use crate::catalogue::View;
use crate::environment::Environment;
use crate::ids::{ClientId, ServerId};
use crate::moment::Moment;
use crate::routing::NamedPath;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The side of a client that its delegates have in common.
#[derive(Debug, Default)]
pub(crate) struct Aggregate {
    /// The client's environment for each server.
    pub(crate) environments: BTreeMap<ServerId, Environment>,
    /// The servers that it wants, if not all.
    pub(crate) only: Option<Vec<ServerId>>,
    pub(crate) delegates: BTreeMap<ServerId, Delegate>,
    /// Its handshake, which waits for the servers that are being started.
    pub(crate) opening: Option<u64>,
    /// Until when it waits for servers; `None` once that is over.
    pub(crate) budget: Option<Moment>,
    /// Requests that wait until it is known what all servers offer.
    pub(crate) held: Vec<Held>,
    /// How the servers look to it. Nothing if that is to be made out anew.
    pub(crate) view: Option<Arc<View>>,
    /// What it was shown or told of, by list: if that is no longer so, it is told.
    pub(crate) shown: [Option<Arc<View>>; 4],
    /// What it was shown, by list: names mean what they meant there, whoever has come since.
    pub(crate) seen: [Option<Arc<View>>; 4],
    /// For pages that it has not asked for yet.
    pub(crate) older: VecDeque<Arc<View>>,
    /// When it is looked whether it must be told of changes.
    pub(crate) renew_at: Option<Moment>,
    /// Resources that it listens to under other names than their servers'.
    pub(crate) spellings: Vec<Spelling>,
    /// It has said that its roots are others now.
    pub(crate) has_other_roots: bool,
}

/// A client's stand-in at one server.
#[derive(Debug)]
pub(crate) struct Delegate {
    pub(crate) client: ClientId,
    /// What is known of the server.
    pub(crate) news: News,
}

/// Whether others should wait for what a server has to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Nobody has asked it.
    Unasked,
    /// It is being started, or asked. The client waits until then, and is told later if it comes later.
    Awaited { until: Moment },
    /// It could not be started, or said nothing in time.
    Missed,
}

/// A request that waits to be understood.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) minted: u64,
    pub(crate) paths: Vec<NamedPath>,
}

/// What a client calls a resource, in its own spelling, and what its server does, as `same_spelling` gives it; both JSON.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub(crate) delegate: ClientId,
    pub(crate) original: Vec<u8>,
    pub(crate) public: Vec<u8>,
}
