//! Service of a client whose streams were handed over: repeats the messages that its last daemon had heard,
//! then reads and writes until the client ends or the streams are released.

use super::journal::{ClientJournal, HoldState};
use super::output::JournaledOutput;
use super::settle;
use super::state::OpenRequest;
use crate::fronts::{Arrival, StreamOptions};
use crate::hub::Hub;
use crate::hub::reading;
use crate::io::output::Output;
use crate::io::reader::ClientReader;
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{ClientId, Event, Peer};
use switchboard_process::handover::Streams;
use switchboard_protocol::setup::subscription_request;
use switchboard_protocol::{
    Framer, Framing, Method, Outgoing, Parsed, Part, Patch, RawId, SetupMessage, parse,
};

/// Time limit for the client to read its last answers.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until the client ends, until `asked` resolves, or until the streams are released.
pub(crate) async fn serve(
    hub: &Arc<Hub>,
    arrival: Arrival,
    streams: &Streams,
    options: StreamOptions,
    asked: impl Future<Output = ()>,
) -> io::Result<HoldState> {
    let journal = Arc::new(ClientJournal::of(streams)?);
    let Arrival { client, wants, surroundings, reader } = arrival;
    let (written, framing) = journal.with_state(|state| (state.written, state.framing.or(options.framing)));
    let input = streams.reader(journal.taken(), options.max_message_bytes)?;
    let output = JournaledOutput::new(streams.output(written)?, journal.clone());
    let peer = Peer::Client(client);
    // The outbox must exist before the core hears of the client, since it may answer at once.
    hub.open_outbox(peer, Output::Stored(Box::new(output)), framing.unwrap_or_default());
    hub.handle(wants.event(client, surroundings));
    // Sends output that the last daemon had stored but not written.
    hub.turn().touch(peer);
    let reading = async {
        let mut reader = reader.with_tap(journal.clone());
        // Setup comes before the client's unread input, which relies on it.
        repeat(hub, client, &journal, framing, &mut reader).await?;
        reading::read_client(hub, client, input, Framer::new(framing, options.max_message_bytes), reader)
            .await;
        io::Result::Ok(())
    };
    tokio::select! {
        // Released or broken streams take no more answers.
        hold = journal.closed() => return Ok(hold),
        done = reading => done?,
        () = asked => {}
    }
    hub.handle(Event::ClientInputEnded { client });
    // Requests that were read before the end of input still get their answers.
    let answered = tokio::time::timeout(options.grace, journal.all_answered());
    tokio::select! {
        hold = journal.closed() => return Ok(hold),
        answered = answered => {
            // Requests that outlast the grace period are refused, so that every request has an answer.
            if answered.is_err() {
                let late = journal.with_state(|state| settle::too_late(state, &options.server));
                let mut turn = hub.turn();
                for (id, bytes) in late {
                    turn.say(client, Outgoing::error(id, bytes.into()));
                }
            }
        }
    }
    // A client that does not read must not keep this task, and the daemon, alive.
    let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, hub.written(peer)).await;
    journal.close(HoldState::Over);
    Ok(HoldState::Over)
}

/// Repeats the client's setup to the core under ids of our own, then the open
/// requests that are safe to repeat.
async fn repeat(
    hub: &Arc<Hub>,
    client: ClientId,
    journal: &ClientJournal,
    framing: Option<Framing>,
    reader: &mut ClientReader,
) -> io::Result<()> {
    let (lines, open) = journal.with_state(|state| {
        let again: Vec<_> = state.open.iter().filter_map(OpenRequest::again).cloned().collect();
        let setup = &state.setup;
        let initialize = setup.get(SetupMessage::Initialize).map(|line| &line[..]);
        // An `initialize` that is still open is repeated below under the client's own id, so
        // that the client gets its answer.
        let is_greeting = again.iter().any(|asked| Some(&asked.again[..]) == initialize);
        let mut lines: Vec<(Option<SetupMessage>, Bytes)> = Vec::new();
        for what in SetupMessage::ALL {
            let line = setup.get(what).filter(|_| what != SetupMessage::Initialize || !is_greeting);
            lines.extend(line.map(|line| (Some(what), line.clone())));
        }
        let dialect = settle::dialect(state);
        let subscribe = |uri: &Bytes| subscription_request(Method::Subscribe, 0, uri, dialect);
        lines.extend(setup.subscriptions().iter().map(|uri| (None, subscribe(uri))));
        (lines, again)
    });
    for (what, line) in lines {
        // A line that does not parse is skipped: the other messages are still worth repeating.
        let Some(line) = under_own_id(line, journal) else { continue };
        reading::repeat(hub, client, line, framing, reader).await;
        if what == Some(SetupMessage::Initialize) {
            // Servers expect no other message before they have answered `initialize`.
            journal.swallowed(1).await;
        }
    }
    for asked in open {
        // Journaled first: if this daemon dies over the request, no third daemon may try it.
        journal.repeated(&asked.id)?;
        reading::repeat(hub, client, asked.again.into(), framing, reader).await;
    }
    Ok(())
}

fn under_own_id(line: Bytes, journal: &ClientJournal) -> Option<Bytes> {
    let Ok(Parsed::One(message)) = parse(line.clone()) else { return None };
    // Notifications have no id and get no answer that would have to be swallowed.
    if message.method() == Method::Initialized || !message.has(Part::Id) {
        return Some(line);
    }
    let mut out = Outgoing::of(&message);
    out.replace(message.span(Part::Id), Patch::Id(RawId::from_bytes(&journal.own_id())));
    Some(out.to_vec().into())
}
