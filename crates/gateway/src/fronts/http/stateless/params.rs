//! Arguments that a call repeats as `Mcp-Param-*` headers, as the client saw them in its last `tools/list`. Must not
//! know who asks.

use super::super::refusal::HttpRefusal;
use super::check::header;
use bytes::Bytes;
use hyper::header::HeaderMap;
use std::collections::HashMap;
use switchboard_process::lock::Lock;
use switchboard_protocol::http_headers::{ParamHeader, ToolHeaders, ToolList, arguments, check_params};
use switchboard_protocol::{Message, Method, Parsed, Part, parse};

/// Annotated arguments by the name of their tool.
#[derive(Default)]
pub(super) struct KnownParams(Lock<HashMap<String, Vec<ParamHeader>>>);

impl KnownParams {
    /// Learns from an answer to `tools/list`. The first page forgets what earlier lists said.
    pub(super) fn learn(&self, answer: &Bytes, is_first_page: bool) {
        if is_first_page {
            self.0.lock().clear();
        }
        // Few servers annotate anything, and lists are long.
        if !ToolList::may_have_headers(answer) {
            return;
        }
        let Ok(Parsed::One(message)) = parse(answer.clone()) else { return };
        let annotated = ToolList::of(&message).tools.into_iter().filter(|tool| !tool.headers.is_empty());
        self.0.lock().extend(annotated.map(|ToolHeaders { tool, headers }| (tool, headers)));
    }

    /// Compares the headers of a call with its arguments. Headers of arguments that are not known are ignored.
    pub(super) fn check(&self, request: &Message, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        if request.method() != Method::ToolsCall {
            return Ok(());
        }
        let known = self.0.lock();
        if known.is_empty() {
            return Ok(());
        }
        let Some(params) = request.text(Part::Name).and_then(|name| known.get(&*name)) else { return Ok(()) };
        check_params(params, arguments(request).unwrap_or(b"{}"), |name| header(headers, name))
            .map_err(|mismatch| HttpRefusal::header_mismatch(&mismatch.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    const LIST: &str = r#"{"id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":
        {"region":{"type":"string","x-mcp-header":"Region"}}}},{"name":"b","inputSchema":{}}]}}"#;

    fn call(tool: &str, arguments: &str) -> Message {
        let text = format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        match parse(text.into()) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn is_ok(known: &KnownParams, call: &Message, region: Option<&str>) -> bool {
        let pair = |value: &str| (HeaderName::from_static("mcp-param-region"), value.parse().unwrap());
        known.check(call, &HeaderMap::from_iter(region.map(pair))).is_ok()
    }

    #[test]
    fn known_arguments_are_compared() {
        let known = KnownParams::default();
        let west = call("a", r#"{"region":"west"}"#);
        assert!(is_ok(&known, &west, Some("east")), "not known yet");
        known.learn(&LIST.into(), true);
        assert!(is_ok(&known, &west, Some("west")) && is_ok(&known, &west, Some("=?base64?d2VzdA==?=")));
        assert!(!is_ok(&known, &west, Some("east")) && !is_ok(&known, &west, None));
        assert!(is_ok(&known, &call("a", "{}"), None) && !is_ok(&known, &call("a", "{}"), Some("west")));
        assert!(is_ok(&known, &call("b", r#"{"region":"west"}"#), Some("east")));
        known.learn(&r#"{"id":1,"result":{"tools":[]}}"#.into(), false);
        assert!(!is_ok(&known, &west, Some("east")), "another page");
        known.learn(&r#"{"id":1,"result":{"tools":[]}}"#.into(), true);
        assert!(is_ok(&known, &west, Some("east")), "another list");
    }
}
