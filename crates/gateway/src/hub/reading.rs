//! Reading of a peer to its end, with its messages passed to the core. One loop for clients and backends.

use super::quiet::Quiet;
use super::{Hub, Turn};
use crate::io::input::Input;
use crate::io::reader::events::{FrameSource, MAX_INLINE_BYTES, from_backend, from_client, understand};
use crate::io::reader::{ClientReader, Unresolved};
use crate::io::spare;
use bytes::Bytes;
use std::ops::ControlFlow;
use std::sync::Arc;
use switchboard_core::{ClientId, Event, Launch, Peer};
use switchboard_process::aside;
use switchboard_protocol::{Broken, Frame, Framer, Framing, MetaCache, Parsed};

/// Reads a client to its end.
pub(crate) async fn read_client(
    hub: &Arc<Hub>,
    client: ClientId,
    input: impl Into<Input>,
    framer: Framer,
    reader: ClientReader,
) {
    // The stream may have begun before us; the tap counts positions from its start.
    let source = FrameSource { read: reader.tap().map_or(0, |tap| tap.start()), ..FrameSource::default() };
    let (peer, cache) = (Peer::Client(client), MetaCache::default());
    Reading { hub, peer, framer, source, reader, cache }.read_all(input.into()).await;
}

/// Reads a backend to its end.
pub(crate) async fn read_backend(hub: &Arc<Hub>, launch: Launch, input: impl Into<Input>, framer: Framer) {
    let (peer, cache) = (Peer::Backend(launch), MetaCache::default());
    let (source, reader) = (FrameSource::default(), ClientReader::default());
    Reading { hub, peer, framer, source, reader, cache }.read_all(input.into()).await;
}

/// Passes a message to the core that an earlier process received from the client. The tap is not
/// asked: it has seen the message.
pub(crate) async fn repeat(
    hub: &Arc<Hub>,
    client: ClientId,
    bytes: Bytes,
    framing: Option<Framing>,
    reader: &mut ClientReader,
) {
    let frame = FrameSource { framing, ..FrameSource::default() }.parse(bytes);
    let paths = reader.paths(&frame).await;
    hub.handle(Event::FromClient { client, frame, paths });
}

/// Peer that is being read.
struct Reading<'a> {
    hub: &'a Arc<Hub>,
    peer: Peer,
    framer: Framer,
    source: FrameSource,
    reader: ClientReader,
    cache: MetaCache,
}

/// Frame that cannot be handled inside the turn.
enum Held {
    /// To be parsed on another thread.
    Long(Bytes),
    /// With paths to be looked up on disk.
    Unplaced(Result<Parsed, Broken>, Unresolved),
}

