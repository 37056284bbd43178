//! Reading: bytes from a peer become frames, frames become events. The same loop for both sides.

use crate::handed::ledger::Ledger;
use crate::hub::{Hub, Turn};
use crate::places::{self, Resolver};
use crate::register::Habit;
use crate::spare;
use bytes::Bytes;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use switchboard_core::roots::path::{self, Style};
use switchboard_core::roots::places::{named, roots_in_initialize};
use switchboard_core::roots::{NamedBy, Place};
use switchboard_core::{ClientId, Event, Launch, Named, Peer};
use switchboard_process::aside;
use switchboard_process::pipe::ByteReader;
use switchboard_protocol::envelope::parse_knowing;
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Broken, Frame, Framer, Framing, Kind, Message, Method, Parsed, Part, parse};
use tokio::sync::watch;
use tokio::time::Sleep;

/// Longer messages are scanned on another thread, so that they do not hold up everyone else.
const LONG: usize = 256 << 10;

/// How long a peer says nothing before its buffers are given back.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// What is known of where a frame comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Source {
    framing: Option<Framing>,
    /// It is known to be ASCII.
    plain: bool,
    /// How much was read.
    read: u64,
    /// Where in that the frame ends.
    upto: u64,
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

/// What is read out of a client's messages besides their envelopes: where they belong, for servers with an instance per
/// root.
pub(crate) struct ClientReader {
    habit: watch::Receiver<Habit>,
    resolver: Resolver,
    /// Where is noted what was read, if others may have to go on with it.
    ledger: Option<Arc<Ledger>>,
}

/// Nothing is.
impl Default for ClientReader {
    fn default() -> Self {
        Self::new(watch::channel(None).1)
    }
}

/// What a frame names: which member, who named it, and the path.
type Unresolved = Vec<(usize, (NamedBy, String))>;

impl ClientReader {
    /// As the server's settings say, which may change.
    pub(crate) fn new(habit: watch::Receiver<Habit>) -> Self {
        Self { habit, resolver: Resolver::new(), ledger: None }
    }

    /// What is read is entered there before anybody acts upon it.
    pub(crate) fn noting(self, ledger: Arc<Ledger>) -> Self {
        Self { ledger: Some(ledger), ..self }
    }

    /// Enters what is about to be acted upon; `false` if it is another's to act upon. In the end, that is the next
    /// request with all that follows: it is left to the next daemon, unread.
    fn enter(&self, turn: &Turn<'_>, upto: u64, event: &Event) -> bool {
        let Some(ledger) = &self.ledger else { return true };
        if turn.is_succeeded() && asks_something(event) {
            ledger.leave_the_rest();
        }
        match event {
            _ if ledger.leaves_the_rest() => false,
            Event::FromClient { frame, .. } => ledger.take(upto, frame),
            Event::ClientTooLong { glimpses, .. } => ledger.take_too_long(upto, glimpses),
            _ => true,
        }
    }

    /// Whether what the client says from now on is left to the next.
    fn leaves_the_rest(&self) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.leaves_the_rest())
    }

    /// The places that a frame names, if nobody has to look for them.
    pub(crate) fn places_now(&self, frame: &Result<Parsed, Broken>) -> Option<Vec<Named>> {
        self.known(&self.names(frame))
    }

    /// The places that a frame names.
    pub(crate) async fn places(&mut self, frame: &Result<Parsed, Broken>) -> Vec<Named> {
        let unresolved = self.names(frame);
        match self.known(&unresolved) {
            Some(places) => places,
            None => self.look_up(&unresolved).await,
        }
    }

    fn names(&self, frame: &Result<Parsed, Broken>) -> Unresolved {
        let habit = self.habit.borrow();
        let (Some(root_arguments), Ok(parsed)) = (&*habit, frame) else { return Vec::new() };
        let in_one = |message: &Message| {
            let params = message.part(Part::Params).unwrap_or_default();
            match message.method() {
                Method::Initialize => {
                    let paths = roots_in_initialize(params);
                    let paths = paths.iter().filter_map(|uri| path::of_uri(uri, Style::OWN));
                    paths.map(|path| (NamedBy::Uri, path)).collect()
                }
                _ => named(params, root_arguments, Style::OWN),
            }
        };
        match parsed {
            Parsed::One(message) => in_one(message).into_iter().map(|named| (0, named)).collect(),
            Parsed::Batch(members) => {
                let members =
                    members.iter().enumerate().filter_map(|(at, member)| Some((at, member.as_ref().ok()?)));
                members
                    .flat_map(|(at, message)| in_one(message).into_iter().map(move |named| (at, named)))
                    .collect()
            }
        }
    }

    /// The places, if the disk need not be asked.
    fn known(&self, unresolved: &Unresolved) -> Option<Vec<Named>> {
        if unresolved.is_empty() {
            return Some(Vec::new());
        }
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        let places = self.resolver.known(&named, Instant::now())?;
        Some(with_members(unresolved, places))
    }

    /// Asks the disk, without holding up anyone but this client.
    async fn look_up(&mut self, unresolved: &Unresolved) -> Vec<Named> {
        let named: Vec<_> = unresolved.iter().map(|(_, named)| named.clone()).collect();
        let asked = named.clone();
        let places = aside::run(move || places::look_up(asked)).await;
        self.resolver.remember(&named, &places, Instant::now());
        with_members(unresolved, places)
    }
}

