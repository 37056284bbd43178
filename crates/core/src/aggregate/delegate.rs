//! A client's delegate at one server, and how far its server has come with its offer.

use crate::ids::ClientId;
use crate::moment::Moment;

/// A client's stand-in at one server.
#[derive(Debug)]
pub(crate) struct Delegate {
    client: ClientId,
    offer: OfferState,
}

/// Whether clients should wait for the offer of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfferState {
    /// Nobody has asked the server.
    Unasked,
    /// The server is being started, or asked. The client waits until then, and is told later if the offer comes later.
    Awaited { until: Moment },
    /// The server could not be started, or said nothing in time.
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
    /// The moment until which a client waits, if the offer was asked for.
    pub(crate) fn awaited_until(self) -> Option<Moment> {
        match self {
            Self::Awaited { until } => Some(until),
            Self::Unasked | Self::Missed => None,
        }
    }

    /// The offer was asked for, whether or not a client still waits for it.
    pub(crate) fn is_asked_for(self) -> bool {
        self.awaited_until().is_some()
    }

    /// A client still waits for the offer.
    pub(crate) fn is_awaited(self, now: Moment) -> bool {
        self.awaited_until().is_some_and(|until| until > now)
    }

    /// The offer did not come, or not in time.
    pub(crate) fn is_missed(self, now: Moment) -> bool {
        match self {
            Self::Missed => true,
            Self::Awaited { until } => until <= now,
            Self::Unasked => false,
        }
    }
}
