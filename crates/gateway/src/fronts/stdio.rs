//! A client over our own standard streams.

use super::Arrival;
use crate::hub::Hub;
use crate::io::reader;
use std::sync::Arc;
use switchboard_core::{Event, Peer};
use switchboard_process::stdio::OwnStdio;
use switchboard_protocol::{Framer, Framing};

/// Serves the client until it closes its end.
pub(crate) async fn serve(
    hub: Arc<Hub>,
    arrival: Arrival,
    stdio: OwnStdio,
    framing: Option<Framing>,
    limit: usize,
) {
    let Arrival { client, wants, surroundings, reader } = arrival;
    let peer = Peer::Client(client);
    hub.open_outbox(peer, stdio.output, framing.unwrap_or_default());
    hub.handle(wants.event(client, surroundings));
    reader::read_client(&hub, client, stdio.input, Framer::new(framing, limit), reader).await;
    hub.handle(Event::ClientInputEnded { client });
}
