//! Long lists that are sent to one client after the other. From the second time on the system has a copy of its own, and
//! sends from it without copying again.

use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use switchboard_process::pipe::Sealed;

/// Shorter lists are copied as fast.
pub(crate) const LONG: usize = 64 << 10;
/// Four kinds of lists, and some clients that see others than the rest.
const MAX_LISTS: usize = 8;

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

struct Known {
    bytes: Bytes,
    copy: Copy,
}

enum Copy {
    /// It was sent once.
    NotYet,
    Made(Arc<Sealed>),
    Impossible,
}

/// Where the system can take these bytes from, if they were sent before.
pub(crate) fn source(bytes: &Bytes) -> Option<Arc<Sealed>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody else has those any more: they were replaced by others.
    known.retain(|it| !it.bytes.is_unique());
    let is_it = |it: &Known| it.bytes.as_ptr() == bytes.as_ptr() && it.bytes.len() == bytes.len();
    let Some(at) = known.iter().position(is_it) else {
        if known.len() == MAX_LISTS {
            known.remove(0);
        }
        known.push(Known { bytes: bytes.clone(), copy: Copy::NotYet });
        return None;
    };
    let it = &mut known[at];
    if let Copy::NotYet = it.copy {
        it.copy = Sealed::new(&it.bytes).map_or(Copy::Impossible, |sealed| Copy::Made(Arc::new(sealed)));
    }
    match &it.copy {
        Copy::Made(sealed) => Some(sealed.clone()),
        Copy::NotYet | Copy::Impossible => None,
    }
}
