//! The attachment's side of a handover: lends a client's streams to one daemon after the other, and outlives
//! all of them. While a daemon holds the streams, the attachment only watches it. When the daemon is gone,
//! the owed answers are written at once, and the streams go to the next daemon at the client's next message.

use super::output::JournaledOutput;
use super::settle::{answer_owed, refuse_open};
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

/// Sign of life, in both directions. Every word on the connection is one byte.
pub(crate) const ALIVE: u8 = b'a';
/// To the daemon: finish open requests and end.
pub(crate) const END: u8 = b'e';
/// From the daemon: the client has ended and has its answers.
pub(crate) const OVER: u8 = b'o';
/// From the daemon: the client sent `exit`; open requests are left to the attachment.
pub(crate) const EXITED: u8 = b'x';

/// Time limit for the client to read its last answers.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);
/// Daemons that may die within [`DEATHS_WINDOW`]. After that the relay takes over,
/// which waits between attempts.
const MAX_DEATHS: usize = 5;
const DEATHS_WINDOW: Duration = Duration::from_secs(60);

/// Events that end lending: a signal, or the end of our parent process.
pub(crate) struct Lookout {
    pub(crate) signals: Signals,
    pub(crate) parent: Parent,
    pub(crate) ignore_parent: bool,
    pub(crate) grace: Duration,
}

/// Outcome of lending.
pub(crate) enum Lent {
    /// The client has ended, or this process must.
    Over,
    /// No daemon accepts the streams.
    Back(Streams, Lookout),
}

/// How one daemon's hold ended.
enum HoldEnd {
    Over,
    /// The client has sent `exit`.
    Exited,
    /// The daemon died, or released the streams.
    Lost,
}

/// Lends the streams, starting with a daemon that has already agreed to take them.
pub(crate) async fn lend(link: &Link, connection: Connection, streams: Streams, mut watch: Lookout) -> Lent {
    let mut connection = connection;
    let mut deaths = VecDeque::new();
    loop {
        // Taken while the daemon still runs: afterwards its process id may belong to another process.
        let witness = link.sweeps().witness(connection.peer);
        let end = match streams.pass(&connection).await {
            Ok(()) => watch.over(&mut connection, &streams).await,
            // A daemon that cannot receive the streams is gone, like one that dies later.
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
            // Closed before the streams go to another daemon, so that a living one lets go of them.
            HoldEnd::Lost => drop(connection),
        }
        link.sweeps().clear_up_after(witness);
        let now = Instant::now();
        deaths.push_back(now);
        deaths.retain(|&death| now.duration_since(death) < DEATHS_WINDOW);
        // Without a journal the debts are unknown, so the client's streams are closed.
        let Ok(output) = answer_owed(&streams, link.newcomer().shown()) else { return Lent::Over };
        if let HoldEnd::Over = watch.until_wanted(&streams, output).await {
            return Lent::Over;
        }
        // A daemon that dies at every start would otherwise be restarted in a tight loop.
        if deaths.len() > MAX_DEATHS {
            return Lent::Back(streams, watch);
        }
        let opened = tokio::select! {
            opened = link.open(true) => opened,
            () = watch.ended() => return Lent::Over,
        };
        connection = match opened {
            Ok((connection, true)) => connection,
            // Without a daemon that takes streams, the relay forwards messages itself.
            Ok((_, false)) | Err(_) => return Lent::Back(streams, watch),
        };
    }
}

impl Lookout {
    /// Waits for a signal, or for the end of our parent process.
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
                    // The client still reads, so it gets the answers that are under way.
                    self.end_in_order(connection, &mut words).await;
                    Some(HoldEnd::Over)
                }
                // A client whose process has ended reads nothing, so no answer is waited for.
                () = parent.gone(), if !*ignore_parent => Some(HoldEnd::Over),
                // While the watchdog rests no timer runs, so the client's next message must wake it.
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

    /// Asks the daemon to finish what is open. A second signal, or the grace period, ends the wait.
    async fn end_in_order(&mut self, connection: &mut Connection, words: &mut BytesMut) {
        let orderly = async {
            let _ = say(&connection.writer, END).await;
            // Earlier words stay in the buffer, which is harmless: only `OVER` is looked for.
            while matches!(connection.reader.read(words).await, Ok(1..)) && !words.contains(&OVER) {}
        };
        tokio::select! {
            () = orderly => {}
            _ = self.signals.next() => {}
            // Longer than the daemon's own limits, which add up to the grace period and one timeout.
            () = tokio::time::sleep(self.grace + 2 * LAST_ANSWERS_TIMEOUT) => {}
        }
    }

    /// Sends stored output while no daemon holds the streams, until the client sends something.
    async fn until_wanted(&mut self, streams: &Streams, output: JournaledOutput) -> HoldEnd {
        let has_open = output.journal().with_state(|state| !state.open.is_empty());
        let taken = output.journal().with_state(|state| state.taken);
        // Repeatable requests and bytes that the dead daemon had read need the next daemon at once.
        if has_open || streams.has_unread(taken).unwrap_or(true) {
            return HoldEnd::Lost;
        }
        let giving = async {
            give_out(&output).await;
            // Having sent everything is no reason to stop waiting for the client.
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
            // An error on stdin means that the client can never be heard again.
            Waiting::Nothing if streams.readable().await.is_err() => return HoldEnd::Over,
            Waiting::Nothing => {}
            Waiting::Ended => {
                // The client has closed its end but may still read what it asked for.
                let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, give_out(output)).await;
                return HoldEnd::Over;
            }
        }
    }
}

/// Meaning of the daemon's bytes; `None` for a mere sign of life.
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
    // Signs of life carry no content and must not pile up.
    words.clear();
    None
}

async fn act_upon(verdict: WatchdogVerdict, connection: &Connection) -> Option<HoldEnd> {
    match verdict {
        WatchdogVerdict::Fine => None,
        WatchdogVerdict::Ask => say(&connection.writer, ALIVE).await.is_err().then_some(HoldEnd::Lost),
        WatchdogVerdict::Hung => {
            // A daemon that wakes up later must not write to streams that another daemon holds by
            // then. Its guards end its servers.
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

/// The client's streams, if this system can hand them over. In debug builds
/// `SWITCHBOARD_RELAY=1` forces the relay.
pub(crate) fn streams_of(stdio: &switchboard_process::stdio::OwnStdio) -> Option<Streams> {
    #[cfg(debug_assertions)]
    if std::env::var_os("SWITCHBOARD_RELAY").is_some_and(|wish| wish == "1") {
        return None;
    }
    Streams::of(stdio)
}
