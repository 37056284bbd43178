//! Messages as HTTP carries them: in an array, or as events of a stream. Pure.

use super::events::EventId;
use bytes::Bytes;
use switchboard_protocol::{Dialect, ErrorAnswer, ErrorKind, RawId};

pub(super) fn joined(mut answers: Vec<(RawId, Bytes)>, is_batch: bool) -> Bytes {
    if !is_batch {
        // A call that is not a batch has exactly one answer.
        return answers.pop().map(|(_, answer)| answer).unwrap_or_default();
    }
    let mut all = vec![b'['];
    for (at, (_, answer)) in answers.iter().enumerate() {
        if at > 0 {
            all.push(b',');
        }
        all.extend_from_slice(answer);
    }
    all.push(b']');
    all.into()
}

pub(super) fn event(id: EventId, message: &[u8]) -> Bytes {
    // No line break can occur in the message: the session writes it on one line.
    let mut text = format!("id: {id}\nevent: message\ndata: ").into_bytes();
    text.extend_from_slice(message);
    text.extend_from_slice(b"\n\n");
    text.into()
}

pub(super) fn old_event(message: &[u8]) -> Bytes {
    // Clients of 2024-11-05 cannot resume, so their events need no id.
    let mut text = b"event: message\ndata: ".to_vec();
    text.extend_from_slice(message);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Error in place of an answer that is no longer stored.
pub(super) fn dropped(request: &RawId) -> Bytes {
    let error = ErrorAnswer::new(
        ErrorKind::ClientTooSlow,
        "the answer is no longer stored: the client was disconnected for too long",
    );
    error
        .retryable(false)
        .hint("the request may have taken effect; repeat it only if that does no harm")
        .to_bytes(request, Dialect::Standard)
}
