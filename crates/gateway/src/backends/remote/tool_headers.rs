//! Headers that calls of a server's tools must have, learnt from the lists that pass. Pure.

use std::collections::HashMap;
use switchboard_protocol::http_headers::{self, ParamHeader, ToolList};
use switchboard_protocol::{Message, Method, Part};

/// Most tools with headers of their own; calls of further ones fail at the server.
const MAX_TOOLS: usize = 10_000;

/// Headers by tool. Tools without any are not stored.
#[derive(Default)]
pub(super) struct KnownTools {
    by_name: HashMap<String, Vec<ParamHeader>>,
    /// Number of times that the whole list was fetched for its headers.
    fetches: u64,
}

impl KnownTools {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn fetches(&self) -> u64 {
        self.fetches
    }

    /// Learns from one page of a list.
    pub(super) fn note(&mut self, page: &ToolList) {
        for tool in &page.tools {
            let is_new = !self.by_name.contains_key(&tool.tool);
            if tool.headers.is_empty() || (is_new && self.by_name.len() >= MAX_TOOLS) {
                self.by_name.remove(&tool.tool);
            } else {
                self.by_name.insert(tool.tool.clone(), tool.headers.clone());
            }
        }
    }

    /// Replaces everything by a whole list.
    pub(super) fn replace(&mut self, pages: &[ToolList]) {
        self.by_name.clear();
        self.fetches += 1;
        pages.iter().for_each(|page| self.note(page));
    }

    /// The `Mcp-Param-*` headers of a request.
    pub(super) fn headers(&self, request: &Message) -> Vec<(String, String)> {
        if request.method() != Method::ToolsCall || self.is_empty() {
            return Vec::new();
        }
        let name = request.text(Part::Name).unwrap_or_default();
        match (self.by_name.get(&*name), http_headers::arguments(request)) {
            (Some(headers), Some(arguments)) => http_headers::params(headers, arguments),
            (Some(_) | None, _) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_protocol::{Parsed, parse};

    fn message(text: &str) -> Message {
        match parse(text.to_owned().into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn page(tool: &str, header: &str) -> ToolList {
        let schema = format!(r#"{{"properties":{{"a":{{"type":"string",{header}"x":1}}}}}}"#);
        ToolList::of(&message(&format!(
            r#"{{"id":1,"result":{{"tools":[{{"name":"{tool}","inputSchema":{schema}}}]}}}}"#
        )))
    }

    #[test]
    fn latest_list_counts() {
        let mut known = KnownTools::default();
        let call = message(r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"v"}}}"#);
        let header = |name: &str| vec![(name.to_owned(), "v".to_owned())];
        assert_eq!(known.headers(&call), []);
        known.note(&page("t", r#""x-mcp-header":"A","#));
        known.note(&page("other", r#""x-mcp-header":"C","#));
        assert_eq!(known.headers(&call), header("Mcp-Param-A"));
        known.note(&page("t", r#""x-mcp-header":"B","#));
        assert_eq!(known.headers(&call), header("Mcp-Param-B"));
        known.note(&page("t", ""));
        assert_eq!(known.headers(&call), []);
        known.note(&page("t", r#""x-mcp-header":"B","#));
        known.replace(&[page("other", "")]);
        assert!(known.is_empty());
        assert_eq!(known.fetches(), 1);
    }
}
