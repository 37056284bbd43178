//! The answer to `initialize`, made from the answer to `server/discover`. Must not know the client.

use super::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::modern::{MODERN_VERSIONS, SERVER_INFO, TASKS_EXTENSION};
use switchboard_protocol::{Message, Part, prune};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered<'a> {
    supported_versions: Vec<String>,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<json::Members<'a>>,
}

/// Whether an answer to `server/discover` names a modern version that we speak.
pub(super) fn is_modern(discovered: &Message) -> bool {
    read(discovered).is_some()
}

fn read(discovered: &Message) -> Option<Discovered<'_>> {
    let found = json::read::<Discovered<'_>>(discovered, Part::Result)?;
    let is_known = found.supported_versions.iter().any(|it| MODERN_VERSIONS.contains(&it.as_str()));
    is_known.then_some(found)
}

/// Whether the server may answer calls with tasks.
pub(super) fn offers_tasks(discovered: &Message) -> bool {
    extensions(discovered).is_some_and(|it| it.contains_key(TASKS_EXTENSION))
}

fn extensions(discovered: &Message) -> Option<json::Members<'_>> {
    #[derive(Deserialize)]
    struct Capabilities<'a> {
        #[serde(borrow)]
        extensions: json::Members<'a>,
    }
    let found = read(discovered)?;
    Some(serde_json::from_str::<Capabilities<'_>>(found.capabilities.get()).ok()?.extensions)
}

/// The legacy capability for running calls as tasks of 2025-11-25. It has no `list`, since the modern era has none.
const TASKS: &str = r#""tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}"#;

/// The answer to `initialize`; an error if we speak none of the server's versions.
pub(super) fn answer(discovered: Message, id: &str, version: &str, offers_tasks: bool) -> Option<Message> {
    // Hide the extension, whose methods legacy clients do not know, and a `tasks` capability of the server's own.
    let path = ["result", "capabilities", "extensions", TASKS_EXTENSION];
    let parent = ["result", "capabilities", "extensions"];
    let paths: [prune::Path<'_>; 2] = [&path, &["result", "capabilities", "tasks"]];
    let discovered = prune::without(&discovered, &paths).unwrap_or(discovered);
    let discovered = match extensions(&discovered).is_some_and(|left| left.is_empty()) {
        true => prune::without(&discovered, &[&parent]).unwrap_or(discovered),
        false => discovered,
    };
    let Some(found) = read(&discovered) else {
        let text = "the server's answer to `server/discover` names no version of MCP that Switchboard speaks";
        return json::error(id, &serde_json::json!({ "code": -32603, "message": text }).to_string());
    };
    let info = found.meta.as_ref().and_then(|meta| meta.get(SERVER_INFO));
    let info = info.map_or(r#"{"name":"unknown","version":"0"}"#, |info| info.get());
    let instructions = found.instructions.map(|it| format!(r#","instructions":{}"#, it.get()));
    let capabilities = match found.capabilities.get().strip_prefix('{').filter(|_| offers_tasks) {
        Some(others) => format!("{{{TASKS}{}{others}", if others.trim() == "}" { "" } else { "," }),
        None => found.capabilities.get().to_owned(),
    };
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{info}{}}}"#,
        instructions.unwrap_or_default()
    );
    json::result(id, &result)
}
