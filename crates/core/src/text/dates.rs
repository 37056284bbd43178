//! Dates in UTC, for log lines, file names and messages.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    year: i64,
    month: u32,
    day: u32,
}

impl Day {
    pub fn of(time: SystemTime) -> Self {
        Self::from_days(since_epoch(time).as_secs() as i64 / 86_400)
    }

    /// Calendar arithmetic (Howard Hinnant, "chrono-compatible low-level date algorithms"): years begin in
    /// March, so that the leap day is the last day of its year.
    fn from_days(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = (of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A time as `2026-11-15T20:04:30.123Z`.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp(pub SystemTime);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elapsed = since_epoch(self.0);
        let second = elapsed.as_secs() % 86_400;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}.{:03}Z", Day::of(self.0), elapsed.subsec_millis())
    }
}

fn since_epoch(time: SystemTime) -> std::time::Duration {
    // A clock before 1970 shows as 1970.
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expect) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_763_236_800, "2025-11-15T20:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(UNIX_EPOCH + Duration::from_secs(seconds)).to_string(), expect);
        }
    }
}
