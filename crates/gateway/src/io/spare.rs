//! One large buffer that was in use a moment ago. Large messages come in runs, and to have their pages made and
//! taken back for each costs a tenth of their time; but what is not used soon is given back.

use bytes::{Bytes, BytesMut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Smaller ones are not worth it.
const LARGE: usize = 1 << 20;
/// For so long it waits for its next use.
const KEPT: Duration = Duration::from_millis(500);

static SPARE: Mutex<Option<BytesMut>> = Mutex::new(None);

/// Takes back what a large message was held in, if nobody else holds it.
pub(crate) fn give(bytes: Bytes) {
    let Ok(mut buffer) = bytes.try_into_mut() else { return };
    buffer.clear();
    // What is left of the message is its last bytes; the allocation behind them is what counts.
    if !buffer.try_reclaim(LARGE) {
        return;
    }
    let was_empty = SPARE.lock().unwrap_or_else(PoisonError::into_inner).replace(buffer).is_none();
    if was_empty {
        tokio::spawn(async {
            tokio::time::sleep(KEPT).await;
            take();
        });
    }
}

fn take() -> Option<BytesMut> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Moves a message that has become large into the spare buffer, if there is one.
pub(crate) fn enlarge(buffer: &mut BytesMut) {
    if buffer.len() >= LARGE / 4
        && buffer.capacity() < 2 * LARGE
        && let Some(mut spare) = take()
    {
        spare.extend_from_slice(buffer);
        *buffer = spare;
    }
}
