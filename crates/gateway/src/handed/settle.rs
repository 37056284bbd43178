//! What is owed to a client when the one who served it is gone: the rest of what it was being told, an error for each
//! request that may have taken effect, and the end of questions that nobody waits for any more.

use super::books::{Books, Entry, Id, Open};
use super::ledger::Ledger;
use super::way::Kept;
use serde_json::json;
use std::io::{self, IoSlice};
use std::sync::Arc;
use switchboard_process::handover::Streams;
use switchboard_protocol::{Dialect, ErrorAnswer, ErrorKind, RawId};

/// Enters and writes all of it, as far as it goes without waiting.
pub(super) fn settle(streams: &Streams, server: &str) -> io::Result<Kept> {
    // What is safe to ask again goes to the next one.
    settle_with(streams, &died(server), |open| open.again().is_none())
}

/// The same after `exit`: nobody comes next, and everything that is open is refused.
pub(super) fn refuse_open(streams: &Streams, server: &str) -> io::Result<Kept> {
    settle_with(streams, &ending(server), |_| true)
}

fn settle_with(streams: &Streams, error: &ErrorAnswer, is_owed: fn(&Open) -> bool) -> io::Result<Kept> {
    let ledger = Arc::new(Ledger::of(streams)?);
    let (written, words, entries) = ledger.with_books(|books| {
        let (words, entries) = owed(books, error, is_owed);
        (books.written, words, entries)
    });
    let kept = Kept::new(streams.output(written)?, ledger);
    if !words.is_empty() {
        kept.keep_with(&[IoSlice::new(&words)], entries)?;
    }
    Ok(kept)
}

fn owed(books: &Books, error: &ErrorAnswer, is_owed: fn(&Open) -> bool) -> (Vec<u8>, Vec<Entry>) {
    let dialect = dialect(books);
    let mut words = Vec::new();
    let mut entries = Vec::new();
    let framing = books.framing.unwrap_or_default();
    let mut say = |message: &[u8]| {
        words.extend_from_slice(framing.head(message.len()).unwrap_or_default().as_bytes());
        words.extend_from_slice(message);
        words.extend_from_slice(framing.tail());
    };
    for id in &books.questions {
        let version = if dialect == Dialect::Standard { r#""jsonrpc":"2.0","# } else { "" };
        let id_text = String::from_utf8_lossy(id);
        say(format!(
            r#"{{{version}"method":"notifications/cancelled","params":{{"requestId":{id_text},"reason":"the server that asked is gone"}}}}"#
        )
        .as_bytes());
        entries.push(Entry::Resolved { id: id.clone() });
    }
    let answer = |id: &Id| error.to_bytes(&RawId::from_bytes(id), dialect);
    for open in books.open.iter().filter(|open| is_owed(open)) {
        match open {
            Open::One(asked) => {
                say(&answer(&asked.id));
                entries.push(Entry::Answered { id: asked.id.clone() });
            }
            Open::Together(ids) => {
                let members: Vec<_> = ids.iter().map(answer).collect();
                say(&[b"[", &members.join(&b","[..])[..], b"]"].concat());
                entries.extend(ids.first().map(|id| Entry::Answered { id: id.clone() }));
            }
        }
    }
    (words, entries)
}

/// Those who leave `jsonrpc` out do not expect it either.
pub(super) fn dialect(books: &Books) -> Dialect {
    let has_version = |line: &Vec<u8>| memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
    if books.initialize.as_ref().is_none_or(has_version) { Dialect::Standard } else { Dialect::Bare }
}

/// In the words of the core of an attachment that carries every message itself.
fn died(server: &str) -> ErrorAnswer {
    let text = "the Switchboard daemon died while it worked on this: the connection to the daemon ended";
    ErrorAnswer::new(ErrorKind::BackendUnavailable, text)
        .server(server)
        .with("root", json!(null))
        .retryable(true)
        .hint("another one is being started; whether this request took effect is unknown")
}

fn ending(server: &str) -> ErrorAnswer {
    ErrorAnswer::new(ErrorKind::ShuttingDown, "switchboard is shutting down")
        .server(server)
        .with("root", json!(null))
        .retryable(false)
        .hint("start it again")
}

/// For those who closed their end, and whose answers did not come in time.
pub(super) fn too_late(books: &Books, server: &str) -> Vec<(RawId, Vec<u8>)> {
    let error = ending(server);
    let dialect = dialect(books);
    let ids = books.open.iter().flat_map(|open| match open {
        Open::One(asked) => std::slice::from_ref(&asked.id),
        Open::Together(ids) => &ids[..],
    });
    let ids = ids.map(|id| RawId::from_bytes(id));
    ids.map(|id| (id.clone(), error.to_bytes(&id, dialect).to_vec())).collect()
}
