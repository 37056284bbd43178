//! Our introduction to clients: the words of the only server, or our own with the capabilities of all members.

use super::{Member, View};
use crate::catalogue::names::NameStyle;
use crate::catalogue::offer::Offer;
use crate::catalogue::scan;
use crate::translation::for_modern;
use serde_json::{Map, Value, json};
use switchboard_protocol::{Era, Span, json as scanner};

impl View {
    /// The `result` of `initialize`, with this protocol version, for a client with these capabilities. Names the unavailable
    /// servers.
    pub fn welcome(&self, version: &str, unavailable: &[String], declared: &Value) -> String {
        if let Some(offer) = self.only_plain().filter(|offer| !offer.is_modern())
            && let Some(own) = with_version(offer.welcome(), version)
        {
            return own;
        }
        let mut welcome = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(declared, Era::Legacy),
            "serverInfo": server_info(),
        });
        if let Some(instructions) = self.instructions(unavailable) {
            welcome["instructions"] = instructions.into();
        }
        welcome.to_string()
    }

    /// The only server, if its names are its own and its welcome is known: it introduces itself.
    pub(super) fn only_plain(&self) -> Option<&Offer> {
        match &self.members[..] {
            [Member { naming, offer, .. }] if naming.style == NameStyle::Plain => offer.as_deref(),
            _ => None,
        }
    }

    /// The capabilities of all servers for a client of this era, without extensions that the client has not declared:
    /// neither side may use them towards the other. `declared`: the client's own `capabilities`.
    pub(super) fn capabilities(&self, declared: &Value, era: Era) -> Value {
        let mut union = Map::new();
        for member in &self.members {
            let Some(offer) = &member.offer else {
                // Its capabilities are not known yet, and cannot be added after the handshake.
                for capability in ["tools", "prompts", "resources", "logging", "completions"] {
                    union.entry(capability).or_insert_with(|| json!({}));
                }
                continue;
            };
            let is_known =
                |name: &str| era == Era::Legacy || offer.is_modern() || !for_modern::is_hidden(name);
            if let Value::Object(capabilities) = offer.capabilities() {
                merge(&mut union, capabilities.iter().filter(|(name, _)| is_known(name)));
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
        if let Some(Value::Object(extensions)) = union.get_mut("extensions") {
            extensions.retain(|name, _| declared["extensions"].get(name).is_some_and(Value::is_object));
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
fn merge<'a>(union: &mut Map<String, Value>, more: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in more.filter(|(_, value)| !value.is_null() && **value != false) {
        match (union.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value.iter()),
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
