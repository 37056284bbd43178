//! Timeouts of connections that stall. The other side must send a whole head once no request is being served;
//! it must read what it is sent; and a stranger must identify itself. hyper can do part of this with a timer
//! per request; here each connection has one timer, which fires at most once per timeout.

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

/// Time limit for the head of a request.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for an HTTP/2 connection without a request, after the first.
const HTTP2_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for a stranger to identify itself.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of checks that output is being read.
const SEND_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Bytes that must be read in that interval.
const MIN_SENT_BYTES: u64 = SEND_CHECK_INTERVAL.as_secs() << 10;
/// Writes up to this length are joined into one.
const MAX_JOINED_WRITE_BYTES: usize = 512;
/// Connection preface of HTTP/2.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Activity of a connection.
#[derive(Default)]
pub(super) struct Work {
    begun: AtomicUsize,
    done: AtomicUsize,
    /// Whole answers that are ready to be sent.
    ready: AtomicUsize,
    /// Bytes written to the other side.
    written: AtomicU64,
    /// The last write was blocked.
    is_blocked: AtomicBool,
    is_http2: AtomicBool,
}

/// Side that must act next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionTurn {
    /// Waiting for us: a request is being served, or a stream is open.
    Ours,
    /// Waiting for the client to send its next request, `after` this many.
    Theirs { after: usize },
    /// Waiting for the client to read its output.
    Taking,
}

impl Work {
    /// Records the arrival of a head.
    pub(super) fn begin(self: &Arc<Self>) -> Job {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Job(self.clone())
    }

    fn turn(&self) -> ConnectionTurn {
        let begun = self.begun.load(Ordering::Relaxed);
        // Before the check for running requests: an answer that is not read is the client's turn.
        if self.is_blocked.load(Ordering::Relaxed) || self.ready.load(Ordering::Relaxed) > 0 {
            ConnectionTurn::Taking
        } else if begun != self.done.load(Ordering::Relaxed) {
            ConnectionTurn::Ours
        } else {
            ConnectionTurn::Theirs { after: begun }
        }
    }
}

/// Request being served, until its answer has been handed over.
pub(super) struct Job(Arc<Work>);

impl Drop for Job {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answer on its way.
pub(super) struct Going {
    answer: AnswerBody,
    is_whole: bool,
    job: Job,
}

impl Going {
    pub(super) fn new(answer: AnswerBody, job: Job) -> Self {
        let is_whole = !matches!(answer, AnswerBody::Stream(_));
        // A stream may stay open for ever, so it never counts as an answer that is ready.
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

/// Reason to give up a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// No request for a long time. One may be under way, so the other side is told first.
    Idle,
    /// The other side missed a deadline.
    Late,
}

/// Timeouts of one connection, checked after each poll.
pub(super) struct IdleTimeout {
    work: Arc<Work>,
    opened: Instant,
    wait: Option<Wait>,
    /// Only reading is expected of the other side.
    is_leaving: bool,
    alarm: Pin<Box<Sleep>>,
}

/// Start of the present turn, and the bytes written by then.
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

    /// Reason to give up the connection, if there is one; otherwise the task is woken at the next deadline.
    pub(super) fn check(&mut self, context: &mut Context<'_>, is_stranger: bool) -> Option<Over> {
        loop {
            let turn = match self.work.turn() {
                // A connection that is being closed may send no request, so only its reading is timed.
                ConnectionTurn::Theirs { .. } if self.is_leaving => ConnectionTurn::Taking,
                turn => turn,
            };
            let until = self.deadline(turn);
            let introduced = is_stranger.then(|| self.opened + STRANGER_TIMEOUT);
            // While it is our turn, and the client is known, there is no deadline.
            let next = until.into_iter().chain(introduced).min()?;
            // A timer set for an earlier wait fires early and is reset only then: most waits end long before.
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
                    // Enough was read in this interval, so the next one begins.
                    ConnectionTurn::Taking if self.is_taken() => self.wait = None,
                    ConnectionTurn::Theirs { .. } | ConnectionTurn::Taking | ConnectionTurn::Ours => {
                        return Some(Over::Late);
                    }
                }
                continue;
            }
            // The timer had been set for an earlier wait, and the present one lasts longer.
            self.alarm.as_mut().reset(next);
        }
    }

    /// End of the present turn.
    fn deadline(&mut self, turn: ConnectionTurn) -> Option<Instant> {
        let time = match turn {
            ConnectionTurn::Ours => {
                // The next wait starts from zero, however long we took.
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

    /// Whether enough was read since the wait began.
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

/// The connection's stream, with a record of its activity.
pub(super) struct Watched<S> {
    stream: S,
    work: Arc<Work>,
    /// Bytes of the preface seen so far; `None` once it is complete or ruled out.
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
        // Bytes of the preface may arrive one by one.
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
        // Only the bytes of this read, since the buffer may already hold earlier ones.
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
        // Most answers are a short head and a short body: copying them together is
        // cheaper than a second system call.
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
        // With TLS, `write` fills a buffer and only `flush` shows that the socket is full.
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
    fn http2_is_detected_in_any_pieces() {
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

    /// Seconds until a connection is given up, and the reason.
    async fn over(idle_timeout: &mut IdleTimeout, is_stranger: bool) -> (u64, Over) {
        let began = Instant::now();
        let over = poll_fn(|context| match idle_timeout.check(context, is_stranger) {
            Some(over) => Poll::Ready(over),
            None => Poll::Pending,
        });
        let over = over.await;
        (began.elapsed().as_secs(), over)
    }

    /// Whether the connection is kept beyond every timeout.
    async fn is_waited_for(idle_timeout: &mut IdleTimeout) -> bool {
        tokio::time::timeout(Duration::from_secs(3600), over(idle_timeout, false)).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn time_counts_once_all_is_sent() {
        let work: Arc<Work> = Arc::default();
        let mut idle_timeout = IdleTimeout::new(work.clone());
        assert_eq!(over(&mut idle_timeout, false).await, (10, Over::Late));

        let job = work.begin();
        assert!(is_waited_for(&mut idle_timeout).await, "it is worked on");
        drop(job);
        assert_eq!(over(&mut idle_timeout, false).await, (10, Over::Late), "counted anew");
    }

    #[tokio::test(start_paused = true)]
    async fn stranger_timeout_is_absolute() {
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

        // Enough is read for a while.
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
    async fn unread_answers_are_given_up() {
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
    async fn unread_output_waits_for_the_client() {
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
