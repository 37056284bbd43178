//! The object `defaults` of the file: keys of a server that apply to all servers.

use std::borrow::Cow;

use jsonc_parser::ast::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::object::object;
use super::read::{Read, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::syntax::span;

/// Keys of a server that cannot be defaults, with the reason.
pub(super) const REFUSED_IN_DEFAULTS: &[(&[&str], &str)] = &[
    (
        &["command", "args", "cwd", "preset", "node", "entry", "mode", "argsTemplate"],
        "sets how one server is started",
    ),
    (&["type", "url", "httpUrl", "serverUrl"], "sets where one server is"),
    (&["env", "headers"], "may hold one server's secrets, and all the others would get them"),
    (&["disabled", "enabled"], "would turn all servers off or on"),
];

/// Keys for all servers.
pub(super) struct DefaultsEntry(pub(super) ServerEntry);

impl DefaultsEntry {
    fn reason(key: &str) -> Option<&'static str> {
        REFUSED_IN_DEFAULTS.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, reason)| *reason)
    }
}

impl Read for DefaultsEntry {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let object = object(value, place, report)?;
        for property in &object.properties {
            let key = property.name.as_str();
            if let Some(reason) = Self::reason(key) {
                let at = place.key(key, span(&property.name));
                report.error(
                    &at,
                    format!("`{key}` cannot be a default: it {reason}"),
                    "set it for each server that needs it",
                );
            }
        }
        let (refused, known): (Vec<&str>, Vec<&str>) =
            ServerEntry::KEYS.iter().partition(|key| Self::reason(key).is_some());
        // Refused keys are passed as known ones of another program: they were reported above.
        warn_of_unknown(object, &known, &refused, place, report);
        Some(Self(ServerEntry::read_keys(object, place, report)))
    }
}

impl JsonSchema for DefaultsEntry {
    fn schema_name() -> Cow<'static, str> {
        "Defaults".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ServerEntry::json_schema(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|value| value.as_object_mut()) {
            // The schema must refuse what the loader refuses.
            properties.retain(|key, _| Self::reason(key).is_none());
        }
        schema
    }
}
