//! A client over a pair of streams, such as our own standard streams.

use super::Arrival;
use crate::hub::Hub;
use crate::hub::reading::read_client;
use crate::io::input::Input;
use crate::io::output::Output;
use std::sync::Arc;
use switchboard_core::{Event, Peer};
use switchboard_protocol::{Framer, Framing};

/// Serves the client until it closes its end.
pub(crate) async fn serve(
    hub: Arc<Hub>,
    arrival: Arrival,
    (input, output): (impl Into<Input>, impl Into<Output>),
    framing: Option<Framing>,
    max_message_bytes: usize,
) {
    let Arrival { client, wants, surroundings, reader } = arrival;
    hub.open_outbox(Peer::Client(client), output, framing.unwrap_or_default());
    // The outbox must exist before the core hears of the client, since it may answer at once.
    hub.handle(wants.event(client, surroundings));
    read_client(&hub, client, input, Framer::new(framing, max_message_bytes), reader).await;
    // Open requests still get their answers: only the client's input has ended.
    hub.handle(Event::ClientInputEnded { client });
}
