//! Long lists that are sent to many clients. From the second time on, a sealed copy lets the system send them
//! without another copy. Must not know what the lists contain.

use bytes::Bytes;
use std::sync::Arc;
use switchboard_process::lock::Lock;
use switchboard_process::pipe::Sealed;

/// Shorter lists are copied as fast.
pub(crate) const MIN_SHARED_BYTES: usize = 64 << 10;
/// Four kinds of lists, and some clients with different views.
const MAX_KNOWN_LISTS: usize = 8;

static KNOWN: Lock<Vec<KnownList>> = Lock::new(Vec::new());

struct KnownList {
    bytes: Bytes,
    copy: SystemCopy,
}

enum SystemCopy {
    /// Sent once so far.
    NotYet,
    Made(Arc<Sealed>),
    Impossible,
}

/// Sealed copy of these bytes, if they were sent before.
pub(crate) fn source(bytes: &Bytes) -> Option<Arc<Sealed>> {
    let mut known = KNOWN.lock();
    // Lists without another owner have been replaced and will not be sent again.
    known.retain(|it| !it.bytes.is_unique());
    // Compared by address: equal content in another buffer is another list.
    let is_it = |it: &KnownList| it.bytes.as_ptr() == bytes.as_ptr() && it.bytes.len() == bytes.len();
    let Some(at) = known.iter().position(is_it) else {
        // The oldest list is the least likely to be sent again.
        if known.len() == MAX_KNOWN_LISTS {
            known.remove(0);
        }
        known.push(KnownList { bytes: bytes.clone(), copy: SystemCopy::NotYet });
        return None;
    };
    let it = &mut known[at];
    if let SystemCopy::NotYet = it.copy {
        // A failure is remembered, so that the system is not asked for every client.
        it.copy = Sealed::new(&it.bytes)
            .map_or(SystemCopy::Impossible, |sealed| SystemCopy::Made(Arc::new(sealed)));
    }
    match &it.copy {
        SystemCopy::Made(sealed) => Some(sealed.clone()),
        SystemCopy::NotYet | SystemCopy::Impossible => None,
    }
}
