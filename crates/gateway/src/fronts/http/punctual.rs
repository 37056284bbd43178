//! A connection whose other side must say what it wants within a time: counted from when nothing is being done for it, and
//! all that was said to it has gone, until a whole head has come. hyper can do that too, with an alarm of its own for every
//! request; here a connection has one, which goes off once in that time at most.

use super::body::Answer;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Less than this is written as one piece.
const SHORT: usize = 512;
/// The first words of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What goes on on a connection.
#[derive(Default)]
pub(super) struct Work {
    begun: AtomicUsize,
    done: AtomicUsize,
    /// The other side does not take what it is sent.
    is_blocked: AtomicBool,
    /// From there on hyper sees for itself whether the other side is still there.
    is_http2: AtomicBool,
}

impl Work {
    /// A head has come.
    pub(super) fn begin(self: &Arc<Self>) -> Job {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Job(self.clone())
    }

    /// How many requests there were, if it is for the other side to say something.
    fn idle_after(&self) -> Option<usize> {
        let begun = self.begun.load(Ordering::Relaxed);
        let is_busy = begun != self.done.load(Ordering::Relaxed)
            || self.is_blocked.load(Ordering::Relaxed)
            || self.is_http2.load(Ordering::Relaxed);
        (!is_busy).then_some(begun)
    }
}

/// A request that is worked on, until its answer has been handed over.
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

/// Looks at the time, each time the connection has been looked after.
pub(super) struct Patience {
    work: Arc<Work>,
    length: Duration,
    wait: Option<Wait>,
    alarm: Pin<Box<Sleep>>,
}

/// Since when the other side has had the word, and how many requests there had been by then.
#[derive(Clone, Copy)]
struct Wait {
    since: Instant,
    after: usize,
}

impl Patience {
    pub(super) fn new(work: Arc<Work>, length: Duration) -> Self {
        let now = Instant::now();
        let wait = Some(Wait { since: now, after: 0 });
        Self { work, length, wait, alarm: Box::pin(sleep_until(now + length)) }
    }

    /// Whether the other side has taken too long; if not, the task is woken up when it has.
    pub(super) fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let Some(after) = self.work.idle_after() else {
            self.wait = None;
            return false;
        };
        let wait = match self.wait.filter(|wait| wait.after == after) {
            Some(wait) => wait,
            None => *self.wait.insert(Wait { since: Instant::now(), after }),
        };
        let until = wait.since + self.length;
        // Set for an earlier wait it goes off too early, and is set anew only then: most waits end long before.
        while self.alarm.as_mut().poll(context).is_ready() {
            if Instant::now() >= until {
                return true;
            }
            self.alarm.as_mut().reset(until);
        }
        false
    }
}

/// The stream itself, by which it is seen what goes on.
pub(super) struct Watched<S> {
    stream: S,
    work: Arc<Work>,
    /// How much of the preface has come; nothing if it was something else.
    preface: Option<usize>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, work: Arc<Work>) -> Self {
        Self { stream, work, preface: Some(0) }
    }

    fn hear(&mut self, said: &[u8]) {
        let Some(known) = self.preface else { return };
        let rest = &PREFACE[known..];
        let length = said.len().min(rest.len());
        self.preface = (said[..length] == rest[..length]).then_some(known + length);
        if self.preface == Some(PREFACE.len()) {
            self.work.is_http2.store(true, Ordering::Relaxed);
            self.preface = None;
        }
    }

    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        self.work.is_blocked.store(written.is_pending(), Ordering::Relaxed);
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        self.hear(&into.filled()[before..]);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
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
            let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
            return self.note(written);
        }
        let mut from = 0;
        for piece in bytes {
            short[from..from + piece.len()].copy_from_slice(piece);
            from += piece.len();
        }
        let written = Pin::new(&mut self.stream).poll_write(context, &short[..length]);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const LENGTH: Duration = Duration::from_millis(200);

    fn is_http2(pieces: &[&[u8]]) -> bool {
        let work: Arc<Work> = Arc::default();
        let mut stream = Watched::new((), work.clone());
        pieces.iter().for_each(|piece| stream.hear(piece));
        work.is_http2.load(Ordering::Relaxed)
    }

    #[test]
    fn http2_is_known_by_its_preface_however_it_comes() {
        assert!(is_http2(&[PREFACE]));
        assert!(is_http2(&[b"P", b"", &PREFACE[1..20], &PREFACE[20..], b"more"]));
        assert!(is_http2(&[&[PREFACE, b"more"].concat()]));
        for other in [
            &b""[..],
            b"PRI * HTTP/2.0\r\n",
            b"PRI /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b"POST /mcp HTTP/1.1\r\nHost",
        ] {
            assert!(!is_http2(&[other]));
        }
        assert!(!is_http2(&[b"x", PREFACE]));
    }

    async fn over(patience: &mut Patience) {
        poll_fn(|context| if patience.is_over(context) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    #[tokio::test]
    async fn time_counts_from_when_all_is_done_and_sent() {
        let work: Arc<Work> = Arc::default();
        let mut patience = Patience::new(work.clone(), LENGTH);
        let began = Instant::now();
        over(&mut patience).await;
        assert!(began.elapsed() >= LENGTH - LENGTH / 10);

        let job = work.begin();
        assert!(tokio::time::timeout(2 * LENGTH, over(&mut patience)).await.is_err(), "it is worked on");
        work.is_blocked.store(true, Ordering::Relaxed);
        drop(job);
        assert!(tokio::time::timeout(2 * LENGTH, over(&mut patience)).await.is_err(), "it has not gone");
        work.is_blocked.store(false, Ordering::Relaxed);
        let began = Instant::now();
        over(&mut patience).await;
        assert!(began.elapsed() >= LENGTH, "counted anew");
    }

    #[tokio::test]
    async fn what_is_not_taken_has_not_gone() {
        let (mut client, server) = duplex(600);
        let work: Arc<Work> = Arc::default();
        let mut stream = Watched::new(server, work.clone());
        let writing = tokio::spawn(async move { stream.write_all(&[0; 2000]).await });
        tokio::task::yield_now().await;
        assert_eq!(work.idle_after(), None);
        client.read_exact(&mut [0; 2000]).await.unwrap();
        writing.await.unwrap().unwrap();
        assert_eq!(work.idle_after(), Some(0));
    }
}
