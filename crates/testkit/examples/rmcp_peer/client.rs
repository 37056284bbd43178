//! The client role.

use super::features::FEATURES;
use super::{made, shown};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorData, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, RequestMetaObject,
    ResourceUpdatedNotificationParam, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// A conversation, in the JSON that `modern_client.mjs` describes.
pub(super) struct Job(Value);

impl Job {
    pub(super) fn read(line: &str) -> Self {
        Self(made(serde_json::from_str(line).expect("it is JSON")))
    }

    fn is_legacy(&self) -> bool {
        self.0["era"] == "legacy"
    }

    /// The server has no sessions: no questions, notifications or cancellations.
    fn is_stateless(&self) -> bool {
        self.0["stateless"] == true
    }

    /// The server does not announce changed tools.
    fn is_silent(&self) -> bool {
        self.0["silent"] == true
    }

    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// A URL, or a command line.
    fn target(&self) -> Vec<&str> {
        self.0["target"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The process of a server over stdio.
    fn command(&self) -> tokio::process::Command {
        let words = self.target();
        let mut command = tokio::process::Command::new(words[0]);
        let variables = self.0["env"].as_object().into_iter().flatten();
        command.args(&words[1..]).envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))));
        if let Some(cwd) = self.0["cwd"].as_str() {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

/// Accepts every request, and stores notifications.
struct Person {
    is_legacy: bool,
    notices: mpsc::Sender<(&'static str, Value)>,
    progressed: Arc<Notify>,
    changed: Arc<Notify>,
    updated: mpsc::Sender<Value>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        made(json!({
            "protocolVersion": if self.is_legacy { "2025-11-25" } else { "2026-07-28" },
            "capabilities": {
                "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} },
                "roots": { "listChanged": true }, "extensions": FEATURES["extensions"],
            },
            "clientInfo": { "name": "rmcp", "version": "1" },
        }))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut params = shown(&params);
        if params["mode"] != "url" {
            print("asked", &params);
            return Ok(made(json!({ "action": "accept", "content": { "sure": true } })));
        }
        // Legacy servers choose a new id each time.
        if params.get("elicitationId").is_some() {
            params["elicitationId"] = json!("string");
        }
        print("asked to open", &params);
        Ok(made(json!({ "action": "accept" })))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        print("asked for sampling", &params);
        Ok(made(FEATURES["sampled"][usize::from(params.messages.len() > 1)].clone()))
    }

    // Other parties may request roots too, so the count varies.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(made(json!({ "roots": FEATURES["roots"] })))
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.updated.try_send(shown(&params));
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let mut params = shown(&params);
        // This SDK counts tokens; the tests count calls.
        params["progressToken"] = Value::Null;
        let _ = self.notices.try_send(("progress", params));
        self.progressed.notify_one();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
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
    /// The process of a server over stdio.
    server: Option<tokio::process::Child>,
    /// The server has announced a changed list of tools.
    changed: Arc<Notify>,
    job: Job,
}

impl Talk {
    fn params(&self, tool: &str, arguments: Value) -> CallToolRequestParams {
        let mut params = CallToolRequestParams::new(self.named(tool)).with_arguments(made(arguments));
        let mut meta = RequestMetaObject::new();
        if !self.job.is_legacy() {
            meta.set_log_level(made(json!("warning")));
        }
        params.meta = Some(meta);
        params
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        shown(&self.client.call_tool(self.params(tool, arguments)).await.expect("the call is answered"))
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.job.text("prefix"))
    }
}

/// Notifications of the server.
struct Heard {
    /// Progress and log messages.
    notices: mpsc::Receiver<(&'static str, Value)>,
    progressed: Arc<Notify>,
    updated: mpsc::Receiver<Value>,
}

async fn connect(job: Job) -> (Talk, Heard) {
    let (notices, heard) = mpsc::channel(1000);
    let (updated, updates) = mpsc::channel(10);
    let progressed = Arc::new(Notify::new());
    let changed = Arc::new(Notify::new());
    let is_legacy = job.is_legacy();
    let person =
        Person { is_legacy, notices, progressed: progressed.clone(), changed: changed.clone(), updated };
    // No fallback to the other era.
    let lifecycle = match is_legacy {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    };
    let target = job.target()[0].to_owned();
    let mut server = None;
    let client = if target.starts_with("http:") {
        let token = job.text("token").to_owned();
        let config = StreamableHttpClientTransportConfig::with_uri(target).auth_header(token);
        person.serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await
    } else {
        #[expect(clippy::disallowed_methods, reason = "the server ends with this client's pipes")]
        let mut child = job.command().spawn().expect("the server can be started");
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes");
        };
        server = Some(child);
        person.serve_with_lifecycle((stdout, stdin), lifecycle).await
    };
    let client = client.expect("the server is modern");
    let talk = Talk { client, server, changed, job };
    (talk, Heard { notices: heard, progressed, updated: updates })
}

