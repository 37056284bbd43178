//! Features of the server beyond its simple tools, as `tests/real/drivers/features.json` describes them, and the client's
//! messages for them.

use super::server::{Peer, is_of_legacy_client, text};
use super::{complete, made, shown};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

pub(super) static FEATURES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../tests/real/drivers/features.json")).expect("it is JSON")
});

/// The tools. For a legacy client, structured content is always an object.
pub(super) fn tools(is_legacy: bool) -> Vec<Value> {
    let names = ["rich", "sequence", "sample", "where", "login", "seen", "bump"];
    let tools = names.into_iter().map(|name| {
        let mut tool = FEATURES["tools"][name].clone();
        tool["name"] = json!(name);
        tool["inputSchema"] = json!({ "type": "object" });
        match name {
            "sequence" => {
                let schema = FEATURES["sequence"]["schema"].clone();
                let properties = json!({ "result": schema });
                let wrapped = json!({ "type": "object", "properties": properties, "required": ["result"] });
                tool["outputSchema"] = if is_legacy { wrapped } else { schema };
            }
            "bump" => {
                let properties = json!({ "to": { "type": "integer" } });
                tool["inputSchema"] =
                    json!({ "type": "object", "properties": properties, "required": ["to"] });
            }
            _ => {}
        }
        tool
    });
    tools.collect()
}

pub(super) fn resources() -> [Value; 2] {
    let (uri, kind) = (&FEATURES["blob"]["uri"], &FEATURES["blob"]["mimeType"]);
    let meta = json!({ "example.com/resource": 1 });
    [
        json!({ "uri": uri, "name": "dot", "description": "A dot.", "mimeType": kind, "_meta": meta }),
        json!({ "uri": FEATURES["counter"], "name": "clicks", "description": "Counts.", "mimeType": "text/plain" }),
    ]
}

/// Contents of one of these resources.
pub(super) fn read(peer: &Peer, uri: &str) -> Option<Value> {
    let blob = &FEATURES["blob"];
    if blob["uri"] == uri {
        return Some(json!({ "uri": uri, "mimeType": blob["mimeType"], "blob": blob["base64"] }));
    }
    let clicks = peer.clicks.load(Ordering::SeqCst).to_string();
    (FEATURES["counter"] == uri).then(|| json!({ "uri": uri, "mimeType": "text/plain", "text": clicks }))
}

/// Answer of one of these tools.
pub(super) async fn call(
    peer: &Peer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResponse> {
    let result = match request.name.as_ref() {
        "rich" => FEATURES["rich"].clone(),
        "sequence" => sequence(context),
        "sample" => return Some(sample(request, context).await),
        "where" => return Some(ask_roots(request, context).await),
        "login" => return Some(login(request, context).await),
        "seen" => seen(context),
        "bump" => {
            let to = shown(&request.arguments)["to"].as_i64().unwrap_or_default();
            peer.bump(to, context).await;
            text("bumped")
        }
        _ => return None,
    };
    Some(CallToolResponse::Complete(complete(result)))
}

/// Structured content of the legacy era is an object.
fn sequence(context: &RequestContext<RoleServer>) -> Value {
    let value = &FEATURES["sequence"]["value"];
    let mut result = text(&value.to_string());
    result["structuredContent"] =
        if is_of_legacy_client(context) { json!({ "result": value }) } else { value.clone() };
    result
}

fn said(words: &str) -> CallToolResponse {
    CallToolResponse::Complete(complete(text(words)))
}

fn ask(method: &str, params: Option<Value>, state: &str) -> CallToolResponse {
    let mut request = json!({ "method": method });
    if let Some(params) = params {
        request["params"] = params;
    }
    CallToolResponse::InputRequired(made(json!({
        "resultType": "input_required", "inputRequests": { "asked": request }, "requestState": state,
    })))
}

/// The answer in a modern client's `inputResponses`.
fn brought(request: &CallToolRequestParams) -> Option<Value> {
    request.input_responses.as_ref().map(|responses| shown(responses)["asked"].clone())
}

fn second_sample() -> Value {
    let mut params = FEATURES["sample"].clone();
    let messages = params["messages"].as_array_mut().expect("it is a list");
    messages.push(json!({ "role": "assistant", "content": [FEATURES["use"]] }));
    messages.push(json!({ "role": "user", "content": [FEATURES["used"]] }));
    params
}

fn use_of(answer: &Value) -> String {
    let content = &answer["content"];
    // This SDK writes a list of one as its only item.
    let used = if content.is_array() { &content[0] } else { content };
    let [kind, name, city] = [&used["type"], &used["name"], &used["input"]["city"]].map(word);
    format!("{kind} {name} {city}")
}

fn text_of(answer: &Value) -> &str {
    word(&answer["content"]["text"])
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn roots_of(answer: &Value) -> String {
    let roots = answer["roots"].as_array().into_iter().flatten();
    let named: Vec<String> =
        roots.map(|root| format!("{} {}", word(&root["uri"]), word(&root["name"]))).collect();
    named.join(",")
}

async fn sample(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> CallToolResponse {
    if is_of_legacy_client(context) {
        let mut answers = Vec::new();
        for params in [FEATURES["sample"].clone(), second_sample()] {
            match context.peer.create_message(made(params)).await {
                Ok(answer) => answers.push(shown(&answer)),
                Err(error) => return said(&error.to_string()),
            }
        }
        return said(&format!("{}, then {}", use_of(&answers[0]), text_of(&answers[1])));
    }
    match brought(request) {
        None => ask("sampling/createMessage", Some(FEATURES["sample"].clone()), "first"),
        Some(answer) if answer["stopReason"] == "toolUse" => {
            ask("sampling/createMessage", Some(second_sample()), &use_of(&answer))
        }
        Some(answer) => {
            let state = request.request_state.as_deref().unwrap_or_default();
            said(&format!("{state}, then {}", text_of(&answer)))
        }
    }
}

async fn ask_roots(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    if is_of_legacy_client(context) {
        return match context.peer.list_roots().await {
            Ok(answer) => said(&roots_of(&shown(&answer))),
            Err(error) => said(&error.to_string()),
        };
    }
    match brought(request) {
        None => ask("roots/list", None, "asked"),
        Some(answer) => said(&roots_of(&answer)),
    }
}

async fn login(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> CallToolResponse {
    let mut params = FEATURES["login"].clone();
    // This SDK requires the `elicitationId`, which the modern era does not have.
    params["elicitationId"] = json!("login-1");
    if is_of_legacy_client(context) {
        return match context.peer.create_elicitation(made(params)).await {
            Ok(answer) => said(shown(&answer)["action"].as_str().unwrap_or_default()),
            Err(error) => said(&error.to_string()),
        };
    }
    match brought(request) {
        None => ask("elicitation/create", Some(params), "asked"),
        Some(answer) => said(answer["action"].as_str().unwrap_or_default()),
    }
}

fn seen(context: &RequestContext<RoleServer>) -> Value {
    let mut meta = shown(&context.meta);
    if let Some(members) = meta.as_object_mut() {
        members.retain(|key, _| !key.starts_with("io.modelcontextprotocol/") && key != "progressToken");
    }
    let declared = context.meta.client_capabilities().map(|capabilities| shown(&capabilities));
    let greeted = || context.peer.peer_info().map(|info| shown(&info.capabilities));
    let spoken = context.protocol_version();
    text(&json!({ "meta": meta, "capabilities": declared.or_else(greeted), "spoken": spoken }).to_string())
}
