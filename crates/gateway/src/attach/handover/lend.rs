//! The attachment's side: lends a client's streams to a daemon, and outlives all daemons. While one holds them there is
//! nothing to do but to watch it; when it is gone, what it owed is settled at once, and the streams are lent to the next as
//! soon as the client wants something.

use super::output::JournaledOutput;
use super::settle::{refuse_open, settle};
use super::watchdog::{Watchdog, WatchdogVerdict};
use crate::attach::link::Link;
use crate::io::output::StoredOutput;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};
use switchboard_process::handover::{Streams, Waiting};
use switchboard_process::local::Connection;
use switchboard_process::parent::Parent;
use switchboard_process::pipe::{ByteWriter, MIN_SPARE_BYTES};
use switchboard_process::signals::Signals;

/// What is said on the connection while the streams are elsewhere: a byte each.
pub(crate) const ALIVE: u8 = b'a';
/// To the one who holds them: end with what is open.
pub(crate) const END: u8 = b'e';
/// From it: the client has ended, and has its answers.
pub(crate) const OVER: u8 = b'o';
/// From it: the client has said `exit`. What is open is left to us.
pub(crate) const EXITED: u8 = b'x';

/// How long the last answers may take to be read.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);
/// Daemons that may die within [`DEATHS_WINDOW`]; after that the relay, which waits between tries, takes over.
const MAX_DEATHS: usize = 5;
const DEATHS_WINDOW: Duration = Duration::from_secs(60);

/// Whose end is the end of lending.
pub(crate) struct Lookout {
    pub(crate) signals: Signals,
    pub(crate) parent: Parent,
    pub(crate) ignore_parent: bool,
    pub(crate) grace: Duration,
}

/// Outcome of lending.
pub(crate) enum Lent {
    /// The client has ended, or we are to.
    Over,
    /// No daemon takes the streams.
    Back(Streams, Lookout),
}

/// How one daemon's hold ended.
enum HoldEnd {
    Over,
    /// The client has said `exit`.
    Exited,
    /// The one who held them is gone, or has let go.
    Lost,
}

/// The connection is with one who has said that it takes them.
pub(crate) async fn lend(link: &Link, connection: Connection, streams: Streams, mut watch: Lookout) -> Lent {
    let mut connection = connection;
    let mut deaths = VecDeque::new();
    loop {
        let witness = link.sweeps().witness(connection.peer);
        let end = match streams.pass(&connection).await {
            Ok(()) => watch.over(&mut connection, &streams).await,
            Err(_) => HoldEnd::Lost,
        };
        match end {
            HoldEnd::Over => return Lent::Over,
            HoldEnd::Exited => {
                drop(connection);
                if let Ok(output) = refuse_open(&streams, link.newcomer().shown()) {
                    let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, give_out(&output)).await;
                }
                return Lent::Over;
            }
            HoldEnd::Lost => drop(connection),
        }
        link.sweeps().clear_up_after(witness);
        let now = Instant::now();
        deaths.push_back(now);
        deaths.retain(|&death| now.duration_since(death) < DEATHS_WINDOW);
        let Ok(output) = settle(&streams, link.newcomer().shown()) else { return Lent::Over };
        if let HoldEnd::Over = watch.until_wanted(&streams, output).await {
            return Lent::Over;
        }
        if deaths.len() > MAX_DEATHS {
            return Lent::Back(streams, watch);
        }
        let opened = tokio::select! {
            opened = link.open(true) => opened,
            () = watch.ended() => return Lent::Over,
        };
        connection = match opened {
            Ok((connection, true)) => connection,
            Ok((_, false)) | Err(_) => return Lent::Back(streams, watch),
        };
    }
}

impl Lookout {
    /// A signal, or the end of whoever started us.
    async fn ended(&mut self) {
        let Self { signals, parent, ignore_parent, .. } = self;
        tokio::select! {
            _ = signals.next() => {}
            () = parent.gone(), if !*ignore_parent => {}
        }
    }

