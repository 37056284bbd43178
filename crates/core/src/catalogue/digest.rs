//! Digests of JSON values by their meaning: SHA-256 over a canonical form in which the order of keys, white
//! space and the spelling of texts and numbers make no difference. Everything else does. Must not know what a
//! value is for.

use super::scan;
use sha2::Digest as _;
use sha2::Sha256;
use std::fmt;
use switchboard_protocol::json::{self, Next, NotJson};

/// Nesting up to which the form is canonical. Deeper values count to the letter, so that a nesting bomb cannot
/// exhaust the stack.
const MAX_CANONICAL_DEPTH: usize = 64;

/// Digits of an exponent that is calculated with. A number with more of them counts to the letter.
const MAX_EXPONENT_DIGITS: usize = 15;

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Digest of these bytes to the letter.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        tagged(Tag::Letters, bytes)
    }

    /// Digest of a JSON value by its meaning.
    pub fn of_json(text: &[u8]) -> Self {
        match value(text, json::space(text, 0), 0) {
            Ok((end, digest)) if json::end(text, end).is_ok() => digest,
            // Callers have parsed it before; anything else counts to the letter.
            Ok(_) | Err(_) => Self::of_bytes(text),
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…")
    }
}

/// First byte of everything that is hashed, so that values of different kinds never hash alike.
#[derive(Debug, Clone, Copy)]
enum Tag {
    Object = b'{' as isize,
    Array = b'[' as isize,
    Text = b'"' as isize,
    Number = b'0' as isize,
    Literal = b'l' as isize,
    /// Bytes to the letter.
    Letters = b'r' as isize,
}

fn begin(tag: Tag) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update([tag as u8]);
    hash
}

fn tagged(tag: Tag, bytes: &[u8]) -> Digest {
    let mut hash = begin(tag);
    hash.update(bytes);
    finish(hash)
}

fn finish(hash: Sha256) -> Digest {
    Digest(hash.finalize().into())
}

/// The offset behind the value at `pos`, and its digest. One pass: the digest of an object is made of those of
/// its members, which can be sorted without reading them again.
fn value(bytes: &[u8], pos: usize, depth: usize) -> Result<(usize, Digest), NotJson> {
    if depth >= MAX_CANONICAL_DEPTH {
        return to_the_letter(bytes, pos);
    }
    match json::next(bytes, pos)? {
        Next::Object => object(bytes, pos, depth),
        Next::Array => array(bytes, pos, depth),
        Next::String => {
            let end = json::string(bytes, pos)?;
            Ok((end, text(&bytes[pos..end])))
        }
        Next::Number => {
            let end = json::value(bytes, pos)?;
            Ok((end, number(&bytes[pos..end])))
        }
        Next::Literal => {
            let end = json::value(bytes, pos)?;
            Ok((end, tagged(Tag::Literal, &bytes[pos..end])))
        }
    }
}

fn to_the_letter(bytes: &[u8], pos: usize) -> Result<(usize, Digest), NotJson> {
    let end = json::value(bytes, pos)?;
    Ok((end, Digest::of_bytes(&bytes[pos..end])))
}

fn object(bytes: &[u8], pos: usize, depth: usize) -> Result<(usize, Digest), NotJson> {
    let mut members: Vec<(Digest, Digest)> = Vec::new();
    let end = scan::members_by(bytes, pos, |key, start| {
        let (end, digest) = value(bytes, start, depth + 1)?;
        members.push((text(key), digest));
        Ok(end)
    })?;
    // Stable: of several members with the same key one parser takes the first and another the last, so their
    // order counts.
    members.sort_by_key(|(key, _)| *key);
    let mut hash = begin(Tag::Object);
    for (key, digest) in &members {
        hash.update(key.bytes());
        hash.update(digest.bytes());
    }
    Ok((end, finish(hash)))
}

fn array(bytes: &[u8], pos: usize, depth: usize) -> Result<(usize, Digest), NotJson> {
    let mut hash = begin(Tag::Array);
    let end = scan::elements_by(bytes, pos, |start| {
        let (end, digest) = value(bytes, start, depth + 1)?;
        hash.update(digest.bytes());
        Ok(end)
    })?;
    Ok((end, finish(hash)))
}

/// A quoted text, decoded. One that cannot be decoded (half a surrogate pair) counts to the letter.
fn text(quoted: &[u8]) -> Digest {
    match scan::text(quoted) {
        Some(text) => tagged(Tag::Text, text.as_bytes()),
        None => Digest::of_bytes(quoted),
    }
}

/// A number by its exact value, of whatever size: `1`, `1.0` and `1e0` are one number; 2^53 and 2^53 + 1 are two.
fn number(spelling: &[u8]) -> Digest {
    match exact(spelling) {
        Some(form) => tagged(Tag::Number, &form),
        None => Digest::of_bytes(spelling),
    }
}

