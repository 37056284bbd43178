//! Body of an answer: whole, or a stream of events.

use super::events::Receipt;
use super::inbox::Inbox;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use switchboard_core::ClientId;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

/// Interval of comments on an idle stream, so that no proxy closes it.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(25);

/// The interval in use. In debug builds `SWITCHBOARD_KEEP_ALIVE` is another, in milliseconds.
pub(super) fn keep_alive_interval() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(wish) = std::env::var_os("SWITCHBOARD_KEEP_ALIVE") {
        let wish = wish.to_str().and_then(|wish| wish.parse().ok());
        return wish.map_or(KEEP_ALIVE_INTERVAL, Duration::from_millis);
    }
    KEEP_ALIVE_INTERVAL
}

/// Bytes that the core counts as waiting for a client. Dropping it gives them back, sent or not.
pub(crate) struct Charge {
    client: ClientId,
    count: usize,
    inbox: Arc<Inbox>,
}

impl Charge {
    pub(crate) fn new(client: ClientId, count: usize, inbox: Arc<Inbox>) -> Self {
        Self { client, count, inbox }
    }

    /// Gives the bytes back as lost.
    pub(crate) fn lose(self) {
        // The bytes are freed by `drop`; this only adds the notice that a message was lost.
        self.inbox.dropped(self.client);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.count > 0 {
            self.inbox.freed(self.client, self.count);
        }
    }
}

/// Bytes on their way to a client.
pub(crate) struct BodyPart {
    pub(crate) bytes: Bytes,
    /// `None` if the stored event holds it.
    _charge: Option<Charge>,
    /// Signed when the client gets the bytes.
    receipt: Option<Receipt>,
}

impl BodyPart {
    pub(crate) fn new(bytes: Bytes, charge: Option<Charge>) -> Self {
        Self { bytes, _charge: charge, receipt: None }
    }

    pub(crate) fn with_receipt(self, receipt: Receipt) -> Self {
        Self { receipt: Some(receipt), ..self }
    }

    fn hand_over(mut self) -> Bytes {
        // Signed when the connection takes the bytes, which is the last moment that we can observe.
        if let Some(receipt) = self.receipt.take() {
            receipt.sign();
        }
        self.bytes
    }
}

/// Body of an answer.
pub(crate) enum AnswerBody {
    Whole(Option<Bytes>),
    Message(Option<BodyPart>),
    Stream(Events),
}

impl AnswerBody {
    pub(crate) fn text(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()))
    }
}

/// Stream of server-sent events.
pub(crate) struct Events {
    parts: mpsc::UnboundedReceiver<BodyPart>,
    interval: Duration,
    quiet: Pin<Box<Sleep>>,
    /// Dropped with the stream: its `Drop` does what the end of the stream demands.
    _at_end: Option<Box<dyn Send>>,
}

impl Events {
    pub(crate) fn new(parts: mpsc::UnboundedReceiver<BodyPart>) -> Self {
        let interval = keep_alive_interval();
        Self { parts, interval, quiet: Box::pin(sleep(interval)), _at_end: None }
    }

    /// With a guard that is dropped when the stream ends, or when the client closes it.
    pub(crate) fn guarded(parts: mpsc::UnboundedReceiver<BodyPart>, guard: impl Send + 'static) -> Self {
        Self { _at_end: Some(Box::new(guard)), ..Self::new(parts) }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Message(part) => Poll::Ready(part.take().map(|part| Ok(Frame::data(part.hand_over())))),
            Self::Stream(events) => match events.parts.poll_recv(context) {
                Poll::Ready(part) => {
                    // Any event proves to a proxy that the stream is alive.
                    events.quiet.as_mut().reset(Instant::now() + events.interval);
                    Poll::Ready(part.map(|part| Ok(Frame::data(part.hand_over()))))
                }
                Poll::Pending if events.quiet.as_mut().poll(context).is_ready() => {
                    events.quiet.as_mut().reset(Instant::now() + events.interval);
                    // The timer was reset above and must be polled again to register the waker.
                    context.waker().wake_by_ref();
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": \n\n")))))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Message(part) => {
                hyper::body::SizeHint::with_exact(part.as_ref().map_or(0, |part| part.bytes.len()) as u64)
            }
            // A stream has no known length, so no `Content-Length` is sent.
            Self::Stream(_) => hyper::body::SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Message(part) => part.is_none(),
            Self::Stream(_) => false,
        }
    }
}
