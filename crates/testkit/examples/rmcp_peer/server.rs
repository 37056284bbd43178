//! The server role: simple tools, and those of `features`.

use super::{complete, features, made, shown};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use tokio::sync::broadcast;

/// Shared state of the process, of which each request over HTTP has a clone.
#[derive(Clone)]
pub(super) struct Peer {
    cancelled: Arc<AtomicBool>,
    has_extra: Arc<AtomicBool>,
    /// Content of the resource `counter://clicks`.
    pub(super) clicks: Arc<AtomicI64>,
    changes: broadcast::Sender<Change>,
    /// Numbers of accepted and of started subscriptions. The SDK acknowledges one in between.
    accepted: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
    /// Versions that it speaks.
    versions: &'static [ProtocolVersion],
}

/// Notifications to subscribers.
#[derive(Clone, Copy)]
enum Change {
    Tools,
    Clicks,
}

impl Peer {
    fn tools(&self, is_legacy: bool) -> Vec<Value> {
        let tool = |name: &str, text: &str, properties: Value| {
            let required: Vec<&String> = properties.as_object().into_iter().flat_map(|p| p.keys()).collect();
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            json!({ "name": name, "description": text, "inputSchema": schema })
        };
        let integer = json!({ "type": "integer" });
        let mut add = tool("add", "Adds.", json!({ "a": integer, "b": integer }));
        add["outputSchema"] =
            json!({ "type": "object", "properties": { "sum": integer }, "required": ["sum"] });
        let mut tools = vec![
            add,
            tool("work", "Reports progress and logs.", json!({ "steps": integer })),
            tool("confirm", "Asks the user.", json!({ "what": { "type": "string" } })),
            tool("wait", "Waits until it is cancelled.", json!({})),
            tool("was_cancelled", "Whether a call was cancelled since the last question.", json!({})),
            tool("change", "Shows or hides the tool `extra`.", json!({ "shown": { "type": "boolean" } })),
        ];
        tools.extend(features::tools(is_legacy));
        if self.has_extra.load(Ordering::SeqCst) {
            tools.push(tool("extra", "Is not always there.", json!({})));
        }
        tools
    }

    /// Notifies subscribers, once all accepted subscriptions have started.
    async fn announce(&self, change: Change) {
        while self.begun.load(Ordering::SeqCst) < self.accepted.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        let _ = self.changes.send(change);
    }

    pub(super) async fn bump(&self, to: i64, context: &RequestContext<RoleServer>) {
        self.clicks.store(to, Ordering::SeqCst);
        self.announce(Change::Clicks).await;
        if is_of_legacy_client(context) {
            let params = json!({ "uri": features::FEATURES["counter"] });
            let _ = context.peer.notify_resource_updated(made(params)).await;
        }
    }

    async fn work(&self, steps: u64, context: &RequestContext<RoleServer>) {
        for step in 1..=steps {
            progress(context, step, steps, &format!("step {step}")).await;
            if context.meta.log_level().is_some() || is_of_legacy_client(context) {
                let params = json!({ "level": "warning", "logger": "work", "data": format!("step {step}") });
                let _ = context.peer.notify_logging_message(made(params)).await;
            }
        }
    }
}

async fn progress(context: &RequestContext<RoleServer>, step: u64, total: u64, message: &str) {
    if let Some(token) = context.meta.get_progress_token() {
        let params = json!({ "progressToken": token, "progress": step, "total": total, "message": message });
        let _ = context.peer.notify_progress(made(params)).await;
    }
}

pub(super) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Whether a request came after a handshake.
pub(super) fn is_of_legacy_client(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_none()
}

async fn confirm(
    request: &CallToolRequestParams,
    what: &str,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let schema =
        json!({ "type": "object", "properties": { "sure": { "type": "boolean" } }, "required": ["sure"] });
    let params = json!({ "mode": "form", "message": format!("Really {what}?"), "requestedSchema": schema });
    if is_of_legacy_client(context) {
        let answer = shown(&context.peer.create_elicitation(made(params)).await.expect("an answer"));
        let action = answer["action"].as_str().unwrap_or_default();
        let words = format!("asked/{what} {action} {}", answer["content"]["sure"]);
        return CallToolResponse::Complete(complete(text(&words)));
    }
    let Some(responses) = &request.input_responses else {
        let requests = json!({ "sure": { "method": "elicitation/create", "params": params } });
        let state = format!("asked/{what}");
        return CallToolResponse::InputRequired(made(
            json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }),
        ));
    };
    let answer = &responses["sure"];
    let state = request.request_state.as_deref().unwrap_or_default();
    let words =
        format!("{state} {} {}", answer["action"].as_str().unwrap_or_default(), answer["content"]["sure"]);
    CallToolResponse::Complete(complete(text(&words)))
}

