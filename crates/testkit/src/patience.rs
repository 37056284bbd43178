//! Waiting for a fact. The time limit only makes a test fail; no test waits for a time to pass.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Time limit of a wait: long enough for a busy machine with a debug build, short enough for a person.
pub const LIMIT: Duration = Duration::from_secs(60);
/// Interval between two checks of a fact.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Checks `fact` until it returns something.
#[track_caller]
pub fn until<T>(what: impl Display, fact: impl FnMut() -> Option<T>) -> T {
    before(Instant::now() + LIMIT, what, fact)
}

/// The same with another time limit, for a fact that was promised for a certain time.
#[track_caller]
pub fn before<T>(deadline: Instant, what: impl Display, mut fact: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = fact() {
            return found;
        }
        assert!(Instant::now() < deadline, "this did not happen: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Checks until `fact` is true.
#[track_caller]
pub fn until_true(what: impl Display, mut fact: impl FnMut() -> bool) {
    until(what, || fact().then_some(()));
}
