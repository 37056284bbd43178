//! A run as a story: one line of plain English per event, action and fact, with its time. Only the
//! shrunk run of a failing seed is told.

use super::variables::number_of;
use std::cell::RefCell;
use std::rc::Rc;
use switchboard_core::{Action, Event, Fact, Moment, Peer};
use switchboard_protocol::{Kind, Message, Outgoing, OutgoingKind, Parsed};

/// Maximum length of a line in characters.
const WIDTH: usize = 220;
/// Maximum lines of a story; the last ones are kept.
const LENGTH: usize = 400;

/// Shared with the caller of a run, so that the lines survive a panic in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story(Option<Rc<RefCell<Vec<String>>>>);

impl Story {
    pub(crate) fn on() -> Self {
        Self(Some(Rc::default()))
    }

    pub(crate) fn tell(&self, now: Moment, line: impl FnOnce() -> Option<String>) {
        let Some(lines) = &self.0 else { return };
        let Some(line) = line() else { return };
        let line: String = line.chars().take(WIDTH).collect();
        lines.borrow_mut().push(format!("{:>9.3} s  {line}", now.since_start().as_secs_f64()));
    }

    pub(crate) fn event(&self, now: Moment, event: &Event) {
        self.tell(now, || told_event(event));
    }

    pub(crate) fn action(&self, now: Moment, action: &Action) {
        self.tell(now, || told_action(action));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.0.as_ref().map(|lines| lines.borrow().clone()).unwrap_or_default();
        lines[lines.len().saturating_sub(LENGTH)..].to_vec()
    }
}

fn told_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::ClientConnected { client, server, surroundings } => {
            let environment = number_of(&surroundings.environment);
            format!("{client} connects to server {}, environment {environment:#b}", server.0)
        }
        Event::AggregateConnected { client, surroundings, .. } => match &surroundings.profiles[..] {
            [] => format!("{client} connects to all servers"),
            profiles => format!("{client} connects with the profiles {profiles:?}"),
        },
        Event::FromClient { client, frame, paths } => {
            let path = paths.first().map(|path| format!(", about {}", path.path.path)).unwrap_or_default();
            format!("{client} sends {}{path}", told_frame(frame))
        }
        Event::ClientTooLong { client, .. } => format!("{client} sends a frame beyond the limit"),
        Event::ClientInputEnded { client } => format!("{client} closes its input"),
        Event::ClientLost { client } => format!("{client} disappears"),
        Event::Revoked { identity } => format!("the token `{}` is revoked", identity.name),
        Event::RootsLookedUp { client, roots, .. } => format!("the folders of {client} are {roots:?}"),
        Event::Spawned { launch, .. } => format!("{launch} runs"),
        Event::SpawnFailed { launch, .. } => format!("{launch} cannot be spawned"),
        Event::NotReached { launch, .. } => format!("{launch} cannot be reached"),
        Event::LogOfRequest { launch, about, message } => {
            format!("{launch} sends, about {about}, {}", told_message(message))
        }
        Event::FromBackend { launch, message } => format!("{launch} sends {}", told_message(message)),
        Event::BackendNoise { launch, text, .. } => {
            format!("{launch} prints {:?}", String::from_utf8_lossy(text))
        }
        Event::BackendTooLong { launch, .. } => format!("{launch} sends a frame beyond the limit"),
        Event::BackendEnded { launch, how, .. } => format!("{launch} ends: {how}"),
        Event::OfferRead { launch, .. } => format!("the lists of {launch} have been read"),
        Event::Measured { used } => format!("processes are measured: {used:?}"),
        Event::Flushed { peer: Peer::Client(client), bytes } => format!("{client} reads {bytes} bytes"),
        Event::Flushed { peer: Peer::Backend(launch), bytes } => format!("{launch} reads {bytes} bytes"),
        Event::Dropped { client } => format!("a notification for {client} is dropped"),
        Event::Tick => "the clock ticks".into(),
        Event::Drain { why } => format!("switchboard is told to end: {why}"),
        Event::Kill => "switchboard is told to end at once".into(),
    })
}

fn told_action(action: &Action) -> Option<String> {
    Some(match action {
        Action::Start { launch, root, .. } => {
            format!("  switchboard starts {launch} at {}", root.as_deref().unwrap_or("no root"))
        }
        Action::Stop { launch, how } => format!("  switchboard stops {launch}: {how:?}"),
        Action::ToBackend { launch, out } => format!("  switchboard sends {launch} {}", told_outgoing(out)),
        Action::ToClient { client, out, .. } => {
            format!("  switchboard sends {client} {}", told_outgoing(out))
        }
        Action::NoAnswer { client, id } => format!("  switchboard answers {client}'s {id} no more"),
        Action::LookUp { client, paths, .. } => format!("  switchboard looks up {paths:?} of {client}"),
        Action::ReadOffer { launch, .. } => format!("  switchboard reads the lists of {launch}"),
        Action::StoreOffer { server, .. } => format!("  switchboard stores the lists of server {}", server.0),
        Action::Disconnect { client } => format!("  switchboard disconnects {client}"),
        Action::Report(fact) => return told_fact(fact),
        Action::StorePins { server, news } => {
            format!("  switchboard stores pins of server {}: {news:?}", server.0)
        }
        Action::StoreRecord { .. } => return None,
        Action::Finished => "  switchboard is shutting down".into(),
    })
}

/// Facts that no event or action shows.
fn told_fact(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Stopping { backend, why } => Some(format!("  {backend} is to stop: {why}")),
        Fact::Separated { backend, why, .. } => {
            Some(format!("  the clients of {backend} are separated: {why}"))
        }
        Fact::NoRoom { backend, running, .. } => Some(format!("  {backend} waits: {running} run")),
        Fact::BreakerOpened { backend, .. } => Some(format!("  {backend} has crashed too often")),
        Fact::RootChosen { client, root, why } => Some(format!("  {client} works at {root:?}: {why}")),
        Fact::Retried { backend, method } => Some(format!("  {method} is sent to {backend} once more")),
        _ => None,
    }
}

fn told_frame(frame: &Result<Parsed, switchboard_protocol::Broken>) -> String {
    match frame {
        Ok(Parsed::One(message)) => told_message(message),
        Ok(Parsed::Batch(members)) => format!("a batch of {}", members.len()),
        Err(broken) => format!("a frame that is no message ({:?})", broken.fault),
    }
}

fn told_message(message: &Message) -> String {
    let id = message.id().map(|id| id.to_string()).unwrap_or_default();
    let text = String::from_utf8_lossy(message.bytes());
    match message.kind() {
        Kind::Request => format!("the request {} with id {id}: {text}", message.method_name()),
        Kind::Notification => format!("{}: {text}", message.method_name()),
        Kind::Response { failed: true } => format!("an error for {id}: {text}"),
        Kind::Response { failed: false } => format!("the answer to {id}: {text}"),
    }
}

fn told_outgoing(out: &Outgoing) -> String {
    let text = String::from_utf8_lossy(&out.to_vec()).into_owned();
    match out.kind() {
        OutgoingKind::Request => format!("the request {text}"),
        OutgoingKind::Notification => format!("the notification {text}"),
        _ => format!("the answer {text}"),
    }
}
