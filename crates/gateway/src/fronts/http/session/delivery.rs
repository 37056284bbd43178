//! Which message goes where: an answer to the request that waits for it; what comes while a request is worked on before its
//! answer; everything else to the client's own stream.

use super::{Call, CallOutcome, ClientTransport, NoStream, OWN_STREAM, Session, SessionState, Shape};
use crate::fronts::http::body::{BodyPart, Charge};
use crate::fronts::http::events::{EventId, ReplayedEvent, What};
use crate::fronts::http::frames::{dropped, event, joined, old_event};
use crate::io::mailbox::Mailbox;
use bytes::Bytes;
use std::time::Instant;
use switchboard_core::About;
use switchboard_protocol::{Outgoing, OutgoingKind, RawId};
use tokio::sync::mpsc;

/// Longest answer that is not waited for.
const MAX_SHORT_ANSWER_BYTES: usize = 4 << 10;
/// Time after which a client that has lost a stream should come back.
const RETRY_MILLISECONDS: u32 = 500;

impl Session {
    /// A call can no longer be answered whole.
    pub(super) fn to_stream(&self, inside: &mut SessionState, number: u64) {
        let Some(call) = inside.calls.get_mut(&number) else { return };
        let Shape::Undecided { reply, answers, bytes } = std::mem::replace(&mut call.shape, Shape::Stream)
        else {
            return;
        };
        let (sender, parts) = channel();
        // One who has gone may come back: what it gets is kept.
        if reply.send(CallOutcome::Stream(parts)).is_ok() {
            inside.streams.insert(number, sender);
        }
        self.prime(inside, number);
        // All of them are counted with the first.
        let counts = std::iter::once(bytes).chain(std::iter::repeat(0));
        for ((to, answer), count) in answers.into_iter().zip(counts) {
            self.say(inside, number, answer, What::Answer { to, is_last: false }, count);
        }
    }

    /// The first event of a stream says nothing but its number, so that it can be come back to from the beginning, and when.
    fn prime(&self, inside: &mut SessionState, stream: u64) {
        // Older clients take an event without a message for a broken one.
        let first = match inside.version.as_str() >= "2025-11-25" {
            true => {
                format!("id: {}\nretry: {RETRY_MILLISECONDS}\ndata: \n\n", inside.log.mint(stream)).into()
            }
            false => Bytes::from_static(b": \n\n"),
        };
        self.put_raw(inside, stream, first);
    }

    /// The client's own stream.
    pub(crate) fn open_own(&self) -> Result<mpsc::UnboundedReceiver<BodyPart>, NoStream> {
        let inside = &mut *self.lock();
        if inside.is_closed {
            return Err(NoStream::Closed);
        }
        if inside.streams.get(&OWN_STREAM).is_some_and(|stream| !stream.is_closed()) {
            return Err(NoStream::Taken);
        }
        let (sender, parts) = channel();
        inside.streams.insert(OWN_STREAM, sender);
        inside.used = Instant::now();
        let last = EventId { stream: OWN_STREAM, number: u64::MAX };
        self.say_again(inside, OWN_STREAM, inside.log.after_or_unread(last));
        Ok(parts)
    }

    /// Goes on with a stream after this event.
    pub(crate) fn resume(&self, after: EventId) -> Result<mpsc::UnboundedReceiver<BodyPart>, NoStream> {
        let inside = &mut *self.lock();
        if inside.is_closed {
            return Err(NoStream::Closed);
        }
        let (sender, parts) = channel();
        let again = match after.stream {
            OWN_STREAM => inside.log.after_or_unread(after),
            _ => inside.log.after(after),
        };
        // Whoever read it before is gone, or is to be.
        inside.streams.insert(after.stream, sender);
        self.say_again(inside, after.stream, again);
        if after.stream != OWN_STREAM && !inside.calls.contains_key(&after.stream) {
            // Nothing more comes.
            inside.streams.remove(&after.stream);
        }
        inside.used = Instant::now();
        Ok(parts)
    }

    fn say_again(&self, inside: &SessionState, stream: u64, again: Vec<ReplayedEvent>) {
        let Some(sender) = inside.streams.get(&stream) else { return };
        for again in again {
            let part = match again {
                ReplayedEvent::Message(id, message) => {
                    let charge = inside.log.hand_out(id);
                    BodyPart::new(event(id, &message), charge).with_receipt(inside.log.receipt(id))
                }
                ReplayedEvent::Dropped(id, request) => BodyPart::new(event(id, &dropped(&request)), None),
            };
            let _ = sender.send(part);
        }
    }

    /// The first words on the stream of an old client.
    pub(crate) fn say_endpoint(&self, path: &str) {
        let inside = &mut *self.lock();
        self.put_raw(inside, OWN_STREAM, format!("event: endpoint\ndata: {path}\n\n").into());
    }

    fn charge(&self, count: usize) -> Option<Charge> {
        Some(Charge::new(self.client, count, self.inbox.clone()))
    }

