//! Profiles: selections of servers and of their offers, by name. A mistake here must not allow more than was
//! meant, so unknown keys are errors.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::lists::{ByName, Described, NamedEntry, WordList};
use super::object::{file_object, nothing_required, object};
use super::offers::{allowed, refuse_unknown};
use super::read::{Key, Read, expected, warn_of_unknown};
use super::report::{FilePlace, Report, shown};
use super::syntax::span;
use switchboard_core::access::{Patterns, Rights};
use switchboard_core::text::glob;
use switchboard_core::text::nearest::nearest_key;

file_object! {
    /// Servers and offers that clients with this profile may use.
    ProfileEntry, ignoring &[], {
        /// Names of servers in this file.
        #[schemars(example = json!(["github", "files"]))]
        "servers" => servers: PatternsForm,

        /// The servers' own names of tools. A pattern with `__` is compared with `SERVER__NAME`.
        #[schemars(example = json!({ "allow": ["get_*", "files__*"], "deny": ["*_secret"] }))]
        "tools" => tools: PatternsForm,

        /// The same for prompts.
        #[schemars(example = json!(["review"]))]
        "prompts" => prompts: PatternsForm,

        /// URIs of resources.
        #[schemars(example = json!({ "deny": ["*.env"] }))]
        "resources" => resources: PatternsForm,

        /// MCP methods, in any letter case. Handshake, pings, log levels and notifications are always allowed.
        #[schemars(example = json!({ "deny": ["resources/subscribe", "tasks/*"] }))]
        "methods" => methods: PatternsForm,
    }
}

file_object! {
    /// Patterns: `*` stands for any characters, `?` for one.
    PatternsEntry, ignoring &[], {
        /// Only matching ones are allowed. Everything by default; nothing if empty.
        #[schemars(example = json!(["get_*", "list_*"]))]
        "allow" => allow: WordList,

        /// Matching ones are not allowed, whatever `allow` says.
        #[schemars(extend("default" = []), example = json!(["delete_*"]))]
        "deny" => deny: WordList,
    }
}

/// A profile, or its short form: the names of its servers.
pub(super) enum ProfileForm {
    Servers(WordList),
    Full(Box<ProfileEntry>),
}

/// Patterns, or their short form: those that allow.
pub(super) enum PatternsForm {
    Allow(WordList),
    Full(PatternsEntry),
}

/// The rights of each profile. `servers` are all servers of the file.
pub(super) fn profiles(
    given: Key<ByName<ProfileForm>>,
    servers: &[String],
    report: &mut Report<'_>,
) -> Vec<(String, Arc<Rights>)> {
    let Some(ByName(entries)) = given.value() else { return Vec::new() };
    let mut profiles = Vec::with_capacity(entries.len());
    for NamedEntry { name, named, value, valued } in entries {
        if name.trim().is_empty() {
            let remedy = "give it a name: it is part of the profile's URL";
            report.error(&named.readable(), "a profile without a name", remedy);
        }
        let rights = match value {
            ProfileForm::Servers(words) => {
                check_servers(&words, servers, report);
                Rights {
                    servers: patterns(Key::Given(PatternsForm::Allow(words), valued), report),
                    ..Rights::default()
                }
            }
            ProfileForm::Full(entry) => rights(*entry, servers, report),
        };
        profiles.push((name, Arc::new(rights)));
    }
    profiles
}

fn rights(entry: ProfileEntry, servers: &[String], report: &mut Report<'_>) -> Rights {
    if let Key::Given(form, _) = &entry.servers {
        let lists = match form {
            PatternsForm::Allow(words) => vec![words],
            PatternsForm::Full(PatternsEntry { allow, deny }) => {
                [allow, deny].into_iter().filter_map(|key| key.as_given()).collect()
            }
        };
        lists.into_iter().for_each(|words| check_servers(words, servers, report));
    }
    Rights {
        servers: patterns(entry.servers, report),
        tools: patterns(entry.tools, report),
        prompts: patterns(entry.prompts, report),
        resources: patterns(entry.resources, report),
        methods: patterns(entry.methods, report),
    }
}

