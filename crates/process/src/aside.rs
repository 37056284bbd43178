//! Work on a thread of its own, for what takes longer than the event loop should stand still. tokio's own pool
//! panics when the system has no thread to give; here the work is then done at once, on the spot.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tokio::sync::oneshot;

pub async fn run<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<F>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (give, done) = oneshot::channel();
    let theirs = work.clone();
    let thread = thread::Builder::new().name("switchboard-aside".into()).spawn(move || {
        if let Some(work) = take(&theirs) {
            // Whoever waited may have been dropped.
            let _ = give.send(work());
        }
    });
    if thread.is_err()
        && let Some(work) = take(&work)
    {
        return work();
    }
    match done.await {
        Ok(done) => done,
        // The thread panicked, and the process is about to end.
        Err(_) => std::future::pending().await,
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
