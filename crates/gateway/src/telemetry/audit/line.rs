//! A record as one line of JSON, without secrets. Must not know the file.

use super::super::log::ms;
use super::queue::{AuditEvent, Record};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::SystemTime;
use switchboard_core::Outcome;
use switchboard_core::access::{Call, CallParams};
use switchboard_core::redact::Secrets;
use switchboard_core::text::dates::Timestamp;
use switchboard_protocol::Method;

/// Bytes of arguments in a line.
const MAX_ARGUMENT_BYTES: usize = 4 << 10;
/// Bytes of a name or URI in a line.
const MAX_ITEM_BYTES: usize = 1 << 10;

/// One line. Parts that are not known are left out.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    time: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_cut: Option<bool>,
    /// Number of lines that this one stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

/// The line of a record. `None` cannot occur: only keys that are no strings fail.
pub(super) fn of(record: &Record, secrets: &Secrets) -> Option<String> {
    match record {
        Record::Call(time, call) => printed(&call_line(*time, call, secrets)),
        Record::Event(event) => printed(&event_line(event)),
    }
}

fn event_line(event: &AuditEvent) -> Line<'_> {
    Line {
        time: at(event.time),
        event: event.event,
        identity: event.identity.as_deref(),
        front: event.front,
        from: event.from.as_deref(),
        method: event.method.as_deref().map(Cow::Borrowed),
        server: event.server.as_deref(),
        result: event.result,
        lines: event.lines,
        ..Line::default()
    }
}

/// The line about lines that were lost.
pub(super) fn lost(time: SystemTime, lines: u64) -> String {
    let event = AuditEvent { lines: Some(lines), ..AuditEvent::new(time, "lost") };
    printed(&event_line(&event)).unwrap_or_default()
}

fn call_line<'a>(time: SystemTime, call: &'a Call, secrets: &Secrets) -> Line<'a> {
    let cut = |text: &str| secrets.redact_cut(text.as_bytes(), MAX_ITEM_BYTES);
    let said = |text: &String| (!text.is_empty()).then(|| cut(text));
    let (arguments, arguments_cut) =
        call.params.as_ref().map_or((None, None), |params| arguments(params, secrets));
    let is_call = [Method::ToolsCall, Method::ResourcesRead, Method::PromptsGet]
        .iter()
        .any(|method| method.name() == Some(&*call.method));
    Line {
        time: at(time),
        event: if is_call { "call" } else { "refused" },
        identity: call.identity.as_deref(),
        client: Some(call.client.0),
        client_name: call.info.as_ref().and_then(|info| said(&info.name)),
        client_version: call.info.as_ref().and_then(|info| said(&info.version)),
        front: Some(call.front.name()),
        // A name that a client made up may contain anything.
        method: Some(if is_call { Cow::Borrowed(&*call.method) } else { cut(&call.method).into() }),
        server: call.server.as_deref(),
        item: call.item.as_deref().map(cut),
        root: call.root.as_deref(),
        backend: call.launch.map(|launch| launch.to_string()),
        result: Some(result(call)),
        ms: Some(ms(call.took)),
        request_bytes: Some(call.request_bytes),
        answer_bytes: Some(call.answer_bytes),
        arguments,
        arguments_cut,
        ..Line::default()
    }
}

fn result(call: &Call) -> &'static str {
    match call.outcome {
        Outcome::Ok if call.is_tool_error => "tool_error",
        Outcome::Ok => "ok",
        Outcome::ServerError => "server_error",
        Outcome::Refused(kind) => kind.name(),
        Outcome::Cancelled => "cancelled",
    }
}

/// The arguments as JSON, or the beginning of their text if they are long.
fn arguments(params: &CallParams, secrets: &Secrets) -> (Option<Value>, Option<bool>) {
    let cut = |text: &[u8]| (Some(secrets.redact_cut(text, MAX_ARGUMENT_BYTES).into()), Some(true));
    // Of parameters that were cut before, the arguments cannot be told from the rest.
    let Some(Value::Object(mut members)) =
        serde_json::from_slice(&params.text).ok().filter(|_| !params.is_cut)
    else {
        return cut(&params.text);
    };
    let Some(mut arguments) = members.remove("arguments") else { return (None, None) };
    secrets.redact_json(&mut arguments);
    let text = arguments.to_string();
    if text.len() <= MAX_ARGUMENT_BYTES { (Some(arguments), None) } else { cut(text.as_bytes()) }
}

fn printed(line: &Line<'_>) -> Option<String> {
    serde_json::to_string(line).ok()
}