pub(super) async fn talk(job: Job) {
    let (talk, mut heard) = connect(job).await;
    let client = &talk.client;
    if talk.job.is_legacy() {
        print("server", &client.peer_info().as_deref());
        // The legacy server of the Python SDK ignores log levels.
        let _ = client.set_level(made(json!({ "level": "warning" }))).await;
    } else {
        print("discover", &client.discover(RequestMetaObject::new()).await.expect("it is discovered"));
    }
    print("tools", &client.list_tools(None).await.expect("tools are listed"));
    print("add", &talk.call("add", json!({ "a": 2, "b": 3 })).await);

    print("work", &talk.call("work", json!({ "steps": 3 })).await);
    let mut steps = Vec::new();
    let mut logs = Vec::new();
    while steps.len() < 3 || logs.len() < 3 {
        match heard.notices.recv().await.expect("the client is there") {
            ("progress", step) => steps.push(step),
            (_, log) => logs.push(log),
        }
    }
    print("progress", &steps);
    print("logs", &logs);

    if !talk.job.is_stateless() {
        print("confirm", &talk.call("confirm", json!({ "what": "„delete“ 😀" })).await);
    }
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

    hold_features(&talk).await;
    if !talk.job.is_stateless() {
        watch(&talk, &mut heard.updated).await;
        cancel(&talk, &heard.progressed).await;
        listen(&talk).await;
        print("restored", &talk.call("change", json!({ "shown": false })).await);
    }
    talk.client.cancel().await.expect("the conversation ends");
    if let Some(mut server) = talk.server {
        server.wait().await.expect("the server ends");
    }
    print("closed", &true);
}

async fn hold_features(talk: &Talk) {
    print("rich", &talk.call("rich", json!({})).await);
    attempt("sequence", talk.client.call_tool(talk.params("sequence", json!({}))).await);
    let mut params = talk.params("seen", json!({}));
    let sent = FEATURES["sent"].as_object().expect("it is an object").clone();
    params.meta.get_or_insert_default().0.0.extend(sent);
    let seen = shown(&talk.client.call_tool(params).await.expect("the call is answered"));
    let seen = seen["content"][0]["text"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut seen = seen.expect("it is JSON");
    print("spoken", &seen.as_object_mut().and_then(|it| it.remove("spoken")));
    print("seen", &seen);
    if !talk.job.is_stateless() {
        for tool in ["sample", "where", "login"] {
            attempt(tool, talk.client.call_tool(talk.params(tool, json!({}))).await);
        }
    }
    let read = talk.client.read_resource(made(json!({ "uri": FEATURES["blob"]["uri"] }))).await;
    print("read blob", &read.expect("it can be read"));
}

/// Subscribes to a resource and triggers an update.
async fn watch(talk: &Talk, updated: &mut mpsc::Receiver<Value>) {
    let uri = json!({ "uri": FEATURES["counter"] });
    let filter: SubscriptionFilter = made(json!({ "resourceSubscriptions": [FEATURES["counter"]] }));
    let mut listening = match talk.job.is_legacy() {
        true => None,
        false => Some(talk.client.listen(filter).await.expect("it is acknowledged")),
    };
    match &listening {
        Some(listening) => print("watches", listening.acknowledged()),
        None => talk.client.subscribe(made(uri.clone())).await.expect("it is subscribed"),
    }
    // A subscription through us may be acknowledged before its server knows of it.
    let told = loop {
        talk.call("bump", json!({ "to": 7 })).await;
        let news = async {
            match &mut listening {
                Some(listening) => {
                    let told = listening.next().await.expect("the listen is open").expect("it tells");
                    shown(&told)["params"].clone()
                }
                None => updated.recv().await.expect("the client is there"),
            }
        };
        if let Ok(told) = tokio::time::timeout(std::time::Duration::from_millis(200), news).await {
            break told;
        }
    };
    print("updated", &told["uri"]);
    let read = talk.client.read_resource(made(uri.clone())).await;
    print("read counter", &read.expect("it can be read"));
    match listening {
        Some(mut listening) => listening.cancel().await.expect("the listen ends"),
        None => talk.client.unsubscribe(made(uri)).await.expect("it was subscribed"),
    }
    talk.call("bump", json!({ "to": 0 })).await;
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
    // The server announces no changes.
    if talk.job.is_silent() {
        return;
    }
    if talk.job.is_legacy() {
        talk.call("change", json!({ "shown": true })).await;
        talk.changed.notified().await;
        print("told", &true);
        return print_tools(talk).await;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut listening = talk.client.listen(filter).await.expect("it is acknowledged");
    print("listens", listening.acknowledged());
    talk.call("change", json!({ "shown": true })).await;
    let told = listening.next().await.expect("the listen is open").map(|told| shown(&told)["method"].clone());
    print("told", &told);
    print_tools(talk).await;
    listening.cancel().await.expect("the listen ends");
}

async fn print_tools(talk: &Talk) {
    let tools = talk.client.list_tools(None).await.expect("tools are listed").tools;
    let mut names: Vec<String> = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
    names.sort();
    print("changed", &names);
}
