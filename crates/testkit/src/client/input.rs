//! What a test sends, written by a thread of its own: a program that does not read holds up nobody.

use crate::patience::LIMIT;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The program's input stream.
pub(super) struct Input(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Vec<u8>>,
    /// A piece is being written.
    busy: bool,
    closed: bool,
    /// The program no longer reads.
    broken: bool,
}

impl Input {
    pub(super) fn write(mut to: impl Write + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let input = Self(shared.clone());
        std::thread::spawn(move || {
            while let Some(piece) = shared.next() {
                // Each piece is a write of its own, so that a test can decide how its bytes are cut.
                let result = to.write_all(&piece).and_then(|()| to.flush());
                let mut state = shared.lock();
                state.busy = false;
                state.broken |= result.is_err();
                shared.changed.notify_all();
            }
        });
        input
    }

    pub(super) fn send(&self, bytes: Vec<u8>) {
        self.0.lock().pieces.push_back(bytes);
        self.0.changed.notify_all();
    }

    /// Closes the stream after what was sent.
    pub(super) fn close(&self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }

    pub(super) fn is_written(&self) -> bool {
        let state = self.0.lock();
        state.broken || (state.pieces.is_empty() && !state.busy)
    }

    /// Waits until the program, or the pipe to it, has taken everything.
    #[track_caller]
    pub(super) fn written(&self) {
        let deadline = Instant::now() + LIMIT;
        let mut state = self.0.lock();
        while !state.broken && (state.busy || !state.pieces.is_empty()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                panic!("the program does not read what it is sent");
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.broken {
                return None;
            }
            if let Some(piece) = state.pieces.pop_front() {
                state.busy = true;
                return Some(piece);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.close();
    }
}
