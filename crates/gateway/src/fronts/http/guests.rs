//! Open connections. A connection is a stranger until one of its requests shows the token or,
//! without authentication, names or begins a session. Strangers have few places of their own, and
//! the newest displaces the oldest: probes are answered however many clients are connected, and no
//! one without a token can keep clients out.

use super::listen::CallerOrigin;
use super::refusal::HttpRefusal;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use switchboard_process::lock::{Lock, LockGuard};
use switchboard_protocol::envelope::{parse_knowing, parse_repeated};
use switchboard_protocol::{Broken, MetaCache, Parsed};
use tokio::sync::{Notify, watch};

/// Connections of known clients at a time.
const MAX_KNOWN_CONNECTIONS: usize = 8192;
/// Connections of strangers at a time.
const MAX_STRANGERS: usize = 256;

pub(crate) struct Guests {
    list: Lock<List>,
    closing: watch::Sender<bool>,
    is_closing: AtomicBool,
    /// The last connection was closed.
    empty: Notify,
}

#[derive(Default)]
struct List {
    /// Strangers in order of arrival.
    strangers: BTreeMap<u64, Arc<Notice>>,
    next: u64,
    known: usize,
    all: usize,
}

/// Tells a connection that its place is needed.
#[derive(Default)]
struct Notice {
    is_given: AtomicBool,
    given: Notify,
}

/// One connection, for as long as it is open.
pub(crate) struct Guest {
    guests: Arc<Guests>,
    number: u64,
    is_known: AtomicBool,
    notice: Arc<Notice>,
    /// Of the requests on this connection.
    cache: Lock<MetaCache>,
}

/// Origin of a request.
pub(crate) struct Caller {
    pub(super) origin: CallerOrigin,
    /// `None` for our own requests.
    guest: Option<Arc<Guest>>,
}

impl Guests {
    pub(crate) fn new() -> Arc<Self> {
        let closing = watch::channel(false).0;
        let (list, is_closing, empty) = (Lock::default(), AtomicBool::new(false), Notify::new());
        Arc::new(Self { list, closing, is_closing, empty })
    }

    fn lock(&self) -> LockGuard<'_, List> {
        self.list.lock()
    }

    /// Registers a stranger. The oldest stranger makes room if there is none.
    pub(super) fn arrive(self: &Arc<Self>) -> Arc<Guest> {
        let mut list = self.lock();
        if list.strangers.len() >= MAX_STRANGERS {
            // The newest is let in: if it were refused, those that came first could keep out all others.
            list.dismiss_oldest();
        }
        let (number, notice) = (list.next, Arc::<Notice>::default());
        list.next += 1;
        list.all += 1;
        list.strangers.insert(number, notice.clone());
        let (is_known, cache) = (AtomicBool::new(false), Lock::default());
        Arc::new(Guest { guests: self.clone(), number, is_known, notice, cache })
    }

    /// Frees a descriptor for another connection.
    pub(super) fn dismiss_oldest(&self) {
        self.lock().dismiss_oldest();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Lets connections finish, for up to `patience`.
    pub(crate) async fn see_off(&self, patience: Duration) {
        // The flag is cheap to read at each request; the channel wakes idle connections.
        self.is_closing.store(true, Ordering::Relaxed);
        self.closing.send_replace(true);
        let all_gone = async {
            loop {
                // Registered before the check, so a close between check and wait is not missed.
                let empty = self.empty.notified();
                if self.lock().all == 0 {
                    return;
                }
                empty.await;
            }
        };
        // Connections that are left end with the process.
        let _ = tokio::time::timeout(patience, all_gone).await;
    }
}

impl List {
    fn dismiss_oldest(&mut self) {
        if let Some((_, notice)) = self.strangers.pop_first() {
            // Set before the notice: the connection checks the flag when it is woken.
            notice.is_given.store(true, Ordering::Relaxed);
            notice.given.notify_one();
        }
    }
}

impl Guest {
    pub(super) fn is_stranger(&self) -> bool {
        !self.is_known.load(Ordering::Relaxed)
    }