impl ServerHandler for Peer {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.versions)
    }

    fn get_info(&self) -> ServerConfig {
        made(json!({
            "protocolVersion": "2026-07-28",
            "capabilities": {
                "tools": { "listChanged": true }, "logging": {}, "resources": { "subscribe": true }, "prompts": {},
                "completions": {}, "extensions": features::FEATURES["extensions"],
            },
            "serverInfo": { "name": "peer", "version": "1" },
            "instructions": "Be kind.",
        }))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(complete(json!({ "tools": self.tools(is_of_legacy_client(&context)) })))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = shown(&request.arguments);
        let result = match request.name.as_ref() {
            "add" => {
                let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
                let mut result = text(&sum.to_string());
                result["structuredContent"] = json!({ "sum": sum });
                result
            }
            "work" => {
                self.work(arguments["steps"].as_u64().unwrap_or(0), &context).await;
                text("worked")
            }
            "confirm" => {
                let what = arguments["what"].as_str().unwrap_or_default();
                return Ok(confirm(&request, what, &context).await);
            }
            "wait" => {
                progress(&context, 1, 2, "waiting").await;
                context.ct.cancelled().await;
                self.cancelled.store(true, Ordering::SeqCst);
                text("waited")
            }
            "was_cancelled" => text(if self.cancelled.swap(false, Ordering::SeqCst) { "yes" } else { "no" }),
            "change" => {
                self.has_extra.store(arguments["shown"] == true, Ordering::SeqCst);
                self.announce(Change::Tools).await;
                if is_of_legacy_client(&context) {
                    let _ = context.peer.notify_tool_list_changed().await;
                }
                text("changed")
            }
            "extra" => text("extra"),
            other => match features::call(self, &request, &context).await {
                Some(answer) => return Ok(answer),
                None => return Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
            },
        };
        Ok(CallToolResponse::Complete(complete(result)))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let app = json!({ "uri": "config://app", "name": "app", "mimeType": "application/json" });
        let [dot, clicks] = features::resources();
        Ok(complete(json!({ "resources": [app, dot, clicks] })))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(complete(
            json!({ "resourceTemplates": [{ "uriTemplate": "greeting://{name}", "name": "greeting" }] }),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        if let Some(contents) = features::read(self, uri) {
            return Ok(ReadResourceResponse::Complete(complete(json!({ "contents": [contents] }))));
        }
        let text = match (uri, uri.strip_prefix("greeting://")) {
            ("config://app", _) => r#"{"on":true}"#.to_owned(),
            (_, Some(name)) => format!("Hello, {name}!"),
            (_, None) => return Err(ErrorData::resource_not_found(format!("Unknown resource: {uri}"), None)),
        };
        Ok(ReadResourceResponse::Complete(complete(json!({ "contents": [{ "uri": uri, "text": text }] }))))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = json!([{ "name": "language", "required": true }]);
        Ok(complete(
            json!({ "prompts": [{ "name": "review", "description": "Reviews.", "arguments": arguments }] }),
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let language = shown(&request.arguments)["language"].as_str().unwrap_or_default().to_owned();
        let content = json!({ "type": "text", "text": format!("Review this {language}") });
        Ok(GetPromptResponse::Complete(complete(
            json!({ "messages": [{ "role": "user", "content": content }] }),
        )))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = request.argument.value.as_str();
        let values: Vec<&str> =
            ["python", "pytorch", "rust"].into_iter().filter(|name| name.starts_with(begun)).collect();
        Ok(complete(json!({ "completion": { "total": values.len(), "values": values, "hasMore": false } })))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.accepted.fetch_add(1, Ordering::SeqCst);
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        self.begun.fetch_add(1, Ordering::SeqCst);
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => {
                    let sink = context.sink();
                    let uri = features::FEATURES["counter"].as_str().unwrap_or_default();
                    let wants_tools = context.accepted().tools_list_changed == Some(true);
                    let wants_clicks = context.accepted().resource_subscriptions.is_some();
                    let told = match change {
                        Err(_) => return Ok(()),
                        Ok(Change::Tools) if wants_tools => sink.notify_tool_list_changed().await,
                        Ok(Change::Clicks) if wants_clicks => sink.notify_resource_updated(uri).await,
                        Ok(_) => Ok(()),
                    };
                    if told.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Serves over `stdio` or at a port. `only`: the era, unless it is both.
pub(super) async fn serve(only: Option<&str>, way: &str) {
    let peer = Peer {
        cancelled: Arc::default(),
        has_extra: Arc::default(),
        clicks: Arc::default(),
        changes: broadcast::channel(16).0,
        accepted: Arc::default(),
        begun: Arc::default(),
        versions: match only {
            Some("modern") => &[ProtocolVersion::V_2026_07_28],
            Some(_) => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25),
            None => ProtocolVersion::KNOWN_VERSIONS,
        },
    };
    if way == "stdio" {
        // Ends with an error if it refuses the handshake, as the SDK's own examples do.
        let running = peer.serve(rmcp::transport::io::stdio()).await.expect("the client greets");
        let _ = running.waiting().await;
        return;
    }
    let service: StreamableHttpService<Peer, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let port: u16 = way.parse().expect("`stdio` or a port");
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
    #[expect(clippy::print_stderr, reason = "a test waits for this line")]
    {
        eprintln!("listening on port {port}");
    }
    axum::serve(listener, router).await.expect("it serves until it is killed");
}
