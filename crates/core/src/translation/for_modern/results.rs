//! Answers of legacy servers, with the members that modern clients need. Every other byte stays as it is.

use super::super::json;
use crate::messages::{is_key, members};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::RangeInclusive;
use switchboard_protocol::modern::MISSING_CAPABILITY;
use switchboard_protocol::{Message, Method, Outgoing, Part, Patch};

/// Code of legacy servers for an unknown resource.
const RESOURCE_NOT_FOUND: f64 = -32002.0;
/// Code of legacy servers for a request that requires the user to open a URL first.
const URL_ELICITATION_REQUIRED: f64 = -32042.0;
/// Codes that 2026-07-28 reserves. Servers must not use them.
const RESERVED: RangeInclusive<f64> = -32099.0..=-32020.0;

const INVALID_PARAMS: &[u8] = b"-32602";
const INTERNAL_ERROR: &[u8] = b"-32603";

/// Capabilities that a client needs for opening URLs.
const OPENS_URLS: &str = r#"{"elicitation":{"url":{}}}"#;

/// The only `resultType` of a legacy server. No client could continue another one.
const COMPLETE: &[u8] = br#""complete""#;

/// Members to add to a result, each with the part that shows whether the server has it already.
const TYPE: (Part, &str) = (Part::ResultType, r#""resultType":"complete""#);
const CACHE_HINTS: [(Part, &str); 2] =
    [(Part::ResultTtl, r#""ttlMs":0"#), (Part::ResultCacheScope, r#""cacheScope":"private""#)];

/// Adds the members of the modern era to a result. Clients must not cache the lists, since a legacy server states no
/// lifetime.
pub(crate) fn complete(result: &Message, method: Method, out: &mut Outgoing) {
    if result.part(Part::Result).is_none_or(|it| it.first() != Some(&b'{')) {
        return;
    }
    let hints: &[(Part, &str)] = match method {
        Method::ToolsList
        | Method::PromptsList
        | Method::ResourcesList
        | Method::ResourceTemplatesList
        | Method::ResourcesRead => &CACHE_HINTS,
        _ => &[],
    };
    let missing = std::iter::once(&TYPE).chain(hints).filter(|(part, _)| !result.has(*part));
    let members: Vec<&str> = missing.map(|(_, text)| *text).collect();
    if !members.is_empty() {
        json::insert(result, Part::Result, members.join(",").as_bytes(), out);
    }
    if result.part(Part::ResultType).is_some_and(|own| own != COMPLETE) {
        out.replace(result.span(Part::ResultType), Patch::Static(COMPLETE));
    }
}

/// The code of an error, in any JSON spelling of a number.
pub(crate) fn error_code(error: &Message) -> Option<f64> {
    serde_json::from_slice(error.part(Part::ErrorCode)?).ok()
}

/// Whether a server refuses a request until the user opens a URL.
pub(crate) fn wants_url(error: &Message) -> bool {
    error_code(error) == Some(URL_ELICITATION_REQUIRED)
}

/// Replaces an error code that modern servers must not send. Message and data stay. `opens_urls`: whether the client can
/// open URLs.
pub(crate) fn put_error_code(error: &Message, opens_urls: bool, out: &mut Outgoing) {
    let Some(code) = error_code(error) else { return };
    if code == URL_ELICITATION_REQUIRED && !opens_urls {
        return out.replace(error.span(Part::Error), Patch::Text(lacking_urls(error).into()));
    }
    let code = match code {
        RESOURCE_NOT_FOUND => INVALID_PARAMS,
        code if RESERVED.contains(&code) => INTERNAL_ERROR,
        _ => return,
    };
    out.replace(error.span(Part::ErrorCode), Patch::Static(code));
}

/// The error for a client that cannot open URLs, with the server's message and data.
fn lacking_urls(error: &Message) -> String {
    let all = members(error.part(Part::Error).unwrap_or_default());
    let data = all.iter().filter(|(key, _)| is_key(key, "data")).flat_map(|(_, data)| members(data));
    let data = data.filter(|(key, _)| !is_key(key, "requiredCapabilities")).map(text_of);
    let data: Vec<String> =
        std::iter::once(json::member("requiredCapabilities", OPENS_URLS)).chain(data).collect();
    let rest =
        all.iter().copied().filter(|(key, _)| !is_key(key, "code") && !is_key(key, "data")).map(text_of);
    let code = json::member("code", &MISSING_CAPABILITY.to_string());
    let data = json::member("data", &format!("{{{}}}", data.join(",")));
    let error: Vec<String> = std::iter::once(code).chain(rest).chain([data]).collect();
    json::on_one_line(format!("{{{}}}", error.join(",")))
}

/// A member of an object, from its key in quotes and its value.
fn text_of((key, value): (&[u8], &[u8])) -> String {
    String::from_utf8_lossy(&[key, b":", value].concat()).into_owned()
}

/// Whether a list of tools, or one of them, may have an `execution`. Few servers have tools with tasks, and lists are long.
pub(crate) fn may_have_execution(text: &[u8]) -> bool {
    const KEY: &[u8] = b"\"execution\"";
    text.windows(KEY.len()).any(|it| it == KEY)
}

/// A list of tools without `execution`, which describes legacy tasks. `None` if no tool has it.
pub(crate) fn without_execution(answer: &Message) -> Option<Message> {
    #[derive(Deserialize)]
    struct Listed<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    if !may_have_execution(answer.part(Part::Result)?) {
        return None;
    }
    let listed = json::read::<Listed<'_>>(answer, Part::Result)?;
    let changes: Vec<(&RawValue, String)> = listed
        .tools
        .into_iter()
        .filter_map(|tool| Some((tool, tool_without_execution(tool.get().as_bytes())?)))
        .collect();
    if changes.is_empty() { None } else { json::replaced(answer, &changes) }
}

/// A tool without its `execution`; `None` if it has none.
pub(crate) fn tool_without_execution(tool: &[u8]) -> Option<String> {
    let members = members(tool);
    let kept: Vec<String> =
        members.iter().copied().filter(|(key, _)| !is_key(key, "execution")).map(text_of).collect();
    (kept.len() < members.len()).then(|| format!("{{{}}}", kept.join(",")))
}
