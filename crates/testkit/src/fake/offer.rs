//! The lists of the server, from a file (`--offer FILE`), which a test may change at any time.
//!
//! `tools`, `prompts`, `resources` and `resourceTemplates` are lists, whose items are sent to the byte; the method of a
//! missing list does not exist, whatever `capabilities` says. `pageSize` cuts them into pages. Subscriptions to the resources in
//! `untold` are declined. `capabilities`,
//! `instructions` and `serverInfo` are for the greeting; without `capabilities`, each present list is declared. `ttlMs` and
//! `cacheScope` are the cache hints of the modern era.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Methods that request a list, with the list's member name in the answer.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

pub(super) struct Offer(BTreeMap<String, Box<RawValue>>);

impl Offer {
    /// A file that cannot be read offers nothing, which the test then sees.
    pub(super) fn read(path: &Path) -> Self {
        // An item is part of a line, so it must not contain a newline.
        let text = std::fs::read_to_string(path).unwrap_or_default().replace('\n', " ");
        Self(serde_json::from_str(&text).unwrap_or_default())
    }

    fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.0.get(key)?.get()).ok()
    }

    /// Puts the file's members into the greeting.
    pub(super) fn greet(&self, greeting: &mut Value) {
        let declared = LISTS.iter().filter(|(_, member)| self.0.contains_key(*member));
        let declared = declared.map(|(method, _)| method.split('/').next().unwrap_or_default());
        let declared: serde_json::Map<String, Value> =
            declared.map(|capability| (capability.to_owned(), json!({}))).collect();
        greeting["capabilities"] = self.value("capabilities").unwrap_or(Value::Object(declared));
        for key in ["instructions", "serverInfo"] {
            if let Some(value) = self.value(key) {
                greeting[key] = value;
            }
        }
    }

    /// Whether a subscription to this resource is declined.
    pub(super) fn is_untold(&self, uri: &Value) -> bool {
        self.value("untold").is_some_and(|untold| untold.as_array().is_some_and(|all| all.contains(uri)))
    }

    /// Replaces cache hints by those of the file.
    pub(super) fn hint(&self, hints: &mut Value) {
        for key in ["ttlMs", "cacheScope"] {
            if let Some(value) = self.value(key) {
                hints[key] = value;
            }
        }
    }

    /// The `result` or `error` member of the answer, if this method requests a list. `more` are further members of the
    /// result.
    pub(super) fn list(&self, method: &str, params: &Value, more: &str) -> Option<String> {
        let (_, member) = LISTS.iter().find(|(asks, _)| *asks == method)?;
        let Some(items) = self.0.get(*member) else {
            return Some(r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned());
        };
        let Some(size) = self.value("pageSize").and_then(|size| size.as_u64()) else {
            return Some(format!(r#""result":{{"{member}":{items}{more}}}"#));
        };
        let items: Vec<&RawValue> = serde_json::from_str(items.get()).unwrap_or_default();
        let from: usize = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let to = items.len().min(from + size as usize);
        let page: Vec<&str> = items[from.min(to)..to].iter().map(|item| item.get()).collect();
        let next = if to < items.len() { format!(r#","nextCursor":"{to}""#) } else { String::new() };
        Some(format!(r#""result":{{"{member}":[{}]{next}{more}}}"#, page.join(",")))
    }
}
