//! Our introduction to clients: the words of the only server, or our own with the capabilities of all members.

use super::{Member, View};
use crate::catalogue::names::NameStyle;
use crate::catalogue::scan;
use serde_json::{Map, Value, json};
use switchboard_protocol::{Span, json as scanner};

impl View {
    /// The `result` of `initialize`, with this protocol version. Names the unavailable servers.
    pub fn welcome(&self, version: &str, unavailable: &[String]) -> String {
        if let [Member { naming, offer: Some(offer), .. }] = &self.members[..]
            && naming.style == NameStyle::Plain
            && let Some(own) = with_version(offer.welcome(), version)
        {
            return own;
        }
        let mut welcome = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": server_info(),
        });
        if let Some(instructions) = self.instructions(unavailable) {
            welcome["instructions"] = instructions.into();
        }
        welcome.to_string()
    }

    pub(super) fn capabilities(&self) -> Value {
        let mut union = Map::new();
        for member in &self.members {
            let Some(offer) = &member.offer else {
                // Its capabilities are not known yet, and cannot be added after the handshake.
                for capability in ["tools", "prompts", "resources", "logging", "completions"] {
                    union.entry(capability).or_insert_with(|| json!({}));
                }
                continue;
            };
            if let Value::Object(capabilities) = offer.capabilities() {
                merge(&mut union, capabilities);
            }
        }
        // Lists change when servers come and go, even where a server's own never do.
        for capability in ["tools", "prompts", "resources"] {
            match union.get_mut(capability) {
                Some(Value::Object(capability)) => drop(capability.insert("listChanged".into(), true.into())),
                // Declared as something other than an object.
                Some(other) => *other = json!({"listChanged": true}),
                None => {}
            }
        }
        Value::Object(union)
    }

    pub(super) fn instructions(&self, unavailable: &[String]) -> Option<String> {
        let of_member = |member: &Member| {
            let text = member.offer.as_ref()?.instructions()?.trim();
            (!text.is_empty()).then(|| format!("## {}\n\n{text}", member.naming.server))
        };
        let missing = unavailable.iter().map(|name| self::unavailable(name)).collect::<Vec<_>>().join("\n");
        let all: Vec<String> = self
            .members
            .iter()
            .filter_map(of_member)
            .chain(Some(missing).filter(|it| !it.is_empty()))
            .collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

/// Our own name and version.
pub(super) fn server_info() -> Value {
    json!({"name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION")})
}

/// The note about an unavailable server.
pub fn unavailable(name: &str) -> String {
    format!("`{name}` is unavailable; run `switchboard status`")
}

/// Merges capabilities: objects are merged, false and null count as absent, otherwise the first value stays.
fn merge(union: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more.iter().filter(|(_, value)| !value.is_null() && **value != false) {
        match (union.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value),
            // Copied along with an enclosing object.
            (Some(known @ (Value::Null | Value::Bool(false))), value) => *known = value.clone(),
            (Some(_), _) => {}
            (None, _) => {
                union.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The server's own welcome with another version.
fn with_version(welcome: &[u8], version: &str) -> Option<String> {
    let mut values: Vec<Span> = Vec::new();
    let start = scanner::space(welcome, 0);
    let note = |key: &[u8], value| {
        if scan::is_key(key, "protocolVersion") {
            values.push(value);
        }
    };
    scan::members(welcome, start, note).ok()?;
    let mut out = Vec::with_capacity(welcome.len() + 16);
    let mut from = 0;
    for value in values {
        out.extend_from_slice(&welcome[from..value.start as usize]);
        scan::quote(version, &mut out);
        from = value.end as usize;
    }
    out.extend_from_slice(&welcome[from..]);
    // The welcome becomes part of one line.
    out.iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    String::from_utf8(out).ok()
}
