//! Closes connections that stall: the times that the other side of a connection has. Counted from when nothing is being done for it until a whole head has
//! come; while it is sent something, it must take some of it; and a stranger must say who it is. hyper can do some of that
//! too, with an alarm of its own for every request; here a connection has one, which goes off once in such a time at most.

use super::body::AnswerBody;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The time for the head of a request.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a connection of HTTP/2 may be without a request, after the first.
const HTTP2_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a stranger has to say who it is.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often it is looked whether what is sent is taken.
const SEND_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// The least that must be taken in that time.
const MIN_SENT_BYTES: u64 = SEND_CHECK_INTERVAL.as_secs() << 10;
/// Less than this is written as one piece.
const MAX_JOINED_WRITE_BYTES: usize = 512;
/// The first words of HTTP/2.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What goes on on a connection.
#[derive(Default)]
pub(super) struct Work {
    begun: AtomicUsize,
    done: AtomicUsize,
    /// Whole answers that are there to be sent.
    ready: AtomicUsize,
    /// Bytes that the other side was sent.
    written: AtomicU64,
    /// The other side does not take what it is sent.
    is_blocked: AtomicBool,
    is_http2: AtomicBool,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionTurn {
    /// Ours: a request is worked on, or a stream is open.
    Ours,
    /// The other side's, to say something; so many requests came before.
    Theirs { after: usize },
    /// The other side's, to take what it is sent.
    Taking,
}

impl Work {
    /// A head has come.
    pub(super) fn begin(self: &Arc<Self>) -> Job {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Job(self.clone())
    }

    fn turn(&self) -> ConnectionTurn {
        let begun = self.begun.load(Ordering::Relaxed);
        if self.is_blocked.load(Ordering::Relaxed) || self.ready.load(Ordering::Relaxed) > 0 {
            ConnectionTurn::Taking
        } else if begun != self.done.load(Ordering::Relaxed) {
            ConnectionTurn::Ours
        } else {
            ConnectionTurn::Theirs { after: begun }
        }
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
    answer: AnswerBody,
    is_whole: bool,
    job: Job,
}

impl Going {
    pub(super) fn new(answer: AnswerBody, job: Job) -> Self {
        let is_whole = !matches!(answer, AnswerBody::Stream(_));
        job.0.ready.fetch_add(usize::from(is_whole), Ordering::Relaxed);
        Self { answer, is_whole, job }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.job.0.ready.fetch_sub(usize::from(self.is_whole), Ordering::Relaxed);
    }
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

/// Why a connection is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Nothing was asked for long. A request may be on its way: the other side is told first.
    Idle,
    /// The other side should have done something.
    Late,
}

/// Timeouts of one connection, checked each time that it was polled.
pub(super) struct IdleTimeout {
    work: Arc<Work>,
    opened: Instant,
    wait: Option<Wait>,
    /// Nothing more is expected of the other side but that it takes what it is sent.
    is_leaving: bool,
    alarm: Pin<Box<Sleep>>,
}

/// Since when it has been this turn, and how much had been written by then.
#[derive(Clone, Copy)]
struct Wait {
    turn: ConnectionTurn,
    since: Instant,
    written: u64,
}

impl IdleTimeout {
    pub(super) fn new(work: Arc<Work>) -> Self {
        let opened = Instant::now();
        let wait = Some(Wait { turn: ConnectionTurn::Theirs { after: 0 }, since: opened, written: 0 });
        Self { work, opened, wait, is_leaving: false, alarm: Box::pin(sleep_until(opened + HEAD_TIMEOUT)) }
    }

    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Whether the other side has taken too long; if not, the task is woken up when it has.
    pub(super) fn check(&mut self, context: &mut Context<'_>, is_stranger: bool) -> Option<Over> {
        loop {
            let turn = match self.work.turn() {
                ConnectionTurn::Theirs { .. } if self.is_leaving => ConnectionTurn::Taking,
                turn => turn,
            };
            let until = self.deadline(turn);
            let introduced = is_stranger.then(|| self.opened + STRANGER_TIMEOUT);
            let next = until.into_iter().chain(introduced).min()?;
            // Set for an earlier wait it goes off too early, and is set anew only then: most waits end long before.
            if self.alarm.deadline() > next {
                self.alarm.as_mut().reset(next);
            }
            if self.alarm.as_mut().poll(context).is_pending() {
                return None;
            }
            let now = Instant::now();
            if introduced.is_some_and(|introduced| now >= introduced) {
                return Some(Over::Late);
            }
            if until.is_some_and(|until| now >= until) {
                let is_first = turn == (ConnectionTurn::Theirs { after: 0 });
                match turn {
                    ConnectionTurn::Theirs { .. } if self.is_http2() && !is_first => return Some(Over::Idle),
                    ConnectionTurn::Taking if self.is_taken() => self.wait = None,
                    ConnectionTurn::Theirs { .. } | ConnectionTurn::Taking | ConnectionTurn::Ours => {
                        return Some(Over::Late);
                    }
                }
                continue;
            }
            self.alarm.as_mut().reset(next);
        }
    }

