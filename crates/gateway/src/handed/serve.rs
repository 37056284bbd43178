//! One who holds a client's streams: says again what a predecessor had heard, reads and writes until the client's end,
//! or until the streams are another's.

use super::books::{Open, Saying};
use super::ledger::{Ledger, State};
use super::settle;
use super::way::{Kept, Way};
use crate::fronts::Arrival;
use crate::hub::Hub;
use crate::intake::{self, ClientReader};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{ClientId, Event, Peer};
use switchboard_process::handover::Streams;
use switchboard_protocol::{
    Answers, Dialect, Framer, Framing, Method, Outgoing, Parsed, Part, Patch, RawId, parse,
};

/// How long the last answers may take to be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a client is served.
pub(crate) struct Manner {
    pub(crate) framing: Option<Framing>,
    pub(crate) limit: usize,
    /// How long what is open may take when the client has closed its end.
    pub(crate) grace: Duration,
    /// The server's name.
    pub(crate) server: String,
}

/// Serves until the client's end, until we are `asked` to end, or until we let it go.
pub(crate) async fn serve(
    hub: &Arc<Hub>,
    arrival: Arrival,
    streams: &Streams,
    manner: Manner,
    asked: impl Future<Output = ()>,
) -> io::Result<State> {
    let ledger = Arc::new(Ledger::of(streams)?);
    let Arrival { client, wants, surroundings, reader } = arrival;
    let (written, framing) = ledger.with_books(|books| (books.written, books.framing.or(manner.framing)));
    let input = streams.reader(ledger.taken(), manner.limit)?;
    let kept = Kept::new(streams.output(written)?, ledger.clone());
    let peer = Peer::Client(client);
    hub.open_outbox(peer, Way::Kept(kept), framing.unwrap_or_default());
    hub.handle(wants.event(client, surroundings));
    // What a predecessor could not give out any more.
    hub.turn().touch(peer);
    let reading = async {
        let mut reader = reader.noting(ledger.clone());
        say_again(hub, client, &ledger, framing, &mut reader).await?;
        intake::read_client(hub, client, input, Framer::new(framing, manner.limit), reader).await;
        io::Result::Ok(())
    };
    tokio::select! {
        state = ledger.closed() => return Ok(state),
        done = reading => done?,
        () = asked => {}
    }
    hub.handle(Event::ClientInputEnded { client });
    let settled = tokio::time::timeout(manner.grace, ledger.settled());
    tokio::select! {
        state = ledger.closed() => return Ok(state),
        settled = settled => {
            if settled.is_err() {
                let late = ledger.with_books(|books| settle::too_late(books, &manner.server));
                let mut turn = hub.turn();
                for (id, bytes) in late {
                    turn.say(client, Outgoing::raw(bytes.into()).answering(Answers::One(id)));
                }
            }
        }
    }
    let _ = tokio::time::timeout(PATIENCE, hub.written(peer)).await;
    ledger.close(State::Over);
    Ok(State::Over)
}

/// Tells the core what the client had told a predecessor; nobody but us hears the answers. Then what is open and may be
/// asked again.
async fn say_again(
    hub: &Arc<Hub>,
    client: ClientId,
    ledger: &Arc<Ledger>,
    framing: Option<Framing>,
    reader: &mut ClientReader,
) -> io::Result<()> {
    let (lines, open) = ledger.with_books(|books| {
        let again: Vec<_> = books.open.iter().filter_map(Open::again).cloned().collect();
        let is_greeting = again.iter().any(|asked| Some(&asked.again) == books.initialize.as_ref());
        let mut lines: Vec<(Option<Saying>, Vec<u8>)> = Vec::new();
        let mut put = |what, line: &Option<Vec<u8>>| lines.extend(line.clone().map(|line| (what, line)));
        if !is_greeting {
            put(Some(Saying::Initialize), &books.initialize);
        }
        put(Some(Saying::Initialized), &books.initialized);
        put(Some(Saying::Level), &books.level);
        lines.extend(books.subscriptions.iter().map(|uri| (None, subscribing(uri, settle::dialect(books)))));
        (lines, again)
    });
    for (what, line) in lines {
        let Some(line) = under_own_id(line, ledger) else { continue };
        intake::repeat(hub, client, line, framing, reader).await;
        if what == Some(Saying::Initialize) {
            ledger.swallowed(1).await;
        }
    }
    for asked in open {
        ledger.repeated(&asked.id)?;
        intake::repeat(hub, client, asked.again.into(), framing, reader).await;
    }
    Ok(())
}

/// A request for a subscription, as the client would have put it.
fn subscribing(uri: &[u8], dialect: Dialect) -> Vec<u8> {
    let head: &[u8] = match dialect {
        Dialect::Standard => br#"{"jsonrpc":"2.0","id":0,"method":"resources/subscribe","params":{"uri":"#,
        Dialect::Bare => br#"{"id":0,"method":"resources/subscribe","params":{"uri":"#,
    };
    [head, uri, b"}}"].concat()
}

fn under_own_id(line: Vec<u8>, ledger: &Ledger) -> Option<Bytes> {
    let line = Bytes::from(line);
    let Ok(Parsed::One(message)) = parse(line.clone()) else { return None };
    if message.method() == Method::Initialized || !message.has(Part::Id) {
        return Some(line);
    }
    let mut out = Outgoing::of(&message);
    out.replace(message.span(Part::Id), Patch::Id(RawId::from_bytes(&ledger.own_id())));
    Some(out.to_vec().into())
}
