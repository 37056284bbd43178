//! From one place in the tree to one value, or to a problem that states what was found and what is allowed.
//! Must not know any key by name.

use std::borrow::Cow;
use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Variables;
use super::choices::Choice;
use super::problem::Severity;
use super::quantity;
use super::report::{FilePlace, Report, shown};
use super::syntax::span;
use switchboard_core::text::nearest::nearest_key;

/// Type of a key's value.
pub(super) trait Read: Sized {
    /// Reads the value; `None` after a problem was reported.
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self>;
}

/// Value of a key. Unlike `Option`, its schema does not allow `null`, which could
/// mean "the default" or "none".
pub(super) enum Key<T> {
    Absent,
    /// Not a `T`; this has been reported.
    Wrong,
    Given(T, FilePlace),
}

impl<T> Key<T> {
    pub(super) fn value(self) -> Option<T> {
        match self {
            Key::Given(value, _) => Some(value),
            Key::Absent | Key::Wrong => None,
        }
    }

    pub(super) fn or(self, default: T) -> T {
        self.value().unwrap_or(default)
    }

    pub(super) fn as_given(&self) -> Option<&T> {
        match self {
            Key::Given(value, _) => Some(value),
            Key::Absent | Key::Wrong => None,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Key::Absent)
    }
}

impl<T: Read> Key<T> {
    pub(super) fn read(object: &Object<'_>, key: &str, parent: &FilePlace, report: &mut Report<'_>) -> Self {
        let Some(property) = object.properties.iter().find(|property| property.name.as_str() == key) else {
            return Key::Absent;
        };
        let place = parent.key(key, span(&property.value));
        match T::read(&property.value, &place, report) {
            Some(value) => Key::Given(value, place),
            None => Key::Wrong,
        }
    }
}

impl<T: JsonSchema> JsonSchema for Key<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Warns of keys in `object` that are neither in `known` nor in `foreign`.
pub(super) fn warn_of_unknown(
    object: &Object<'_>,
    known: &[&str],
    foreign: &[&str],
    parent: &FilePlace,
    report: &mut Report<'_>,
) {
    for property in &object.properties {
        let key = property.name.as_str();
        if known.contains(&key) || foreign.contains(&key) {
            continue;
        }
        // Beyond the limit only the count is shown, so no near name is searched for.
        let remedy = if report.is_full_of(Severity::Warning) { None } else { nearest_key(key, known) };
        let remedy = remedy.map(|near| format!("did you mean `{near}`?"));
        let place = parent.key(key, span(&property.name));
        report.warning(&place, format!("unknown key `{}`; it is ignored", shown(key)), remedy);
    }
}

/// Reports a value of the wrong type. Only the type is shown: the value may be a secret.
pub(super) fn expected(
    what: &str,
    remedy: &str,
    value: &Value<'_>,
    place: &FilePlace,
    report: &mut Report<'_>,
) {
    let (found, remedy) = match value {
        Value::StringLit(_) => ("a string", remedy),
        Value::NumberLit(_) => ("a number", remedy),
        Value::BooleanLit(_) => ("a boolean", remedy),
        Value::Object(_) => ("an object", remedy),
        Value::Array(_) => ("an array", remedy),
        Value::NullKeyword(_) => ("null", "remove the key to get the default"),
    };
    report.error(place, format!("expected {what}, found {found}"), remedy);
}

/// Reports a wrong value at a key that never holds a secret, and shows it.
pub(super) fn refuse(
    value: &Value<'_>,
    what: &str,
    remedy: impl Into<String>,
    place: &FilePlace,
    report: &mut Report<'_>,
) {
    let (found, place) = match value {
        Value::StringLit(string) => (format!("\"{}\"", shown(&string.value)), place.readable()),
        Value::NumberLit(number) => (shown(number.value), place.readable()),
        Value::BooleanLit(boolean) => (boolean.value.to_string(), place.readable()),
        Value::NullKeyword(_) => ("null".to_owned(), place.readable()),
        // Objects and arrays may contain anything, so they are not shown.
        Value::Object(_) => ("an object".to_owned(), place.clone()),
        Value::Array(_) => ("an array".to_owned(), place.clone()),
    };
    report.error(&place, format!("{what} {found}"), remedy);
}

impl Read for bool {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        if let Value::BooleanLit(boolean) = value {
            return Some(boolean.value);
        }
        expected("true or false", "write true or false, without quotes", value, place, report);
        None
    }
}

impl Read for String {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::StringLit(string) = value else {
            expected("a string", "write text in double quotes", value, place, report);
            return None;
        };
        // `exec` takes strings that end with a NUL, so the rest would be lost silently.
        if string.value.contains('\0') {
            report.error(place, "contains a NUL character", "remove the \\u0000: no program can receive it");
            return None;
        }
        Some(string.value.clone().into_owned())
    }
}

impl Read for Vec<String> {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::Array(array) = value else {
            expected("an array of strings", r#"write ["…", "…"]"#, value, place, report);
            return None;
        };
        let elements = array.elements.iter().enumerate();
        let strings: Vec<Option<String>> = elements
            .map(|(index, element)| String::read(element, &place.index(index, span(element)), report))
            .collect();
        // Collected last, so that one bad element does not hide the problems of later ones.
        strings.into_iter().collect()
    }
}

