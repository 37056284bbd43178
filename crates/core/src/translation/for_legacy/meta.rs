//! The declaration that each modern request carries: version, name and capabilities of the client, and its log level. Must
//! not know what a request is for.

use crate::translation::json::{insert, member};

use super::json;
use super::welcome;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::modern::{self, MODERN_VERSIONS, TASKS_EXTENSION};
use switchboard_protocol::{HANDSHAKE_VERSIONS, Message, Method, Outgoing, Part, Patch, RawId, Span, prune};

/// The legacy version that has tasks.
const TASKS_VERSION: &str = "2025-11-25";

/// The client in whose name a server is greeted.
#[derive(Debug, Default)]
pub(super) struct Speaker {
    /// The client's capabilities, as members and their JSON, without those that we add.
    capabilities: Vec<(String, String)>,
    /// The name and version of the client, as JSON.
    info: Option<String>,
    /// Members of `_meta`, without the level.
    members: Bytes,
    /// The same members with the level that was used last. The level is JSON.
    with_level: Option<(Vec<u8>, Bytes)>,
    /// The legacy version in the answer to `initialize`.
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
        // Tasks differ between the eras.
        let members = members.filter(|(name, _)| *name != "tasks");
        self.capabilities = members.map(|(name, value)| (name.clone(), value.get().to_owned())).collect();
        self.info = hello.as_ref().and_then(|hello| hello.client_info).map(|info| info.get().to_owned());
        self.put_together();
    }

    /// Declares the tasks extension if the server has it, since the translator waits for tasks in the name of any client.
    /// Returns whether the client may also run calls as tasks of 2025-11-25.
    pub(super) fn learn(&mut self, discovered: &Message) -> bool {
        if !welcome::offers_tasks(discovered) {
            return false;
        }
        let at = self.capabilities.iter().position(|(name, _)| name == "extensions");
        let own = at.map(|at| self.capabilities.remove(at).1);
        let own: Option<json::Members<'_>> = own.as_deref().and_then(|own| serde_json::from_str(own).ok());
        let own = own.unwrap_or_default();
        let kept = own.iter().filter(|(name, _)| *name != TASKS_EXTENSION);
        let kept = kept.map(|(name, value)| member(name, value.get()));
        let members = kept.chain([member(TASKS_EXTENSION, "{}")]).collect::<Vec<_>>().join(",");
        self.capabilities.push(("extensions".to_owned(), format!("{{{members}}}")));
        self.put_together();
        self.version == TASKS_VERSION
    }

    fn put_together(&mut self) {
        let capabilities = self.capabilities.iter();
        let capabilities =
            capabilities.map(|(name, value)| member(name, value)).collect::<Vec<_>>().join(",");
        let info = self.info.as_ref().map(|info| format!(r#","{}":{info}"#, modern::CLIENT_INFO));
        self.members = format!(
            r#""{}":"{}","{}":{{{capabilities}}}{}"#,
            modern::VERSION,
            MODERN_VERSIONS[0],
            modern::CLIENT_CAPABILITIES,
            info.unwrap_or_default()
        )
        .into();
        self.with_level = None;
    }

    #[cfg(test)]
    pub(super) fn shown(&mut self, level: Option<&[u8]>) -> Vec<u8> {
        self.members(level).to_vec()
    }

    fn members(&mut self, level: Option<&[u8]>) -> Bytes {
        let Some(level) = level else { return self.members.clone() };
        if let Some((known, members)) = &self.with_level
            && known == level
        {
            return members.clone();
        }
        let mut text = self.members.to_vec();
        text.extend_from_slice(format!(r#","{}":"#, modern::LOG_LEVEL).as_bytes());
        text.extend_from_slice(level);
        let members = Bytes::from(text);
        self.with_level = Some((level.to_vec(), members.clone()));
        members
    }

    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// The `server/discover` in place of the client's `initialize`.
    pub(super) fn discover(&self, id: RawId) -> Outgoing {
        let text = self.text(&id.to_string(), Method::Discover, "");
        Outgoing::request(Method::Discover, id, text.into())
    }

    /// A request of our own. `params`: further members, each after a comma.
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

    /// A client's request with the declaration, the client's log level, and further members of `params`.
    pub(super) fn declared(&mut self, request: &Message, level: Option<&[u8]>, more: &[u8]) -> Outgoing {
        let members = self.members(level);
        let meta = |members: &[u8]| {
            let comma: &[u8] = if more.is_empty() { b"" } else { b"," };
            [br#""_meta":{"#, members, b"}", comma, more].concat()
        };
        let mut out = Outgoing::of(request);
        let is_object = |part: Part| request.part(part).is_some_and(|it| it.first() == Some(&b'{'));
        if is_object(Part::Params) && !request.has(Part::Meta) {
            insert(request, Part::Params, &meta(&members), &mut out);
        } else if is_object(Part::Params) {
            if is_object(Part::Meta) {
                insert(request, Part::Meta, &members, &mut out);
            } else {
                // Some clients write absent members as null.
                let declaration = [b"{", &members[..], b"}"].concat();
                out.replace(request.span(Part::Meta), Patch::Text(declaration.into()));
            }
            if !more.is_empty() {
                insert(request, Part::Params, more, &mut out);
            }
        } else if !request.has(Part::Params) {
            let params = [br#","params":{"#, &meta(&members)[..], b"}"].concat();
            let end = request.bytes().iter().rposition(|b| *b == b'}').unwrap_or_default();
            out.replace(Span::new(end, end), Patch::Text(params.into()));
        }
        out
    }
}

/// The request without the members of the declaration; `None` if it has none of them.
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