    /// Whether its place is needed. A connection that has shown the token meanwhile stays:
    /// its request is being served.
    pub(super) fn is_dismissed(&self) -> bool {
        self.is_stranger() && self.notice.is_given.load(Ordering::Relaxed)
    }

    pub(super) async fn dismissed(&self) {
        self.notice.given.notified().await;
    }

    /// Marks the connection as known; `false` if there are too many.
    fn admit(&self) -> bool {
        if !self.is_stranger() {
            return true;
        }
        let mut list = self.guests.lock();
        // Checked again under the lock: two requests of one connection may run at a time.
        if self.is_stranger() {
            if list.known >= MAX_KNOWN_CONNECTIONS {
                return false;
            }
            list.known += 1;
            list.strangers.remove(&self.number);
            self.is_known.store(true, Ordering::Relaxed);
        }
        true
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut list = self.guests.lock();
        match self.is_stranger() {
            true => drop(list.strangers.remove(&self.number)),
            false => list.known -= 1,
        }
        list.all -= 1;
        if list.all == 0 {
            self.guests.empty.notify_waiters();
        }
    }
}

impl Caller {
    pub(super) fn new(origin: CallerOrigin, guest: Arc<Guest>) -> Self {
        Self { origin, guest: Some(guest) }
    }

    /// A request of our own, without a connection.
    pub(super) fn ourselves() -> Self {
        Self { origin: CallerOrigin::Here, guest: None }
    }

    /// Parses a body. Clients repeat the `_meta` of their requests on a connection.
    pub(super) fn parse(&self, body: Bytes) -> Result<Parsed, Broken> {
        let plain = body.is_ascii();
        match &self.guest {
            Some(guest) => parse_repeated(body, plain, &mut guest.cache.lock()),
            None => parse_knowing(body, plain),
        }
    }

    /// Marks the caller's connection as known.
    pub(super) fn admit(&self) -> Result<(), HttpRefusal> {
        match &self.guest {
            Some(guest) if !guest.admit() => Err(HttpRefusal::overloaded(
                format!("the limit of {MAX_KNOWN_CONNECTIONS} connections is reached"),
                "close unused connections, and try again after `Retry-After`",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_makes_room() {
        let guests = Guests::new();
        let strangers: Vec<_> = (0..MAX_STRANGERS).map(|_| guests.arrive()).collect();
        assert!(strangers[0].admit());
        let newest = guests.arrive();
        assert!(!strangers.iter().any(|guest| guest.is_dismissed()), "the known one has left a place");
        let another = guests.arrive();
        let dismissed: Vec<bool> = strangers.iter().map(|guest| guest.is_dismissed()).collect();
        assert_eq!(dismissed.iter().filter(|is| **is).count(), 1);
        assert!(dismissed[1] && !newest.is_dismissed() && !another.is_dismissed());
        assert!(strangers[1].admit() && !strangers[1].is_dismissed(), "its token came first");
    }

    #[test]
    fn strangers_get_in_however_many_are_known() {
        let guests = Guests::new();
        let known: Vec<_> = (0..MAX_KNOWN_CONNECTIONS).map(|_| guests.arrive()).collect();
        assert!(known.iter().all(|guest| guest.admit()));
        let one_more = guests.arrive();
        assert!(!one_more.admit() && !one_more.is_dismissed(), "it may stay as a stranger");
        drop(known);
        assert!(one_more.admit());
        assert!(one_more.admit(), "once is enough");
        drop(one_more);
        let list = guests.lock();
        assert_eq!((list.known, list.all, list.strangers.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn seeing_off_waits_for_the_last() {
        let guests = Guests::new();
        let guest = guests.arrive();
        let seen_off = tokio::spawn({
            let guests = guests.clone();
            async move { guests.see_off(Duration::from_secs(600)).await }
        });
        guests.closing().wait_for(|is_closing| *is_closing).await.unwrap();
        assert!(!seen_off.is_finished());
        drop(guest);
        seen_off.await.unwrap();
    }
}
