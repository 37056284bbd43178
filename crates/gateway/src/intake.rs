//! Reading: bytes from a peer become frames, frames become events. The same loop for both sides.

use crate::hub::Hub;
use crate::spare;
use bytes::Bytes;
use std::sync::Arc;
use switchboard_core::{ClientId, Event, Launch, Peer};
use switchboard_process::aside;
use switchboard_process::pipe::ByteReader;
use switchboard_protocol::envelope::parse_knowing;
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Broken, Frame, Framer, Framing, Message, Parsed, parse};

/// Longer messages are scanned on another thread, so that they do not hold up everyone else.
const LONG: usize = 256 << 10;

/// What is known of where a frame comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Source {
    framing: Option<Framing>,
    /// It is known to be ASCII.
    plain: bool,
}

impl Source {
    fn parse(self, bytes: Bytes) -> Result<Parsed, Broken> {
        let mut parsed = if self.plain { parse_knowing(bytes, true) } else { parse(bytes) };
        if let (Some(Framing::ContentLength), Ok(parsed)) = (self.framing, &mut parsed) {
            mark_multiline(parsed);
        }
        parsed
    }
}

/// So many short messages are written together: enough to make a system call cheap, and few enough for the
/// other side to begin while the rest is still looked at.
const TOGETHER: usize = 16;

/// Reads a peer to its end.
pub(crate) async fn read_all(hub: &Arc<Hub>, peer: Peer, mut reader: ByteReader, mut framer: Framer) {
    let mut source = Source::default();
    // An error is an end too: there is nothing more to be had from this peer.
    while let Ok(1..) = reader.read(framer.buffer()).await {
        spare::enlarge(framer.buffer());
        take_frames(hub, peer, &mut framer, &mut source).await;
        hub.wait_for_room(peer).await;
    }
    if let Some(frame) = framer.end() {
        hub.turn().show(peer, &frame);
        source.plain = false;
        handle_frame(hub, peer, frame, source).await;
    }
}

async fn take_frames(hub: &Arc<Hub>, peer: Peer, framer: &mut Framer, source: &mut Source) {
    while let Some(long) = take_short_frames(hub, peer, framer, source) {
        handle_frame(hub, peer, Frame::Message(long), *source).await;
    }
}

/// One turn for all the short frames that have arrived, so that what they cause is written together. Gives
/// the first long one back.
fn take_short_frames(hub: &Arc<Hub>, peer: Peer, framer: &mut Framer, source: &mut Source) -> Option<Bytes> {
    let mut turn = hub.turn();
    let mut taken = 0;
    while let Some(frame) = framer.next_frame() {
        taken += 1;
        if taken % TOGETHER == 0 {
            turn.write();
        }
        source.plain = framer.gave_plain();
        if source.framing != framer.framing() {
            source.framing = framer.framing();
            if let (Peer::Client(_), Some(framing)) = (peer, source.framing) {
                turn.set_framing(peer, framing);
            }
        }
        turn.show(peer, &frame);
        match frame {
            Frame::Message(bytes) if bytes.len() > LONG => return Some(bytes),
            frame => understand(peer, frame, *source, &mut |event| turn.handle(event)),
        }
    }
    None
}

/// One frame, scanned elsewhere if it is long.
async fn handle_frame(hub: &Arc<Hub>, peer: Peer, frame: Frame, source: Source) {
    let is_long = matches!(&frame, Frame::Message(bytes) if bytes.len() > LONG);
    if !is_long {
        let mut turn = hub.turn();
        return understand(peer, frame, source, &mut |event| turn.handle(event));
    }
    let scanned = aside::run(move || {
        let mut events = Vec::new();
        understand(peer, frame, source, &mut |event| events.push(event));
        events
    });
    for event in scanned.await {
        hub.handle(event);
    }
}

/// What a frame means, as events.
fn understand(peer: Peer, frame: Frame, source: Source, tell: &mut dyn FnMut(Event)) {
    match peer {
        Peer::Client(client) => tell(from_client(client, frame, source)),
        Peer::Backend(launch) => from_backend(launch, frame, source, tell),
    }
}

fn from_client(client: ClientId, frame: Frame, source: Source) -> Event {
    match frame {
        Frame::Message(bytes) | Frame::Noise(bytes) => {
            Event::FromClient { client, frame: source.parse(bytes) }
        }
        Frame::TooLong { length, glimpses } => Event::ClientTooLong { client, length, glimpses },
    }
}

fn from_backend(launch: Launch, frame: Frame, source: Source, tell: &mut dyn FnMut(Event)) {
    let line = match frame {
        Frame::Message(line) => line,
        Frame::Noise(text) => return tell(Event::BackendNoise { launch, text, broken: None }),
        Frame::TooLong { length, glimpses } => {
            return tell(Event::BackendTooLong { launch, length, glimpses });
        }
    };
    match source.parse(line.clone()) {
        Ok(Parsed::One(message)) => tell(Event::FromBackend { launch, message }),
        Ok(Parsed::Batch(members)) => {
            members.into_iter().for_each(|member| tell(member_event(launch, member, &line)));
        }
        Err(broken) => firewall(launch, line, broken, tell),
    }
}

fn member_event(launch: Launch, member: Result<Message, Broken>, line: &Bytes) -> Event {
    match member {
        Ok(message) => Event::FromBackend { launch, message },
        Err(broken) => Event::BackendNoise { launch, text: line.clone(), broken: Some(broken) },
    }
}

/// The stdout firewall's second half: what a backend prints that is no message is kept from the client; a
/// message that shares its line with chatter is recovered.
fn firewall(launch: Launch, line: Bytes, broken: Broken, tell: &mut dyn FnMut(Event)) {
    let found = recover(&line);
    if found.messages.is_empty() {
        return tell(Event::BackendNoise { launch, text: line, broken: Some(broken) });
    }
    tell(Event::BackendNoise { launch, text: found.noise.into(), broken: None });
    for message in found.messages {
        tell(Event::FromBackend { launch, message });
    }
}

fn mark_multiline(parsed: &mut Parsed) {
    match parsed {
        Parsed::One(message) => message.mark_multiline(),
        Parsed::Batch(members) => members.iter_mut().flatten().for_each(Message::mark_multiline),
    }
}
