//! Keys of access control, stated once: limits on calls, and requests that servers may send.

use std::borrow::Cow;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use switchboard_core::access::Rate;

use super::choices::Ask;
use super::defaults;
use super::lists::{ByName, Described};
use super::object::{file_object, nothing_required, object};
use super::read::{Count, Key, Read, expected, refuse, warn_of_unknown};
use super::report::{FilePlace, Report};

file_object! {
    /// Limits on the calls of each identity: a token, or clients without one.
    IdentityLimitsEntry, ignoring &[], {
        /// Calls per `s`, `min`, `h` or `d`. Calls are `tools/call`, `resources/read` and `prompts/get`.
        #[schemars(example = json!("600/min"))]
        "rate" => rate: CallRate,

        /// Calls that may come at once after a pause. All calls of one period by default.
        #[schemars(example = json!(50))]
        "burst" => burst: Count,

        /// Calls in progress at a time.
        #[schemars(example = json!(20))]
        "concurrent" => concurrent: Count,

        /// Whether the limits hold for the owner too: local windows, and the first token.
        #[schemars(extend("default" = defaults::LIMITS_OWNER), example = json!(true))]
        "owner" => owner: bool,
    }
}

file_object! {
    /// Limits on the calls to one server, shared by all clients.
    ServerLimitsEntry, ignoring &[], {
        /// Calls per `s`, `min`, `h` or `d`. Calls are `tools/call`, `resources/read` and `prompts/get`.
        #[schemars(example = json!("100/min"))]
        "rate" => rate: CallRate,

        /// Calls that may come at once after a pause. All calls of one period by default.
        #[schemars(example = json!(20))]
        "burst" => burst: Count,

        /// Calls in progress at a time.
        #[schemars(example = json!(4))]
        "concurrent" => concurrent: Count,

        /// Further limits for tools, by pattern of the server's own names: a rate, or an object with `rate`,
        /// `burst` and `concurrent`. Tools that match one pattern share its limit; every pattern that matches counts.
        #[schemars(extend("default" = {}), example = json!({ "create_*": "5/min", "search": { "concurrent": 1 } }))]
        "tools" => tools: ByName<ToolLimit>,
    }
}

file_object! {
    /// Limits on the calls of some tools.
    ToolLimitEntry, ignoring &[], {
        /// Calls per `s`, `min`, `h` or `d`.
        #[schemars(example = json!("5/min"))]
        "rate" => rate: CallRate,

        /// Calls that may come at once after a pause. All calls of one period by default.
        #[schemars(example = json!(2))]
        "burst" => burst: Count,

        /// Calls in progress at a time.
        #[schemars(example = json!(1))]
        "concurrent" => concurrent: Count,
    }
}

file_object! {
    /// Requests that a server may send to its clients. What is denied is neither declared to the server nor delivered.
    AsksEntry, ignoring &[], {
        /// `sampling/createMessage`: the server uses the client's model.
        #[schemars(extend("default" = defaults::ASK.word()), example = json!("deny"))]
        "sampling" => sampling: Ask,

        /// `elicitation/create`: the server asks the user.
        #[schemars(extend("default" = defaults::ASK.word()), example = json!("deny"))]
        "elicitation" => elicitation: Ask,

        /// `roots/list`: the server learns the client's workspace folders.
        #[schemars(extend("default" = defaults::ASK.word()), example = json!("deny"))]
        "roots" => roots: Ask,
    }
}

/// A rate of calls, such as `"5/min"`.
pub(super) struct CallRate(pub(super) Rate);

const RATE_REMEDY: &str =
    r#"write calls per second, minute, hour or day: "10/s", "5/min", "100/h" or "1000/d"; from 1 to 100000"#;

impl Read for CallRate {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let rate = match value {
            Value::StringLit(string) => Rate::parse(&string.value),
            Value::NumberLit(_)
            | Value::BooleanLit(_)
            | Value::Object(_)
            | Value::Array(_)
            | Value::NullKeyword(_) => None,
        };
        if rate.is_none() {
            refuse(value, "not a rate:", RATE_REMEDY, place, report);
        }
        rate.map(Self)
    }
}

impl JsonSchema for CallRate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^\s*[0-9]*[1-9][0-9]*\s*/\s*(s|min|h|d)\s*$" })
    }
}

/// Limits of some tools: an object, or its short form, a rate.
pub(super) enum ToolLimit {
    Rate(CallRate, FilePlace),
    Full(ToolLimitEntry),
}

impl Described for ToolLimit {
    const EXPECTED: &'static str = "an object of limits";
    const EXAMPLE: &'static str = r#"write { "create_*": "5/min" }"#;
}

impl Read for ToolLimit {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        match value {
            Value::StringLit(_) => {
                CallRate::read(value, place, report).map(|rate| Self::Rate(rate, place.clone()))
            }
            Value::Object(_) => ToolLimitEntry::read(value, place, report).map(Self::Full),
            Value::NumberLit(_) | Value::BooleanLit(_) | Value::Array(_) | Value::NullKeyword(_) => {
                let remedy = r#"write a rate such as "5/min", or { "rate": "5/min", "concurrent": 1 }"#;
                expected("a rate or an object", remedy, value, place, report);
                None
            }
        }
    }
}

impl JsonSchema for ToolLimit {
    fn schema_name() -> Cow<'static, str> {
        "ToolLimit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [CallRate::json_schema(generator), generator.subschema_for::<ToolLimitEntry>()]
        })
    }
}
