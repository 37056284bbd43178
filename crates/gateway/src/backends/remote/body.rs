//! Body of an HTTP request: one message, sent any number of times without a copy,
//! with a record of its progress.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use switchboard_protocol::Outgoing;
use switchboard_protocol::outgoing::Piece;
use tokio::sync::watch;

/// Bytes of one message.
#[derive(Clone)]
pub(super) struct RequestBody {
    pieces: Arc<[Bytes]>,
    length: usize,
    /// True once the whole body has been handed to a connection.
    sent: Arc<watch::Sender<bool>>,
}

/// Whether the server may have seen part of one attempt.
#[derive(Clone, Default)]
pub(super) struct Trace(Arc<AtomicBool>);

impl Trace {
    pub(super) fn is_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl RequestBody {
    pub(super) fn of(out: &Outgoing) -> Self {
        let piece = |piece: Piece<'_>| match piece {
            Piece::Original(range) => out.original().slice(range),
            Piece::Replaced(bytes) => Bytes::copy_from_slice(bytes),
        };
        let pieces = out.pieces().map(piece).filter(|piece| !piece.is_empty()).collect();
        Self { pieces, length: out.len(), sent: Arc::new(watch::channel(false).0) }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        match &self.pieces[..] {
            [one] => one.clone(),
            many => many.concat().into(),
        }
    }

    pub(super) fn sent(&self) -> watch::Receiver<bool> {
        self.sent.subscribe()
    }

    /// Marks the body as sent, or as never to be sent: either way, later messages need not wait for it.
    pub(super) fn mark_sent(&self) {
        self.sent.send_replace(true);
    }

    pub(super) fn stream(&self, trace: &Trace) -> reqwest::Body {
        let left = self.length as u64;
        reqwest::Body::wrap(BodyStream { body: self.clone(), next: 0, left, trace: trace.clone() })
    }
}

/// Body of one attempt.
struct BodyStream {
    body: RequestBody,
    next: usize,
    left: u64,
    trace: Trace,
}

impl Body for BodyStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // Set before the first byte leaves: a request that may have arrived is not sent again.
        self.trace.0.store(true, Ordering::Release);
        let piece = self.body.pieces.get(self.next).cloned();
        if let Some(piece) = &piece {
            self.next += 1;
            self.left -= piece.len() as u64;
        }
        // Settled with the last piece: the HTTP client does not poll again after it.
        if self.left == 0 {
            self.body.mark_sent();
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
