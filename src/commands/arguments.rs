//! Arguments of a tool or a prompt, as written on the command line.

use crate::exit::{Exit, fatal};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::io::Read;

pub(super) enum Arguments {
    /// A JSON object, forwarded as written.
    Whole(Box<RawValue>),
    /// The tool's schema decides the type of each value.
    Pairs(Vec<(String, String)>),
}

impl Arguments {
    /// Reads the arguments, including files and stdin.
    pub(super) fn read(words: &[String]) -> anyhow::Result<Self> {
        let text = match words {
            [only] if only == "-" => {
                let mut text = String::new();
                let read = std::io::stdin().read_to_string(&mut text);
                read.map_err(|error| fatal(Exit::Usage, format!("the arguments on stdin: {error}")))?;
                text
            }
            [only] if only.starts_with('@') => {
                let path = &only[1..];
                std::fs::read_to_string(path)
                    .map_err(|error| fatal(Exit::Usage, format!("the arguments in {path}: {error}")))?
            }
            [only] if only.trim_start().starts_with('{') => only.clone(),
            words => return pairs(words).map(Self::Pairs),
        };
        // Parsed only to check it: the text itself is sent.
        let object: Result<Map<String, Value>, _> = serde_json::from_str(&text);
        object.map_err(|error| {
            let text = format!("the arguments are not a JSON object: {error}\n  hint: {HOW}");
            fatal(Exit::Usage, text)
        })?;
        Ok(Self::Whole(RawValue::from_string(text.trim().to_owned())?))
    }

    /// Whether a value could be something other than text.
    pub(super) fn is_doubtful(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Pairs(pairs) => pairs.iter().any(|(_, value)| guess(value).is_some()),
        }
    }

    /// The arguments as an object. `schema` is the tool's, which gives the types;
    /// without one they are guessed.
    pub(super) fn object(&self, schema: &Value) -> String {
        match self {
            Self::Whole(raw) => raw.get().to_owned(),
            Self::Pairs(pairs) => {
                let typed = |(key, value): &(String, String)| {
                    let value = if is_text(&schema["properties"][key]) { None } else { guess(value) }
                        .unwrap_or_else(|| Value::from(value.as_str()).to_string());
                    format!("{}:{value}", Value::from(key.as_str()))
                };
                format!("{{{}}}", pairs.iter().map(typed).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// The arguments as an object in which every value is text.
    pub(super) fn texts(&self) -> String {
        match self {
            Self::Whole(raw) => raw.get().to_owned(),
            Self::Pairs(pairs) => {
                let texts = pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
                Value::Object(texts.collect()).to_string()
            }
        }
    }
}

const HOW: &str = "write '{\"key\": …}', @FILE, - for stdin, or key=value for each";

fn pairs(words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::with_capacity(words.len());
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(fatal(Exit::Usage, format!("`{word}` is not an argument\n  hint: {HOW}")));
        };
        if pairs.iter().any(|(known, _)| known == key) {
            return Err(fatal(Exit::Usage, format!("the argument `{key}` is given twice")));
        }
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(pairs)
}

/// JSON other than text: a number, `true`, an array. Kept as written, so that no digit is lost.
fn guess(value: &str) -> Option<String> {
    let parsed: &RawValue = serde_json::from_str(value).ok()?;
    (!parsed.get().starts_with('"')).then(|| parsed.get().to_owned())
}

/// Whether a schema accepts only text.
fn is_text(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().all(|kind| kind == "string" || kind == "null"),
        _ => schema["enum"].as_array().is_some_and(|words| words.iter().all(Value::is_string)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(words: &[&str]) -> anyhow::Result<Arguments> {
        Arguments::read(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn values_have_the_types_of_the_tool() {
        let arguments = read(&["a=1", "b=1", "c=x=y", "d=[1, 2]", "e=", "f=1234567890123456789.10"]).unwrap();
        assert!(arguments.is_doubtful());
        let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } });
        let object = r#"{"a":"1","b":1,"c":"x=y","d":[1, 2],"e":"","f":1234567890123456789.10}"#;
        assert_eq!(arguments.object(&schema), object);
        assert!(arguments.object(&Value::Null).starts_with(r#"{"a":1,"b":1"#));
        assert!(arguments.texts().contains(r#""b":"1""#));
        assert!(!read(&["a=x"]).unwrap().is_doubtful());
        for (schema, is_it) in [
            (json!({ "type": ["string", "null"] }), true),
            (json!({ "type": ["string", "number"] }), false),
            (json!({ "enum": ["1", "2"] }), true),
            (json!({}), false),
        ] {
            assert_eq!(is_text(&schema), is_it, "{schema}");
        }
    }

    #[test]
    fn an_object_goes_on_as_it_is_written() {
        let arguments = read(&["{ \"n\": 1.00,\n \"n\": 2 }"]).unwrap();
        assert_eq!(arguments.object(&Value::Null), "{ \"n\": 1.00,\n \"n\": 2 }");
        assert_eq!(read(&[]).unwrap().object(&Value::Null), "{}");
    }

    #[test]
    fn malformed_arguments_are_wrong_usage() {
        for words in
            [&["x"][..], &["=x"], &["a=1", "a=2"], &["{"], &["{}", "{}"], &["@/no/such/file"], &["[]"]]
        {
            let error = read(words).err().unwrap();
            assert_eq!(crate::exit::of(&error), Exit::Usage, "{words:?}");
        }
    }
}
