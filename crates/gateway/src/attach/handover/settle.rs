//! Answers owed to a client after its daemon's death: the rest of a message that was being
//! written, an error for each request that may have taken effect, and a cancellation of each
//! question from a server that is gone.

use super::entry::{Id, JournalEntry};
use super::journal::ClientJournal;
use super::output::JournaledOutput;
use super::state::{JournalState, OpenRequest};
use bytes::Bytes;
use serde_json::json;
use std::io::{self, IoSlice};
use std::sync::Arc;
use switchboard_process::handover::Streams;
use switchboard_protocol::{Dialect, Era, ErrorAnswer, ErrorKind, RawId, SetupMessage};

/// Journals and writes all that is owed, as far as that is possible without waiting.
pub(super) fn answer_owed(streams: &Streams, server: &str) -> io::Result<JournaledOutput> {
    // Requests that are safe to repeat are left to the next daemon.
    answer_with(streams, &died(server), |open| open.again().is_none())
}

/// Refuses every open request after `exit`: no other daemon follows.
pub(super) fn refuse_open(streams: &Streams, server: &str) -> io::Result<JournaledOutput> {
    answer_with(streams, &ending(server), |_| true)
}

fn answer_with(
    streams: &Streams,
    error: &ErrorAnswer,
    is_owed: fn(&OpenRequest) -> bool,
) -> io::Result<JournaledOutput> {
    let journal = Arc::new(ClientJournal::of(streams)?);
    let (written, words, entries) = journal.with_state(|state| {
        let (words, entries) = owed(state, error, is_owed);
        (state.written, words, entries)
    });
    let output = JournaledOutput::new(streams.output(written)?, journal);
    if !words.is_empty() {
        output.store_with(&[IoSlice::new(&words)], entries)?;
    }
    Ok(output)
}

fn owed(
    state: &JournalState,
    error: &ErrorAnswer,
    is_owed: fn(&OpenRequest) -> bool,
) -> (Vec<u8>, Vec<JournalEntry>) {
    let dialect = dialect(state);
    let mut words = Vec::new();
    let mut entries = Vec::new();
    let framing = state.framing.unwrap_or_default();
    let mut say = |message: &[u8]| {
        // Spelled in the client's framing, since no outbox stands between this text and the client.
        words.extend_from_slice(framing.head(message.len()).unwrap_or_default().as_bytes());
        words.extend_from_slice(message);
        words.extend_from_slice(framing.tail());
    };
    for id in &state.questions {
        let version = if dialect == Dialect::Standard { r#""jsonrpc":"2.0","# } else { "" };
        let id_text = String::from_utf8_lossy(id);
        say(format!(
            r#"{{{version}"method":"notifications/cancelled","params":{{"requestId":{id_text},"reason":"the server that asked has stopped"}}}}"#
        )
        .as_bytes());
        // Resolved here: no daemon is left that waits for the client's answer.
        entries.push(JournalEntry::Resolved { id: id.clone() });
    }
    let answer = |id: &Id| error.to_bytes(&RawId::from_bytes(id), dialect);
    let modern = error.clone().in_era(Era::Modern);
    for open in state.open.iter().filter(|open| is_owed(open)) {
        match open {
            OpenRequest::One(asked) => {
                let error = if asked.is_modern { &modern } else { error };
                say(&error.to_bytes(&RawId::from_bytes(&asked.id), dialect));
                entries.push(JournalEntry::Answered { id: asked.id.clone() });
            }
            OpenRequest::Together(ids) => {
                let members: Vec<_> = ids.iter().map(answer).collect();
                say(&[b"[", &members.join(&b","[..])[..], b"]"].concat());
                // A single entry closes the whole batch, since it is stored as one open request.
                entries.extend(ids.first().map(|id| JournalEntry::Answered { id: id.clone() }));
            }
        }
    }
    (words, entries)
}

/// Dialect of our own messages: clients that omit `jsonrpc` do not expect it either.
pub(super) fn dialect(state: &JournalState) -> Dialect {
    let has_version = |line: &Bytes| memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
    if state.setup.get(SetupMessage::Initialize).is_none_or(has_version) {
        Dialect::Standard
    } else {
        Dialect::Bare
    }
}

/// Same text as the relay's core uses for the end of the daemon.
fn died(server: &str) -> ErrorAnswer {
    let text = "the Switchboard daemon died during this request: the connection to the daemon ended";
    ErrorAnswer::new(ErrorKind::BackendUnavailable, text)
        .server(server)
        .with("root", json!(null))
        .retryable(true)
        .hint("a new one is being started; whether this request took effect is unknown")
}

fn ending(server: &str) -> ErrorAnswer {
    ErrorAnswer::new(ErrorKind::ShuttingDown, "switchboard is shutting down")
        .server(server)
        .with("root", json!(null))
        .retryable(false)
        .hint("start it again")
}

/// Errors for a client that closed its input and whose answers missed the grace period.
pub(super) fn too_late(state: &JournalState, server: &str) -> Vec<(RawId, Vec<u8>)> {
    let error = ending(server);
    let dialect = dialect(state);
    let ids = state.open.iter().flat_map(|open| match open {
        OpenRequest::One(asked) => std::slice::from_ref(&asked.id),
        OpenRequest::Together(ids) => &ids[..],
    });
    let ids = ids.map(|id| RawId::from_bytes(id));
    ids.map(|id| (id.clone(), error.to_bytes(&id, dialect).to_vec())).collect()
}
