//! What a server offered to one kind of client when it was asked last. What lies on the disk is read when somebody wants
//! to know: there may be many servers, each with what it offered to clients that will never come.

use super::list::Naming;
use super::offer::Offer;
use bytes::Bytes;
use std::sync::{Arc, LazyLock};

type Reading = Box<dyn FnOnce() -> Option<Arc<Offer>> + Send>;

#[derive(Clone)]
pub struct Kept(Arc<LazyLock<Option<Arc<Offer>>, Reading>>);

impl Kept {
    /// What [`Offer::store`] gave.
    pub fn stored(bytes: Bytes, naming: Arc<Naming>) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || Offer::load(&bytes, &naming).map(Arc::new)))))
    }

    /// Nothing, if what was stored cannot be read.
    pub fn offer(&self) -> Option<&Arc<Offer>> {
        LazyLock::force(&self.0).as_ref()
    }
}

impl From<Arc<Offer>> for Kept {
    fn from(offer: Arc<Offer>) -> Self {
        let kept = LazyLock::new(Box::new(move || Some(offer)) as Reading);
        LazyLock::force(&kept);
        Self(Arc::new(kept))
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}
