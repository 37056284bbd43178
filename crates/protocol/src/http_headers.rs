//! HTTP headers that repeat parts of a modern request (MCP 2026-07-28), generated from a body and compared with one.
//! Must not know the HTTP library, or which side of a connection we are on.
//!
//! # Layout
//! - `value`: header values, plain or in base64.
//! - `reading`: members of an object that the touch table does not cover.
//! - `annotation`: `x-mcp-header` annotations of a tool's `inputSchema`.
//! - `param`: arguments as header values, and their comparison.
//! - `tool_list`: annotations of all tools in a list, and the list without invalid ones.

mod value;
mod reading;
mod annotation;
mod param;
mod tool_list;

pub use annotation::{BadAnnotation, ParamHeader, ParamKind, annotations};
pub use param::{check_params, params};
pub use reading::{arguments, protocol_version};
pub use tool_list::{RejectedTool, ToolHeaders, ToolList};
pub use value::{decode, encode, is_safe};

use crate::message::Message;
use crate::touch::Part;
use std::borrow::Cow;

/// Protocol version, as in the body's `_meta`. Header names are compared regardless of case.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The body's `method`.
pub const METHOD: &str = "Mcp-Method";
/// Name, URI or task id that the request is about.
pub const NAME: &str = "Mcp-Name";
/// Prefix of the headers for annotated arguments.
pub const PARAM_PREFIX: &str = "Mcp-Param-";
/// A header of a request, as the HTTP library found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Absent,
    One(&'a [u8]),
    /// Two readers could take different ones.
    Several,
}

/// Disagreement between headers and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Header's name, spelled as in the specification or in the annotation.
    pub header: String,
    pub fault: MismatchFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MismatchFault {
    Missing,
    /// The body has no value for this header.
    Unexpected,
    Repeated,
    /// Characters that no header may have, or broken base64.
    Malformed,
    Different,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fault = match self.fault {
            MismatchFault::Missing => "is missing",
            MismatchFault::Unexpected => "has no counterpart in the body",
            MismatchFault::Repeated => "appears more than once",
            MismatchFault::Malformed => "is malformed",
            MismatchFault::Different => "differs from the body",
        };
        write!(f, "Header mismatch: the {} header {fault}", self.header)
    }
}

impl std::error::Error for Mismatch {}

/// The part of a body that `Mcp-Name` repeats, for methods that have the header.
pub fn name_part(method: &str) -> Option<Part> {
    match method {
        "tools/call" | "prompts/get" => Some(Part::Name),
        "resources/read" => Some(Part::Uri),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some(Part::TaskId),
        _ => None,
    }
}

/// Standard headers of a request: names and encoded values. A value that no header can carry is left out.
pub fn standard(message: &Message) -> Vec<(&'static str, String)> {
    let method = message.method_name();
    let name = name_part(&method).and_then(|part| message.text(part));
    // Only names may be encoded; versions and methods go as they are.
    let plain = |text: Cow<'_, str>| is_safe(&text).then(|| text.into_owned());
    let headers = [
        (PROTOCOL_VERSION, protocol_version(message).and_then(plain)),
        (NAME, name.map(|name| encode(&name).into_owned())),
        (METHOD, plain(method)),
    ];
    headers.into_iter().filter_map(|(header, value)| Some((header, value?))).collect()
}

/// Compares the standard headers of a request with its body. A body without a protocol version or without the
/// part that `Mcp-Name` repeats has nothing to compare: its own fault is a matter for another check.
pub fn check_standard<'a>(message: &Message, header: impl Fn(&str) -> Found<'a>) -> Result<(), Mismatch> {
    if let Some(version) = protocol_version(message) {
        compare(PROTOCOL_VERSION, header(PROTOCOL_VERSION), plain, |text| text == version)?;
    }
    let method = message.method_name();
    compare(METHOD, header(METHOD), plain, |text| text == method)?;
    match name_part(&method).map(|part| message.text(part)) {
        Some(Some(name)) => compare(NAME, header(NAME), decode, |text| text == name),
        // A header that repeats nothing would tell others of a name that the request does not have.
        Some(None) if !matches!(header(NAME), Found::Absent) => {
            compare(NAME, header(NAME), decode, |_| false)
        }
        Some(None) | None => Ok(()),
    }
}

/// Reads a header that is never encoded.
fn plain(value: &[u8]) -> Option<Cow<'_, str>> {
    std::str::from_utf8(value).ok().map(Cow::Borrowed)
}

/// Compares one header that must be present.
fn compare<'a>(
    name: &str,
    found: Found<'a>,
    read: impl Fn(&'a [u8]) -> Option<Cow<'a, str>>,
    is_equal: impl Fn(&str) -> bool,
) -> Result<(), Mismatch> {
    let fault = match found {
        Found::Absent => MismatchFault::Missing,
        Found::Several => MismatchFault::Repeated,
        Found::One(value) => match read(value) {
            None => MismatchFault::Malformed,
            Some(text) if is_equal(&text) => return Ok(()),
            Some(_) => MismatchFault::Different,
        },
    };
    Err(Mismatch { header: name.to_owned(), fault })
}

#[cfg(test)]
mod tests;
