//! Fronts: the transports of a client to us, or to a server without us.

use super::backends::Backend;
use crate::daemon::house::House;
use crate::http::served::Served;
use crate::real::elsewhere::Elsewhere;
use crate::support::program;
use serde_json::{Value, json};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use switchboard_testkit::client::Client;
use switchboard_testkit::http::{Reply, Web};
use switchboard_testkit::patience;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Stdio,
    Streamable,
    Sse,
}

pub(super) const FRONTS: [Front; 3] = [Front::Stdio, Front::Streamable, Front::Sse];

/// A connection for messages in both directions.
pub(super) trait Line {
    fn send(&mut self, message: &Value);

    fn recv(&mut self) -> Value;
}

/// A client of a server, without us.
pub(super) fn direct(backend: &Backend) -> Box<dyn Line> {
    match backend {
        Backend::Here(server) => Box::new(Backend::command(server).start()),
        Backend::Streamable(elsewhere) => Box::new(Streamable::new(web(elsewhere), "/mcp")),
        Backend::Sse(elsewhere) => Box::new(Sse::open(web(elsewhere), "/sse")),
    }
}

fn web(elsewhere: &Elsewhere) -> Web {
    let url = elsewhere.url();
    let address = url.trim_start_matches("http://").split('/').next().and_then(|it| it.parse().ok());
    Web::at(address.unwrap_or_else(|| panic!("{url} is no address")))
}

/// The same client through one of our fronts; also the gateway, if it is a separate program.
pub(super) fn through(front: Front, backend: &Backend) -> (Box<dyn Line>, Option<Served>) {
    let config = json!({ "mcpServers": { "it": backend.entry() } });
    if front == Front::Stdio {
        let start = program();
        let path = start.scratch().file("config.json", config.to_string());
        let client = start.args(["stdio", "--server", "it", "--config"]).arg(path).start();
        return (Box::new(client), None);
    }
    let served = Served::start(House::with(config, json!({}), &[]), &[]);
    let line: Box<dyn Line> = match front {
        Front::Streamable => Box::new(Streamable::new(served.web.clone(), "/servers/it/mcp")),
        Front::Stdio | Front::Sse => Box::new(Sse::open(served.web.clone(), "/servers/it/sse")),
    };
    (line, Some(served))
}

impl Line for Client {
    fn send(&mut self, message: &Value) {
        Client::send(self, message.to_string());
    }

    fn recv(&mut self) -> Value {
        let frame = self.recv_text();
        serde_json::from_str(&frame).unwrap_or_else(|_| panic!("not JSON: {frame}"))
    }
}

/// Messages from all streams of a connection.
struct Inbox {
    tell: SyncSender<Value>,
    heard: Receiver<Value>,
}

impl Inbox {
    fn new() -> Self {
        let (tell, heard) = mpsc::sync_channel(1024);
        Self { tell, heard }
    }

    fn next(&self) -> Value {
        self.heard.recv_timeout(patience::LIMIT).unwrap_or_else(|_| panic!("nothing more was heard"))
    }

    /// Reads the reply to its end, on its own thread.
    fn listen(&self, mut reply: Reply) {
        let tell = self.tell.clone();
        thread::spawn(move || {
            if !reply.is_stream() {
                let _ = tell.send(reply.json());
                return;
            }
            while let Some(message) = reply.message() {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
    }
}

/// Streamable HTTP: a POST for each message, and a stream for other messages of the server.
struct Streamable {
    web: Web,
    path: &'static str,
    inbox: Inbox,
}

impl Streamable {
    fn new(web: Web, path: &'static str) -> Self {
        Self { web, path, inbox: Inbox::new() }
    }
}

impl Line for Streamable {
    fn send(&mut self, message: &Value) {
        let ask = self.web.post(self.path, message.to_string());
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        if !is_request {
            assert_eq!(ask.send().status, 202, "{message}");
        } else if message["method"] == "initialize" {
            let reply = ask.send();
            let session = reply.header("mcp-session-id").map(str::to_owned);
            self.inbox.listen(reply);
            self.web = self.web.with("Mcp-Session-Id", &session.expect("a session begins"));
        } else {
            let (inbox, tell) = (Inbox::new(), self.inbox.tell.clone());
            thread::spawn(move || {
                let reply = ask.send();
                Inbox { tell, ..inbox }.listen(reply);
            });
        }
        if message["method"] == "notifications/initialized" {
            self.inbox.listen(self.web.get(self.path).send());
        }
    }

    fn recv(&mut self) -> Value {
        self.inbox.next()
    }
}

impl Drop for Streamable {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.web.delete(self.path).send();
        }
    }
}

/// HTTP+SSE: one stream for everything received, and a path for everything sent.
struct Sse {
    web: Web,
    to: String,
    inbox: Inbox,
}

impl Sse {
    #[track_caller]
    fn open(web: Web, path: &str) -> Self {
        let mut stream = web.get(path).send();
        let to = stream.event().expect("where to talk to").data;
        let inbox = Inbox::new();
        inbox.listen(stream);
        Self { web, to, inbox }
    }
}

impl Line for Sse {
    fn send(&mut self, message: &Value) {
        assert_eq!(self.web.post(&self.to, message.to_string()).send().status, 202, "{message}");
    }

    fn recv(&mut self) -> Value {
        self.inbox.next()
    }
}
