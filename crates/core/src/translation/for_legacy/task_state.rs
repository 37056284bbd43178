//! States of tasks in both eras: reads those of modern servers and converts them to 2025-11-25. Must not know who requested
//! them.

use super::json;
use crate::messages::own_message;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;
use switchboard_protocol::modern::SERVER_INFO;
use switchboard_protocol::touch::RELATED_TASK;
use switchboard_protocol::{Kind, Message, Outgoing, Part, Patch, prune};

/// Default poll interval of a task, and the limits on a server's `pollIntervalMs`.
pub(super) const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Statuses of tasks, which have the same names in both eras.
const OPEN: [&str; 2] = ["working", "input_required"];
const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

/// Members with another name in 2025-11-25, or without a counterpart. All others stay as they are.
const MEMBERS: [(&str, Option<&str>); 9] = [
    ("ttlMs", Some("ttl")),
    ("pollIntervalMs", Some("pollInterval")),
    ("resultType", None),
    ("cacheScope", None),
    ("requestState", None),
    ("inputRequests", None),
    ("result", None),
    ("error", None),
    // Part of the result, not of the task in it.
    ("_meta", None),
];

/// The members of a task's state that the translator needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskState<'a> {
    #[serde(borrow)]
    pub(super) task_id: &'a RawValue,
    pub(super) status: String,
    pub(super) status_message: Option<String>,
    #[serde(borrow)]
    poll_interval_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> TaskState<'a> {
    pub(super) fn of(message: &'a Message) -> Option<Self> {
        json::read(message, Part::Result)
    }

    pub(super) fn interval(&self) -> Duration {
        // JSON has no integers, and some languages write all numbers with a fraction.
        let millis = self.poll_interval_ms.and_then(|interval| interval.get().parse::<f64>().ok());
        let interval = millis.map_or(DEFAULT_INTERVAL, |millis| Duration::from_millis(millis as u64));
        interval.clamp(MIN_INTERVAL, MAX_INTERVAL)
    }

    pub(super) fn is_final(&self) -> bool {
        FINAL.contains(&self.status.as_str())
    }
}

