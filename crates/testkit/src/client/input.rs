//! Writer of a test's input, on a thread of its own: a program that does not read blocks only this thread.

use crate::monitor::Monitor;
use crate::patience::LIMIT;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// The program's input stream.
pub(super) struct Input(Arc<Monitor<Queue>>);

#[derive(Default)]
struct Queue {
    pieces: VecDeque<Vec<u8>>,
    /// Whether a piece is being written.
    is_busy: bool,
    is_closed: bool,
    /// Whether the program no longer reads.
    is_broken: bool,
}

impl Queue {
    fn is_written(&self) -> bool {
        self.is_broken || (self.pieces.is_empty() && !self.is_busy)
    }

    /// The next piece, or `Some(None)` at the end.
    fn take(&mut self) -> Option<Option<Vec<u8>>> {
        let piece = if self.is_broken { None } else { self.pieces.pop_front() };
        self.is_busy = piece.is_some();
        (piece.is_some() || self.is_broken || self.is_closed).then_some(piece)
    }
}

impl Input {
    pub(super) fn write(mut to: impl Write + Send + 'static) -> Self {
        let queue = Arc::new(Monitor::<Queue>::default());
        let input = Self(queue.clone());
        std::thread::spawn(move || {
            while let Some(piece) = queue.wait_for(None, Queue::take).flatten() {
                // Each piece is one write, so that a test can decide how its bytes are cut.
                let result = to.write_all(&piece).and_then(|()| to.flush());
                queue.update(|queue| {
                    queue.is_busy = false;
                    queue.is_broken |= result.is_err();
                });
            }
        });
        input
    }

    pub(super) fn send(&self, bytes: Vec<u8>) {
        self.0.update(|queue| queue.pieces.push_back(bytes));
    }

    /// Closes the stream after all pending writes.
    pub(super) fn close(&self) {
        self.0.update(|queue| queue.is_closed = true);
    }

    pub(super) fn is_written(&self) -> bool {
        self.0.lock().is_written()
    }

    /// Waits until the program, or the pipe to it, has taken everything.
    #[track_caller]
    pub(super) fn written(&self) {
        let written = self.0.wait_for(Some(Instant::now() + LIMIT), |queue| queue.is_written().then_some(()));
        assert!(written.is_some(), "the program does not read what it is sent");
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.close();
    }
}
