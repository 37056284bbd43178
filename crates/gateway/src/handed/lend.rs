//! The side that gives a client's streams away, and outlives all who hold them. While one holds them there is nothing to
//! do but to watch it; when it is gone, what it owed is settled at once, and the streams are given to the next as soon
//! as the client wants something.

use super::settle::{refuse_open, settle};
use super::watchdog::{Verdict, Watchdog};
use super::way::Kept;
use crate::hello;
use crate::link::Link;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};
use switchboard_process::handover::{Streams, Waiting};
use switchboard_process::local::Connection;
use switchboard_process::parent::Parent;
use switchboard_process::pipe::{ByteWriter, LEAST_ROOM};
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
const PATIENCE: Duration = Duration::from_secs(1);
/// So many that die within this time are enough: the slower way knows how to wait between tries.
const MOST_DEATHS: usize = 5;
const WITHIN: Duration = Duration::from_secs(60);

/// Who we look out for.
pub(crate) struct Watch {
    pub(crate) signals: Signals,
    pub(crate) parent: Parent,
    pub(crate) ignore_parent: bool,
    pub(crate) grace: Duration,
}

/// What became of it.
pub(crate) enum Lent {
    /// The client has ended, or we are to.
    Over,
    /// Nobody can be had who takes them.
    Back(Streams, Watch),
}

enum End {
    Over,
    /// The client has said `exit`.
    Exited,
    /// The one who held them is gone, or has let go.
    Lost,
}

/// The connection is with one who has said that it takes them.
pub(crate) async fn lend(link: &Link, connection: Connection, streams: Streams, mut watch: Watch) -> Lent {
    let mut connection = connection;
    let mut deaths = VecDeque::new();
    loop {
        let witness = link.sweeps.witness(connection.peer);
        let end = match streams.pass(&connection).await {
            Ok(()) => watch.over(&mut connection, &streams).await,
            Err(_) => End::Lost,
        };
        match end {
            End::Over => return Lent::Over,
            End::Exited => {
                drop(connection);
                if let Ok(kept) = refuse_open(&streams, link.newcomer.shown()) {
                    let _ = tokio::time::timeout(PATIENCE, give_out(&kept)).await;
                }
                return Lent::Over;
            }
            End::Lost => drop(connection),
        }
        link.sweeps.clear_up_after(witness);
        let now = Instant::now();
        deaths.push_back(now);
        deaths.retain(|&death| now.duration_since(death) < WITHIN);
        let Ok(kept) = settle(&streams, link.newcomer.shown()) else { return Lent::Over };
        if let End::Over = watch.until_wanted(&streams, kept).await {
            return Lent::Over;
        }
        if deaths.len() > MOST_DEATHS {
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

impl Watch {
    /// A signal, or the end of whoever started us.
    async fn ended(&mut self) {
        let Self { signals, parent, ignore_parent, .. } = self;
        tokio::select! {
            _ = signals.next() => {}
            () = parent.gone(), if !*ignore_parent => {}
        }
    }

    /// While another holds the streams.
    async fn over(&mut self, connection: &mut Connection, streams: &Streams) -> End {
        let mut words = BytesMut::with_capacity(LEAST_ROOM);
        let mut watchdog = Watchdog::new(Instant::now());
        let Self { signals, parent, ignore_parent, grace } = self;
        loop {
            tokio::select! {
                read = connection.reader.read(&mut words) => {
                    if !matches!(read, Ok(1..)) {
                        return End::Lost;
                    }
                    if words.contains(&OVER) {
                        return End::Over;
                    }
                    if words.contains(&EXITED) {
                        return End::Exited;
                    }
                    words.clear();
                    watchdog.heard(Instant::now());
                }
                _ = signals.next() => {
                    // The first asks to end in order, the second at once; and nobody waits for ever.
                    let orderly = async {
                        let _ = say(&connection.writer, END).await;
                        while matches!(connection.reader.read(&mut words).await, Ok(1..)) && !words.contains(&OVER) {}
                    };
                    tokio::select! {
                        () = orderly => {}
                        _ = signals.next() => {}
                        () = tokio::time::sleep(*grace + 2 * PATIENCE) => {}
                    }
                    return End::Over;
                }
                () = parent.gone(), if !*ignore_parent => return End::Over,
                // A rest ends with the client's next message. If the system cannot tell of it, timers do as before.
                _ = streams.readable(), if watchdog.wake().is_none() => watchdog.stir(Instant::now()),
                () = sleep_until(watchdog.wake()) => {
                    let has_work = streams.open_requests() > 0 || streams.waiting() == Waiting::Something;
                    match watchdog.look(Instant::now(), has_work) {
                        Verdict::Fine => {}
                        Verdict::Ask => {
                            if say(&connection.writer, ALIVE).await.is_err() {
                                return End::Lost;
                            }
                        }
                        Verdict::Hung => {
                            // It must not wake up and go on with what is another's by then. Its guards clear up.
                            connection.kill_peer();
                            return End::Lost;
                        }
                    }
                }
            }
        }
    }

    /// While nobody holds them: gives out what is left, until the client says something.
    async fn until_wanted(&mut self, streams: &Streams, kept: Kept) -> End {
        let has_open = kept.ledger.with_books(|books| !books.open.is_empty());
        let taken = kept.ledger.with_books(|books| books.taken);
        if has_open || streams.has_unread(taken).unwrap_or(true) {
            return End::Lost;
        }
        let wanted = async {
            loop {
                match streams.waiting() {
                    Waiting::Something => return End::Lost,
                    Waiting::Nothing => {
                        if streams.readable().await.is_err() {
                            return End::Over;
                        }
                    }
                    Waiting::Ended => {
                        let _ = tokio::time::timeout(PATIENCE, give_out(&kept)).await;
                        return End::Over;
                    }
                }
            }
        };
        let giving = async {
            give_out(&kept).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            end = wanted => end,
            () = giving => End::Over,
            () = self.ended() => End::Over,
        }
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

async fn give_out(kept: &Kept) {
    while kept.log.unsent() > 0 {
        match kept.log.send() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if kept.log.writable().await.is_err() {
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

/// What a daemon's reply says about them.
pub(crate) fn takes_streams(reply: &hello::Reply) -> bool {
    reply.result["streams"] == true
}
