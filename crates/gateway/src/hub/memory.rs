//! Measurements of backends, for the core: memory, and CPU time, which costs nothing noticeable beside it.

use super::Hub;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{Event, Launch, MEMORY_CHECK_INTERVAL, ProcessUsage};
use switchboard_process::aside;
use switchboard_process::tree::{Tree, TreeUsage};

impl Hub {
    /// Measures as often as the core asks, and shortly after each start.
    pub(crate) async fn keep_measuring(self: Arc<Self>) {
        loop {
            let every = {
                let turn = self.turn();
                // Remote servers have no processes here.
                let has_trees = !turn.inside.trees.is_empty();
                turn.inside.core.measure_every().filter(|_| has_trees)
            };
            match every {
                // With so short an interval, a new process is measured soon enough without its notice.
                Some(often) if often <= MEMORY_CHECK_INTERVAL => tokio::time::sleep(often).await,
                every => self.start_or(every).await,
            }
            self.measure().await;
        }
    }

    /// Waits for the interval, or until a new process has run for a moment. `None` waits for a process only.
    async fn start_or(&self, every: Option<Duration>) {
        let time = async {
            match every {
                Some(every) => tokio::time::sleep(every).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time => {}
            // A process that has just started has not reached its usual size.
            () = self.measure_soon.notified() => tokio::time::sleep(MEMORY_CHECK_INTERVAL).await,
        }
    }

    /// Measures once.
    pub(crate) async fn measure(self: &Arc<Self>) {
        let (launches, trees): (Vec<Launch>, Vec<Tree>) = {
            let turn = self.turn();
            turn.inside.trees.iter().map(|(launch, tree)| (*launch, tree.clone())).unzip()
        };
        if launches.is_empty() {
            return;
        }
        // Reading the process table takes a while, so it happens off the event loop and outside the lock.
        let measured = aside::run(move || Tree::measure_all(&trees)).await;
        // A tree without a measurement has ended since the list was made.
        let used = launches.into_iter().zip(measured).filter_map(|(launch, used)| {
            let TreeUsage { memory_bytes, cpu } = used?;
            Some((launch, ProcessUsage { memory_bytes, cpu }))
        });
        self.handle(Event::Measured { used: used.collect() });
    }
}
