//! Work on another thread, for tasks that would block the event loop for too long. tokio's own pool panics
//! when the system cannot start a thread; here the work then runs inline. Must not know what the work is.

use crate::lock::Lock;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Idle time before a worker thread exits: large messages tend to come in a row.
const MAX_IDLE: Duration = Duration::from_secs(2);

type Work = Box<dyn FnOnce() + Send>;

/// The queue of the idle worker thread, if there is one.
static WORKER: Lock<Option<SyncSender<Work>>> = Lock::new(None);

pub async fn run<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    // Shared, so that the caller can take the work back if there is no thread for it.
    let work = Arc::new(Lock::new(Some(work)));
    let take = |work: &Lock<Option<F>>| work.lock().take();
    let (give, done) = oneshot::channel();
    let theirs = work.clone();
    let is_given = hand_over(Box::new(move || {
        if let Some(work) = take(&theirs) {
            // The waiting future may have been dropped.
            let _ = give.send(work());
        }
    }));
    if !is_given && let Some(work) = take(&work) {
        return work();
    }
    match done.await {
        Ok(done) => done,
        // The worker panicked, and the process is about to end.
        Err(_) => std::future::pending().await,
    }
}

/// Gives the work to an idle worker or a new one; `false` if no thread could be started.
fn hand_over(work: Work) -> bool {
    let mut worker = WORKER.lock();
    let work = match &*worker {
        None => work,
        Some(waiting) => match waiting.try_send(work) {
            Ok(()) => return true,
            // The worker is busy, or has exited.
            Err(TrySendError::Full(work) | TrySendError::Disconnected(work)) => work,
        },
    };
    start_with(work, &mut worker)
}

fn start_with(work: Work, worker: &mut Option<SyncSender<Work>>) -> bool {
    // A channel without capacity: a send succeeds only while the worker waits for work.
    let (sender, receiver) = sync_channel(0);
    let thread = thread::Builder::new().name("switchboard-aside".into());
    let is_started = thread.spawn(move || serve(work, &receiver)).is_ok();
    if is_started {
        // Replaces the sender of a busy worker, which then ends with its current work.
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
    async fn work_runs_on_another_thread() {
        let here = std::thread::current().id();
        let there = super::run(|| std::thread::current().id()).await;
        assert_ne!(here, there);
    }
}
