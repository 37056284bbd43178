//! Delivery of messages: an answer goes to the call that waits for it; a message about an open call precedes
//! its answer; all others go to the client's own stream.

use super::{Call, CallOutcome, ClientTransport, NoStream, OWN_STREAM, Session, SessionState, Shape};
use crate::fronts::http::body::{BodyPart, Charge};
use crate::fronts::http::events::{EventId, ReplayedEvent, What};
use crate::fronts::http::frames::{dropped, event, joined, old_event};
use crate::io::mailbox::Mailbox;
use bytes::Bytes;
use std::time::Instant;
use switchboard_core::About;
use switchboard_protocol::{Outgoing, OutgoingKind, RawId, Refusal};
use tokio::sync::mpsc;

/// Longest answer that counts as sent at once.
const MAX_SHORT_ANSWER_BYTES: usize = 4 << 10;
/// Reconnection time for clients that lose a stream.
const RETRY_MILLISECONDS: u32 = 500;

/// An answer of the core.
struct Said {
    message: Bytes,
    count: usize,
    refusal: Option<Refusal>,
}

impl Session {
    /// Turns a call into a stream, if it is not one yet.
    pub(super) fn to_stream(&self, inside: &mut SessionState, number: u64) {
        let Some(call) = inside.calls.get_mut(&number) else { return };
        let Shape::Undecided { reply, answers, bytes } = std::mem::replace(&mut call.shape, Shape::Stream)
        else {
            return;
        };
        let (sender, parts) = channel();
        // If the client has disconnected, it may reconnect: its events are stored.
        if reply.send(CallOutcome::Stream(parts)).is_ok() {
            inside.streams.insert(number, sender);
        }
        self.prime(inside, number);
        // The first answer carries the byte count of all.
        let counts = std::iter::once(bytes).chain(std::iter::repeat(0));
        // Answers that were kept for a whole body are now events of the stream.
        for ((to, answer), count) in answers.into_iter().zip(counts) {
            self.say(inside, number, answer, What::Answer { to, is_last: false }, count);
        }
    }

    /// Sends the first event of a stream: its id, so that the client can resume from the
    /// start, and the reconnection time.
    fn prime(&self, inside: &mut SessionState, stream: u64) {
        // Older clients reject an event without a message.
        let first = match inside.version.as_str() >= "2025-11-25" {
            true => {
                format!("id: {}\nretry: {RETRY_MILLISECONDS}\ndata: \n\n", inside.log.mint(stream)).into()
            }
            false => Bytes::from_static(b": \n\n"),
        };
        self.put_raw(inside, stream, first);
    }

    /// Opens the client's own stream.
    pub(crate) fn open_own(&self) -> Result<mpsc::UnboundedReceiver<BodyPart>, NoStream> {
        let inside = &mut *self.lock();
        if inside.is_closed {
            return Err(NoStream::Closed);
        }
        // MCP sends each message on one stream only; with two of them it would be unclear which.
        if inside.streams.get(&OWN_STREAM).is_some_and(|stream| !stream.is_closed()) {
            return Err(NoStream::Taken);
        }
        let (sender, parts) = channel();
        inside.streams.insert(OWN_STREAM, sender);
        inside.used = Instant::now();
        // Larger than any number, so only unread events are sent again.
        let last = EventId { stream: OWN_STREAM, number: u64::MAX };
        self.say_again(inside, OWN_STREAM, inside.log.after_or_unread(last));
        Ok(parts)
    }

