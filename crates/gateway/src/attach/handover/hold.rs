//! The daemon's side of a handover: holds a client's streams as long as its attachment is connected.

use super::journal::HoldState;
use super::lend::{self, ALIVE, END};
use super::serve::serve;
use crate::daemon::{HeldClient, StreamHolder};
use crate::fronts::{Arrival, StreamOptions};
use crate::hub::Hub;
use bytes::BytesMut;
use std::pin::Pin;
use std::sync::Arc;
use switchboard_process::handover::Streams;
use switchboard_process::local::Connection;
use switchboard_process::pipe::{ByteReader, ByteWriter, MIN_SPARE_BYTES};
use tokio::sync::Notify;

/// Serves clients that hand over their streams.
pub(crate) struct Handover;

impl StreamHolder for Handover {
    fn hold<'a>(
        &'a self,
        hub: &'a Arc<Hub>,
        held: HeldClient<'a>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(receive(hub, held))
    }
}

async fn receive(hub: &Arc<Hub>, held: HeldClient<'_>) {
    let HeldClient { mut connection, arrival, options, admission, part } = held;
    let received = Streams::receive(&mut connection).await;
    // The streams have arrived, so their descriptors need no reservation any more.
    drop(admission);
    let hold = match received {
        Ok(streams) => hold(hub, arrival, &streams, options, &mut connection).await,
        Err(_) => HoldState::LetGo,
    };
    part();
    let last_word = match hold {
        HoldState::Over => lend::OVER,
        HoldState::Exited => lend::EXITED,
        // An attachment that closed the connection, or that takes its streams back, waits for no word.
        HoldState::Serving | HoldState::LetGo => return,
    };
    let _ = lend::say(&connection.writer, last_word).await;
}

async fn hold(
    hub: &Arc<Hub>,
    arrival: Arrival,
    streams: &Streams,
    options: StreamOptions,
    connection: &mut Connection,
) -> HoldState {
    let end = Notify::new();
    let Connection { reader, writer, .. } = connection;
    tokio::select! {
        // The attachment is gone or wants its streams back. Letting go at once keeps
        // the next daemon from waiting.
        () = listen(reader, writer, &end) => HoldState::LetGo,
        served = serve(hub, arrival, streams, options, end.notified()) => served.unwrap_or(HoldState::LetGo),
    }
}

/// Answers the attachment's bytes until it closes the connection.
async fn listen(reader: &mut ByteReader, writer: &ByteWriter, end: &Notify) {
    let mut words = BytesMut::with_capacity(MIN_SPARE_BYTES);
    while let Ok(1..) = reader.read(&mut words).await {
        for at in 0..words.len() {
            match words[at] {
                ALIVE if lend::say(writer, ALIVE).await.is_err() => return,
                // A permit is stored if `serve` does not wait for it yet, so the word is not lost.
                END => end.notify_one(),
                // Unknown words may come from a newer attachment; an `ALIVE` that was
                // answered also ends up here.
                _ => {}
            }
        }
        words.clear();
    }
}