impl Read for Variables {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::Object(object) = value else {
            expected("an object of strings", r#"write { "NAME": "value" }"#, value, place, report);
            return None;
        };
        let mut variables = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let name = property.name.as_str();
            let is_name = !name.is_empty() && !name.contains(['=', '\0']);
            if !is_name {
                let place = place.key(name, span(&property.name));
                report.error(&place, "not a name for an environment variable", "use letters, digits and _");
            }
            let text = String::read(&property.value, &place.key(name, span(&property.value)), report);
            variables.push(text.filter(|_| is_name).map(|text| (name.to_owned(), text)));
        }
        // Collected last, so that one bad variable does not hide the problems of later ones.
        variables.into_iter().collect::<Option<Vec<_>>>().map(Variables)
    }
}

impl JsonSchema for Variables {
    fn schema_name() -> Cow<'static, str> {
        "Variables".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "string" } })
    }
}

impl<T: Choice> Read for T {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        if let Value::StringLit(string) = value
            && let Some((_, choice)) = T::WORDS.iter().find(|(word, _)| *word == string.value)
        {
            return Some(*choice);
        }
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let remedy = format!("write one of {}", words.join(", "));
        refuse(value, "unknown value", remedy, place, report);
        None
    }
}

/// A length of time: a string with a unit, or a number of seconds.
pub(super) struct Time(pub(super) Duration);

impl Read for Time {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let time = match value {
            Value::StringLit(string) => quantity::parse_time(&string.value),
            Value::NumberLit(number) => quantity::time(number.value, Duration::from_secs(1)),
            Value::BooleanLit(_) | Value::Object(_) | Value::Array(_) | Value::NullKeyword(_) => None,
        };
        if time.is_none() {
            let remedy = r#"write "500ms", "90s", "10m" or "1h", or a number of seconds; at most a year"#;
            refuse(value, "not a duration:", remedy, place, report);
        }
        time.map(Self)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|m|h)\s*$",
            "minimum": 0,
        })
    }
}

/// Lengths of time, by name.
pub(super) struct Times(pub(super) Vec<(String, Duration, FilePlace)>);

impl Times {
    /// Spelling in a file.
    pub(super) fn spelled(times: &[(&str, Duration)]) -> serde_json::Value {
        times.iter().map(|(name, time)| ((*name).to_owned(), quantity::spell_time(*time))).collect()
    }
}

impl Read for Times {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::Object(object) = value else {
            expected("an object of times", r#"write { "NAME": "500ms" }"#, value, place, report);
            return None;
        };
        let mut times = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let name = property.name.as_str();
            let time = Time::read(&property.value, &place.key(name, span(&property.value)), report);
            let named = place.key(name, span(&property.name));
            times.push(time.map(|Time(time)| (name.to_owned(), time, named)));
        }
        // Collected last, so that one bad time does not hide the problems of later ones.
        times.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }
}

impl JsonSchema for Times {
    fn schema_name() -> Cow<'static, str> {
        "Times".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": Time::json_schema(generator) })
    }
}

/// Time limit of a call. Unlike elsewhere, a number from 1000 on means milliseconds: several clients write
/// this key so, and 1000 seconds would be unusual.
pub(super) struct CallTime(pub(super) Duration);

impl From<Key<CallTime>> for Key<Time> {
    fn from(key: Key<CallTime>) -> Self {
        match key {
            Key::Absent => Key::Absent,
            Key::Wrong => Key::Wrong,
            Key::Given(CallTime(time), place) => Key::Given(Time(time), place),
        }
    }
}

impl Read for CallTime {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        if let Value::NumberLit(number) = value
            && number.value.parse::<f64>().is_ok_and(|number| number >= 1000.0)
            && let Some(time) = quantity::time(number.value, Duration::from_millis(1))
        {
            let spelt = quantity::spell_time(time);
            let message = format!("{} is read as milliseconds, that is {spelt}", shown(number.value));
            report.warning(&place.readable(), message, Some(format!("write \"{spelt}\" to be clear")));
            return Some(Self(time));
        }
        Time::read(value, place, report).map(|Time(time)| Self(time))
    }
}

impl JsonSchema for CallTime {
    fn schema_name() -> Cow<'static, str> {
        "CallTime".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Time::json_schema(generator)
    }
}

/// A number of bytes: a string with a unit, or a number.
pub(super) struct Size(pub(super) usize);

impl Read for Size {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let size = match value {
            Value::StringLit(string) => quantity::parse_size(&string.value),
            Value::NumberLit(number) => number.value.parse().ok(),
            Value::BooleanLit(_) | Value::Object(_) | Value::Array(_) | Value::NullKeyword(_) => None,
        };
        if size.is_none() {
            let remedy = r#"write "64KiB", "10MB" or "512MiB", or a whole number of bytes"#;
            refuse(value, "not a size:", remedy, place, report);
        }
        size.map(Self)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": r"^\s*[0-9]+\s*([KkMmGg][Ii]?)?[Bb]\s*$",
            "minimum": 0,
        })
    }
}

/// A positive number of things.
pub(super) struct Count(pub(super) usize);

impl Read for Count {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let count = match value {
            Value::NumberLit(number) => {
                number.value.parse().ok().filter(|count| (1..=MAX_COUNT).contains(count))
            }
            Value::StringLit(_)
            | Value::BooleanLit(_)
            | Value::Object(_)
            | Value::Array(_)
            | Value::NullKeyword(_) => None,
        };
        if count.is_none() {
            refuse(value, "not a valid number:", "write a whole number from 1 to 100000", place, report);
        }
        count.map(Self)
    }
}

/// Largest count that a key accepts.
const MAX_COUNT: usize = 100_000;

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_COUNT })
    }
}
