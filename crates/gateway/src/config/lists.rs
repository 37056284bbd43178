//! Lists and tables of text, each element with its position in the file, so that a problem can point at it.
//! Must not know any key by name.

use std::borrow::Cow;

use jsonc_parser::ast::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::read::{Read, expected};
use super::report::{FilePlace, Report};
use super::syntax::span;

/// An array of strings.
pub(super) struct WordList(pub(super) Vec<(String, FilePlace)>);

impl Read for WordList {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::Array(array) = value else {
            expected("an array of strings", r#"write ["…", "…"]"#, value, place, report);
            return None;
        };
        let elements = array.elements.iter().enumerate();
        let words: Vec<Option<(String, FilePlace)>> = elements
            .map(|(index, element)| {
                let place = place.index(index, span(element));
                String::read(element, &place, report).map(|word| (word, place))
            })
            .collect();
        // Collected last, so that one bad element does not hide the problems of later ones.
        words.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }
}

impl JsonSchema for WordList {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string" } })
    }
}

/// Table of values by name, in the order of the file.
pub(super) struct ByName<T>(pub(super) Vec<NamedEntry<T>>);

pub(super) struct NamedEntry<T> {
    pub(super) name: String,
    pub(super) named: FilePlace,
    pub(super) value: T,
    pub(super) valued: FilePlace,
}

/// Wording for a table's type in error messages.
pub(super) trait Described {
    const EXPECTED: &'static str;
    const EXAMPLE: &'static str;
}

impl Described for String {
    const EXPECTED: &'static str = "an object of strings";
    const EXAMPLE: &'static str = r#"write { "NAME": "…" }"#;
}

impl Described for WordList {
    const EXPECTED: &'static str = "an object of arrays";
    const EXAMPLE: &'static str = r#"write { "NAME": ["…", "…"] }"#;
}

impl<T: Read + Described> Read for ByName<T> {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let Value::Object(object) = value else {
            expected(T::EXPECTED, T::EXAMPLE, value, place, report);
            return None;
        };
        let mut entries = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let name = property.name.as_str();
            let named = place.key(name, span(&property.name));
            let valued = place.key(name, span(&property.value));
            let value = T::read(&property.value, &valued, report);
            entries.push(value.map(|value| NamedEntry { name: name.to_owned(), named, value, valued }));
        }
        entries.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for ByName<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": T::json_schema(generator) })
    }
}

/// An object, or its short form: an array.
pub(super) enum Short<T> {
    WordList(WordList),
    Full(T),
}

impl<T: Read> Read for Short<T> {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        match value {
            Value::Array(_) => WordList::read(value, place, report).map(Self::WordList),
            Value::Object(_) => T::read(value, place, report).map(Self::Full),
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {
                expected(
                    "an object or an array of strings",
                    r#"write { "allow": ["…"], "deny": ["…"] }, or only what is allowed: ["…"]"#,
                    value,
                    place,
                    report,
                );
                None
            }
        }
    }
}

impl<T: JsonSchema> JsonSchema for Short<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Short{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [WordList::json_schema(generator), generator.subschema_for::<T>()] })
    }
}
