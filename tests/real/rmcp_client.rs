//! rmcp, the official Rust SDK, as a client that shares no code with us.
#![expect(
    deprecated,
    reason = "the newest era has no sampling, roots and log messages; this is an older one"
)]

use super::peers::{Link, Server};
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, Request, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::process::Stdio;
use switchboard_testkit::scratch::Scratch;
use tokio::sync::mpsc;

/// Accepts every request, and forwards notifications.
struct Person {
    notices: mpsc::Sender<String>,
}

/// A value of one of rmcp's types, which have no public constructor.
fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is written as the specification has it")
}

fn shown(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("it came as JSON")
}

impl Person {
    async fn note(&self, what: &str, value: &impl serde::Serialize) {
        // The channel is closed once the conversation is over.
        let _ = self.notices.send(format!("{what}: {}", shown(value))).await;
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        made(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} },
            "clientInfo": { "name": "rmcp", "version": "1" },
        }))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(made(json!({ "roots": [{ "uri": "file:///home/someone/project", "name": "project" }] })))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("sampling", &params).await;
        let content = json!({ "type": "text", "text": "sampled – äöü" });
        Ok(made(json!({ "role": "assistant", "model": "none", "content": content })))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("elicitation", &params).await;
        Ok(made(json!({ "action": "accept", "content": { "name": "Ada" } })))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.note("progress", &params).await;
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note("log", &params).await;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note("updated", &params).await;
    }
}

/// The conversation and its record.
struct Talk {
    peer: RunningService<RoleClient, Person>,
    notices: mpsc::Receiver<String>,
    seen: Vec<String>,
    prefix: &'static str,
}

impl Talk {
    fn note(&mut self, what: &str, value: &impl serde::Serialize) {
        self.seen.push(format!("{what}: {}", shown(value)));
    }

    /// Waits for a line that begins like this; records everything before it too.
    async fn told(&mut self, beginning: &str) {
        loop {
            let notices = self.notices.recv().await.expect("the server has not gone");
            self.seen.push(notices.clone());
            if notices.starts_with(beginning) {
                return;
            }
        }
    }

    fn named(&self, tool: &str) -> String {
        format!("{}{tool}", self.prefix)
    }

    async fn call(&mut self, tool: &'static str, arguments: Value) {
        let params = CallToolRequestParams::new(self.named(tool)).with_arguments(made(arguments));
        let answer = self.peer.call_tool(params).await.expect("the call is answered");
        self.note(tool, &answer);
    }
}

async fn converse(server: &Server, link: Link) -> Vec<String> {
    let seen = converse_with(server.command(link), server.folder(), link, "").await;
    let left = if link == Link::Through { server.processes() } else { Vec::new() };
    assert!(left.is_empty(), "still there: {left:?}");
    seen
}

/// Returns the record. Through us, checks for an orderly end.
pub(super) async fn converse_with(
    words: Vec<OsString>,
    folder: &Scratch,
    link: Link,
    prefix: &'static str,
) -> Vec<String> {
    let mut command = tokio::process::Command::new(&words[0]);
    command.args(&words[1..]).env("HOME", folder.folder("home")).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[expect(
        clippy::disallowed_methods,
        reason = "this plays an IDE, which starts us; what is left is looked for"
    )]
    let mut child = command.spawn().expect("the program can be started");
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both were asked to be pipes");
    };
    let (notices, heard) = mpsc::channel(1000);
    let peer = Person { notices }.serve((stdout, stdin)).await.expect("the server greets");
    let mut talk = Talk { peer, notices: heard, seen: Vec::new(), prefix };
    let greeting = shown(&talk.peer.peer_info());
    talk.note("greeting", &greeting);
    talk.told("log: ").await;

    let lists = (talk.peer.list_all_tools().await, talk.peer.list_all_resources().await);
    talk.note("tools", &lists.0.expect("tools are listed"));
    talk.note("resources", &lists.1.expect("resources are listed"));
    let prompts = talk.peer.list_all_prompts().await.expect("prompts are listed");
    talk.note("prompts", &prompts);
    let read = talk.peer.read_resource(made(json!({ "uri": "demo://resource/dynamic/text/7" }))).await;
    talk.note("read", &read.expect("there is such a resource"));
    let unknown = talk.peer.read_resource(made(json!({ "uri": "demo://nowhere" }))).await;
    talk.note("unknown", &unknown.map_err(|error| error.to_string()));

    talk.call("echo", json!({ "message": "„hi“ 😀" })).await;
    talk.call("get-structured-content", json!({ "location": "Chicago" })).await;
    talk.call("get-annotated-message", json!({ "messageType": "success", "includeImage": true })).await;
    talk.call("get-roots-list", json!({})).await;
    talk.call("trigger-sampling-request", json!({ "prompt": "p" })).await;
    talk.told("sampling: ").await;
    talk.call("trigger-elicitation-request", json!({})).await;
    talk.told("elicitation: ").await;

    // This SDK sends a progress token with every request; it differs from the request's id.
    let hour = json!({ "duration": 3600, "steps": 36000 });
    let params =
        CallToolRequestParams::new(talk.named("trigger-long-running-operation")).with_arguments(made(hour));
    let request = ClientRequest::CallToolRequest(Request::new(params));
    let call = talk.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    talk.told("progress: ").await;
    call.expect("it is sent").cancel(Some("enough".into())).await.expect("it can be cancelled");
    talk.call("echo", json!({ "message": "after" })).await;

    let uri = json!({ "uri": "demo://resource/dynamic/text/1" });
    talk.peer.subscribe(made(uri)).await.expect("it can be subscribed to");
    talk.call("toggle-subscriber-updates", json!({})).await;
    talk.told("updated: ").await;

    let quit = talk.peer.cancel().await.expect("the conversation ends");
    talk.seen.push(format!("{quit:?}"));
    if link == Link::Through {
        assert_eq!(child.wait().await.expect("it ends").code(), Some(0));
    }
    talk.seen
}

#[test]
fn rmcp_conversation_is_equal() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = Server::everything();
    let [direct, through] = [Link::Direct, Link::Through].map(|link| {
        let conversation = converse(&server, link);
        runtime.block_on(async {
            tokio::time::timeout(switchboard_testkit::patience::LIMIT, conversation).await.unwrap()
        })
    });
    // The progress of the cancelled operation depends on the clock.
    let lasting = |seen: Vec<String>| -> Vec<String> {
        seen.into_iter().filter(|line| !line.starts_with("progress: ")).collect()
    };
    let (direct, through) = (lasting(direct), lasting(through));
    for (direct, through) in direct.iter().zip(&through) {
        assert_eq!(through, direct, "through us (left), directly (right)");
    }
    assert_eq!(through.len(), direct.len(), "{through:#?}");
    assert!(through.iter().any(|line| line.contains("sampled – äöü")), "{through:#?}");
}
