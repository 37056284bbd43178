//! The answer to `tools/list`: which arguments each tool's calls repeat as headers. A client over HTTP must leave out tools
//! whose annotations are invalid.

use super::annotation::{BadAnnotation, KEY, ParamHeader, annotations};
use super::reading::member;
use crate::envelope::{Parsed, parse};
use crate::json;
use crate::message::Message;
use crate::method;
use crate::prune::{Member, cuts_between};
use crate::touch::Part;

/// Headers of one tool's calls; often none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolHeaders {
    pub tool: String,
    pub headers: Vec<ParamHeader>,
}

/// A tool with invalid annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedTool {
    pub tool: String,
    pub why: BadAnnotation,
}

/// One page of tools.
#[derive(Debug, Default)]
pub struct ToolList {
    pub tools: Vec<ToolHeaders>,
    pub rejected: Vec<RejectedTool>,
    /// The answer without the rejected tools; `None` if there are none.
    pub rest: Option<Message>,
}

impl ToolList {
    /// Reads an answer to `tools/list`. An answer without tools, such as an error, is an empty page.
    pub fn of(answer: &Message) -> Self {
        let mut page = Self::default();
        let Some(tools) = answer.part(Part::Result).and_then(|result| member(result, "tools")) else {
            return page;
        };
        let bytes = answer.bytes();
        // The part is a slice of these bytes.
        let offset = tools.as_ptr() as usize - bytes.as_ptr() as usize;
        let mut members = Vec::new();
        for range in elements(tools) {
            let is_cut = !page.take(&tools[range.clone()]);
            members.push(Member { span: offset + range.start..offset + range.end, is_cut });
        }
        if !page.rejected.is_empty() {
            page.rest = without(answer, &members);
        }
        page
    }

    /// Whether an answer may have annotations: a cheap test before it is read.
    pub fn may_have_headers(answer: &[u8]) -> bool {
        memchr::memmem::find(answer, KEY.as_bytes()).is_some()
    }

    /// Adds a tool. False if it is rejected.
    fn take(&mut self, tool: &[u8]) -> bool {
        let Some(name) = member(tool, "name").and_then(method::text) else { return true };
        let schema = member(tool, "inputSchema").filter(|schema| Self::may_have_headers(schema));
        let schema = schema.and_then(|schema| serde_json::from_slice(schema).ok()).unwrap_or_default();
        match annotations(&schema) {
            Ok(headers) => self.tools.push(ToolHeaders { tool: name.into_owned(), headers }),
            Err(why) => {
                self.rejected.push(RejectedTool { tool: name.into_owned(), why });
                return false;
            }
        }
        true
    }
}

/// The elements of an array that was validated when the message was parsed.
fn elements(array: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut pos = json::space(array, 1);
    while json::byte(array, 0) == Some(b'[') && json::byte(array, pos).is_some_and(|byte| byte != b']') {
        let Ok(end) = json::value(array, pos) else { break };
        found.push(pos..end);
        pos = json::space(array, end);
        if json::byte(array, pos) == Some(b',') {
            pos = json::space(array, pos + 1);
        }
    }
    found
}

/// The message without the marked elements.
fn without(message: &Message, members: &[Member]) -> Option<Message> {
    let bytes = message.bytes();
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for cut in cuts_between(members) {
        kept.extend_from_slice(&bytes[from..cut.start]);
        from = cut.end;
    }
    kept.extend_from_slice(&bytes[from..]);
    match parse(kept.into()) {
        Ok(Parsed::One(mut rest)) => {
            if message.is_multiline() {
                rest.mark_multiline();
            }
            Some(rest)
        }
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}
