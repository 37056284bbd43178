//! The latest offer of a server to one kind of client. An offer on disk is parsed on first use: there may be
//! many servers, each with offers for clients that never come.

use super::list::Naming;
use super::offer::Offer;
use bytes::Bytes;
use std::sync::{Arc, LazyLock};

type ReadOffer = Box<dyn FnOnce() -> Option<Arc<Offer>> + Send>;

#[derive(Clone)]
pub struct StoredOffer(Arc<LazyLock<Option<Arc<Offer>>, ReadOffer>>);

impl StoredOffer {
    /// Wraps the bytes from [`Offer::store`].
    pub fn from_bytes(bytes: Bytes, naming: Arc<Naming>) -> Self {
        Self::from_bytes_if(bytes, naming, |_| true)
    }

    /// The same, for an offer that counts only if it passes a check, which is made with the first use.
    pub fn from_bytes_if(
        bytes: Bytes,
        naming: Arc<Naming>,
        passes: impl FnOnce(&Offer) -> bool + Send + 'static,
    ) -> Self {
        let read = move || Offer::load(&bytes, &naming).filter(passes).map(Arc::new);
        Self(Arc::new(LazyLock::new(Box::new(read))))
    }

    /// The offer; `None` if the stored bytes cannot be parsed, or do not pass the check.
    pub fn offer(&self) -> Option<&Arc<Offer>> {
        LazyLock::force(&self.0).as_ref()
    }
}

impl From<Arc<Offer>> for StoredOffer {
    fn from(offer: Arc<Offer>) -> Self {
        let lazy = LazyLock::new(Box::new(move || Some(offer)) as ReadOffer);
        LazyLock::force(&lazy);
        Self(Arc::new(lazy))
    }
}

impl std::fmt::Debug for StoredOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoredOffer")
    }
}
