//! rmcp, the official Rust SDK, as a peer of the modern era that shares no code with us. A test compares what it says and
//! hears directly and through us (`tests/modern/real`).
//!
//! - `rmcp_peer serve (stdio | PORT)`: offers the same as `tests/real/drivers/modern_server.{py,mjs}`.
//! - `rmcp_peer talk URL`, `rmcp_peer talk COMMAND ARGS…`: holds the conversation of
//!   `tests/real/drivers/modern_client.{py,mjs}`, and prints one line of JSON a step.
#![expect(deprecated, reason = "log messages are to be removed, and are still in use")]
#![expect(clippy::print_stdout, reason = "the steps are the output of this program")]

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, ClientConfig, ClientRequest,
    CompleteRequestParams, CompleteResult, ElicitRequestParams, ElicitResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    RequestMetaObject, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError,
    SubscriptionContext,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, RoleServer, ServerHandler, ServiceExt,
};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{Notify, broadcast, mpsc};

/// A value of one of rmcp's types, most of which have no public constructor.
fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is written as the specification has it")
}

/// A result: the other SDKs refuse one without a type.
fn complete<T: serde::de::DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = json!("complete");
    made(value)
}

fn shown(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("it came as JSON")
}

// ---- the server

/// State of the process: each request over HTTP has a copy of its own.
#[derive(Clone)]
struct Peer {
    cancelled: Arc<AtomicBool>,
    has_extra: Arc<AtomicBool>,
    changes: broadcast::Sender<()>,
    /// Listens that were accepted, and those that have begun: the SDK acknowledges one in between.
    accepted: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
}

impl Peer {
    fn tools(&self) -> Vec<Value> {
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
        if self.has_extra.load(Ordering::SeqCst) {
            tools.push(tool("extra", "Is not always there.", json!({})));
        }
        tools
    }

