//! A connection whose other side must say what it wants within a time: counted from when nothing is being done for it until
//! a whole head has come. hyper can do that too, with an alarm of its own for every request; here a connection has one, which
//! goes off once in that time at most.

use super::body::Answer;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

const SHORT: usize = 512;

/// What goes on on a connection.
#[derive(Default)]
pub(super) struct Work {
    begun: AtomicUsize,
    done: AtomicUsize,
}

impl Work {
    /// A head has come.
    pub(super) fn begin(self: &Arc<Self>) -> Job {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Job(self.clone())
    }
}

/// A request that is worked on, until its answer has gone.
pub(super) struct Job(Arc<Work>);

impl Drop for Job {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// An answer on its way.
pub(super) struct Going {
    pub(super) answer: Answer,
    pub(super) _job: Job,
}

impl Body for Going {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.get_mut().answer).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        self.answer.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_end_stream()
    }
}

pub(super) struct Punctual<S> {
    stream: S,
    work: Arc<Work>,
    patience: Duration,
    heard: Heard,
    wait: Wait,
    alarm: Option<Pin<Box<Sleep>>>,
}

/// The first words of the other side, by which it is known what it speaks.
#[derive(Default)]
struct Heard {
    first: [u8; 3],
    bytes: usize,
}

impl Heard {
    fn hear(&mut self, said: &[u8]) {
        for (place, byte) in self.first.iter_mut().skip(self.bytes).zip(said) {
            *place = *byte;
        }
        self.bytes = self.bytes.saturating_add(said.len());
    }

    /// All of its preface has come: from there on hyper sees for itself whether the other side is still there.
    fn is_http2(&self) -> bool {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        self.bytes >= PREFACE.len() && PREFACE.starts_with(&self.first)
    }
}

/// Since when the other side has had the word, and how many requests there had been by then.
#[derive(Clone, Copy)]
struct Wait {
    since: Instant,
    after: usize,
}

impl<S> Punctual<S> {
    pub(super) fn new(stream: S, work: Arc<Work>, patience: Duration) -> Self {
        let wait = Wait { since: Instant::now(), after: 0 };
        Self { stream, work, patience, heard: Heard::default(), wait, alarm: None }
    }

    /// Whether the other side has taken too long; if not, we are woken up when it has.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let begun = self.work.begun.load(Ordering::Relaxed);
        if self.heard.is_http2() || begun != self.work.done.load(Ordering::Relaxed) {
            return false;
        }
        if self.wait.after != begun {
            self.wait = Wait { since: Instant::now(), after: begun };
        }
        let until = self.wait.since + self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        // Set for an earlier wait it goes off too early, and is set anew then.
        if alarm.is_elapsed() {
            if Instant::now() >= until {
                return true;
            }
            alarm.as_mut().reset(until);
        }
        alarm.as_mut().poll(context).is_ready() && Instant::now() >= until
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Punctual<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        self.heard.hear(&into.filled()[before..]);
        match polled {
            Poll::Pending if self.is_late(context) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            polled => polled,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Punctual<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // Most answers are a short head and a short body: to copy them together takes less time than the system needs for two.
        let mut short = [0; SHORT];
        let length: usize = bytes.iter().map(|piece| piece.len()).sum();
        if length > SHORT {
            return Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        }
        let mut from = 0;
        for piece in bytes {
            short[from..from + piece.len()].copy_from_slice(piece);
            from += piece.len();
        }
        Pin::new(&mut self.stream).poll_write(context, &short[..length])
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const PATIENCE: Duration = Duration::from_millis(200);

    fn heard(pieces: &[&str]) -> bool {
        let mut heard = Heard::default();
        pieces.iter().for_each(|piece| heard.hear(piece.as_bytes()));
        heard.is_http2()
    }

    #[test]
    fn http2_is_known_by_its_preface_however_it_comes() {
        assert!(heard(&["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]));
        assert!(heard(&["P", "", "RI * HTTP/2.0\r\n\r\nSM", "\r\n\r\n"]));
        assert!(!heard(&["PRI * HTTP/2.0\r\n"]), "not all of it");
        assert!(!heard(&["POST /mcp HTTP/1.1\r\nHost: localhost\r\n"]));
        assert!(!heard(&[]));
    }

    /// How long it was waited for, from when the next word was due.
    async fn wait(stream: &mut Punctual<tokio::io::DuplexStream>) -> Duration {
        let began = Instant::now();
        let mut into = [0; 8];
        loop {
            match stream.read(&mut into).await {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                    return began.elapsed();
                }
            }
        }
    }

    #[tokio::test]
    async fn words_one_by_one_are_no_head() {
        let (mut client, server) = duplex(64);
        let work: Arc<Work> = Arc::default();
        let mut stream = Punctual::new(server, work, PATIENCE);
        let trickle = tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                tokio::time::sleep(PATIENCE / 10).await;
            }
        });
        assert!(wait(&mut stream).await >= PATIENCE - PATIENCE / 10);
        trickle.abort();
    }

    #[tokio::test]
    async fn while_something_is_done_nobody_is_late() {
        let (_client, server) = duplex(64);
        let work: Arc<Work> = Arc::default();
        let mut stream = Punctual::new(server, work.clone(), PATIENCE);
        let job = work.begin();
        let long = tokio::time::timeout(4 * PATIENCE, stream.read(&mut [0; 8])).await;
        assert!(long.is_err(), "it still waits");
        drop(job);
        assert!(wait(&mut stream).await >= PATIENCE, "counted anew");
    }
}
