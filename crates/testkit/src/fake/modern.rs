//! The modern era (MCP 2026-07-28): checks of a request's `_meta`, `server/discover`, `subscriptions/listen`, and tools
//! for what only this era has.

use super::offer::Offer;
use super::options::{Era, Options};
use super::server::{Heard, Server};
use super::{stdio, tasks};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const VERSION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/// Methods that this era has removed.
const REMOVED: [&str; 6] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/result",
];
/// Tools of a server that speaks this era.
pub(super) const TOOLS: [&str; 8] =
    ["params", "input", "report", "cancellations", "change", "unlisten", "task", "finish_task"];
/// The end of every `requestState`, as JSON spells it: escapes that a parser would not write again.
const ODD: &str = r#"\u0065\/\ud83d\ude00 \"=?base64?YQ==?=\u00E9"#;

/// State of the modern era.
#[derive(Default)]
pub(super) struct ModernState {
    /// Whether the last request was modern.
    is_spoken: bool,
    listens: Vec<Listen>,
    /// Calls of `hang`: the id as spelled by the client, and the label.
    hanging: Vec<(String, Value)>,
    cancelled: Vec<Value>,
    pub(super) tasks: tasks::Tasks,
}

/// A request of `subscriptions/listen` that is not answered yet.
struct Listen {
    /// The id as spelled by the client.
    id: String,
    wants: Value,
}

/// The era of a request, or the error that answers it.
enum Speech {
    Legacy,
    Modern,
    Refused(Value),
}

impl Speech {
    fn of(era: Era, method: &str, params: &Value) -> Self {
        let version = &params["_meta"][VERSION_KEY];
        let is_modern = match era {
            Era::Legacy => false,
            Era::Dual => method == "server/discover" || !version.is_null(),
            Era::Modern => true,
        };
        if !is_modern {
            return match method {
                "server/discover" => Self::Refused(not_found()),
                _ => Self::Legacy,
            };
        }
        if method == "initialize" {
            return Self::Refused(not_found());
        }
        let Some(version) = version.as_str() else { return Self::Refused(missing(VERSION_KEY)) };
        if !params["_meta"][CAPABILITIES_KEY].is_object() {
            return Self::Refused(missing(CAPABILITIES_KEY));
        }
        if version != VERSION {
            let data = json!({ "supported": [VERSION], "requested": version });
            return Self::Refused(
                json!({ "code": -32022, "message": "Unsupported protocol version", "data": data }),
            );
        }
        if REMOVED.contains(&method) { Self::Refused(not_found()) } else { Self::Modern }
    }
}

pub(super) fn not_found() -> Value {
    json!({ "code": -32601, "message": "Method not found" })
}

fn missing(key: &str) -> Value {
    json!({ "code": -32602, "message": format!("Missing or invalid _meta key: {key}") })
}

/// The error for a client that has not declared these capabilities.
pub(super) fn undeclared(required: Value) -> Value {
    let data = json!({ "requiredCapabilities": required });
    json!({ "code": -32021, "message": "Missing required client capability", "data": data })
}

/// The capabilities that a request declares.
pub(super) fn declared(params: &Value) -> &Value {
    &params["_meta"][CAPABILITIES_KEY]
}

impl ModernState {
    pub(super) fn is_spoken(&self) -> bool {
        self.is_spoken
    }

    pub(super) fn hang(&mut self, id: &str, label: &Value) {
        self.hanging.push((id.to_owned(), label.clone()));
    }

    /// Stores a cancellation, and ends the listen with this id.
    pub(super) fn cancel(&mut self, params: &Value) {
        let id = &params["requestId"];
        let is_it = |spelled: &str| serde_json::from_str::<Value>(spelled).is_ok_and(|known| known == *id);
        let label = self.hanging.iter().find(|(known, _)| is_it(known)).map(|(_, label)| label.clone());
        let is_listen = self.listens.iter().any(|listen| is_it(&listen.id));
        self.listens.retain(|listen| !is_it(&listen.id));
        self.cancelled.push(json!({
            "requestId": id, "label": label, "listen": is_listen, "reason": params.get("reason"),
        }));
    }

