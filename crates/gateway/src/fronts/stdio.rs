//! A client over our own standard streams.

use crate::hub::Hub;
use crate::intake;
use std::sync::Arc;
use switchboard_core::{ClientId, Event, Peer};
use switchboard_process::stdio::OwnStdio;
use switchboard_protocol::{Framer, Framing};

/// Serves the client until it closes its end.
pub(crate) async fn serve(
    hub: Arc<Hub>,
    client: ClientId,
    stdio: OwnStdio,
    framing: Option<Framing>,
    limit: usize,
) {
    let peer = Peer::Client(client);
    hub.open_outbox(peer, stdio.output, framing.unwrap_or_default());
    hub.handle(Event::ClientConnected { client });
    intake::read_all(&hub, peer, stdio.input, Framer::new(framing, limit)).await;
    hub.handle(Event::ClientInputEnded { client });
}