    /// Resumes a stream after this event.
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
        // Replaces the old connection, which is gone or about to be.
        inside.streams.insert(after.stream, sender);
        self.say_again(inside, after.stream, again);
        if after.stream != OWN_STREAM && !inside.calls.contains_key(&after.stream) {
            // The call is finished, so nothing follows the stored events.
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
            // A failed send means that the client is gone again; the event stays in the log.
            let _ = sender.send(part);
        }
    }

    /// Sends the first event of an HTTP+SSE stream.
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

    /// Sends a message on a stream, and stores it for a client that reconnects.
    fn say(&self, inside: &mut SessionState, stream: u64, message: Bytes, what: What, count: usize) {
        let is_open = inside.streams.get(&stream).is_some_and(|stream| !stream.is_closed());
        if !is_open {
            inside.streams.remove(&stream);
        }
        let charge = self.charge(count);
        let part = match self.transport {
            ClientTransport::OneStream => BodyPart::new(old_event(&message), charge),
            ClientTransport::Streamable => {
                // An event without another copy waits in the log, which holds its charge.
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

    /// Delivers an answer. Returns the bytes that no longer count as waiting.
    fn answer(&self, inside: &mut SessionState, id: RawId, said: Said) -> usize {
        let Said { message, count, refusal } = said;
        let Some(number) = inside.open.remove(&id) else {
            // The request came by another way.
            self.say(inside, OWN_STREAM, message, What::Answer { to: id, is_last: false }, count);
            return 0;
        };
        inside.used = Instant::now();
        let Some(call) = inside.calls.get_mut(&number) else { return count };
        // A batch is finished only when each of its requests is answered.
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
        self.finish(inside, number, refusal)
    }

    /// Records that a client waits for a request no more: neither its batch nor the session does.
    pub(crate) fn cancelled(&self, id: &RawId) {
        let gone = self.cancel(&mut self.lock(), id);
        // Outside the lock, which the core takes inside its own.
        drop(self.charge(gone));
    }

    fn cancel(&self, inside: &mut SessionState, id: &RawId) -> usize {
        let Some(number) = inside.open.get(id).copied() else { return 0 };
        let Some(call) = inside.calls.get_mut(&number) else { return 0 };
        if !call.is_batch {
            // A late answer still passes, so the response stays open. Official clients also reconnect without end for an
            // answer that does not come.
            call.is_cancelled = true;
            return 0;
        }
        inside.open.remove(id);
        call.missing -= 1;
        let has_answers = match &call.shape {
            Shape::Undecided { answers, .. } => !answers.is_empty(),
            Shape::Stream => true,
        };
        match call.missing == 0 && has_answers {
            true => self.finish(inside, number, None),
            false => 0,
        }
    }

    /// Ends a call whose requests are all answered. Returns the bytes that no longer count as waiting.
    fn finish(&self, inside: &mut SessionState, number: u64, refusal: Option<Refusal>) -> usize {
        // The call is finished, so its stream ends.
        inside.streams.remove(&number);
        let Some(Call { shape: Shape::Undecided { reply, answers, bytes }, is_batch, .. }) =
            inside.calls.remove(&number)
        else {
            return 0;
        };
        // A short answer fits into the connection's socket buffer, and each connection has one at a time, so
        // it counts as sent and needs no later notice.
        let gone = if bytes <= MAX_SHORT_ANSWER_BYTES { bytes } else { 0 };
        let body = BodyPart::new(joined(answers, is_batch), self.charge(bytes - gone));
        // A batch has one status for all its answers, so none of them decides.
        let _ = reply.send(CallOutcome::Whole(body, refusal.filter(|_| !is_batch)));
        gone
    }

    /// Stream for a message that is not an answer.
    fn stream_for(&self, inside: &mut SessionState, about: &About) -> Option<u64> {
        let related = match about {
            About::Request(id) => inside.open.get(id).copied(),
            About::Nothing => None,
        };
        let takes = |inside: &SessionState, number: &u64| {
            inside.calls.get(number).is_some_and(|call| call.takes_streams)
        };
        // A message about a call precedes its answer on the same stream, as the specification asks.
        if let Some(number) = related.filter(|number| takes(inside, number)) {
            self.to_stream(inside, number);
            return Some(number);
        }
        if inside.streams.get(&OWN_STREAM).is_some_and(|stream| !stream.is_closed()) {
            return Some(OWN_STREAM);
        }
        // Without a stream of its own, the message goes along with another open call: it may be a question.
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
        let (count, refusal) = (out.len(), out.reason());
        let what = if out.is_request() { What::Question } else { What::Notice };
        // A line break would end the `data` field of an event.
        let message = Bytes::from(out.on_one_line().to_vec());
        let inside = &mut *self.lock();
        if inside.is_closed {
            // Counted as sent at once, or the core would wait for a client that has left.
            return count;
        }
        if self.transport == ClientTransport::OneStream {
            self.say(inside, OWN_STREAM, message, what, count);
            return 0;
        }
        if let Some(id) = answered {
            return self.answer(inside, id, Said { message, count, refusal });
        }
        // Without any stream, the message waits for the client's own.
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

/// Channel to one client's connection. The core counts the bytes in it and stops sending to
/// a client that does not read.
#[expect(clippy::disallowed_methods, reason = "the core's byte credits bound it")]
fn channel() -> (mpsc::UnboundedSender<BodyPart>, mpsc::UnboundedReceiver<BodyPart>) {
    mpsc::unbounded_channel()
}
