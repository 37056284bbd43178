//! The event stream of messages that a server sends by itself, beside the streams that answer requests.

use super::Remote;
use super::budget::pause;
use super::fault::Fault;
use super::session::RemoteSession;
use super::streams::{Heard, Mark};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shortest life of a working stream.
const MIN_STREAM_LIFE: Duration = Duration::from_secs(5);

impl Remote {
    /// Listens to the current session's stream, for as long as there is a session.
    pub(super) async fn keep_listening(self: Arc<Self>) {
        let mut listened = self.listened.subscribe();
        loop {
            if listened.wait_for(|number| *number > 0).await.is_err() {
                return;
            }
            // Marked as seen before the session is read: a later number then ends the wait below.
            let number = *listened.borrow_and_update();
            let session = self.session();
            let following = async {
                // A session of 2024-11-05 has only one stream, which `legacy` reads.
                if session.number == number && !self.is_legacy() {
                    self.follow(&session).await;
                }
                // The stream of this session is done, and only a new session ends the wait.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = following => {}
                changed = listened.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Reads the stream, and reopens it until the server says that it offers none, as many servers do.
    async fn follow(self: &Arc<Self>, session: &RemoteSession) {
        let mut mark = Mark::default();
        let (mut failures, mut has_one) = (0, false);
        loop {
            let opened = self.open_stream(session, mark.last_id.as_deref()).await;
            let is_refused = opened.as_ref().is_err_and(|fault| !fault.is_not_offered());
            // Wakes `begin_listening`, which waits for the stream before `initialized` is sent.
            self.answered.send_replace((session.number, is_refused));
            match opened {
                Ok(mut response) => {
                    has_one = true;
                    let (begun, before) = (Instant::now(), mark.last_id.clone());
                    let (Heard::Answer | Heard::Closed | Heard::Broken(_)) =
                        self.hear_stream(&mut response, None, &mut mark).await;
                    // Backoff for servers that close every stream at once.
                    let is_fruitless = begun.elapsed() < MIN_STREAM_LIFE && mark.last_id == before;
                    failures = if is_fruitless { failures + 1 } else { 0 };
                }
                // Typical of a restarted server. A new session restores the subscriptions.
                Err(Fault::SessionLost) if has_one => {
                    if self.renew(session.number).await.is_ok() {
                        return;
                    }
                    failures += 1;
                }
                Err(fault) if fault.is_temporary() && (has_one || failures < 3) => failures += 1,
                // The server no longer knows this event id: start over without it.
                Err(_) if has_one && mark.last_id.is_some() => mark.last_id = None,
                Err(_) => return,
            }
            tokio::time::sleep(mark.pause().max(pause(failures))).await;
        }
    }
}