fn patterns(given: Key<PatternsForm>, report: &mut Report<'_>) -> Patterns {
    let filter = match given {
        Key::Given(PatternsForm::Allow(words), place) => {
            allowed(Key::Given(words, place), Key::Absent, report)
        }
        Key::Given(PatternsForm::Full(entry), _) => allowed(entry.allow, entry.deny, report),
        Key::Absent | Key::Wrong => return Patterns::default(),
    };
    Patterns { allow: filter.allow, deny: filter.deny }
}

/// Refuses names of servers that are not in the file. A pattern may be meant for servers to come.
fn check_servers(WordList(words): &WordList, servers: &[String], report: &mut Report<'_>) {
    let known: HashSet<&String> = servers.iter().collect();
    for (word, place) in words.iter().filter(|(word, _)| !known.contains(word) && !word.trim().is_empty()) {
        match word.contains(['*', '?']) {
            false => refuse_unknown(word, servers, place, report),
            true if servers.iter().any(|server| glob::matches(word, server)) => {}
            true => {
                let message = format!("no server matches `{}`", shown(word));
                report.warning(&place.readable(), message, None);
            }
        }
    }
}

/// Refuses unknown keys: one of them may be a restriction with a mistake in its name.
fn refuse_unknown_keys(
    object: &Object<'_>,
    known: &[&str],
    place: &FilePlace,
    report: &mut Report<'_>,
) -> Option<()> {
    let mut are_known = Some(());
    for property in &object.properties {
        let key = property.name.as_str();
        if known.contains(&key) {
            continue;
        }
        let remedy = match nearest_key(key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", known.join(", ")),
        };
        let place = place.key(key, span(&property.name));
        report.error(&place, format!("unknown key `{}`", shown(key)), remedy);
        are_known = None;
    }
    are_known
}

impl Read for ProfileForm {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        match value {
            Value::Array(_) => WordList::read(value, place, report).map(Self::Servers),
            Value::Object(object) => {
                refuse_unknown_keys(object, ProfileEntry::KEYS, place, report)?;
                Some(Self::Full(Box::new(ProfileEntry::read_keys(object, place, report))))
            }
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {
                let remedy = r#"write { "servers": ["…"], "tools": ["…"] }, or only its servers: ["…"]"#;
                expected("an object or an array of strings", remedy, value, place, report);
                None
            }
        }
    }
}

impl Described for ProfileForm {
    const EXPECTED: &'static str = "an object of profiles";
    const EXAMPLE: &'static str = r#"write { "NAME": ["…", "…"] }"#;
}

impl JsonSchema for ProfileForm {
    fn schema_name() -> Cow<'static, str> {
        "Profile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut full = generator.subschema_for::<ProfileEntry>();
        full.insert("additionalProperties".to_owned(), json!(false));
        json_schema!({ "anyOf": [WordList::json_schema(generator), full] })
    }
}

impl Read for PatternsForm {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        match value {
            Value::Array(_) => WordList::read(value, place, report).map(Self::Allow),
            Value::Object(object) => {
                refuse_unknown_keys(object, PatternsEntry::KEYS, place, report)?;
                Some(Self::Full(PatternsEntry::read_keys(object, place, report)))
            }
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {
                let remedy = r#"write { "allow": ["…"], "deny": ["…"] }, or only what is allowed: ["…"]"#;
                expected("an object or an array of strings", remedy, value, place, report);
                None
            }
        }
    }
}

impl JsonSchema for PatternsForm {
    fn schema_name() -> Cow<'static, str> {
        "Patterns".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut full = generator.subschema_for::<PatternsEntry>();
        full.insert("additionalProperties".to_owned(), json!(false));
        json_schema!({ "anyOf": [WordList::json_schema(generator), full] })
    }
}
