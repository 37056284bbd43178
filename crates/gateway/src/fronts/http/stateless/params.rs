//! Arguments that a call repeats as `Mcp-Param-*` headers, as the client saw them in its last `tools/list`. Must not
//! know who asks.

use super::super::refusal::HttpRefusal;
use super::check::header;
use bytes::Bytes;
use hyper::header::HeaderMap;
use std::collections::HashMap;
use switchboard_process::lock::Lock;
use switchboard_protocol::http_headers::{
    PARAM_PREFIX, ParamHeader, ToolHeaders, ToolList, arguments, check_params,
};
use switchboard_protocol::{Message, Method, Parsed, Part, parse};

/// Annotated arguments by the name of their tool.
#[derive(Default)]
pub(super) struct KnownParams(Lock<Known>);

#[derive(Default)]
struct Known {
    tools: HashMap<String, Vec<ParamHeader>>,
    listed: Listed,
}

/// Who has listed the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Listed {
    #[default]
    Never,
    /// By us, in the name of the client, which does not know when they change.
    InItsName,
    ByClient,
}

impl KnownParams {
    /// Whether the client has listed the tools itself.
    pub(super) fn are_clients(&self) -> bool {
        self.0.lock().listed == Listed::ByClient
    }

    pub(super) fn are_unknown(&self) -> bool {
        self.0.lock().listed == Listed::Never
    }

    /// Learns from an answer to the client's `tools/list`. The first page forgets what earlier lists said.
    pub(super) fn learn(&self, answer: &Bytes, is_first_page: bool) {
        let annotated = annotated(answer);
        let known = &mut *self.0.lock();
        if is_first_page {
            *known = Known { listed: Listed::ByClient, ..Known::default() };
        }
        known.tools.extend(annotated);
    }

    /// Learns from all pages of a list that was requested in the name of the client.
    pub(super) fn learn_for_client(&self, pages: &[Bytes]) {
        let tools = pages.iter().flat_map(annotated).collect();
        let known = &mut *self.0.lock();
        // The client may have listed them meanwhile.
        if known.listed != Listed::ByClient {
            *known = Known { tools, listed: Listed::InItsName };
        }
    }

    /// Compares the headers of a call with its arguments. Headers of arguments that are not known are ignored.
    pub(super) fn check(&self, request: &Message, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        if request.method() != Method::ToolsCall {
            return Ok(());
        }
        let known = &self.0.lock().tools;
        if known.is_empty() {
            return Ok(());
        }
        let Some(params) = request.text(Part::Name).and_then(|name| known.get(&*name)) else { return Ok(()) };
        check_params(params, arguments(request).unwrap_or(b"{}"), |name| header(headers, name))
            .map_err(|mismatch| HttpRefusal::header_mismatch(&mismatch.to_string()))
    }
}

/// Whether a request repeats any argument.
pub(super) fn repeats_arguments(headers: &HeaderMap) -> bool {
    let is_one = |name: &str| {
        name.get(..PARAM_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PARAM_PREFIX))
    };
    headers.keys().any(|name| is_one(name.as_str()))
}

/// The annotated tools in an answer to `tools/list`.
fn annotated(answer: &Bytes) -> Vec<(String, Vec<ParamHeader>)> {
    // Few servers annotate anything, and lists are long.
    if !ToolList::may_have_headers(answer) {
        return Vec::new();
    }
    let Ok(Parsed::One(message)) = parse(answer.clone()) else { return Vec::new() };
    let annotated = ToolList::of(&message).tools.into_iter().filter(|tool| !tool.headers.is_empty());
    annotated.map(|ToolHeaders { tool, headers }| (tool, headers)).collect()
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

    #[test]
    fn clients_own_list_counts() {
        let known = KnownParams::default();
        let west = call("a", r#"{"region":"west"}"#);
        assert!(known.are_unknown() && !known.are_clients());
        known.learn_for_client(&[r#"{"id":1,"result":{"tools":[]}}"#.into(), LIST.into()]);
        assert!(!known.are_unknown() && !known.are_clients() && !is_ok(&known, &west, Some("east")));
        known.learn_for_client(&[r#"{"id":1,"result":{"tools":[]}}"#.into()]);
        assert!(is_ok(&known, &west, Some("east")), "they have changed");
        known.learn(&LIST.into(), true);
        known.learn_for_client(&[r#"{"id":1,"result":{"tools":[]}}"#.into()]);
        assert!(known.are_clients() && !is_ok(&known, &west, Some("east")));
    }

    #[test]
    fn repeated_arguments_are_seen() {
        for (name, expect) in [("mcp-param-x", true), ("mcp-name", false), ("mcp-para", false)] {
            let pair = (HeaderName::from_static(name), "x".parse().unwrap());
            assert_eq!(repeats_arguments(&HeaderMap::from_iter([pair])), expect, "{name}");
        }
    }
}
