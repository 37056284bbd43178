//! The state that all backends of a server share.

use crate::backends::FramingGuess;
use crate::catalogue::Offers;
use crate::moment::Moment;
use crate::record::Record;
use crate::servers::{Evictions, Failure, Insight, LastStart, Retry};
use crate::settings::ServerSettings;
use std::sync::Arc;
use switchboard_protocol::Message;

/// What all backends of a server have in common.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: Arc<ServerSettings>,
    /// How it frames its messages, as far as one of its backends has shown.
    pub(crate) manner: FramingGuess,
    pub(crate) insight: Insight,
    /// The last answer to a handshake, of whichever backend.
    pub(crate) welcome: Option<Message>,
    /// Its lists as they were when it was asked last.
    pub(crate) offers: Offers,
    /// What its starts have shown, as it is stored.
    pub(crate) record: Record,
    /// It could not be asked for its lists, and is tried again.
    pub(crate) retry: Option<Retry>,
    /// Clients have been told that it cannot be had.
    pub(crate) is_told_missing: bool,
    pub(crate) last_start: LastStart,
    /// Why it failed last, if it has not worked since.
    pub(crate) failure: Option<Failure>,
    pub(crate) evictions: Evictions,
    /// Its owner has stopped it.
    pub(crate) is_held: bool,
    /// It is no longer in the config.
    pub(crate) is_gone: bool,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, now: Moment) -> Self {
        let manner = FramingGuess::of(settings.framing);
        Self {
            offers: Offers::stored(&settings.offers),
            retry: Self::planned_retry(&settings.record, now),
            insight: Insight::of(&settings.record),
            record: settings.record.clone(),
            settings: Arc::new(settings),
            manner,
            welcome: None,
            is_told_missing: false,
            last_start: LastStart::Untried,
            failure: None,
            evictions: Evictions::default(),
            is_held: false,
            is_gone: false,
        }
    }

    /// Takes over changed settings. Nothing that was learnt before need hold any more; only a stop by the owner stays.
    pub(crate) fn renew(&mut self, settings: ServerSettings, now: Moment) {
        *self = Self { is_held: self.is_held, ..Self::new(settings, now) };
    }
}
