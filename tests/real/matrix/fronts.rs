//! How a client gets to us, or to a server without us: the same three ways.

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

/// Messages to and fro.
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

/// The same client by one of our fronts; and us, if that is another program than the client's own.
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

/// What is heard by whichever way.
struct LearntDialect {
    tell: SyncSender<Value>,
    heard: Receiver<Value>,
}

impl LearntDialect {
    fn new() -> Self {
        let (tell, heard) = mpsc::sync_channel(1024);
        Self { tell, heard }
    }

    fn next(&self) -> Value {
        self.heard.recv_timeout(patience::LIMIT).unwrap_or_else(|_| panic!("nothing more was heard"))
    }

    /// Listens beside the rest, to the end of what is said.
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

/// Streamable HTTP: a POST for each message, and a stream for what the server says by itself.
struct Streamable {
    web: Web,
    path: &'static str,
    ear: LearntDialect,
}

impl Streamable {
    fn new(web: Web, path: &'static str) -> Self {
        Self { web, path, ear: LearntDialect::new() }
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
            self.ear.listen(reply);
            self.web = self.web.with("Mcp-Session-Id", &session.expect("a session begins"));
        } else {
            let (ear, tell) = (LearntDialect::new(), self.ear.tell.clone());
            thread::spawn(move || {
                let reply = ask.send();
                LearntDialect { tell, ..ear }.listen(reply);
            });
        }
        if message["method"] == "notifications/initialized" {
            self.ear.listen(self.web.get(self.path).send());
        }
    }

    fn recv(&mut self) -> Value {
        self.ear.next()
    }
}

impl Drop for Streamable {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.web.delete(self.path).send();
        }
    }
}

/// HTTP+SSE: one stream for all that is heard, and a path for all that is said.
struct Sse {
    web: Web,
    to: String,
    ear: LearntDialect,
}

impl Sse {
    #[track_caller]
    fn open(web: Web, path: &str) -> Self {
        let mut stream = web.get(path).send();
        let to = stream.event().expect("where to talk to").data;
        let ear = LearntDialect::new();
        ear.listen(stream);
        Self { web, to, ear }
    }
}

impl Line for Sse {
    fn send(&mut self, message: &Value) {
        assert_eq!(self.web.post(&self.to, message.to_string()).send().status, 202, "{message}");
    }

    fn recv(&mut self) -> Value {
        self.ear.next()
    }
}
