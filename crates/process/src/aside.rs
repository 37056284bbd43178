//! Work on another thread, for what takes longer than the event loop should stand still. tokio's own pool panics
//! when the system has no thread to give; here the work is then done at once, on the spot.

use crate::lock::Lock;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time that a thread stays without work: large messages come one after the other.
const MAX_IDLE: Duration = Duration::from_secs(2);

type Work = Box<dyn FnOnce() + Send>;

/// The queue of the thread that waits for work, if there is one.
static WORKER: Lock<Option<SyncSender<Work>>> = Lock::new(None);

pub async fn run<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let work = Arc::new(Lock::new(Some(work)));
    let take = |work: &Lock<Option<F>>| work.lock().take();
    let (give, done) = oneshot::channel();
    let theirs = work.clone();
    let is_given = hand_over(Box::new(move || {
        if let Some(work) = take(&theirs) {
            // Whoever waited may have been dropped.
            let _ = give.send(work());
        }
    }));
    if !is_given && let Some(work) = take(&work) {
        return work();
    }
    match done.await {
        Ok(done) => done,
        // The thread panicked, and the process is about to end.
        Err(_) => std::future::pending().await,
    }
}

/// To the thread that waits for work, or to a new one. Says whether there was any.
fn hand_over(work: Work) -> bool {
    let mut worker = WORKER.lock();
    let work = match &*worker {
        None => work,
        Some(waiting) => match waiting.try_send(work) {
            Ok(()) => return true,
            // It is busy, or has gone to rest.
            Err(TrySendError::Full(work) | TrySendError::Disconnected(work)) => work,
        },
    };
    start_with(work, &mut worker)
}

fn start_with(work: Work, worker: &mut Option<SyncSender<Work>>) -> bool {
    // Without room in it, something can be sent only while somebody waits for it.
    let (sender, receiver) = sync_channel(0);
    let thread = thread::Builder::new().name("switchboard-aside".into());
    let is_started = thread.spawn(move || serve(work, &receiver)).is_ok();
    if is_started {
        *worker = Some(sender);
    }
    is_started
}

fn serve(first: Work, more: &Receiver<Work>) {
    first();
    while let Ok(work) = more.recv_timeout(MAX_IDLE) {
        work();
    }
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_work_is_done_elsewhere() {
        let here = std::thread::current().id();
        let there = super::run(|| std::thread::current().id()).await;
        assert_ne!(here, there);
    }
}