    /// Until when this turn may last.
    fn deadline(&mut self, turn: ConnectionTurn) -> Option<Instant> {
        let time = match turn {
            ConnectionTurn::Ours => {
                self.wait = None;
                return None;
            }
            ConnectionTurn::Theirs { after } if after > 0 && self.is_http2() => HTTP2_IDLE_TIMEOUT,
            ConnectionTurn::Theirs { .. } => HEAD_TIMEOUT,
            ConnectionTurn::Taking => SEND_CHECK_INTERVAL,
        };
        let wait = match self.wait.filter(|wait| wait.turn == turn) {
            Some(wait) => wait,
            None => *self.wait.insert(Wait { turn, since: Instant::now(), written: self.written() }),
        };
        Some(wait.since + time)
    }

    /// Whether enough was taken since the wait began.
    fn is_taken(&self) -> bool {
        self.wait.is_some_and(|wait| self.written() - wait.written >= MIN_SENT_BYTES)
    }

    fn written(&self) -> u64 {
        self.work.written.load(Ordering::Relaxed)
    }

    fn is_http2(&self) -> bool {
        self.work.is_http2.load(Ordering::Relaxed)
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
        let rest = &HTTP2_PREFACE[known..];
        let length = said.len().min(rest.len());
        self.preface = (said[..length] == rest[..length]).then_some(known + length);
        if self.preface == Some(HTTP2_PREFACE.len()) {
            self.work.is_http2.store(true, Ordering::Relaxed);
            self.preface = None;
        }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.work.is_blocked.store(written.is_pending(), Ordering::Relaxed);
        if let Poll::Ready(Ok(count)) = &written {
            self.work.written.fetch_add(*count as u64, Ordering::Relaxed);
        }
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
        let mut short = [0; MAX_JOINED_WRITE_BYTES];
        let length: usize = bytes.iter().map(|piece| piece.len()).sum();
        if length > MAX_JOINED_WRITE_BYTES {
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
        self.work.is_blocked.store(flushed.is_pending(), Ordering::Relaxed);
        flushed
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

    fn is_http2(pieces: &[&[u8]]) -> bool {
        let work: Arc<Work> = Arc::default();
        let mut stream = Watched::new((), work.clone());
        pieces.iter().for_each(|piece| stream.hear(piece));
        work.is_http2.load(Ordering::Relaxed)
    }

    #[test]
    fn http2_is_known_by_its_preface_however_it_comes() {
        assert!(is_http2(&[HTTP2_PREFACE]));
        assert!(is_http2(&[b"P", b"", &HTTP2_PREFACE[1..20], &HTTP2_PREFACE[20..], b"more"]));
        assert!(is_http2(&[&[HTTP2_PREFACE, b"more"].concat()]));
        for other in [
            &b""[..],
            b"PRI * HTTP/2.0\r\n",
            b"PRI /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b"POST /mcp HTTP/1.1\r\nHost",
        ] {
            assert!(!is_http2(&[other]));
        }
        assert!(!is_http2(&[b"x", HTTP2_PREFACE]));
    }

    /// Seconds until a connection is not waited for any longer, and why.
    async fn over(idle_timeout: &mut IdleTimeout, is_stranger: bool) -> (u64, Over) {
        let began = Instant::now();
        let over = poll_fn(|context| match idle_timeout.check(context, is_stranger) {
            Some(over) => Poll::Ready(over),
            None => Poll::Pending,
        });
        let over = over.await;
        (began.elapsed().as_secs(), over)
    }

    /// Whether it is waited for, for as long as anybody is.
    async fn is_waited_for(idle_timeout: &mut IdleTimeout) -> bool {
        tokio::time::timeout(Duration::from_secs(3600), over(idle_timeout, false)).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn time_counts_from_when_all_is_done_and_sent() {
        let work: Arc<Work> = Arc::default();
        let mut idle_timeout = IdleTimeout::new(work.clone());
        assert_eq!(over(&mut idle_timeout, false).await, (10, Over::Late));

        let job = work.begin();
        assert!(is_waited_for(&mut idle_timeout).await, "it is worked on");
        drop(job);
        assert_eq!(over(&mut idle_timeout, false).await, (10, Over::Late), "counted anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_has_its_time_whatever_it_does() {
        let work: Arc<Work> = Arc::default();
        let mut idle_timeout = IdleTimeout::new(work.clone());
        let _job = work.begin();
        assert_eq!(over(&mut idle_timeout, true).await, (30, Over::Late));
        let mut idle_timeout = IdleTimeout::new(work.clone());
        work.is_blocked.store(true, Ordering::Relaxed);
        assert_eq!(over(&mut idle_timeout, true).await, (30, Over::Late));
    }

    #[tokio::test(start_paused = true)]
    async fn blocked_writes_are_given_up() {
        let work: Arc<Work> = Arc::default();
        let mut idle_timeout = IdleTimeout::new(work.clone());
        let _job = work.begin();
        work.is_blocked.store(true, Ordering::Relaxed);
        assert_eq!(over(&mut idle_timeout, false).await, (60, Over::Late));

        // Enough is taken for a while.
        let mut idle_timeout = IdleTimeout::new(work.clone());
        let taking = tokio::spawn(async move {
            for _ in 0..200 {
                work.written.fetch_add(1 << 10, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let (seconds, why) = over(&mut idle_timeout, false).await;
        assert!((200..=300).contains(&seconds) && why == Over::Late, "{seconds} {why:?}");
        taking.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_are_not_taken_are_given_up() {
        let work: Arc<Work> = Arc::default();
        let mut idle_timeout = IdleTimeout::new(work.clone());
        let answer = Going::new(AnswerBody::text("{}"), work.begin());
        let (stream, _open) = (work.begin(), work.begin());
        assert_eq!(over(&mut idle_timeout, false).await, (60, Over::Late));
        drop((answer, stream));
        assert!(is_waited_for(&mut idle_timeout).await, "a stream is open");
    }

    #[tokio::test(start_paused = true)]
    async fn idle_http2_is_told_first() {
        let work: Arc<Work> = Arc::default();
        work.is_http2.store(true, Ordering::Relaxed);
        let mut idle_timeout = IdleTimeout::new(work.clone());
        assert_eq!(over(&mut idle_timeout, false).await, (10, Over::Late), "a bare preface");
        drop(work.begin());
        assert_eq!(over(&mut idle_timeout, false).await, (60, Over::Idle));
        idle_timeout.leave();
        assert_eq!(over(&mut idle_timeout, false).await, (60, Over::Late));
    }

    #[tokio::test]
    async fn what_is_not_taken_has_not_gone() {
        let (mut client, server) = duplex(600);
        let work: Arc<Work> = Arc::default();
        let mut stream = Watched::new(server, work.clone());
        let writing = tokio::spawn(async move { stream.write_all(&[0; 2000]).await });
        tokio::task::yield_now().await;
        assert_eq!(work.turn(), ConnectionTurn::Taking);
        client.read_exact(&mut [0; 2000]).await.unwrap();
        writing.await.unwrap().unwrap();
        assert_eq!(work.turn(), ConnectionTurn::Theirs { after: 0 });
        assert_eq!(work.written.load(Ordering::Relaxed), 2000);
    }
}
