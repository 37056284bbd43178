//! `x-mcp-header` annotations in a tool's `inputSchema`: the arguments that a call repeats as headers.

use serde_json::{Map, Value};

pub(super) const KEY: &str = "x-mcp-header";

/// Keywords whose value is a schema, or a list of schemas, that an argument's path cannot pass through.
const SCHEMAS: [&str; 15] = [
    "items",
    "prefixItems",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "contentSchema",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords whose value holds named schemas that an argument's path cannot pass through.
const NAMED_SCHEMAS: [&str; 4] = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/// An argument that a call repeats as a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// Name without the prefix, as annotated.
    pub name: String,
    /// Keys that lead from the arguments to the value.
    pub path: Vec<String>,
    pub kind: ParamKind,
}

/// Declared type of an annotated argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    String,
    Integer,
    Boolean,
}

/// Reason why a tool's annotations are invalid. Clients over HTTP leave such a tool out of its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAnnotation {
    /// Not on a chain of `properties` from the schema's root.
    Unreachable,
    /// Not a string, or not a header name.
    BadName,
    /// On a value that is no string, integer or boolean.
    BadType,
    /// Two annotations with the same name.
    Duplicate(String),
}

impl std::fmt::Display for BadAnnotation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable => write!(f, "`{KEY}` outside of a chain of `properties`"),
            Self::BadName => write!(f, "`{KEY}` is not a header name"),
            Self::BadType => write!(f, "`{KEY}` on a value that is no string, integer or boolean"),
            Self::Duplicate(name) => write!(f, "`{KEY}` twice with the name {name}"),
        }
    }
}

/// The annotations of an `inputSchema`, in the order of the schema; empty for one without annotations.
pub fn annotations(input_schema: &Value) -> Result<Vec<ParamHeader>, BadAnnotation> {
    let mut found = Vec::new();
    visit(input_schema, Some(&mut Vec::new()), &mut found)?;
    Ok(found)
}

/// Visits one schema. `path` leads to its value, unless something other than `properties` was passed. Values of
/// `default`, `enum` and the like are data, in which an annotation has no meaning.
fn visit(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), BadAnnotation> {
    let Value::Object(schema) = schema else { return Ok(()) };
    if let Some(name) = schema.get(KEY) {
        let path = path.as_deref().filter(|path| !path.is_empty()).ok_or(BadAnnotation::Unreachable)?;
        let header = ParamHeader { name: name_of(name)?, path: path.clone(), kind: kind_of(schema)? };
        if found.iter().any(|other| other.name.eq_ignore_ascii_case(&header.name)) {
            return Err(BadAnnotation::Duplicate(header.name));
        }
        found.push(header);
    }
    for (key, property) in named(schema.get("properties")) {
        match path.as_deref_mut() {
            Some(path) => {
                path.push(key.clone());
                visit(property, Some(path), found)?;
                path.pop();
            }
            None => visit(property, None, found)?,
        }
    }
    let named_below = NAMED_SCHEMAS.iter().flat_map(|keyword| named(schema.get(*keyword))).map(|(_, it)| it);
    let below = SCHEMAS.iter().filter_map(|keyword| schema.get(*keyword)).flat_map(one_or_many);
    for schema in below.chain(named_below) {
        visit(schema, None, found)?;
    }
    Ok(())
}

fn named(schemas: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    schemas.and_then(Value::as_object).into_iter().flatten()
}

fn one_or_many(schemas: &Value) -> &[Value] {
    match schemas {
        Value::Array(many) => many,
        one => std::slice::from_ref(one),
    }
}

fn name_of(name: &Value) -> Result<String, BadAnnotation> {
    let is_token = |name: &&str| !name.is_empty() && name.bytes().all(is_token_char);
    name.as_str().filter(is_token).map(str::to_owned).ok_or(BadAnnotation::BadName)
}

/// Characters of an HTTP token (RFC 9110, 5.6.2).
fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn kind_of(schema: &Map<String, Value>) -> Result<ParamKind, BadAnnotation> {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Ok(ParamKind::String),
        Some("integer") => Ok(ParamKind::Integer),
        Some("boolean") => Ok(ParamKind::Boolean),
        Some(_) | None => Err(BadAnnotation::BadType),
    }
}
