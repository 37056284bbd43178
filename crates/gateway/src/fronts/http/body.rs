//! What is answered: whole, or piece by piece for as long as there is something to say.

use super::events::Receipt;
use super::news::News;
use super::session::Session;
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

/// A stream on which nothing happens says so, lest somebody in between takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(25);

/// Bytes that the core counts as waiting for a client. Whatever becomes of them, they no longer wait when this is dropped.
pub(crate) struct Charge {
    client: ClientId,
    count: usize,
    news: Arc<News>,
}

impl Charge {
    pub(crate) fn new(client: ClientId, count: usize, news: Arc<News>) -> Self {
        Self { client, count, news }
    }

    /// The client will never get them.
    pub(crate) fn lose(self) {
        self.news.dropped(self.client);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.count > 0 {
            self.news.freed(self.client, self.count);
        }
    }
}

/// Bytes on their way to a client.
pub(crate) struct Parcel {
    pub(crate) bytes: Bytes,
    /// None if somebody else holds it.
    _charge: Option<Charge>,
    /// Signed when the client gets them.
    receipt: Option<Receipt>,
}

impl Parcel {
    pub(crate) fn new(bytes: Bytes, charge: Option<Charge>) -> Self {
        Self { bytes, _charge: charge, receipt: None }
    }

    pub(crate) fn with_receipt(self, receipt: Receipt) -> Self {
        Self { receipt: Some(receipt), ..self }
    }

    fn hand_over(mut self) -> Bytes {
        if let Some(receipt) = self.receipt.take() {
            receipt.sign();
        }
        self.bytes
    }
}

/// The body of an answer.
pub(crate) enum Answer {
    Whole(Option<Bytes>),
    Message(Option<Parcel>),
    Stream(Events),
}

impl Answer {
    pub(crate) fn text(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()))
    }
}

/// Server-sent events, until there are no more.
pub(crate) struct Events {
    parcels: mpsc::UnboundedReceiver<Parcel>,
    quiet: Pin<Box<Sleep>>,
    /// The session that ends with this stream.
    ends: Option<Arc<Session>>,
}

impl Events {
    pub(crate) fn new(parcels: mpsc::UnboundedReceiver<Parcel>, ends: Option<Arc<Session>>) -> Self {
        Self { parcels, quiet: Box::pin(sleep(KEEP_ALIVE)), ends }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(session) = &self.ends {
            session.leave();
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Message(parcel) => {
                Poll::Ready(parcel.take().map(|parcel| Ok(Frame::data(parcel.hand_over()))))
            }
            Self::Stream(events) => match events.parcels.poll_recv(context) {
                Poll::Ready(parcel) => {
                    events.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
                    Poll::Ready(parcel.map(|parcel| Ok(Frame::data(parcel.hand_over()))))
                }
                Poll::Pending if events.quiet.as_mut().poll(context).is_ready() => {
                    events.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
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
            Self::Message(parcel) => hyper::body::SizeHint::with_exact(
                parcel.as_ref().map_or(0, |parcel| parcel.bytes.len()) as u64,
            ),
            Self::Stream(_) => hyper::body::SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Message(parcel) => parcel.is_none(),
            Self::Stream(_) => false,
        }
    }
}
