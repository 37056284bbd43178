//! The answer to `server/discover`, made from a legacy server's answer to `initialize`.

use super::super::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::modern::{MODERN_VERSIONS, SERVER_INFO};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Welcome<'a> {
    #[serde(borrow, default)]
    capabilities: BTreeMap<String, &'a RawValue>,
    #[serde(borrow)]
    server_info: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
}

/// Whether a legacy server's capability is hidden from modern clients. Tasks differ between the eras.
pub(crate) fn is_hidden(capability: &str) -> bool {
    capability == "tasks"
}

/// The result of `server/discover` on one line, made from the result of `initialize`; `None` if that is unreadable.
pub(crate) fn discovered(welcome: &[u8]) -> Option<String> {
    let found = serde_json::from_slice::<Welcome<'_>>(welcome).ok()?;
    let capabilities = found.capabilities.iter().filter(|(name, _)| !is_hidden(name));
    let capabilities: Vec<String> = capabilities
        .map(|(name, value)| format!("{}:{}", serde_json::Value::from(name.as_str()), value.get()))
        .collect();
    let versions = serde_json::Value::from(MODERN_VERSIONS.to_vec());
    let instructions = found.instructions.map(|it| format!(r#","instructions":{}"#, it.get()));
    let info = found.server_info.map(|it| format!(r#","_meta":{{"{SERVER_INFO}":{}}}"#, it.get()));
    let result = format!(
        r#"{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{{}}}{},"ttlMs":0,"cacheScope":"private"{}}}"#,
        capabilities.join(","),
        instructions.unwrap_or_default(),
        info.unwrap_or_default()
    );
    Some(json::on_one_line(result))
}

/// Whether a legacy server declares `logging`.
pub(crate) fn logs(welcome: &[u8]) -> bool {
    serde_json::from_slice::<Welcome<'_>>(welcome).is_ok_and(|it| it.capabilities.contains_key("logging"))
}
