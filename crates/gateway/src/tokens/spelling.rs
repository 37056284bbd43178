//! Names, lifetimes, rates and patterns of tokens as people write them, and times as they read them. Pure.

use std::time::{Duration, SystemTime};
use switchboard_core::access::{Patterns, Rate};
use switchboard_core::text::dates::Timestamp;

/// A moment as `2026-11-18 14:05`, in UTC.
pub fn minute(time: SystemTime) -> String {
    // Of `2026-11-18T14:05:30.123Z`, everything up to the minute.
    Timestamp(time).to_string().replace('T', " ").chars().take("2026-11-18 14:05".len()).collect()
}

/// A moment as `2026-11-18T14:05:30.123Z`.
pub fn moment(time: SystemTime) -> String {
    Timestamp(time).to_string()
}

/// Names that are not those of a token.
const RESERVED: [&str; 2] = ["owner", "anonymous"];
const MAX_NAME_CHARS: usize = 64;
/// Ten years. A longer lifetime is taken for a mistake.
const MAX_LIFETIME: Duration = Duration::from_secs(3660 * DAY);
const DAY: u64 = 24 * 3600;

const LIFETIME_UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3600), ("d", DAY), ("w", 7 * DAY)];

/// Parses the name of a new token. It appears in logs, so it must be plain.
pub fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > MAX_NAME_CHARS || !text.chars().all(is_plain) {
        return Err(format!(
            "a name has 1 to {MAX_NAME_CHARS} characters: letters, digits, `-`, `_` and `.`"
        ));
    }
    if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(text)) {
        return Err("this name is reserved: `owner` has the first token, `anonymous` has none".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a lifetime, such as `30d` or `12h`.
pub fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit: `90m`, `12h`, `30d`, `8w` (s, m, h, d, w)".to_owned();
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let (_, seconds) = LIFETIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let time = number.checked_mul(*seconds).map(Duration::from_secs).ok_or_else(wrong)?;
    match time {
        Duration::ZERO => Err("a token that expires at once is of no use".to_owned()),
        time if time > MAX_LIFETIME => {
            Err("the longest lifetime is ten years; leave it out for a token that does not expire".to_owned())
        }
        time => Ok(time),
    }
}

/// Parses a rate, such as `5/min`, as the config does.
pub fn rate(text: &str) -> Result<Rate, String> {
    let wrong = "write a number of calls, up to 100000, and a unit: `10/s`, `5/min`, `100/h`, `1000/d`";
    Rate::parse(text).ok_or_else(|| wrong.to_owned())
}

/// Checks a pattern of a list of rights; `!` in front denies.
pub fn pattern(text: &str) -> Result<String, String> {
    match text.strip_prefix('!').unwrap_or(text) {
        "" => Err("a pattern is a name with `*` and `?`; `!` in front of it denies".to_owned()),
        glob if glob.starts_with('!') => Err("one `!` is enough".to_owned()),
        glob if glob.trim() != glob => Err("a pattern has no spaces around it".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Patterns as the core knows them.
pub(super) fn patterns(texts: &[String]) -> Patterns {
    let (deny, allow): (Vec<&String>, Vec<&String>) = texts.iter().partition(|text| text.starts_with('!'));
    let deny = deny.into_iter().map(|text| text[1..].to_owned()).collect();
    Patterns { allow: allow.into_iter().cloned().collect(), deny }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["ci", "build-7", "a.b_c", &"x".repeat(64)] {
            assert!(name(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", "owner", "Anonymous", &"x".repeat(65)] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lifetimes_need_a_known_unit() {
        for (text, seconds) in
            [("30d", 30 * DAY), ("12h", 12 * 3600), ("90m", 5400), ("1w", 7 * DAY), ("5s", 5)]
        {
            assert_eq!(lifetime(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "30", "d", "30days", "30D", "1.5h", "-1d", "0d", "99999999999999999999d", "11000d"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_those_of_the_config() {
        for text in ["5/min", "10/s", " 600 / min ", "", "5", "0/min", "5/m", "+5/min", "100001/h"] {
            assert_eq!(rate(text).ok(), Rate::parse(text), "{text}");
        }
    }

    #[test]
    fn exclamation_mark_denies() {
        let texts = ["read_*", "!read_secret"].map(str::to_owned);
        let found = patterns(&texts);
        assert_eq!((found.allow, found.deny), (vec!["read_*".to_owned()], vec!["read_secret".to_owned()]));
        for bad in ["", "!", "!!a", " a"] {
            assert!(pattern(bad).is_err(), "{bad:?}");
        }
    }
}