    /// Sends a notification to each listen for which `is_for` holds, tagged with the listen's id.
    pub(super) fn tell(&self, method: &str, params: &Value, is_for: impl Fn(&Value) -> bool) {
        for listen in self.listens.iter().filter(|listen| is_for(&listen.wants)) {
            notify(method, &tagged(&listen.id, params));
        }
    }
}

/// Parameters with a listen's id in their `_meta`, in the spelling of the client.
fn tagged(id: &str, params: &Value) -> String {
    let members = params.as_object().into_iter().flatten();
    let members: String = members.map(|(name, value)| format!(",{}:{value}", json!(name))).collect();
    format!(r#"{{"_meta":{{"{SUBSCRIPTION_KEY}":{id}}}{members}}}"#)
}

pub(super) fn notify(method: &str, params: &str) {
    stdio::write(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n").as_bytes());
}

/// Cache hints of a list, as members behind others.
pub(super) fn hints(options: &Options) -> Value {
    json!({
        "resultType": "complete",
        "ttlMs": options.ttl.unwrap_or(60_000),
        "cacheScope": options.cache_scope.as_deref().unwrap_or("private"),
    })
}

/// Notes the era of a request, and answers it if it is refused or only this era has its method.
pub(super) fn took(server: &mut Server, method: &str, id: &str, heard: &Heard<'_>) -> bool {
    match Speech::of(server.options.era, method, &heard.params) {
        Speech::Refused(error) => {
            server.refuse(id, &error);
            return true;
        }
        Speech::Legacy => {
            server.modern.is_spoken = false;
            return false;
        }
        Speech::Modern => server.modern.is_spoken = true,
    }
    match method {
        "server/discover" => server.discover(id),
        "subscriptions/listen" => listen(server, id, heard),
        "tasks/get" | "tasks/update" | "tasks/cancel" => tasks::request(server, method, id, heard),
        "prompts/get" if heard.params["name"] == "input" => input(server, id, heard),
        "resources/read" if heard.params["uri"].as_str().is_some_and(|uri| uri.ends_with("/input")) => {
            input(server, id, heard);
        }
        "tools/call" => return call(server, id, heard),
        _ => return false,
    }
    true
}

fn call(server: &mut Server, id: &str, heard: &Heard<'_>) -> bool {
    let arguments = &heard.params["arguments"];
    match heard.params["name"].as_str().unwrap_or_default() {
        // The bytes of `params`, as text.
        "params" => server.answer_text(id, heard.raw_params),
        // Asks for input (a form, or the roots as `kind` says), `rounds` times, and then answers with what it got.
        "input" => input(server, id, heard),
        // `steps` progress notifications if there is a token, a log message of each level from the requested one on,
        // and then an answer.
        "report" => report(server, id, heard),
        // All cancellations so far.
        "cancellations" => server.answer(id, &json!({ "content": [], "cancelled": server.modern.cancelled })),
        // Says that the `list` has changed, or the resource at `uri`, to all that listen for it; or, if `unasked`, to all
        // that listen for anything.
        "change" => {
            change(server, arguments);
            server.answer(id, &json!({ "content": [], "listens": server.modern.listens.len() }));
        }
        // Ends all listens: with a result; or as `how` says by a notification, `cancelled`.
        "unlisten" => unlisten(server, id, arguments),
        "task" => tasks::start(server, id, heard),
        "finish_task" => tasks::finish(server, id),
        _ => return false,
    }
    true
}

fn listen(server: &mut Server, id: &str, heard: &Heard<'_>) {
    let mut wants = heard.params["notifications"].clone();
    let offer = server.options.offer.as_deref().map(Offer::read);
    let uris = wants.get_mut("resourceSubscriptions").and_then(Value::as_array_mut);
    if let (Some(offer), Some(uris)) = (offer, uris) {
        uris.retain(|uri| !offer.is_untold(uri));
    }
    if wants.get("taskIds").is_some() && !tasks::are_declared(&heard.params) {
        return server.refuse(id, &undeclared(tasks::required()));
    }
    notify("notifications/subscriptions/acknowledged", &tagged(id, &json!({ "notifications": wants })));
    server.modern.listens.push(Listen { id: id.to_owned(), wants });
}

fn unlisten(server: &mut Server, id: &str, arguments: &Value) {
    let listens = std::mem::take(&mut server.modern.listens);
    for listen in &listens {
        match arguments["how"].as_str() {
            Some("cancelled") => {
                let params = format!(r#"{{"requestId":{},"reason":"ended"}}"#, listen.id);
                notify("notifications/cancelled", &params);
            }
            _ => server.say_result(&listen.id, &tagged(&listen.id, &json!({ "resultType": "complete" }))),
        }
    }
    server.answer(id, &json!({ "content": [], "ended": listens.len() }));
}

fn change(server: &Server, arguments: &Value) {
    let is_unasked = arguments["unasked"] == true;
    if let Some(list) = arguments["list"].as_str() {
        let wanted = format!("{list}ListChanged");
        let method = format!("notifications/{list}/list_changed");
        server.modern.tell(&method, &json!({}), |wants| is_unasked || wants[&wanted] == true);
    }
    let uri = &arguments["uri"];
    if uri.is_string() {
        let is_wanted =
            |wants: &Value| wants["resourceSubscriptions"].as_array().is_some_and(|uris| uris.contains(uri));
        let is_for = |wants: &Value| is_unasked || is_wanted(wants);
        server.modern.tell("notifications/resources/updated", &json!({ "uri": uri }), is_for);
    }
}

/// Without a `requestState` the first round; otherwise the one after it.
fn input(server: &Server, id: &str, heard: &Heard<'_>) {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(heard.raw_params).unwrap_or_default();
    let state = parts.get("requestState").map_or("", |raw| raw.get());
    let rounds = heard.params["arguments"]["rounds"].as_u64().unwrap_or(1);
    let expected = |round: u64| format!(r#""round-{round} {ODD}""#);
    let decoded = |raw: &str| serde_json::from_str::<String>(raw).unwrap_or_default();
    let round = match state {
        "" => 0,
        _ => match (1..=rounds).find(|round| decoded(&expected(*round)) == decoded(state)) {
            Some(round) if parts.contains_key("inputResponses") => round,
            _ => {
                let error =
                    json!({ "code": -32602, "message": "not a retry", "data": { "requestState": state } });
                return server.refuse(id, &error);
            }
        },
    };
    if round == rounds {
        let got = json!({ "requestState": state, "inputResponses": heard.params["inputResponses"] });
        let content = json!([{ "type": "text", "text": got.to_string() }]);
        return server.answer(id, &json!({ "content": content, "structuredContent": got }));
    }
    let (capability, request) = match heard.params["arguments"]["kind"].as_str() {
        Some("roots") => ("roots", json!({ "method": "roots/list" })),
        _ => ("elicitation", json!({ "method": "elicitation/create", "params": who_is_it() })),
    };
    if declared(&heard.params).get(capability).is_none() {
        return server.refuse(id, &undeclared(json!({ capability: {} })));
    }
    let requests = json!({ "who": request });
    let next = expected(round + 1);
    server.say_result(
        id,
        &format!(r#"{{"resultType":"input_required","inputRequests":{requests},"requestState":{next}}}"#),
    );
}

/// A form with one field.
fn who_is_it() -> Value {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    json!({ "mode": "form", "message": "Who is it?", "requestedSchema": schema })
}

fn report(server: &Server, id: &str, heard: &Heard<'_>) {
    let meta = &heard.params["_meta"];
    if meta.get("progressToken").is_some() {
        for step in 1..=heard.params["arguments"]["steps"].as_u64().unwrap_or(1) {
            let token = &heard.token;
            notify("notifications/progress", &format!(r#"{{"progressToken":{token},"progress":{step}}}"#));
        }
    }
    let lowest = LEVELS.iter().position(|level| meta[LOG_LEVEL_KEY] == *level);
    for level in LEVELS.iter().skip(lowest.unwrap_or(LEVELS.len())) {
        notify(
            "notifications/message",
            &json!({ "level": level, "data": format!("at {level}") }).to_string(),
        );
    }
    server.answer_text(id, "reported");
}
