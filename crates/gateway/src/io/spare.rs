//! One large buffer, kept for the next large message. Large messages come in runs, and allocating pages for
//! each takes a tenth of their time. An unused buffer is freed soon.

use bytes::{Bytes, BytesMut};
use std::time::Duration;
use switchboard_process::lock::Lock;

/// Smaller buffers are not kept.
const MIN_LARGE_BYTES: usize = 1 << 20;
/// Time after which an unused buffer is freed.
const SPARE_TIMEOUT: Duration = Duration::from_millis(500);

static SPARE: Lock<Option<BytesMut>> = Lock::new(None);

/// Keeps the buffer of a large message, if it has no other owner.
pub(crate) fn give(bytes: Bytes) {
    // A message that is still referenced keeps its buffer.
    let Ok(mut buffer) = bytes.try_into_mut() else { return };
    buffer.clear();
    // The rest is only the end of the message, but its allocation is whole.
    if !buffer.try_reclaim(MIN_LARGE_BYTES) {
        return;
    }
    let was_empty = SPARE.lock().replace(buffer).is_none();
    // A timer that runs already frees this buffer as well.
    if was_empty {
        tokio::spawn(async {
            tokio::time::sleep(SPARE_TIMEOUT).await;
            take();
        });
    }
}

fn take() -> Option<BytesMut> {
    SPARE.lock().take()
}

/// Moves a growing message into the spare buffer, if there is one.
pub(crate) fn enlarge(buffer: &mut BytesMut) {
    // A message this large is likely to grow further.
    if buffer.len() >= MIN_LARGE_BYTES / 4
        && buffer.capacity() < 2 * MIN_LARGE_BYTES
        && let Some(mut spare) = take()
    {
        spare.extend_from_slice(buffer);
        *buffer = spare;
    }
}
