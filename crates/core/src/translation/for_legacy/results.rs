//! Results and errors of modern servers, translated for legacy clients. Every other byte stays as it is.

use super::{json, schemas};
use serde::{Deserialize, Deserializer};
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

/// An error, under this id. A missing capability becomes a tool result with `isError`, since models see results but no
/// errors.
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

/// The message with this id. Most already have it.
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
        #[serde(borrow, default, deserialize_with = "present")]
        structured_content: Option<&'a RawValue>,
    }
    let content = json::read::<Called<'_>>(message, Part::Result)?.structured_content?;
    if is_object(content) {
        return None;
    }
    json::replaced(message, &[(content, format!(r#"{{"result":{}}}"#, content.get()))])
}

/// Reads a present value, also null, as `Some`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The output schemas for results that may be wrapped.
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
    let listed = json::read::<Listed<'_>>(message, Part::Result)?;
    let own = listed.tools.into_iter().filter_map(|tool| tool.output_schema);
    let changes: Vec<(&RawValue, String)> =
        own.filter_map(|schema| Some((schema, schemas::wrapped(schema)?))).collect();
    if changes.is_empty() { None } else { json::replaced(message, &changes) }
}

/// A list of tools with `execution.taskSupport`. `None` if no tool needs it.
pub(super) fn with_task_support(message: &Message) -> Option<Message> {
    #[derive(Deserialize)]
    struct Listed<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Tool<'a> {
        #[serde(borrow)]
        #[expect(dead_code, reason = "a tool has a name")]
        name: &'a RawValue,
        #[serde(borrow, default, deserialize_with = "present")]
        execution: Option<&'a RawValue>,
    }
    let listed = json::read::<Listed<'_>>(message, Part::Result)?;
    let lacks_it = |tool: &&RawValue| {
        serde_json::from_str::<Tool<'_>>(tool.get()).is_ok_and(|tool| tool.execution.is_none())
    };
    let supported = |tool: &RawValue| {
        let members = tool.get().strip_prefix('{')?;
        Some(format!(r#"{{"execution":{{"taskSupport":"optional"}},{members}"#))
    };
    let tools = listed.tools.into_iter().filter(lacks_it);
    let changes: Vec<(&RawValue, String)> = tools.filter_map(|tool| Some((tool, supported(tool)?))).collect();
    if changes.is_empty() { None } else { json::replaced(message, &changes) }
}
