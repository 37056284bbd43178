//! Repeated counts of the processes whose command line contains a text, during a test.

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;
use switchboard_testkit::pids;

pub(crate) struct Census {
    stop: SyncSender<()>,
    counting: JoinHandle<Count>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    /// The highest number at one time.
    pub(crate) most: usize,
    pub(crate) looks: usize,
}

impl Census {
    pub(crate) fn of(text: impl ToString, every: Duration) -> Self {
        let text = text.to_string();
        let (stop, stopped) = mpsc::sync_channel(1);
        let counting = std::thread::spawn(move || {
            let mut count = Count::default();
            loop {
                count.most = count.most.max(pids::with_text(&text).len());
                count.looks += 1;
                if !matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
                    return count;
                }
            }
        });
        Self { stop, counting }
    }

    pub(crate) fn finish(self) -> Count {
        let _ = self.stop.send(());
        self.counting.join().unwrap()
    }
}