/// Sign, digits without zeros at either end, and the power of ten of the last one. `None` if the exponent is too long.
fn exact(spelling: &[u8]) -> Option<Vec<u8>> {
    let (sign, rest) = match spelling.strip_prefix(b"-") {
        Some(rest) => (b'-', rest),
        None => (b'+', spelling),
    };
    let at = rest.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, power) = at.map_or((rest, &b""[..]), |at| (&rest[..at], &rest[at + 1..]));
    let point = mantissa.iter().position(|b| *b == b'.');
    let (whole, fraction) = point.map_or((mantissa, &b""[..]), |at| (&mantissa[..at], &mantissa[at + 1..]));
    let digits: Vec<u8> = [whole, fraction].concat();
    let last = digits.iter().rposition(|b| *b != b'0');
    let first = digits.iter().position(|b| *b != b'0');
    // Zero has no digits; its sign stays, since some programs tell -0 from 0.
    let (Some(first), Some(last)) = (first, last) else { return Some(vec![sign, b'0']) };
    let trailing = digits.len() - 1 - last;
    let power = power_of_ten(power)? - fraction.len() as i64 + trailing as i64;
    let mut form = vec![sign];
    form.extend_from_slice(&digits[first..=last]);
    form.extend_from_slice(format!("e{power}").as_bytes());
    Some(form)
}

