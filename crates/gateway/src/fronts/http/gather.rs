//! Body of a request as one piece. A short body arrives in one piece and is used as it is; a long one is
//! collected in one buffer, so that it is never held twice. A body must arrive in time and not too slowly.

use crate::io::spare;
use bytes::{Bytes, BytesMut};
use hyper::body::Body;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use switchboard_process::aside;
use switchboard_protocol::hunt::{Glimpse, Hunter};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that must arrive before the announced length is allocated: an announcement costs the client nothing.
const MIN_ARRIVED_BYTES: usize = 512 << 10;
/// Time that every body has.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval of speed checks after that.
const BODY_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Slowest acceptable rate.
const MIN_BYTES_PER_SECOND: u64 = 1 << 10;

/// Reason why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// With the ids that were seen in it.
    TooLong(Vec<Glimpse>),
    TooSlow,
    /// The connection ended first.
    Cut,
}

pub(super) async fn gather<B>(body: B, limit: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut body = Paced::new(body);
    let Some(first) = body.next().await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(body.skim(BytesMut::new(), first, limit).await);
    }
    // Most bodies arrive in one piece, which needs no copy.
    if first.len() == announced || body.body.is_end_stream() {
        return Ok(first);
    }
    let mut all = BytesMut::with_capacity(announced.min(MIN_ARRIVED_BYTES).max(first.len()));
    all.extend_from_slice(&first);
    // Freed before more arrives, so that the body is never held twice.
    drop(first);
    while let Some(piece) = body.next().await? {
        let length = all.len() + piece.len();
        if length > limit {
            return Err(body.skim(all, piece, limit).await);
        }
        if length > all.capacity() {
            spare::enlarge(&mut all);
            // Reserves the announced length, or else doubles each time.
            let wanted = if announced >= length { announced.min(limit) } else { (2 * length).min(limit) };
            all.reserve(wanted.saturating_sub(all.len()));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

/// Body with a minimum speed.
struct Paced<B> {
    body: B,
    received: u64,
    /// Time by which `wanted` bytes must have arrived. Set on the first wait, since most bodies need none.
    alarm: Option<Pin<Box<Sleep>>>,
    wanted: u64,
}

impl<B: Body<Data = Bytes> + Unpin> Paced<B> {
    fn new(body: B) -> Self {
        Self { body, received: 0, alarm: None, wanted: MIN_BYTES_PER_SECOND * BODY_TIMEOUT.as_secs() }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Unread> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Unread>> {
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(frame) => frame,
                // Time counts only while we wait: bytes that are there are taken first.
                Poll::Pending if self.is_late(context) => return Poll::Ready(Err(Unread::TooSlow)),
                Poll::Pending => return Poll::Pending,
            };
            match frame {
                None => return Poll::Ready(Ok(None)),
                Some(Err(_)) => return Poll::Ready(Err(Unread::Cut)),
                // Trailers are ignored.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) if !piece.is_empty() => {
                        self.received += piece.len() as u64;
                        return Poll::Ready(Ok(Some(piece)));
                    }
                    Ok(_) | Err(_) => {}
                },
            }
        }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(BODY_TIMEOUT)));
        while alarm.as_mut().poll(context).is_ready() {
            if self.received < self.wanted {
                return true;
            }
            // Measured from what has arrived, so that a fast start buys no idle time later.
            self.wanted = self.received + MIN_BYTES_PER_SECOND * BODY_CHECK_INTERVAL.as_secs();
            alarm.as_mut().reset(Instant::now() + BODY_CHECK_INTERVAL);
        }
        false
    }

    /// Searches an oversized body for ids, up to twice the limit: many clients write the id last, and read no
    /// answer before they have sent everything.
    async fn skim(mut self, begun: BytesMut, piece: Bytes, limit: usize) -> Unread {
        // Scanning megabytes would hold up the event loop.
        let mut hunter = aside::run(move || {
            let mut hunter = Hunter::default();
            hunter.feed(&begun);
            hunter.feed(&piece);
            hunter
        })
        .await;
        while self.received <= 2 * limit as u64 {
            match self.next().await {
                Ok(Some(piece)) => hunter.feed(&piece),
                Ok(None) => break,
                Err(unread) => return unread,
            }
        }
        Unread::TooLong(hunter.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::{Frame, SizeHint};
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    struct Pieces {
        pieces: VecDeque<Vec<u8>>,
        announced: u64,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece.into()))))
        }

        fn size_hint(&self) -> SizeHint {
            let mut hint = SizeHint::new();
            hint.set_lower(self.announced);
            hint
        }
    }

    #[tokio::test]
    async fn a_body_is_one_piece_however_it_comes() {
        let long = vec![b'x'; 300 << 10];
        for pieces in
            [vec![], vec![b"{}".to_vec()], vec![vec![], b"{".to_vec(), b"}".to_vec()], vec![long; 5]]
        {
            let whole = pieces.concat();
            for announced in [0, whole.len() as u64] {
                let body = || Pieces { pieces: pieces.clone().into(), announced };
                assert_eq!(gather(body(), 2 << 20).await.as_deref(), Ok(&whole[..]));
                assert_eq!(gather(body(), whole.len()).await.as_deref(), Ok(&whole[..]));
                if let Some(too_few) = whole.len().checked_sub(1) {
                    assert!(matches!(gather(body(), too_few).await, Err(Unread::TooLong(_))));
                }
            }
        }
    }

    #[tokio::test]
    async fn a_long_body_is_searched_for_its_id() {
        let text = format!(r#"{{"method":"ping","params":"{}","id":7}}"#, "x".repeat(900));
        let pieces: VecDeque<Vec<u8>> = text.as_bytes().chunks(100).map(<[u8]>::to_vec).collect();
        let Err(Unread::TooLong(seen)) = gather(Pieces { pieces, announced: 0 }, 500).await else {
            panic!("it is too long");
        };
        assert_eq!(seen[0].id.as_ref().map(|id| id.as_bytes()), Some(&b"7"[..]));
    }

    /// Body of so many pieces, one at each interval.
    struct Trickle {
        pieces: usize,
        bytes: usize,
        every: Duration,
        next: Pin<Box<Sleep>>,
    }

    impl Trickle {
        fn new(bytes: usize, every: Duration) -> Self {
            Self { pieces: 500, bytes, every, next: Box::pin(sleep(every)) }
        }
    }

    impl Body for Trickle {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            std::task::ready!(self.next.as_mut().poll(context));
            let next = Instant::now() + self.every;
            self.next.as_mut().reset(next);
            if self.pieces == 0 {
                return Poll::Ready(None);
            }
            self.pieces -= 1;
            Poll::Ready(Some(Ok(Frame::data(vec![b' '; self.bytes].into()))))
        }
    }

    /// Result for such a body, and the seconds it took.
    async fn gathered(bytes: usize, every: u64) -> (u64, Result<usize, Unread>) {
        let began = Instant::now();
        let body = gather(Trickle::new(bytes, Duration::from_secs(every)), 16 << 20).await;
        (began.elapsed().as_secs(), body.map(|body| body.len()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_given_up() {
        assert_eq!(gathered(1, 1).await, (60, Err(Unread::TooSlow)));
        assert_eq!(gathered(1, 1000).await, (60, Err(Unread::TooSlow)));
        // Fast enough for a minute, then stalled.
        assert_eq!(gathered(100 << 10, 55).await, (70, Err(Unread::TooSlow)));
        assert_eq!(gathered(2 << 10, 1).await, (501, Ok(1000 << 10)));
    }
}
