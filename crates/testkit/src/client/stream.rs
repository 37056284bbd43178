//! Reader of a program's output, on a thread of its own, so that the program never waits for a test.

use crate::monitor::Monitor;
use crate::patience::LIMIT;
use bytes::BytesMut;
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

const CHUNK: usize = 64 << 10;

/// The program's stdout or stderr.
#[derive(Clone)]
pub(super) struct Stream(Arc<Monitor<Arrived>>);

#[derive(Default)]
pub(super) struct Arrived {
    bytes: BytesMut,
    /// Length of the prefix of `bytes` without a line end.
    searched: usize,
    pub(super) has_ended: bool,
}

impl Stream {
    pub(super) fn read(mut from: impl Read + Send + 'static) -> Self {
        let arrived = Arc::new(Monitor::<Arrived>::default());
        let stream = Self(arrived.clone());
        std::thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            loop {
                let count = match from.read(&mut chunk) {
                    Ok(count) => count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(_) => 0,
                };
                arrived.update(|arrived| {
                    arrived.bytes.extend_from_slice(&chunk[..count]);
                    arrived.has_ended = count == 0;
                });
                if count == 0 {
                    return;
                }
            }
        });
        stream
    }

    /// Waits until `pick` finds something. `None` if the stream ended first.
    #[track_caller]
    pub(super) fn wait<T>(&self, what: &str, pick: impl FnMut(&mut Arrived) -> Option<T>) -> Option<T> {
        match self.wait_until(Instant::now() + LIMIT, pick) {
            Wait::Found(found) => Some(found),
            Wait::Ended => None,
            Wait::TimedOut => panic!("this did not come: {what}; so far there is {:?}", show(&self.peek())),
        }
    }

    pub(super) fn wait_until<T>(
        &self,
        deadline: Instant,
        mut pick: impl FnMut(&mut Arrived) -> Option<T>,
    ) -> Wait<T> {
        let found = self.0.wait_for(Some(deadline), |arrived| match pick(arrived) {
            Some(found) => Some(Wait::Found(found)),
            None => arrived.has_ended.then_some(Wait::Ended),
        });
        found.unwrap_or(Wait::TimedOut)
    }

    /// All bytes that have arrived and were not read yet.
    pub(super) fn peek(&self) -> Vec<u8> {
        self.0.lock().bytes.to_vec()
    }

    /// Takes the rest, once the stream has ended.
    #[track_caller]
    pub(super) fn rest(&self) -> Vec<u8> {
        let take = |arrived: &mut Arrived| arrived.has_ended.then(|| arrived.bytes.split().to_vec());
        self.wait("the end of the stream", take).unwrap_or_default()
    }
}

/// Result of a wait on a stream.
pub enum Wait<T> {
    Found(T),
    Ended,
    TimedOut,
}

impl Arrived {
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

    /// Takes the body of the next `Content-Length` message. Exactly one header is expected, as Switchboard writes it.
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

/// Bytes, formatted for a panic message.
pub(super) fn show(bytes: &[u8]) -> String {
    const MOST: usize = 2000;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
    if bytes.len() > MOST { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