    /// Watches the daemon that holds the streams.
    async fn over(&mut self, connection: &mut Connection, streams: &Streams) -> HoldEnd {
        let mut words = BytesMut::with_capacity(MIN_SPARE_BYTES);
        let mut watchdog = Watchdog::new(Instant::now());
        loop {
            let Self { signals, parent, ignore_parent, .. } = self;
            let end = tokio::select! {
                read = connection.reader.read(&mut words) => {
                    watchdog.heard(Instant::now());
                    hear(read, &mut words)
                }
                _ = signals.next() => {
                    self.end_in_order(connection, &mut words).await;
                    Some(HoldEnd::Over)
                }
                () = parent.gone(), if !*ignore_parent => Some(HoldEnd::Over),
                // A rest ends with the client's next message. If the system cannot tell of it, timers do as before.
                _ = streams.readable(), if watchdog.wake().is_none() => {
                    watchdog.stir(Instant::now());
                    None
                }
                () = sleep_until(watchdog.wake()) => {
                    let has_work = streams.open_requests() > 0 || streams.waiting() == Waiting::Something;
                    act_upon(watchdog.look(Instant::now(), has_work), connection).await
                }
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Asks the daemon to end with what is open. A second signal ends at once; and nobody waits for ever.
    async fn end_in_order(&mut self, connection: &mut Connection, words: &mut BytesMut) {
        let orderly = async {
            let _ = say(&connection.writer, END).await;
            while matches!(connection.reader.read(words).await, Ok(1..)) && !words.contains(&OVER) {}
        };
        tokio::select! {
            () = orderly => {}
            _ = self.signals.next() => {}
            () = tokio::time::sleep(self.grace + 2 * LAST_ANSWERS_TIMEOUT) => {}
        }
    }

    /// While nobody holds them: gives out what is left, until the client says something.
    async fn until_wanted(&mut self, streams: &Streams, output: JournaledOutput) -> HoldEnd {
        let has_open = output.journal().with_state(|state| !state.open.is_empty());
        let taken = output.journal().with_state(|state| state.taken);
        if has_open || streams.has_unread(taken).unwrap_or(true) {
            return HoldEnd::Lost;
        }
        let giving = async {
            give_out(&output).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            end = until_client_speaks(streams, &output) => end,
            () = giving => HoldEnd::Over,
            () = self.ended() => HoldEnd::Over,
        }
    }
}

async fn until_client_speaks(streams: &Streams, output: &JournaledOutput) -> HoldEnd {
    loop {
        match streams.waiting() {
            Waiting::Something => return HoldEnd::Lost,
            Waiting::Nothing if streams.readable().await.is_err() => return HoldEnd::Over,
            Waiting::Nothing => {}
            Waiting::Ended => {
                let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, give_out(output)).await;
                return HoldEnd::Over;
            }
        }
    }
}

/// What the daemon's bytes mean; nothing if it only gave a sign of life.
fn hear(read: io::Result<usize>, words: &mut BytesMut) -> Option<HoldEnd> {
    if !matches!(read, Ok(1..)) {
        return Some(HoldEnd::Lost);
    }
    if words.contains(&OVER) {
        return Some(HoldEnd::Over);
    }
    if words.contains(&EXITED) {
        return Some(HoldEnd::Exited);
    }
    words.clear();
    None
}

async fn act_upon(verdict: WatchdogVerdict, connection: &Connection) -> Option<HoldEnd> {
    match verdict {
        WatchdogVerdict::Fine => None,
        WatchdogVerdict::Ask => say(&connection.writer, ALIVE).await.is_err().then_some(HoldEnd::Lost),
        WatchdogVerdict::Hung => {
            // It must not wake up and go on with what is another's by then. Its guards clear up.
            connection.kill_peer();
            Some(HoldEnd::Lost)
        }
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

async fn give_out(output: &JournaledOutput) {
    while output.unsent() > 0 {
        match output.send() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if output.writable().await.is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

pub(crate) async fn say(writer: &ByteWriter, word: u8) -> io::Result<()> {
    loop {
        match writer.try_write(&[IoSlice::new(&[word])]) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => writer.writable().await?,
            Err(error) => return Err(error),
        }
    }
}

/// In debug builds `SWITCHBOARD_RELAY=1` keeps the streams here, as everywhere but on Linux.
pub(crate) fn streams_of(stdio: &switchboard_process::stdio::OwnStdio) -> Option<Streams> {
    #[cfg(debug_assertions)]
    if std::env::var_os("SWITCHBOARD_RELAY").is_some_and(|wish| wish == "1") {
        return None;
    }
    Streams::of(stdio)
}
