//! The declaration that a modern server wants in each request: version, name and capabilities of the client, and the level
//! of log messages. Must not know what a request is for.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::modern::{self, MODERN_VERSIONS};
use switchboard_protocol::{
    HANDSHAKE_VERSIONS, Message, Method, Outgoing, Part, Patch, RawId, Span, json, prune,
};

/// The client for which a server is greeted.
#[derive(Debug, Default)]
pub(super) struct Speaker {
    /// Members of `_meta`, without the level.
    declaration: String,
    /// The level that the client has set, as JSON.
    level: Option<String>,
    /// All members of `_meta`.
    members: Bytes,
    /// The legacy version that it is answered with.
    version: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hello<'a> {
    #[serde(borrow)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    capabilities: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(borrow)]
    client_info: Option<&'a RawValue>,
}

impl Speaker {
    /// Reads the client's `initialize`.
    pub(super) fn greet(&mut self, initialize: &Message) {
        let params = initialize.part(Part::Params).unwrap_or(b"{}");
        let hello = serde_json::from_slice::<Hello<'_>>(params).ok();
        let asked = hello.as_ref().and_then(|hello| hello.protocol_version);
        let asked = asked.and_then(|version| serde_json::from_str::<String>(version.get()).ok());
        let known = HANDSHAKE_VERSIONS.into_iter().find(|known| asked.as_deref() == Some(*known));
        self.version = known.unwrap_or(HANDSHAKE_VERSIONS[0]);
        let members = hello.as_ref().and_then(|hello| hello.capabilities.as_ref()).into_iter().flatten();
        // The tasks of the two eras are different things.
        let members = members.filter(|(name, _)| *name != "tasks");
        let members: Vec<String> = members
            .map(|(name, value)| format!("{}:{}", serde_json::Value::from(name.as_str()), value.get()))
            .collect();
        let info = hello.as_ref().and_then(|hello| hello.client_info);
        let info = info.map(|info| format!(r#","{}":{}"#, modern::CLIENT_INFO, info.get()));
        self.declaration = format!(
            r#""{}":"{}","{}":{{{}}}{}"#,
            modern::VERSION,
            MODERN_VERSIONS[0],
            modern::CLIENT_CAPABILITIES,
            members.join(","),
            info.unwrap_or_default()
        );
        self.put_together();
    }

    /// Sets the level of log messages, which is JSON.
    pub(super) fn set_level(&mut self, level: Option<&[u8]>) {
        self.level = level.map(|level| String::from_utf8_lossy(level).into_owned());
        self.put_together();
    }

    fn put_together(&mut self) {
        let level = self.level.as_ref().map(|level| format!(r#","{}":{level}"#, modern::LOG_LEVEL));
        self.members = format!("{}{}", self.declaration, level.unwrap_or_default()).into();
    }

    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// The `server/discover` in place of the client's `initialize`.
    pub(super) fn discover(&self, id: RawId) -> Outgoing {
        let text = self.text(&id.to_string(), Method::Discover, "");
        Outgoing::request(Method::Discover, id, text.into())
    }

    /// A request of our own. `params` are further members with a comma in front.
    pub(super) fn request(&self, number: u64, method: Method, params: &str) -> Outgoing {
        Outgoing::request(
            method,
            RawId::from_number(number),
            self.text(&number.to_string(), method, params).into(),
        )
    }

    fn text(&self, id: &str, method: Method, params: &str) -> String {
        let (name, meta) = (method.name().unwrap_or("?"), String::from_utf8_lossy(&self.members));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{name}","params":{{"_meta":{{{meta}}}{params}}}}}"#)
    }

    /// A client's request with the declaration.
    pub(super) fn declared(&self, request: &Message) -> Outgoing {
        let mut out = Outgoing::of(request);
        let is_object = |part: Part| request.part(part).is_some_and(|it| it.first() == Some(&b'{'));
        if is_object(Part::Meta) {
            insert(request, Part::Meta, &self.members, &mut out);
        } else if is_object(Part::Params) && !request.has(Part::Meta) {
            let meta = format!(r#""_meta":{{{}}}"#, String::from_utf8_lossy(&self.members));
            insert(request, Part::Params, meta.as_bytes(), &mut out);
        } else if !request.has(Part::Params) {
            let meta = format!(r#","params":{{"_meta":{{{}}}}}"#, String::from_utf8_lossy(&self.members));
            let end = request.bytes().iter().rposition(|b| *b == b'}').unwrap_or_default();
            out.replace(Span::new(end, end), Patch::Text(meta.into()));
        }
        out
    }
}

/// A request without the members that we declare, if it has any.
pub(super) fn undeclared(request: &Message) -> Option<Message> {
    let parts = [Part::MetaVersion, Part::MetaCapabilities, Part::MetaInfo, Part::MetaLogLevel];
    if !parts.into_iter().any(|part| request.has(part)) {
        return None;
    }
    let keys = [modern::VERSION, modern::CLIENT_CAPABILITIES, modern::CLIENT_INFO, modern::LOG_LEVEL];
    let paths = keys.map(|key| ["params", "_meta", key]);
    let paths: Vec<prune::Path<'_>> = paths.iter().map(|path| &path[..]).collect();
    prune::without(request, &paths)
}

/// Inserts members at the start of an object of the message.
pub(super) fn insert(message: &Message, object: Part, members: &[u8], out: &mut Outgoing) {
    let at = message.span(object).start as usize + 1;
    let is_empty = json::byte(message.bytes(), json::space(message.bytes(), at)) == Some(b'}');
    let mut text = members.to_vec();
    if !is_empty {
        text.push(b',');
    }
    out.replace(Span::new(at, at), Patch::Text(text.into()));
}