    fn put_raw(&self, inside: &mut SessionState, stream: u64, bytes: Bytes) {
        if let Some(sender) = inside.streams.get(&stream) {
            let _ = sender.send(BodyPart::new(bytes, None));
        }
    }

    /// Says something on a stream, and keeps it for one who comes back.
    fn say(&self, inside: &mut SessionState, stream: u64, message: Bytes, what: What, count: usize) {
        let is_open = inside.streams.get(&stream).is_some_and(|stream| !stream.is_closed());
        if !is_open {
            inside.streams.remove(&stream);
        }
        let charge = self.charge(count);
        let part = match self.transport {
            ClientTransport::OneStream => BodyPart::new(old_event(&message), charge),
            ClientTransport::Streamable => {
                // The log has what nobody else holds: it waits there, and is counted.
                let (waits, goes) = match what {
                    What::Question => (charge, None),
                    What::Notice if !is_open => (charge, None),
                    What::Notice | What::Answer { .. } => (None, charge),
                };
                let id = inside.log.note(stream, &message, what, waits);
                if !is_open {
                    return;
                }
                BodyPart::new(event(id, &message), goes).with_receipt(inside.log.receipt(id))
            }
        };
        if let Some(sender) = inside.streams.get(&stream) {
            let _ = sender.send(part);
        }
    }

    /// How many bytes are as good as gone.
    fn answer(&self, inside: &mut SessionState, id: RawId, message: Bytes, count: usize) -> usize {
        let Some(number) = inside.open.remove(&id) else {
            // Of a request that came by another way.
            self.say(inside, OWN_STREAM, message, What::Answer { to: id, is_last: false }, count);
            return 0;
        };
        inside.used = Instant::now();
        let Some(call) = inside.calls.get_mut(&number) else { return count };
        call.missing -= 1;
        let is_last = call.missing == 0;
        match &mut call.shape {
            Shape::Undecided { answers, bytes, .. } => {
                answers.push((id, message));
                *bytes += count;
                if !is_last {
                    return 0;
                }
            }
            Shape::Stream => self.say(inside, number, message, What::Answer { to: id, is_last }, count),
        }
        if !is_last {
            return 0;
        }
        // Nothing more comes on its stream.
        inside.streams.remove(&number);
        let Some(Call { shape: Shape::Undecided { reply, answers, bytes }, is_batch, .. }) =
            inside.calls.remove(&number)
        else {
            return 0;
        };
        // A short one fits into what the system holds for a connection, and each connection has one at a time: nobody need
        // come back to say that it has gone.
        let gone = if bytes <= MAX_SHORT_ANSWER_BYTES { bytes } else { 0 };
        let _ = reply
            .send(CallOutcome::Whole(BodyPart::new(joined(answers, is_batch), self.charge(bytes - gone))));
        gone
    }

    /// Where something goes that answers nothing.
    fn stream_for(&self, inside: &mut SessionState, about: &About) -> Option<u64> {
        let related = match about {
            About::Request(id) => inside.open.get(id).copied(),
            About::Nothing => None,
        };
        let takes = |inside: &SessionState, number: &u64| {
            inside.calls.get(number).is_some_and(|call| call.takes_streams)
        };
        if let Some(number) = related.filter(|number| takes(inside, number)) {
            self.to_stream(inside, number);
            return Some(number);
        }
        if inside.streams.get(&OWN_STREAM).is_some_and(|stream| !stream.is_closed()) {
            return Some(OWN_STREAM);
        }
        // Better beside another request than not at all: it may be a question.
        let open = inside.calls.keys().copied().filter(|number| takes(inside, number)).max();
        if let Some(number) = open {
            self.to_stream(inside, number);
        }
        open
    }
}

impl Mailbox for Session {
    fn put(&self, out: Outgoing, about: About) -> usize {
        let is_response = matches!(out.kind(), OutgoingKind::Response { .. });
        let answered = out.id().filter(|_| is_response).map(RawId::from_bytes);
        let count = out.len();
        let what = if out.is_request() { What::Question } else { What::Notice };
        let message = Bytes::from(out.on_one_line().to_vec());
        let inside = &mut *self.lock();
        if inside.is_closed {
            return count;
        }
        if self.transport == ClientTransport::OneStream {
            self.say(inside, OWN_STREAM, message, what, count);
            return 0;
        }
        if let Some(id) = answered {
            return self.answer(inside, id, message, count);
        }
        // Without any stream it waits for the client's own.
        let stream = self.stream_for(inside, &about).unwrap_or(OWN_STREAM);
        self.say(inside, stream, message, what, count);
        0
    }

    fn close(&self) {
        let inside = &mut *self.lock();
        inside.is_closed = true;
        inside.streams.clear();
        inside.calls.clear();
        inside.open.clear();
        inside.log.clear();
    }
}

/// A stream to one client. What waits in it is counted by the core, which gives a client that does not read nothing more.
#[expect(clippy::disallowed_methods, reason = "the core's byte credits bound it")]
fn channel() -> (mpsc::UnboundedSender<BodyPart>, mpsc::UnboundedReceiver<BodyPart>) {
    mpsc::unbounded_channel()
}
