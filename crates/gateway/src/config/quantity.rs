//! Times and sizes as people write them: `"90s"`, `"10m"`, `"512MiB"`, or a bare number. Must not know JSON.

use std::time::Duration;

/// A year. Longer times are taken for a mistake, and "now plus this" cannot overflow.
pub(super) const MAX_TIME: Duration = Duration::from_secs(365 * 24 * 3600);

const TIME_UNITS: &[(&str, Duration)] = &[
    ("h", Duration::from_secs(3600)),
    ("m", Duration::from_secs(60)),
    ("s", Duration::from_secs(1)),
    ("ms", Duration::from_millis(1)),
];

const SIZE_UNITS: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Parses a time with its unit, such as `"1.5h"`.
pub(super) fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let (_, one) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
    time(number, *one)
}

/// Parses a time with its unit, or a number of seconds, as on the command line.
pub fn parse_any_time(text: &str) -> Option<Duration> {
    parse_time(text).or_else(|| time(text, Duration::from_secs(1)))
}

/// Parses a bare number in the given unit.
pub(super) fn time(number: &str, unit: Duration) -> Option<Duration> {
    let seconds = number.parse::<f64>().ok()? * unit.as_secs_f64();
    // Negative, infinite and huge numbers fail here, without a panic.
    Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= MAX_TIME)
}

/// Parses a size with its unit, such as `"64KiB"`; case does not matter.
pub(super) fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = split(text)?;
    let (_, one) = SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let whole: u64 = number.parse().ok()?;
    // Sizes are whole bytes, so overflow is an error and not a rounding.
    usize::try_from(whole.checked_mul(*one)?).ok()
}

/// Shortest exact spelling of a time, to the millisecond.
pub fn spell_time(time: Duration) -> String {
    let millis = time.as_millis();
    for (name, one) in TIME_UNITS {
        // Zero is written `0s`, since it is a multiple of every unit.
        if millis.is_multiple_of(one.as_millis()) && (millis > 0 || *name == "s") {
            return format!("{}{name}", millis / one.as_millis());
        }
    }
    format!("{millis}ms")
}

/// Shortest exact spelling of a size.
pub(super) fn spell_size(bytes: usize) -> String {
    let bytes = bytes as u64;
    for (name, one) in SIZE_UNITS {
        if bytes > 0 && bytes.is_multiple_of(*one) {
            return format!("{}{name}", bytes / one);
        }
    }
    format!("{bytes}B")
}

/// Splits a number from its unit. Only plain decimals are numbers: `f64` would also accept `inf` and `1e3`.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times() {
        for (text, expect) in [
            ("90s", Some(90_000)),
            ("10m", Some(600_000)),
            ("500ms", Some(500)),
            ("1h", Some(3_600_000)),
            ("1.5h", Some(5_400_000)),
            ("0.1s", Some(100)),
            (" 5 m ", Some(300_000)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("s", None),
            ("5 minutes", None),
            ("-5s", None),
            ("1e3s", None),
            ("infs", None),
            ("1.2.3s", None),
            (".s", None),
            ("5S", None),
            ("8761h", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(parse_time(text), expect.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn reads_bare_numbers() {
        let second = Duration::from_secs(1);
        assert_eq!(time("1.5", second), Some(Duration::from_millis(1500)));
        assert_eq!(time("6e1", second), Some(Duration::from_secs(60)));
        assert_eq!(time("-1", second), None);
        assert_eq!(time("1e400", second), None);
        assert_eq!(time("86400000", Duration::from_millis(1)), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn reads_sizes() {
        for (text, expect) in [
            ("512MiB", Some(512 << 20)),
            ("64KiB", Some(64 << 10)),
            ("64 kib", Some(64 << 10)),
            ("10MB", Some(10_000_000)),
            ("7B", Some(7)),
            ("10", None),
            ("10M", None),
            ("1.5MiB", None),
            ("-1MB", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(parse_size(text), expect, "{text:?}");
        }
    }

    #[test]
    fn spells_what_it_reads() {
        for text in ["1h", "90m", "30s", "500ms", "0s"] {
            assert_eq!(spell_time(parse_time(text).unwrap()), text);
        }
        for text in ["16MiB", "10MB", "1KiB", "1001B", "0B"] {
            assert_eq!(spell_size(parse_size(text).unwrap()), text);
        }
    }
}
