//! Clients over the daemon's local socket, whose attachments relay every message.
//!
//! # Layout
//! - `hello`: the handshake of both sides.

pub(crate) mod hello;

use super::Arrival;
use crate::hub::Hub;
use crate::hub::reading::read_client;
use std::sync::Arc;
use switchboard_core::Peer;
use switchboard_process::local::Connection;
use switchboard_protocol::{Framer, Framing};

/// Serves the client until its attachment closes the connection.
pub(crate) async fn serve(
    hub: &Arc<Hub>,
    arrival: Arrival,
    connection: Connection,
    max_message_bytes: usize,
) {
    let Arrival { client, wants, surroundings, reader } = arrival;
    let Connection { reader: input, writer, .. } = connection;
    // Both ends are ours, so the framing is fixed.
    hub.open_outbox(Peer::Client(client), writer, Framing::Newline);
    hub.handle(wants.event(client, surroundings));
    let framer = Framer::new(Some(Framing::Newline), max_message_bytes);
    read_client(hub, client, input, framer, reader).await;
}
