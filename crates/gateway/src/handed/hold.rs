//! The daemon's side: holds a client's streams as long as the one who gave them is there.

use super::ledger::State;
use super::lend::{self, ALIVE, END};
use super::serve::{Manner, serve};
use crate::fronts::Arrival;
use crate::hub::Hub;
use bytes::BytesMut;
use std::sync::Arc;
use switchboard_process::handover::Streams;
use switchboard_process::local::Connection;
use switchboard_process::pipe::{ByteReader, ByteWriter, LEAST_ROOM};
use tokio::sync::Notify;

pub(crate) async fn hold(
    hub: &Arc<Hub>,
    here: Arrival,
    streams: &Streams,
    manner: Manner,
    connection: &mut Connection,
) -> State {
    let end = Notify::new();
    let Connection { reader, writer, .. } = connection;
    tokio::select! {
        // Whoever gave them is gone, or wants them back: nobody else may be kept waiting for their end.
        () = listen(reader, writer, &end) => State::LetGo,
        served = serve(hub, here, streams, manner, end.notified()) => served.unwrap_or(State::LetGo),
    }
}

/// Until the other's end.
async fn listen(reader: &mut ByteReader, writer: &ByteWriter, end: &Notify) {
    let mut words = BytesMut::with_capacity(LEAST_ROOM);
    while let Ok(1..) = reader.read(&mut words).await {
        for at in 0..words.len() {
            match words[at] {
                ALIVE if lend::say(writer, ALIVE).await.is_err() => return,
                END => end.notify_one(),
                _ => {}
            }
        }
        words.clear();
    }
}