fn at(time: SystemTime) -> String {
    Timestamp(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use serde_json::json;
    use std::sync::Arc;
    use std::time::Duration;
    use switchboard_core::access::{ClientInfo, Front};
    use switchboard_core::{BackendId, ClientId, Launch};
    use switchboard_protocol::ErrorKind;

    fn call() -> Call {
        Call {
            client: ClientId(3),
            identity: Some("ci".into()),
            info: Some(Arc::new(ClientInfo { name: "claude-code".into(), version: "2.1".into() })),
            front: Front::Http,
            method: "tools/call".into(),
            server: Some("github".into()),
            item: Some("create_issue".into()),
            root: Some("/p".into()),
            launch: Some(Launch { backend: BackendId(3), number: 2 }),
            outcome: Outcome::Ok,
            is_tool_error: false,
            took: Duration::from_micros(12_345),
            request_bytes: 120,
            answer_bytes: 512,
            params: None,
        }
    }

    fn printed_call(call: Call) -> Value {
        let secrets = Secrets::NONE.with(["hunter22".to_owned()]);
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_763_236_800_123);
        let line = of(&Record::Call(time, Box::new(call)), &secrets).unwrap();
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn line_says_who_did_what() {
        let expect = json!({
            "time": "2025-11-15T20:00:00.123Z", "event": "call", "identity": "ci", "client": 3,
            "clientName": "claude-code", "clientVersion": "2.1", "front": "http", "method": "tools/call",
            "server": "github", "item": "create_issue", "root": "/p", "backend": "backend-3#2", "result": "ok",
            "ms": 12.345, "requestBytes": 120, "answerBytes": 512,
        });
        assert_eq!(printed_call(call()), expect);
    }

    /// The line of a denied question, as other parts of the core will report it.
    #[test]
    fn other_events_have_lines() {
        let event = AuditEvent {
            identity: Some("ci".into()),
            server: Some("github".into()),
            method: Some("sampling/createMessage".into()),
            result: Some("denied"),
            ..AuditEvent::new(SystemTime::UNIX_EPOCH, "ask_denied")
        };
        let line = of(&Record::Event(Box::new(event)), &Secrets::NONE).unwrap();
        let expect = json!({
            "time": "1970-01-01T00:00:00.000Z", "event": "ask_denied", "identity": "ci",
            "method": "sampling/createMessage", "server": "github", "result": "denied",
        });
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expect);
    }

    #[test]
    fn results_have_names() {
        for (outcome, is_tool_error, expect) in [
            (Outcome::Ok, true, "tool_error"),
            (Outcome::ServerError, false, "server_error"),
            (Outcome::Refused(ErrorKind::RateLimited), false, "rate_limited"),
            (Outcome::Cancelled, false, "cancelled"),
        ] {
            assert_eq!(printed_call(Call { outcome, is_tool_error, ..call() })["result"], expect);
        }
        let refused =
            Call { method: "tools/list".into(), outcome: Outcome::Refused(ErrorKind::Forbidden), ..call() };
        assert_eq!(printed_call(refused)["event"], "refused");
    }

    fn with_params(text: &str, is_cut: bool) -> Value {
        let params = CallParams { text: Bytes::copy_from_slice(text.as_bytes()), is_cut };
        printed_call(Call { params: Some(params), ..call() })
    }

    #[test]
    fn arguments_are_shown_without_secrets() {
        let line = with_params(
            r#"{"name":"x","arguments":{"path":"/x","token":"abc","n":1,"q":"is hunter22"}}"#,
            false,
        );
        let expect = json!({ "path": "/x", "token": "[redacted]", "n": 1, "q": "is [redacted]" });
        assert_eq!((&line["arguments"], &line["argumentsCut"]), (&expect, &Value::Null));
        assert_eq!(with_params(r#"{"name":"x"}"#, false)["arguments"], Value::Null);
    }

    #[test]
    fn long_arguments_are_cut() {
        let filler = "x ".repeat(MAX_ARGUMENT_BYTES);
        let long = format!(r#"{{"name":"x","arguments":{{"q":"hunter22 {filler}"}}}}"#);
        for is_cut in [false, true] {
            let line = with_params(&long, is_cut);
            let text = line["arguments"].as_str().unwrap();
            assert!(
                text.len() <= MAX_ARGUMENT_BYTES
                    && text.contains("[redacted] x x")
                    && !text.contains("hunter")
            );
            assert_eq!(line["argumentsCut"], true);
        }
    }

    #[test]
    fn names_hide_secrets() {
        let uri = "https://x/?token=abc&to=hunter22";
        let line = printed_call(Call { item: Some(uri.into()), ..call() });
        assert_eq!(line["item"], "https://x/?token=[redacted]&to=[redacted]");
    }
}