/// Whether a client wants an answer.
fn asks_something(event: &Event) -> bool {
    let is_request = |message: &Message| message.kind() == Kind::Request;
    match event {
        Event::FromClient { frame: Ok(Parsed::One(message)), .. } => is_request(message),
        Event::FromClient { frame: Ok(Parsed::Batch(members)), .. } => {
            members.iter().flatten().any(is_request)
        }
        Event::ClientTooLong { glimpses, .. } => glimpses.iter().any(|seen| seen.method.is_some()),
        _ => false,
    }
}

fn with_members(unresolved: &Unresolved, places: Vec<Place>) -> Vec<Named> {
    unresolved.iter().zip(places).map(|((member, _), place)| Named { member: *member, place }).collect()
}

/// A frame that cannot be dealt with at once.
enum Held {
    /// To be scanned on another thread.
    Long(Bytes),
    /// To be looked up on disk.
    Placed(Result<Parsed, Broken>, Unresolved),
}

/// Reads a client to its end.
pub(crate) async fn read_client(
    hub: &Arc<Hub>,
    client: ClientId,
    reader: ByteReader,
    framer: Framer,
    mut own: ClientReader,
) {
    read_all(hub, Peer::Client(client), reader, framer, &mut own).await;
}

/// Tells the core once more what a client said to one before us. It was entered then.
pub(crate) async fn repeat(
    hub: &Arc<Hub>,
    client: ClientId,
    bytes: Bytes,
    framing: Option<Framing>,
    own: &mut ClientReader,
) {
    let frame = Source { framing, ..Source::default() }.parse(bytes);
    let unresolved = own.names(&frame);
    let places = match own.known(&unresolved) {
        Some(places) => places,
        None => own.look_up(&unresolved).await,
    };
    hub.handle(Event::FromClient { client, frame, places });
}

/// Reads a backend to its end.
pub(crate) async fn read_backend(hub: &Arc<Hub>, launch: Launch, reader: ByteReader, framer: Framer) {
    read_all(hub, Peer::Backend(launch), reader, framer, &mut ClientReader::default()).await;
}

async fn read_all(
    hub: &Arc<Hub>,
    peer: Peer,
    mut reader: ByteReader,
    mut framer: Framer,
    own: &mut ClientReader,
) {
    let read = own.ledger.as_ref().map_or(0, |ledger| ledger.taken().load(Ordering::Acquire));
    let mut source = Source { read, ..Source::default() };
    let mut quiet = Quiet::default();
    loop {
        let read = tokio::select! {
            biased;
            read = reader.read(framer.buffer()) => read,
            () = quiet.begins() => {
                reader.trim();
                framer.trim();
                hub.turn().trim(peer);
                continue;
            }
        };
        // An error is an end too: there is nothing more to be had from this peer.
        let Ok(count @ 1..) = read else { break };
        quiet.interrupt();
        source.read += count as u64;
        spare::enlarge(framer.buffer());
        take_frames(hub, peer, &mut framer, &mut source, own).await;
        if own.leaves_the_rest() {
            // Until the client is let go. Its end is for the next to see as well.
            return std::future::pending().await;
        }
        hub.wait_for_room(peer).await;
    }
    if let Some(frame) = framer.end() {
        hub.turn().show(peer, &frame);
        source.plain = false;
        source.upto = source.read;
        handle_frame(hub, peer, frame, source, own).await;
    }
}

/// Tells when a peer has said nothing for a while. One timer for a whole stretch of messages: it is set again only when
/// it goes off.
#[derive(Default)]
struct Quiet {
    alarm: Option<Pin<Box<Sleep>>>,
    is_interrupted: bool,
}

impl Quiet {
    fn interrupt(&mut self) {
        self.is_interrupted = true;
        self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(QUIET_TIME)));
    }

    /// Once for each stretch of messages, after its end. Cancel-safe.
    async fn begins(&mut self) {
        loop {
            let Some(alarm) = &mut self.alarm else { return std::future::pending().await };
            alarm.as_mut().await;
            if !std::mem::take(&mut self.is_interrupted) {
                self.alarm = None;
                return;
            }
            alarm.as_mut().reset(tokio::time::Instant::now() + QUIET_TIME);
        }
    }
}

async fn take_frames(
    hub: &Arc<Hub>,
    peer: Peer,
    framer: &mut Framer,
    source: &mut Source,
    own: &mut ClientReader,
) {
    while let Some(held) = take_short_frames(hub, peer, framer, source, own) {
        match held {
            Held::Long(bytes) => handle_frame(hub, peer, Frame::Message(bytes), *source, own).await,
            Held::Placed(frame, unresolved) => place(hub, peer, frame, source.upto, &unresolved, own).await,
        }
    }
}

