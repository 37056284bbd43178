//! The answer to `initialize`, made from the answer to `server/discover`. Must not know who asked.

use super::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::modern::{MODERN_VERSIONS, SERVER_INFO};
use switchboard_protocol::{Message, Part};

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

/// The answer to `initialize`; an error if the server speaks no modern version of ours.
pub(super) fn answer(discovered: &Message, id: &str, version: &str) -> Option<Message> {
    let found = json::read::<Discovered<'_>>(discovered, Part::Result);
    let found =
        found.filter(|it| it.supported_versions.iter().any(|it| MODERN_VERSIONS.contains(&it.as_str())));
    let Some(found) = found else {
        let text = "the server's answer to `server/discover` names no version of MCP that Switchboard speaks";
        return json::error(id, &serde_json::json!({ "code": -32603, "message": text }).to_string());
    };
    let info = found.meta.as_ref().and_then(|meta| meta.get(SERVER_INFO));
    let info = info.map_or(r#"{"name":"unknown","version":"0"}"#, |info| info.get());
    let instructions = found.instructions.map(|it| format!(r#","instructions":{}"#, it.get()));
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{},"serverInfo":{info}{}}}"#,
        found.capabilities.get(),
        instructions.unwrap_or_default()
    );
    json::result(id, &result)
}
