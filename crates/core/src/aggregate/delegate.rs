//! A client's delegate at one server, with the state of that server's offer. Must not know the lists themselves.

use crate::ids::ClientId;
use crate::moment::Moment;

/// A client's stand-in at one server.
#[derive(Debug)]
pub(crate) struct Delegate {
    client: ClientId,
    offer: OfferState,
}

/// State of a server's offer, which tells whether clients should wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfferState {
    /// The server has not been asked.
    Unasked,
    /// The server is being started or asked. The client waits until then, and is notified if the offer comes later.
    Awaited { until: Moment },
    /// The server could not be started, or did not answer in time.
    Missed,
}

impl Delegate {
    pub(super) fn new(client: ClientId) -> Self {
        Self { client, offer: OfferState::Unasked }
    }

    /// The delegate's number among the clients.
    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn offer(&self) -> OfferState {
        self.offer
    }

    pub(super) fn set_offer(&mut self, offer: OfferState) {
        self.offer = offer;
    }
}

impl OfferState {
    /// The time until which a client waits, if the offer was requested.
    pub(crate) fn awaited_until(self) -> Option<Moment> {
        match self {
            Self::Awaited { until } => Some(until),
            Self::Unasked | Self::Missed => None,
        }
    }

    /// Whether the offer was requested, even if no client waits for it any more.
    pub(crate) fn is_asked_for(self) -> bool {
        self.awaited_until().is_some()
    }

    /// Whether a client still waits for the offer.
    pub(crate) fn is_awaited(self, now: Moment) -> bool {
        self.awaited_until().is_some_and(|until| until > now)
    }

    /// Whether the offer did not come, or not in time.
    pub(crate) fn is_missed(self, now: Moment) -> bool {
        match self {
            Self::Missed => true,
            Self::Awaited { until } => until <= now,
            Self::Unasked => false,
        }
    }
}
