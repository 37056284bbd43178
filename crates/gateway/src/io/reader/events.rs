//! From frames to events, for clients and backends. Output of a backend that is not a message stops here.

use bytes::Bytes;
use switchboard_core::{ClientId, Event, Launch, Peer};
use switchboard_process::aside;
use switchboard_protocol::envelope::{parse_knowing, parse_repeated};
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Broken, Frame, Framing, Message, MetaCache, Parsed};

/// Longer messages are parsed on another thread, so that they do not hold up other clients.
pub(crate) const MAX_INLINE_BYTES: usize = 256 << 10;

/// Origin of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameSource {
    pub(crate) framing: Option<Framing>,
    /// Known to be ASCII.
    pub(crate) plain: bool,
    /// Bytes read from the peer so far.
    pub(crate) read: u64,
    /// Position in these bytes at which the frame ends.
    pub(crate) upto: u64,
}

impl FrameSource {
    pub(crate) fn parse(self, bytes: Bytes) -> Result<Parsed, Broken> {
        let plain = self.plain || bytes.is_ascii();
        self.understood(parse_knowing(bytes, plain))
    }

    /// Parses a message of a client, which may repeat the `_meta` of its last one.
    pub(crate) fn parse_repeated(self, bytes: Bytes, cache: &mut MetaCache) -> Result<Parsed, Broken> {
        let plain = self.plain || bytes.is_ascii();
        self.understood(parse_repeated(bytes, plain, cache))
    }

    fn understood(self, mut parsed: Result<Parsed, Broken>) -> Result<Parsed, Broken> {
        // Only this framing lets line breaks through, which must not reach a newline-delimited peer.
        if let (Some(Framing::ContentLength), Ok(parsed)) = (self.framing, &mut parsed) {
            mark_multiline(parsed);
        }
        parsed
    }
}

/// Events of a message from a backend without a stream, parsed on another thread if it is long. The
/// message may contain line breaks.
pub(crate) async fn understand_backend(launch: Launch, frame: Frame) -> Vec<Event> {
    match &frame {
        Frame::Message(bytes) if bytes.len() > MAX_INLINE_BYTES => {
            aside::run(move || understand_short(launch, frame)).await
        }
        Frame::Message(_) | Frame::Noise(_) | Frame::TooLong { .. } => understand_short(launch, frame),
    }
}

/// Events of a short message.
pub(crate) fn understand_short(launch: Launch, frame: Frame) -> Vec<Event> {
    let mut events = Vec::new();
    let source = FrameSource { framing: Some(Framing::ContentLength), ..FrameSource::default() };
    from_backend(launch, frame, source, &mut |event| events.push(event));
    events
}

/// Events of a frame.
pub(crate) fn understand(peer: Peer, frame: Frame, source: FrameSource, tell: &mut dyn FnMut(Event)) {
    match peer {
        Peer::Client(client) => tell(from_client(client, frame, source, &mut MetaCache::default())),
        Peer::Backend(launch) => from_backend(launch, frame, source, tell),
    }
}

pub(crate) fn from_client(
    client: ClientId,
    frame: Frame,
    source: FrameSource,
    cache: &mut MetaCache,
) -> Event {
    match frame {
        // Noise is parsed as well: a client is owed an error for whatever is not JSON.
        Frame::Message(bytes) | Frame::Noise(bytes) => {
            Event::FromClient { client, frame: source.parse_repeated(bytes, cache), paths: Vec::new() }
        }
        Frame::TooLong { length, glimpses } => Event::ClientTooLong { client, length, glimpses },
    }
}

pub(crate) fn from_backend(launch: Launch, frame: Frame, source: FrameSource, tell: &mut dyn FnMut(Event)) {
    let line = match frame {
        Frame::Message(line) => line,
        Frame::Noise(text) => return tell(Event::BackendNoise { launch, text, broken: Vec::new() }),
        Frame::TooLong { length, glimpses } => {
            return tell(Event::BackendTooLong { launch, length, glimpses });
        }
    };
    // A cheap copy of a reference; the firewall needs the line if it does not parse.
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
        // Other members of the batch are still delivered.
        Err(broken) => Event::BackendNoise { launch, text: line.clone(), broken: vec![broken] },
    }
}

/// Second half of the stdout firewall: keeps output that is not a message from the client, and recovers a
/// message that shares its line with other output.
fn firewall(launch: Launch, line: Bytes, broken: Broken, tell: &mut dyn FnMut(Event)) {
    let found = recover(&line, broken);
    if found.messages.is_empty() {
        return tell(Event::BackendNoise { launch, text: line, broken: found.broken });
    }
    tell(Event::BackendNoise { launch, text: found.noise.into(), broken: found.broken });
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
