//! The body of a request, as one piece. A short one comes in one piece and is taken as it is; a long one is put together in
//! one buffer while it comes, so that it is never held twice.

use crate::spare;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

/// So much must have come before room is made for all that was announced: to announce costs nothing.
const AT_FIRST: usize = 512 << 10;

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLong,
    /// It ended before its time.
    Cut,
}

pub(super) async fn gather<B>(mut body: B, limit: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(Unread::TooLong);
    }
    if first.len() == announced || body.is_end_stream() {
        return Ok(first);
    }
    let mut all = BytesMut::with_capacity(announced.min(AT_FIRST).max(first.len()));
    all.extend_from_slice(&first);
    drop(first);
    while let Some(piece) = next(&mut body).await? {
        let length = all.len() + piece.len();
        if length > limit {
            return Err(Unread::TooLong);
        }
        if length > all.capacity() {
            spare::enlarge(&mut all);
            // All of what was announced, or else twice as much each time.
            let wanted = if announced >= length { announced.min(limit) } else { (2 * length).min(limit) };
            all.reserve(wanted.saturating_sub(all.len()));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

async fn next<B>(body: &mut B) -> Result<Option<Bytes>, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        match frame.map_err(|_| Unread::Cut)?.into_data() {
            Ok(piece) if !piece.is_empty() => return Ok(Some(piece)),
            // Trailers say nothing to us.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
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
                    assert_eq!(gather(body(), too_few).await, Err(Unread::TooLong));
                }
            }
        }
    }
}