/// The answer to a call that the server continues as a task.
pub(super) fn created(message: Message, id: &str) -> Option<Message> {
    let (members, meta) = in_legacy_words(message)?;
    let meta = meta.map(|meta| format!(r#","_meta":{meta}"#)).unwrap_or_default();
    json::result(id, &format!(r#"{{"task":{{{members}}}{meta}}}"#))
}

/// The answer to a request for the state of a task.
pub(super) fn told(message: Message, id: &str) -> Option<Message> {
    let (members, meta) = in_legacy_words(message)?;
    let meta = meta.map(|meta| format!(r#","_meta":{meta}"#)).unwrap_or_default();
    json::result(id, &format!("{{{members}{meta}}}"))
}

/// The members of the task in a result, and the `_meta` of the result. `None` if it holds no task.
fn in_legacy_words(message: Message) -> Option<(String, Option<String>)> {
    let path = ["result", "_meta", SERVER_INFO];
    let message = json::without(message, &[&path], (Part::ResultMeta, &["result", "_meta"]));
    let state = TaskState::of(&message)?;
    if !state.is_final() && !OPEN.contains(&state.status.as_str()) {
        return None;
    }
    let is_error = state.status == "completed" && state.result.is_some_and(is_error);
    let members: json::Members<'_> = json::read(&message, Part::Result)?;
    let mut own: Vec<String> = Vec::new();
    for (name, value) in &members {
        let renamed = MEMBERS.iter().find(|(modern, _)| modern == name).map(|(_, legacy)| *legacy);
        let Some(name) = renamed.unwrap_or(Some(name)) else { continue };
        let value = match name {
            // A failed tool completes its task in the modern era, and fails it in the legacy era.
            "status" if is_error => r#""failed""#,
            _ => value.get(),
        };
        own.push(json::member(name, value));
    }
    // Legacy clients require `ttl`.
    if !members.contains_key("ttlMs") {
        own.push(json::member("ttl", "null"));
    }
    if is_error && state.status_message.is_none() {
        own.push(json::member("statusMessage", r#""the tool reports an error""#));
    }
    Some((own.join(","), members.get("_meta").map(|meta| meta.get().to_owned())))
}

/// Whether the result of a tool has `isError`.
pub(super) fn is_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Called {
        is_error: bool,
    }
    serde_json::from_str::<Called>(result.get()).is_ok_and(|called| called.is_error)
}

/// Adds the id of the related task (JSON) to a request or result. `None` if its parameters or result are no object.
pub(super) fn related(message: Message, task: &str) -> Option<Message> {
    let (object, meta, name) = match message.kind() {
        Kind::Response { .. } => (Part::Result, Part::ResultMeta, "result"),
        Kind::Request | Kind::Notification => (Part::Params, Part::Meta, "params"),
    };
    let own: prune::Path<'_> = &[name, "_meta", RELATED_TASK];
    let message = prune::without(&message, &[own]).unwrap_or(message);
    let is_object = |part: Part| message.part(part).is_some_and(|it| it.first() == Some(&b'{'));
    if !is_object(object) {
        return None;
    }
    let member = format!(r#""{RELATED_TASK}":{{"taskId":{task}}}"#);
    let mut out = Outgoing::of(&message);
    if is_object(meta) {
        json::insert(&message, meta, member.as_bytes(), &mut out);
    } else if message.has(meta) {
        out.replace(message.span(meta), Patch::Text(format!("{{{member}}}").into()));
    } else {
        json::insert(&message, object, format!(r#""_meta":{{{member}}}"#).as_bytes(), &mut out);
    }
    own_message(out.to_vec().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        own_message(text.to_owned().into()).expect("a message")
    }

    fn answer(result: &str) -> Message {
        message(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
    }

    #[track_caller]
    fn check(modern: &str, legacy: Option<&str>) {
        let told = told(answer(modern), "7").map(|it| String::from_utf8(it.bytes().to_vec()).unwrap());
        let expect = legacy.map(|legacy| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{legacy}}}"#));
        assert_eq!(told, expect, "{modern}");
    }

    #[test]
    fn members_get_their_legacy_names() {
        check(
            r#"{"resultType":"complete","taskId":"\u0074","status":"working","statusMessage":"é","createdAt":"c","lastUpdatedAt":"u","ttlMs":6e1,"pollIntervalMs":5,"x":1.50}"#,
            Some(
                r#"{"createdAt":"c","lastUpdatedAt":"u","pollInterval":5,"status":"working","statusMessage":"é","taskId":"\u0074","ttl":6e1,"x":1.50}"#,
            ),
        );
        check(
            r#"{"taskId":"t","status":"input_required","ttlMs":null,"inputRequests":{"a":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}}"#,
            Some(r#"{"status":"input_required","taskId":"t","ttl":null,"_meta":{"k":1}}"#),
        );
        check(
            r#"{"taskId":"t","status":"failed","error":{"code":1,"message":""}}"#,
            Some(r#"{"status":"failed","taskId":"t","ttl":null}"#),
        );
    }

    #[test]
    fn tool_errors_fail_their_tasks() {
        for (result, status, why) in [
            (r#"{"content":[]}"#, "completed", ""),
            (r#"{"isError":false}"#, "completed", ""),
            (r#"{"isError":true}"#, "failed", r#","statusMessage":"the tool reports an error""#),
        ] {
            check(
                &format!(r#"{{"taskId":"t","status":"completed","ttlMs":1,"result":{result}}}"#),
                Some(&format!(r#"{{"status":"{status}","taskId":"t","ttl":1{why}}}"#)),
            );
        }
    }

    #[test]
    fn interval_is_any_number() {
        for (interval, millis) in [
            ("5000", 5_000),
            ("5000.0", 5_000),
            ("5e3", 5_000),
            ("0.5", 100),
            ("-1", 100),
            ("1e999", 60_000),
            ("123456789012345678901234567890", 60_000),
            ("null", 1_000),
            ("\"soon\"", 1_000),
        ] {
            let task = answer(&format!(r#"{{"taskId":"t","status":"working","pollIntervalMs":{interval}}}"#));
            let state = TaskState::of(&task).expect(interval);
            assert_eq!(state.interval(), Duration::from_millis(millis), "{interval}");
        }
    }

    #[test]
    fn other_results_are_no_tasks() {
        for result in ["5", "{}", r#"{"taskId":"t"}"#, r#"{"taskId":"t","status":"asleep"}"#] {
            check(result, None);
        }
    }

    #[test]
    fn created_task_is_a_member() {
        let modern = r#"{"resultType":"task","taskId":"t","status":"working","_meta":{"k":1}}"#;
        let expect = r#"{"jsonrpc":"2.0","id":7,"result":{"task":{"status":"working","taskId":"t","ttl":null},"_meta":{"k":1}}}"#;
        assert_eq!(created(answer(modern), "7").unwrap().bytes(), expect);
    }

    #[test]
    fn messages_name_their_task() {
        let named = format!(r#""{RELATED_TASK}":{{"taskId":"t"}}"#);
        for (before, after) in [
            ("{}", format!(r#"{{"_meta":{{{named}}}}}"#)),
            (r#"{"content":[]}"#, format!(r#"{{"_meta":{{{named}}},"content":[]}}"#)),
            (r#"{"_meta":{"k":1}}"#, format!(r#"{{"_meta":{{{named},"k":1}}}}"#)),
            (r#"{"_meta":null}"#, format!(r#"{{"_meta":{{{named}}}}}"#)),
            (
                r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"of another"}}}"#,
                format!(r#"{{"_meta":{{{named}}}}}"#),
            ),
        ] {
            let bytes = related(answer(before), r#""t""#).unwrap();
            assert_eq!(bytes.part(Part::Result), Some(after.as_bytes()), "{before}");
            let question =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{before}}}"#);
            let bytes = related(message(&question), r#""t""#).unwrap();
            assert_eq!(bytes.part(Part::Params), Some(after.as_bytes()), "{before}");
        }
        assert!(related(answer("5"), r#""t""#).is_none());
    }
}