    async fn work(&self, steps: u64, context: &RequestContext<RoleServer>) {
        for step in 1..=steps {
            progress(context, step, steps, &format!("step {step}")).await;
            if context.meta.log_level().is_some() {
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

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn confirm(request: &CallToolRequestParams, what: &str) -> CallToolResponse {
    let Some(responses) = &request.input_responses else {
        let schema = json!({ "type": "object", "properties": { "sure": { "type": "boolean" } }, "required": ["sure"] });
        let params =
            json!({ "mode": "form", "message": format!("Really {what}?"), "requestedSchema": schema });
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
    fn get_info(&self) -> ServerConfig {
        made(json!({
            "protocolVersion": "2026-07-28",
            "capabilities": {
                "tools": { "listChanged": true }, "logging": {}, "resources": {}, "prompts": {}, "completions": {},
            },
            "serverInfo": { "name": "peer", "version": "1" },
            "instructions": "Be kind.",
        }))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(complete(json!({ "tools": self.tools() })))
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
            "confirm" => return Ok(confirm(&request, arguments["what"].as_str().unwrap_or_default())),
            "wait" => {
                progress(&context, 1, 2, "waiting").await;
                context.ct.cancelled().await;
                self.cancelled.store(true, Ordering::SeqCst);
                text("waited")
            }
            "was_cancelled" => text(if self.cancelled.swap(false, Ordering::SeqCst) { "yes" } else { "no" }),
            "change" => {
                self.has_extra.store(arguments["shown"] == true, Ordering::SeqCst);
                while self.begun.load(Ordering::SeqCst) < self.accepted.load(Ordering::SeqCst) {
                    tokio::task::yield_now().await;
                }
                let _ = self.changes.send(());
                text("changed")
            }
            "extra" => text("extra"),
            other => return Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
        };
        Ok(CallToolResponse::Complete(complete(result)))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let app = json!({ "uri": "config://app", "name": "app", "mimeType": "application/json" });
        Ok(complete(json!({ "resources": [app] })))
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
                    if change.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

async fn serve(way: &str) {
    let peer = Peer {
        cancelled: Arc::default(),
        has_extra: Arc::default(),
        changes: broadcast::channel(16).0,
        accepted: Arc::default(),
        begun: Arc::default(),
    };
    if way == "stdio" {
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

// ---- the client

/// Accepts every request, and stores notifications.
struct Person {
    notices: mpsc::Sender<(&'static str, Value)>,
    progressed: Arc<Notify>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        made(json!({
            "protocolVersion": "2026-07-28",
            "capabilities": { "elicitation": { "form": {} } },
            "clientInfo": { "name": "rmcp", "version": "1" },
        }))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        print("asked", &params);
        Ok(made(json!({ "action": "accept", "content": { "sure": true } })))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let mut params = shown(&params);
        // This SDK counts tokens; the tests count calls.
        params["progressToken"] = Value::Null;
        let _ = self.notices.try_send(("progress", params));
        self.progressed.notify_one();
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.notices.try_send(("log", shown(&params)));
    }
}

fn print(step: &str, value: &impl serde::Serialize) {
    println!("{}", json!({ "step": step, "value": shown(value) }));
}

fn attempt<T: serde::Serialize>(step: &str, result: Result<T, ServiceError>) {
    match result {
        Ok(value) => print(step, &value),
        Err(error) => print(step, &json!({ "failed": error.to_string() })),
    }
}

struct Talk {
    client: RunningService<RoleClient, Person>,
    prefix: String,
}

impl Talk {
    fn params(&self, tool: &str, arguments: Value) -> CallToolRequestParams {
        let mut params =
            CallToolRequestParams::new(format!("{}{tool}", self.prefix)).with_arguments(made(arguments));
        let mut meta = RequestMetaObject::new();
        meta.set_log_level(made(json!("warning")));
        params.meta = Some(meta);
        params
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        shown(&self.client.call_tool(self.params(tool, arguments)).await.expect("the call is answered"))
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

async fn connect(words: &[String]) -> (Talk, mpsc::Receiver<(&'static str, Value)>, Arc<Notify>) {
    let (notices, heard) = mpsc::channel(1000);
    let progressed = Arc::new(Notify::new());
    let person = Person { notices, progressed: progressed.clone() };
    // No fallback to a handshake.
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = if words[0].starts_with("http:") {
        let token = std::env::var("TOKEN").unwrap_or_else(|_| "none".to_owned());
        let config = StreamableHttpClientTransportConfig::with_uri(words[0].clone()).auth_header(token);
        person.serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await
    } else {
        let mut command = tokio::process::Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[expect(clippy::disallowed_methods, reason = "the server ends with this client's pipes")]
        let mut child = command.spawn().expect("the server can be started");
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes");
        };
        person.serve_with_lifecycle((stdout, stdin), lifecycle).await
    };
    let client = client.expect("the server is modern");
    (Talk { client, prefix: std::env::var("PREFIX").unwrap_or_default() }, heard, progressed)
}

async fn talk(words: &[String]) {
    let (talk, mut heard, progressed) = connect(words).await;
    let client = &talk.client;
    print("discover", &client.discover(RequestMetaObject::new()).await.expect("it is discovered"));
    print("tools", &client.list_tools(None).await.expect("tools are listed"));
    print("add", &talk.call("add", json!({ "a": 2, "b": 3 })).await);

    print("work", &talk.call("work", json!({ "steps": 3 })).await);
    let mut steps = Vec::new();
    let mut logs = Vec::new();
    while steps.len() < 3 || logs.len() < 3 {
        match heard.recv().await.expect("the client is there") {
            ("progress", step) => steps.push(step),
            (_, log) => logs.push(log),
        }
    }
    print("progress", &steps);
    print("logs", &logs);

    print("confirm", &talk.call("confirm", json!({ "what": "„delete“ 😀" })).await);
    attempt("unknown tool", client.call_tool(talk.params("nothing", json!({}))).await);

    print("resources", &client.list_resources(None).await.expect("resources are listed"));
    print("templates", &client.list_resource_templates(None).await.expect("templates are listed"));
    for uri in ["config://app", "greeting://W%C3%B6rld", "config://nothing"] {
        attempt(&format!("read {uri}"), client.read_resource(made(json!({ "uri": uri }))).await);
    }
    print("prompts", &client.list_prompts(None).await.expect("prompts are listed"));
    let prompt = json!({ "name": talk.named("review"), "arguments": { "language": "rust" } });
    print("prompt", &client.get_prompt(made(prompt)).await.expect("there is such a prompt"));
    let completion = client.complete_prompt_simple(talk.named("review"), "language", "py").await;
    print("completion", &completion.expect("it is completed"));

    cancel(&talk, &progressed).await;
    listen(&talk).await;
    print("restored", &talk.call("change", json!({ "shown": false })).await);
    talk.client.cancel().await.expect("the conversation ends");
    print("closed", &true);
}

async fn cancel(talk: &Talk, progressed: &Notify) {
    // Forgets the progress of earlier calls.
    while tokio::time::timeout(std::time::Duration::ZERO, progressed.notified()).await.is_ok() {}
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(talk.params("wait", json!({}))));
    let options = PeerRequestOptions::no_options();
    let call = talk.client.send_cancellable_request(request, options).await.expect("it is sent");
    progressed.notified().await;
    call.cancel(Some("enough".to_owned())).await.expect("it can be cancelled");
    while talk.call("was_cancelled", json!({})).await["content"][0]["text"] != "yes" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    print("server knows", &true);
}

async fn listen(talk: &Talk) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut listening = talk.client.listen(filter).await.expect("it is acknowledged");
    print("listens", listening.acknowledged());
    talk.call("change", json!({ "shown": true })).await;
    let told = listening.next().await.expect("the listen is open").map(|told| shown(&told)["method"].clone());
    print("told", &told);
    let tools = talk.client.list_tools(None).await.expect("tools are listed").tools;
    let mut names: Vec<String> = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
    names.sort();
    print("changed", &names);
    listening.cancel().await.expect("the listen ends");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((role, [way])) if role == "serve" => serve(way).await,
        Some((role, words)) if role == "talk" && !words.is_empty() => talk(words).await,
        _ => panic!("rmcp_peer (serve (stdio | PORT) | talk (URL | COMMAND ARGS…))"),
    }
}
