//! One large buffer for the next large message. Large messages come in runs, and allocating pages for each costs a tenth of
//! their time; a buffer that is not used soon is freed.

use bytes::{Bytes, BytesMut};
use std::time::Duration;
use switchboard_process::lock::Lock;

/// Smaller ones are not worth it.
const MIN_LARGE_BYTES: usize = 1 << 20;
/// For so long it waits for its next use.
const SPARE_TIMEOUT: Duration = Duration::from_millis(500);

static SPARE: Lock<Option<BytesMut>> = Lock::new(None);

/// Takes back what a large message was held in, if nobody else holds it.
pub(crate) fn give(bytes: Bytes) {
    let Ok(mut buffer) = bytes.try_into_mut() else { return };
    buffer.clear();
    // What is left of the message is its last bytes; the allocation behind them is what counts.
    if !buffer.try_reclaim(MIN_LARGE_BYTES) {
        return;
    }
    let was_empty = SPARE.lock().replace(buffer).is_none();
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

/// Moves a message that has become large into the spare buffer, if there is one.
pub(crate) fn enlarge(buffer: &mut BytesMut) {
    if buffer.len() >= MIN_LARGE_BYTES / 4
        && buffer.capacity() < 2 * MIN_LARGE_BYTES
        && let Some(mut spare) = take()
    {
        spare.extend_from_slice(buffer);
        *buffer = spare;
    }
}
