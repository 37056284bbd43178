//! Objects of the file: a struct with a field per key, declared once. Must not know any key by name.

use super::read::expected;
use super::report::{FilePlace, Report};
use jsonc_parser::ast::{Object, Value};
use schemars::Schema;

/// Declares an object of the file: a struct with a field per key, and its reader.
macro_rules! file_object {
    (
        $(#[$about:meta])*
        $Name:ident, ignoring $foreign:expr, {
            $( $(#[$meaning:meta])* $key:literal => $field:ident: $Type:ty, )*
        }
    ) => {
        $(#[$about])*
        #[derive(JsonSchema)]
        #[schemars(transform = nothing_required)]
        pub(super) struct $Name {
            $( $(#[$meaning])* #[schemars(rename = $key)] pub(super) $field: Key<$Type>, )*
        }

        impl Read for $Name {
            fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
                let object = object(value, place, report)?;
                Some(Self::read_object(object, place, report))
            }
        }

        impl $Name {
            pub(super) const KEYS: &[&str] = &[$( $key ),*];

            pub(super) fn read_object(object: &Object<'_>, place: &FilePlace, report: &mut Report<'_>) -> Self {
                warn_of_unknown(object, Self::KEYS, $foreign, place, report);
                Self::read_keys(object, place, report)
            }

            /// Ignores unknown keys.
            pub(super) fn read_keys(object: &Object<'_>, place: &FilePlace, report: &mut Report<'_>) -> Self {
                Self { $( $field: Key::read(object, $key, place, report), )* }
            }
        }
    };
}

pub(super) use file_object;

/// Makes all keys optional in the schema: schemars cannot know that `Key` is.
pub(super) fn nothing_required(schema: &mut Schema) {
    schema.remove("required");
}

pub(super) fn object<'v, 'a>(
    value: &'v Value<'a>,
    place: &FilePlace,
    report: &mut Report<'_>,
) -> Option<&'v Object<'a>> {
    if let Value::Object(object) = value {
        return Some(object);
    }
    expected("an object", "write { … }", value, place, report);
    None
}
