//! What a program writes, read by a thread of its own so that the program never has to wait for a test.

use crate::patience::LIMIT;
use bytes::BytesMut;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const CHUNK: usize = 64 << 10;

/// One of the program's output streams.
#[derive(Clone)]
pub(super) struct Stream(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) bytes: BytesMut,
    /// So much of `bytes` is known to hold no end of a line.
    pub(super) searched: usize,
    pub(super) ended: bool,
}

impl Stream {
    pub(super) fn read(mut from: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let stream = Self(shared.clone());
        std::thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            loop {
                let count = match from.read(&mut chunk) {
                    Ok(count) => count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(_) => 0,
                };
                let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.bytes.extend_from_slice(&chunk[..count]);
                state.ended = count == 0;
                shared.changed.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        stream
    }

    /// Waits until `pick` finds what it looks for. `None` if the stream ended without it.
    #[track_caller]
    pub(super) fn wait<T>(&self, what: &str, mut pick: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + LIMIT;
        let mut state = self.lock();
        loop {
            if let Some(found) = pick(&mut state) {
                return Some(found);
            }
            if state.ended {
                return None;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let so_far = show(&state.bytes);
                drop(state);
                panic!("this did not come: {what}; so far there is {so_far:?}");
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// All that has come and was not taken yet.
    pub(super) fn peek(&self) -> Vec<u8> {
        self.lock().bytes.to_vec()
    }

    /// Takes all that is left, once the stream has ended.
    #[track_caller]
    pub(super) fn rest(&self) -> Vec<u8> {
        self.wait("the end of the stream", |state| state.ended.then(|| state.bytes.split().to_vec()))
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the next line with its end.
    pub(super) fn take_line(&mut self) -> Option<Vec<u8>> {
        match self.bytes[self.searched..].iter().position(|&b| b == b'\n') {
            Some(at) => {
                let end = self.searched + at + 1;
                self.searched = 0;
                Some(self.bytes.split_to(end).to_vec())
            }
            None => {
                self.searched = self.bytes.len();
                None
            }
        }
    }

    /// Takes the body of the next `Content-Length` message. Exactly one header is expected, as we write it.
    pub(super) fn take_body(&mut self) -> Option<Vec<u8>> {
        const NAME: &str = "Content-Length: ";
        const GAP: &[u8] = b"\r\n\r\n";
        let head = self.bytes.windows(GAP.len()).take(64).position(|window| window == GAP);
        let Some(head) = head else {
            assert!(self.bytes.len() < 64, "no header: {:?}", show(&self.bytes));
            return None;
        };
        let text = std::str::from_utf8(&self.bytes[..head]).ok().and_then(|text| text.strip_prefix(NAME));
        let length: usize = match text.and_then(|digits| digits.parse().ok()) {
            Some(length) => length,
            None => panic!("no header: {:?}", show(&self.bytes)),
        };
        let from = head + GAP.len();
        if self.bytes.len() < from + length {
            return None;
        }
        self.searched = 0;
        Some(self.bytes.split_to(from + length).split_off(from).to_vec())
    }
}

/// For a person to read.
pub(super) fn show(bytes: &[u8]) -> String {
    const MOST: usize = 2000;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
    if bytes.len() > MOST { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
