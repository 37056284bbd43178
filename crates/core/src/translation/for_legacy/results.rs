//! Results and errors of modern servers, as legacy clients know them. Every other byte stays as it is.

use super::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::modern::{MISSING_CAPABILITY, SERVER_INFO};
use switchboard_protocol::{Message, Method, Outgoing, Part, Patch, RawId};

/// A result without the members of the modern era, under this id.
pub(super) fn complete(message: Message, method: Method, id: &str) -> Option<Message> {
    let paths: [&[&str]; 4] = [
        &["result", "resultType"],
        &["result", "ttlMs"],
        &["result", "cacheScope"],
        &["result", "_meta", SERVER_INFO],
    ];
    let plain = json::without(message, &paths, (Part::ResultMeta, &["result", "_meta"]));
    let plain = match method {
        Method::ToolsCall => wrapped_content(&plain).unwrap_or(plain),
        Method::ToolsList => wrapped_schemas(&plain).unwrap_or(plain),
        _ => plain,
    };
    under(plain, id)
}

/// An error, under this id. A client without a capability that a tool needs is told so as the result of the tool, which
/// models see.
pub(super) fn failed(message: Message, method: Method, id: &str) -> Option<Message> {
    let is_missing = message.part(Part::ErrorCode) == Some(MISSING_CAPABILITY.to_string().as_bytes());
    if !(is_missing && method == Method::ToolsCall) {
        return under(message, id);
    }
    #[derive(Deserialize)]
    struct Reason {
        message: String,
    }
    let why = json::read::<Reason>(&message, Part::Error).map(|it| it.message).unwrap_or_default();
    let text = format!("The client lacks a capability that this tool needs: {why}");
    let result = serde_json::json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    json::result(id, &result.to_string())
}

/// The message with another id. Most have it already.
fn under(message: Message, id: &str) -> Option<Message> {
    if message.part(Part::Id) == Some(id.as_bytes()) {
        return Some(message);
    }
    let mut out = Outgoing::of(&message);
    out.replace(message.span(Part::Id), Patch::Id(RawId::from_bytes(id.as_bytes())));
    crate::messages::own_message(out.to_vec().into())
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// Legacy structured content is an object; any other value becomes its member `result`.
fn wrapped_content(message: &Message) -> Option<Message> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Called<'a> {
        #[serde(borrow)]
        structured_content: Option<&'a RawValue>,
    }
    let content = json::read::<Called<'_>>(message, Part::Result)?.structured_content?;
    if is_object(content) {
        return None;
    }
    json::replaced(message, &[(content, format!(r#"{{"result":{}}}"#, content.get()))])
}

/// The schemas of such results say the same.
fn wrapped_schemas(message: &Message) -> Option<Message> {
    #[derive(Deserialize)]
    struct Listed<'a> {
        #[serde(borrow)]
        tools: Vec<Tool<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool<'a> {
        #[serde(borrow)]
        output_schema: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Schema {
        r#type: Option<serde_json::Value>,
    }
    let listed = json::read::<Listed<'_>>(message, Part::Result)?;
    let schemas = listed.tools.into_iter().filter_map(|tool| tool.output_schema);
    let is_for_objects = |schema: &RawValue| {
        serde_json::from_str::<Schema>(schema.get()).is_ok_and(|it| it.r#type == Some("object".into()))
    };
    let changes: Vec<(&RawValue, String)> = schemas
        .filter(|schema| !is_for_objects(schema))
        .map(|schema| {
            let own = schema.get();
            (schema, format!(r#"{{"type":"object","properties":{{"result":{own}}},"required":["result"]}}"#))
        })
        .collect();
    if changes.is_empty() { None } else { json::replaced(message, &changes) }
}
