//! Schemas of structured content. Legacy content is an object, so any other value becomes the member `result` of one.
//! Must not know messages.

use super::json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Members of a schema that apply only at its root, where references are resolved.
const ROOT_MEMBERS: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];
/// Members of a schema whose values are references.
const REFERENCE_MEMBERS: [&str; 2] = [r#""$ref""#, r#""$dynamicRef""#];
/// References that lead to these members.
const ROOT_REFERENCES: [&str; 3] = ["#/$defs/", "#/%24defs/", "#/definitions/"];

/// Values that a schema describes, as far as its `type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Describes {
    Objects,
    OtherValues,
    /// Its content is wrapped if it is no object.
    Both,
}

impl Describes {
    fn of(schema: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct Schema {
            r#type: Option<Value>,
        }
        let found = serde_json::from_str::<Schema>(schema.get()).ok().and_then(|it| it.r#type);
        match found {
            Some(Value::String(name)) if name == "object" => Self::Objects,
            Some(Value::String(_)) => Self::OtherValues,
            Some(Value::Array(names)) if !names.contains(&"object".into()) => Self::OtherValues,
            _ => Self::Both,
        }
    }

    /// JSON pointer to the server's own schema in the new one.
    fn place(self) -> &'static str {
        match self {
            Self::Objects => "#",
            Self::OtherValues => "#/properties/result",
            Self::Both => "#/anyOf/0",
        }
    }
}

/// The schema of content that is wrapped if it is no object; `None` if it never is.
pub(super) fn wrapped(own: &RawValue) -> Option<String> {
    let describes = Describes::of(own);
    if describes == Describes::Objects {
        return None;
    }
    let members = serde_json::from_str::<json::Members<'_>>(own.get()).unwrap_or_default();
    let (of_root, of_own): (Vec<_>, Vec<_>) =
        members.iter().partition(|(name, _)| ROOT_MEMBERS.contains(&name.as_str()));
    let member =
        |(name, value): (&String, &&RawValue)| format!("{}:{}", Value::from(name.as_str()), value.get());
    let own = match of_root.is_empty() {
        true => own.get().to_owned(),
        false => format!("{{{}}}", of_own.into_iter().map(member).collect::<Vec<_>>().join(",")),
    };
    let of_root: String = of_root.into_iter().map(|it| member(it) + ",").collect();
    let (own, of_root) = (moved(&own, describes.place()), moved(&of_root, describes.place()));
    Some(match describes {
        Describes::Both => format!(
            r##"{{{of_root}"type":"object","anyOf":[{own},{{"properties":{{"result":{{"$ref":"#/anyOf/0"}}}},"required":["result"]}}]}}"##
        ),
        Describes::Objects | Describes::OtherValues => {
            format!(r#"{{{of_root}"type":"object","properties":{{"result":{own}}},"required":["result"]}}"#)
        }
    })
}

/// A schema, or members of one, with references to the root redirected to this place.
fn moved(text: &str, place: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(r#""$"#) {
        let key = REFERENCE_MEMBERS.iter().find(|key| rest[at..].starts_with(**key));
        let (before, after) = rest.split_at(at + key.map_or(2, |key| key.len()));
        out.push_str(before);
        rest = after;
        let Some(value) = key.and_then(|_| after.trim_start().strip_prefix(':')) else { continue };
        let mut strings = serde_json::Deserializer::from_str(value).into_iter::<String>();
        let Some(Ok(reference)) = strings.next() else { continue };
        let is_of_root = ROOT_REFERENCES.iter().any(|known| reference.starts_with(known));
        if !is_of_root && (reference == "#" || reference.starts_with("#/")) {
            let new = Value::from(format!("{place}{}", &reference[1..])).to_string();
            out.extend([":", &new]);
            rest = &value[strings.byte_offset()..];
        }
    }
    out + rest
}
