//! Rate limit for log lines about bad messages. A peer can send any number of them, of a byte each, and a log
//! line is fifty times as long: the first ones of a minute get a line each, the others are counted.

use std::time::{Duration, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);
/// Bad messages with a line of their own.
const MAX_LINES_PER_MINUTE: u32 = 20;

#[derive(Default)]
pub(super) struct BadMessages {
    /// Time of this minute's first line, and the number of lines since.
    lines: Option<(SystemTime, u32)>,
    untold: u64,
}

impl BadMessages {
    /// Whether this message gets a line of its own.
    pub(super) fn take(&mut self, now: SystemTime) -> bool {
        // A clock that was set back starts a new minute.
        let is_past = |since: SystemTime| !now.duration_since(since).is_ok_and(|passed| passed < MINUTE);
        let (since, lines) = self.lines.filter(|(since, _)| !is_past(*since)).unwrap_or((now, 0));
        if lines == MAX_LINES_PER_MINUTE {
            self.untold += 1;
            return false;
        }
        self.lines = Some((since, lines + 1));
        true
    }

    /// Messages without a line since the last call.
    pub(super) fn untold(&mut self) -> u64 {
        std::mem::take(&mut self.untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_a_minute_get_a_line_each() {
        let mut bad = BadMessages::default();
        let start = SystemTime::UNIX_EPOCH + 1000 * MINUTE;
        let lines = |bad: &mut BadMessages, now| (0..1000).filter(|_| bad.take(now)).count();
        assert_eq!(lines(&mut bad, start), 20);
        assert_eq!((bad.untold(), bad.untold()), (980, 0));
        assert_eq!(lines(&mut bad, start + MINUTE / 2), 0);
        assert_eq!(lines(&mut bad, start + MINUTE), 20);
        // The clock was set back.
        assert_eq!(lines(&mut bad, start - MINUTE), 20);
        assert_eq!(bad.untold(), 1000 + 980 + 980);
    }
}