fn power_of_ten(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    if unsigned.len() > MAX_EXPONENT_DIGITS {
        return None;
    }
    let power: i64 = if unsigned.is_empty() { 0 } else { unsigned.parse().ok()? };
    Some(if text.starts_with('-') { -power } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[track_caller]
    fn same(some: &[&str]) {
        let digests: Vec<Digest> = some.iter().map(|text| Digest::of_json(text.as_bytes())).collect();
        for (text, digest) in some.iter().zip(&digests) {
            assert_eq!(*digest, digests[0], "{} and {text}", some[0]);
        }
    }

    #[track_caller]
    fn different(some: &[&str]) {
        let mut digests: Vec<Digest> = some.iter().map(|text| Digest::of_json(text.as_bytes())).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), some.len(), "{some:?}");
    }

    #[test]
    fn order_of_keys_makes_no_difference() {
        same(&[
            r#"{"a":1,"b":{"c":[2,{"d":3,"e":4}],"f":5}}"#,
            r#" { "b" : { "f" : 5, "c" : [ 2 , { "e" : 4 , "d" : 3 } ] } , "a" : 1 } "#,
            "{\"b\":{\"f\":5,\n\"c\":[2,{\"e\":4,\"d\":3}]},\t\"\\u0061\":1}",
        ]);
    }

    #[test]
    fn everything_else_makes_one() {
        different(&[
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
            r#"{"a":[1,2,2]}"#,
            r#"{"a":[[1],2]}"#,
            r#"{"a":[1,[2]]}"#,
            r#"{"a":"1"}"#,
            r#"{"a":{}}"#,
            r#"{"a":[]}"#,
            r#"{"a":""}"#,
            r#"{"a":null}"#,
            r#"{"a":"null"}"#,
            r#"{"a":false}"#,
            r#"{"a":0}"#,
            r#"{"A":0}"#,
            r#"{"a":0,"b":null}"#,
            r#"{"b":0,"a":null}"#,
            r#"{"a":{"b":0}}"#,
            r#"{"a":" "}"#,
            r#"{"a":"  "}"#,
            r#"{"a":"a\u200b"}"#,
            r#"{}"#,
            r#"[]"#,
            r#""a""#,
        ]);
    }

    #[test]
    fn duplicate_keys_count_in_order() {
        different(&[r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, r#"{"a":2}"#, r#"{"a":2,"a":2}"#]);
        same(&[r#"{"a":1,"b":0,"a":2}"#, r#"{"b":0,"a":1,"a":2}"#, r#"{"a":1,"\u0061":2,"b":0}"#]);
    }

    #[test]
    fn numbers_count_by_their_exact_value() {
        same(&["1", "1.0", "1e0", "1E+00", "10e-1", "0.1e1", "1.000"]);
        same(&["1200", "1.2e3", "12e2", "1200.0"]);
        same(&["0", "0.0", "0e5", "0E-99999999999999999999"]);
        different(&[
            "9007199254740992",
            "9007199254740993",
            "9007199254740992.5",
            "1e400",
            "1e401",
            "1",
            "-1",
            "0",
            "-0",
            "10",
            "0.1",
            "0.10000000000000000001",
            "1e99999999999999999999",
            "1e99999999999999999998",
        ]);
    }

    #[test]
    fn undecodable_text_counts_to_the_letter() {
        different(&[r#""\ud800""#, r#""\ud801""#, r#""""#, r#""\\ud800""#]);
        same(&[r#"{"\ud800":1,"a":2}"#, r#"{"a":2,"\ud800":1}"#]);
        same(&[r#""\ud83d\ude00""#, "\"\u{1f600}\""]);
    }

    #[test]
    fn deep_nesting_is_bounded() {
        let deep = |inner: &str| format!("{}{inner}{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
        different(&[&deep("1"), &deep("2"), &deep(r#"{"a":1,"b":2}"#)]);
        // Beyond the limit the order counts.
        different(&[&deep(r#"{"a":1,"b":2}"#), &deep(r#"{"b":2,"a":1}"#)]);
        let shallow = |inner: &str| format!("{}{inner}{}", r#"[{"a":"#.repeat(20), "}]".repeat(20));
        same(&[&shallow(r#"{"a":1,"b":2}"#), &shallow(r#"{"b":2,"a":1}"#)]);
    }

    fn json_values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6f64).prop_map(Value::from),
            "[ab\"\\\\ é\n]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]{1,2}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Writes a value with its keys in another order, and with space between the tokens.
    fn written(value: &Value, seed: &mut u64, out: &mut String) {
        let mut roll = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*seed >> 33) as usize
        };
        let spaces = [" ", "", "\n", "\t "];
        out.push_str(spaces[roll() % 4]);
        match value {
            Value::Object(members) => {
                let mut members: Vec<(&String, &Value)> = members.iter().collect();
                for at in (1..members.len()).rev() {
                    members.swap(at, roll() % (at + 1));
                }
                out.push('{');
                for (at, (key, value)) in members.into_iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(&Value::from(key.as_str()).to_string());
                    out.push(':');
                    written(value, seed, out);
                }
                out.push('}');
            }
            Value::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    written(element, seed, out);
                }
                out.push(']');
            }
            other => out.push_str(&other.to_string()),
        }
        out.push(' ');
    }

    proptest! {
        #[test]
        fn reordering_changes_nothing(value in json_values(), mut seed in any::<u64>()) {
            let mut other = String::new();
            written(&value, &mut seed, &mut other);
            prop_assert_eq!(Digest::of_json(value.to_string().as_bytes()), Digest::of_json(other.as_bytes()));
        }

        /// Numbers here are spelled in one way only, so equal digests mean equal values.
        #[test]
        fn different_values_have_different_digests(one in json_values(), other in json_values()) {
            let digest = |value: &Value| Digest::of_json(value.to_string().as_bytes());
            prop_assert_eq!(digest(&one) == digest(&other), is_equal(&one, &other), "{} {}", one, other);
        }

        #[test]
        fn edits_change_the_digest(value in json_values(), path in proptest::collection::vec(any::<usize>(), 6)) {
            let mut edited = value.clone();
            edit(&mut edited, &path);
            prop_assert!(!is_equal(&value, &edited));
            let digest = |value: &Value| Digest::of_json(value.to_string().as_bytes());
            prop_assert_ne!(digest(&value), digest(&edited), "{} {}", value, edited);
        }

        #[test]
        fn any_bytes_have_a_digest(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(text) = std::str::from_utf8(&bytes) {
                Digest::of_json(text.as_bytes());
            }
        }
    }

    /// Equality by meaning: `1.0` and `1` are equal.
    fn is_equal(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => {
                exact(one.to_string().as_bytes()) == exact(other.to_string().as_bytes())
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| is_equal(value, it)))
            }
            (one, other) => one == other,
        }
    }

    /// Changes one place, chosen by `path`.
    fn edit(value: &mut Value, path: &[usize]) {
        let (at, rest) = path.split_first().map_or((0, path), |(at, rest)| (*at, rest));
        match value {
            Value::Object(members) if !members.is_empty() && !rest.is_empty() && at % 4 != 0 => {
                let key = members.keys().nth(at % members.len()).cloned().unwrap_or_default();
                match at % 4 {
                    1 => edit(&mut members[&key], rest),
                    2 => {
                        members.remove(&key);
                    }
                    _ => {
                        let value = members.remove(&key).unwrap_or_default();
                        members.insert(format!("{key}z"), value);
                    }
                }
            }
            Value::Array(elements) if !elements.is_empty() && !rest.is_empty() && at % 2 != 0 => {
                let place = at % elements.len();
                edit(&mut elements[place], rest);
            }
            Value::Object(members) => {
                members.insert("new".to_owned(), Value::Null);
            }
            Value::Array(elements) => elements.push(Value::Null),
            Value::String(text) => text.push('\u{200b}'),
            Value::Bool(is) => *is = !*is,
            Value::Number(number) => *value = Value::from(format!("{number}")),
            Value::Null => *value = Value::from(0),
        }
    }
}