/// Tells the core what a client sent, with the places that it names.
async fn place(
    hub: &Arc<Hub>,
    peer: Peer,
    frame: Result<Parsed, Broken>,
    upto: u64,
    unresolved: &Unresolved,
    own: &mut ClientReader,
) {
    let Peer::Client(client) = peer else { return };
    let places = match own.known(unresolved) {
        Some(places) => places,
        None => own.look_up(unresolved).await,
    };
    tell(hub, Event::FromClient { client, frame, places }, upto, own);
}

/// Enters it first, under the lock: whoever lets the client go does so under it too.
fn tell(hub: &Arc<Hub>, event: Event, upto: u64, own: &ClientReader) {
    let mut turn = hub.turn();
    if own.enter(&turn, upto, &event) {
        turn.handle(event);
    }
}

/// One turn for all the short frames that have arrived, so that what they cause is written together. Gives
/// the first one back that takes longer.
fn take_short_frames(
    hub: &Arc<Hub>,
    peer: Peer,
    framer: &mut Framer,
    source: &mut Source,
    own: &ClientReader,
) -> Option<Held> {
    let mut turn = hub.turn();
    while let Some(frame) = framer.next_frame() {
        source.plain = framer.gave_plain();
        source.upto = source.read - framer.buffer().len() as u64;
        if source.framing != framer.framing() {
            source.framing = framer.framing();
            if let (Peer::Client(_), Some(framing)) = (peer, source.framing) {
                turn.set_framing(peer, framing);
                own.ledger.iter().for_each(|ledger| ledger.speaks(framing));
            }
        }
        turn.show(peer, &frame);
        match frame {
            Frame::Message(bytes) if bytes.len() > LONG => return Some(Held::Long(bytes)),
            frame => match peer {
                Peer::Client(client) => match from_client(client, frame, *source) {
                    Event::FromClient { frame, .. } => {
                        let unresolved = own.names(&frame);
                        match own.known(&unresolved) {
                            Some(places) => {
                                let event = Event::FromClient { client, frame, places };
                                if !own.enter(&turn, source.upto, &event) {
                                    return None;
                                }
                                turn.handle(event);
                            }
                            None => return Some(Held::Placed(frame, unresolved)),
                        }
                    }
                    event => {
                        if !own.enter(&turn, source.upto, &event) {
                            return None;
                        }
                        turn.handle(event);
                    }
                },
                Peer::Backend(launch) => {
                    from_backend(launch, frame, *source, &mut |event| turn.handle(event))
                }
            },
        }
    }
    None
}

/// One frame, scanned elsewhere if it is long.
async fn handle_frame(hub: &Arc<Hub>, peer: Peer, frame: Frame, source: Source, own: &mut ClientReader) {
    let is_long = matches!(&frame, Frame::Message(bytes) if bytes.len() > LONG);
    let scan = move || {
        let mut events = Vec::new();
        understand(peer, frame, source, &mut |event| events.push(event));
        events
    };
    let events = if is_long { aside::run(scan).await } else { scan() };
    for event in events {
        match event {
            Event::FromClient { frame, .. } => {
                let unresolved = own.names(&frame);
                place(hub, peer, frame, source.upto, &unresolved, own).await;
            }
            event => tell(hub, event, source.upto, own),
        }
    }
}

/// What a backend that is no stream has sent, as events; scanned elsewhere if it is long. It may hold line breaks.
pub(crate) async fn understand_backend(launch: Launch, frame: Frame) -> Vec<Event> {
    match &frame {
        Frame::Message(bytes) if bytes.len() > LONG => {
            aside::run(move || understand_short(launch, frame)).await
        }
        Frame::Message(_) | Frame::Noise(_) | Frame::TooLong { .. } => understand_short(launch, frame),
    }
}

/// The same, of what is known to be short.
pub(crate) fn understand_short(launch: Launch, frame: Frame) -> Vec<Event> {
    let mut events = Vec::new();
    let source = Source { framing: Some(Framing::ContentLength), ..Source::default() };
    from_backend(launch, frame, source, &mut |event| events.push(event));
    events
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
            Event::FromClient { client, frame: source.parse(bytes), places: Vec::new() }
        }
        Frame::TooLong { length, glimpses } => Event::ClientTooLong { client, length, glimpses },
    }
}

fn from_backend(launch: Launch, frame: Frame, source: Source, tell: &mut dyn FnMut(Event)) {
    let line = match frame {
        Frame::Message(line) => line,
        Frame::Noise(text) => return tell(Event::BackendNoise { launch, text, broken: Vec::new() }),
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
        Err(broken) => Event::BackendNoise { launch, text: line.clone(), broken: vec![broken] },
    }
}

/// The stdout firewall's second half: what a backend prints that is no message is kept from the client; a
/// message that shares its line with chatter is recovered.
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
