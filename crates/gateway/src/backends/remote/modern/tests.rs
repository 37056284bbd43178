//! A connection between a scripted modern server and a recorder in place of the core.
//!
//! - `headers`: headers of requests, and calls refused for them.
//! - `streams`: event streams, and both ways to end them.
//! - `refusals`: answers with an error status, and the era that they prove.

mod headers;
mod streams;
mod refusals;

use super::super::core_side::CoreSide;
use super::super::{Clients, Remote, Target, deliver_all};
use crate::config::{RemoteConfig, ServerConfig, Transport, Variables};
use crate::environments::Vars;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::{BackendId, Event, Launch};
use switchboard_protocol::{Frame, Outgoing, Parsed, parse};
use switchboard_testkit::monitor::Monitor;
use switchboard_testkit::web::{Seen, Web, Wire};
use tokio::sync::mpsc;

const META: &str = "io.modelcontextprotocol/protocolVersion";
const LIMIT_BYTES: usize = 64 << 10;

/// All that the core heard.
#[derive(Default)]
struct Heard {
    messages: Vec<Value>,
    /// Other events.
    events: Vec<String>,
    log: Vec<String>,
    flushed: usize,
    /// Result of the delivery, once it has ended.
    end: Option<Result<(), String>>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Monitor<Heard>>);

impl CoreSide for Recorder {
    fn handle(&self, event: Event) {
        self.0.update(|heard| match event {
            Event::FromBackend { message, .. } | Event::LogOfRequest { message, .. } => {
                heard.messages.push(serde_json::from_slice(message.bytes()).unwrap());
            }
            other => heard.events.push(format!("{other:?}")),
        });
    }

    fn show(&self, _: &Frame) {}

    fn flushed(&self, bytes: usize) {
        self.0.update(|heard| heard.flushed += bytes);
    }

    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }

    fn log(&self, line: String) {
        self.0.update(|heard| heard.log.push(line));
    }
}

/// A connection, until dropped.
struct Line {
    heard: Recorder,
    sender: Option<mpsc::UnboundedSender<Outgoing>>,
    sent: usize,
    /// Dropped last: its end is the end of the runtime.
    thread: Option<std::thread::JoinHandle<()>>,
    over: Arc<tokio::sync::Notify>,
}

impl Line {
    fn new(web: &Web, transport: Transport) -> Self {
        let headers = Variables(vec![("Authorization".to_owned(), "Bearer s3cret-of-mine".to_owned())]);
        let remote = RemoteConfig { url: web.url("/mcp"), headers, transport };
        let server =
            ServerConfig { remote: Some(remote), ..ServerConfig::for_command("far", "", Vec::new()) };
        let target = Target::prepare(&server, None, &Vars::new(Default::default()));
        let target = target.unwrap_or_else(|unready| panic!("{}", unready.reason));
        let client = Clients::default().of(&target).unwrap();
        let heard = Recorder::default();
        let launch = Launch { backend: BackendId(1), number: 1 };
        let core = Box::new(heard.clone());
        let names = ("far".to_owned(), None);
        let remote = Arc::new(Remote::new(core, launch, names, (target, client), LIMIT_BYTES));
        #[expect(clippy::disallowed_methods, reason = "as in `run`")]
        let (sender, messages) = mpsc::unbounded_channel();
        let over = Arc::new(tokio::sync::Notify::new());
        let (core, stop) = (heard.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let end = deliver_all(&remote, messages).await;
                let end = end.map_err(|fault| fault.words(&remote.target).text);
                core.0.update(|heard| heard.end = Some(end));
                // The tasks of the connection outlive its mailbox.
                stop.notified().await;
            });
        });
        Self { heard, sender: Some(sender), sent: 0, thread: Some(thread), over }
    }

    /// A connection that has just sent its first request, under the id 1.
    fn open(web: &Web) -> Self {
        let mut line = Self::new(web, Transport::Auto);
        line.send(&request(1, "server/discover", json!({})));
        line
    }

    /// A connection to a server that answered the first request.
    #[track_caller]
    fn discovered(web: &Web) -> Self {
        let line = Self::open(web);
        assert_eq!(line.answer(1)["result"]["supportedVersions"], json!(["2026-07-28"]));
        line
    }

    fn send(&mut self, message: &Value) {
        let Ok(Parsed::One(message)) = parse(message.to_string().into()) else { panic!("{message}") };
        let out = Outgoing::of(&message);
        self.sent += out.len();
        self.sender.as_ref().unwrap().send(out).unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.send(&request(id, "tools/call", json!({ "name": tool, "arguments": arguments })));
    }

    fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    }

    /// Waits for something that the core hears.
    #[track_caller]
    fn wait<R>(&self, pick: impl FnMut(&mut Heard) -> Option<R>) -> R {
        let deadline = Instant::now() + Duration::from_secs(30);
        match self.heard.0.wait_for(Some(deadline), pick) {
            Some(found) => found,
            None => panic!("not heard; {:?}", self.heard.0.lock().messages),
        }
    }

    /// The only answer with this id.
    #[track_caller]
    fn answer(&self, id: u64) -> Value {
        self.wait(|heard| {
            let found: Vec<_> = heard.messages.iter().filter(|it| it["id"] == id).cloned().collect();
            assert!(found.len() <= 1, "{found:?}");
            found.into_iter().next()
        })
    }

    #[track_caller]
    fn notification(&self, method: &str) -> Value {
        self.wait(|heard| heard.messages.iter().find(|it| it["method"] == method).cloned())
    }

    /// Waits until the byte credit of every message has been returned, and no more.
    #[track_caller]
    fn settle(&self) {
        self.wait(|heard| (heard.flushed >= self.sent).then_some(()));
        assert_eq!(self.heard.0.lock().flushed, self.sent);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.sender.take();
        self.over.notify_one();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the connection's thread has panicked");
        }
    }
}

fn request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] =
        json!({ META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": id });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn note(text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": text } })
}

/// A modern server whose other requests are answered by `odd`.
fn web(odd: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Web {
    Web::start(move |seen, wire| match seen.what() {
        "server/discover" => {
            let result =
                json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {} });
            wire.answer(seen, &result);
        }
        _ => odd(seen, wire),
    })
}

/// A modern server that answers everything alike.
fn plain() -> Web {
    web(|seen, wire| wire.answer(seen, &json!({ "resultType": "complete" })))
}