impl Reading<'_> {
    async fn read_all(mut self, mut input: Input) {
        let mut quiet = Quiet::default();
        loop {
            let read = tokio::select! {
                // Input first: the idle timer must not win over bytes that are already there.
                biased;
                read = input.read(self.framer.buffer()) => read,
                () = quiet.begins() => {
                    input.trim();
                    self.framer.trim();
                    self.hub.turn().trim(self.peer);
                    continue;
                }
            };
            // An error counts as the end: nothing more can be read.
            let Ok(count @ 1..) = read else { break };
            quiet.interrupt();
            self.source.read += count as u64;
            spare::enlarge(self.framer.buffer());
            self.take_frames().await;
            if self.reader.tap().is_some_and(|tap| tap.is_closed()) {
                // Waits until the client is released. The next reader must see its end too.
                return std::future::pending().await;
            }
            // A peer that does not read its answers is not read from either, so its queue stays bounded.
            self.hub.wait_for_room(self.peer).await;
        }
        if let Some(frame) = self.framer.end() {
            self.hub.turn().show(self.peer, &frame);
            // `source` still describes the frame before, which may have been ASCII.
            self.source.plain = false;
            self.source.upto = self.source.read;
            self.handle_frame(frame).await;
        }
    }

    async fn take_frames(&mut self) {
        while let Some(held) = self.take_short_frames() {
            match held {
                Held::Long(bytes) => self.handle_frame(Frame::Message(bytes)).await,
                Held::Unplaced(frame, unresolved) => self.place(frame, &unresolved).await,
            }
        }
    }

    /// Handles all short frames that have arrived in one turn, so that their output is written together.
    /// Returns the first frame that takes longer.
    fn take_short_frames(&mut self) -> Option<Held> {
        let mut turn = self.hub.turn();
        while let Some(frame) = self.framer.next_frame() {
            self.locate(&mut turn);
            // Logged before parsing, so that broken messages appear in the log too.
            turn.show(self.peer, &frame);
            let frame = match frame {
                Frame::Message(bytes) if bytes.len() > MAX_INLINE_BYTES => return Some(Held::Long(bytes)),
                frame => frame,
            };
            match self.peer {
                Peer::Backend(launch) => {
                    // No paths to look up: a backend's messages do not choose a workspace.
                    from_backend(launch, frame, self.source, &mut |event| turn.handle(event));
                }
                Peer::Client(client) => {
                    if let ControlFlow::Break(held) = self.take_from_client(&mut turn, client, frame) {
                        return held;
                    }
                }
            }
        }
        None
    }

    /// Records the position and framing of the current frame.
    fn locate(&mut self, turn: &mut Turn<'_>) {
        self.source.plain = self.framer.gave_plain();
        self.source.upto = self.source.read - self.framer.buffer().len() as u64;
        if self.source.framing == self.framer.framing() {
            return;
        }
        self.source.framing = self.framer.framing();
        if let (Peer::Client(_), Some(framing)) = (self.peer, self.source.framing) {
            // Answers to a client use the framing of its first message; a backend's framing
            // is ours to choose.
            turn.set_framing(self.peer, framing);
            self.reader.tap().into_iter().for_each(|tap| tap.set_framing(framing));
        }
    }

    /// Handles a client's frame. Breaks with a frame whose paths must be looked up, or with `None` if the
    /// tap leaves the rest to another reader.
    fn take_from_client(
        &mut self,
        turn: &mut Turn<'_>,
        client: ClientId,
        frame: Frame,
    ) -> ControlFlow<Option<Held>> {
        let event = match from_client(client, frame, self.source, &mut self.cache) {
            Event::FromClient { frame, .. } => {
                let unresolved = self.reader.names(&frame);
                match self.reader.known(&unresolved) {
                    Some(paths) => Event::FromClient { client, frame, paths },
                    None => return ControlFlow::Break(Some(Held::Unplaced(frame, unresolved))),
                }
            }
            event => event,
        };
        if !self.tell(turn, event) {
            return ControlFlow::Break(None);
        }
        ControlFlow::Continue(())
    }

    /// Handles one frame, parsed on another thread if it is long.
    async fn handle_frame(&mut self, frame: Frame) {
        let is_long = matches!(&frame, Frame::Message(bytes) if bytes.len() > MAX_INLINE_BYTES);
        let (peer, source) = (self.peer, self.source);
        let scan = move || {
            let mut events = Vec::new();
            understand(peer, frame, source, &mut |event| events.push(event));
            events
        };
        let events = if is_long { aside::run(scan).await } else { scan() };
        for event in events {
            match event {
                Event::FromClient { frame, .. } => {
                    let unresolved = self.reader.names(&frame);
                    self.place(frame, &unresolved).await;
                }
                // The result does not matter here: `read_all` asks the tap after each read.
                event => drop(self.tell(&mut self.hub.turn(), event)),
            }
        }
    }

    /// Passes a client's message to the core, with the paths that it names.
    async fn place(&mut self, frame: Result<Parsed, Broken>, unresolved: &Unresolved) {
        // Only messages of clients are placed.
        let Peer::Client(client) = self.peer else { return };
        let paths = self.reader.resolve(unresolved).await;
        self.tell(&mut self.hub.turn(), Event::FromClient { client, frame, paths });
    }

    /// Asks the tap first, under the same lock that releases a client. `false` if the
    /// tap leaves the event to another reader.
    fn tell(&self, turn: &mut Turn<'_>, event: Event) -> bool {
        let is_ours = match self.reader.tap() {
            Some(tap) => tap.admit(&event, self.source.upto, turn.is_succeeded()),
            None => true,
        };
        if is_ours {
            turn.handle(event);
        }
        is_ours
    }
}
