//! Claude Code 2.1.325 with a server of both eras, as recorded: in the modern era, and in the legacy one if
//! `clientEra` says so, over stdio and HTTP. It finds the same tools, and the server the same user and roots.

use crate::aggregate::servers::Servers;
use crate::http::served::{FAKE, Served};
use crate::support::{Mode, text};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use switchboard_testkit::client::Client;
use switchboard_testkit::http::{Ask, Modern, Reply, Web};
use switchboard_testkit::patience;

const INFO: &str = r#"{"name":"claude-code","title":"Claude Code","version":"2.1.325","description":"Anthropic's agentic coding tool","websiteUrl":"https://claude.com/claude-code"}"#;
const CAPABILITIES: &str = r#"{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}"#;
const FORM: &str = r#"{"action":"accept","content":{"name":"Ann"}}"#;
const ROOTS: &str = r#"{"roots":[{"uri":"file:///home/ann/shop"}]}"#;

/// What became of a conversation.
#[derive(Debug, PartialEq)]
struct Seen {
    tools: Value,
    form: Value,
    roots: Value,
}

fn meta() -> String {
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{INFO},"io.modelcontextprotocol/clientCapabilities":{CAPABILITIES}"#
    )
}

/// A route to the server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Stdio(Mode),
    /// All servers as one, over stdio.
    All(Mode),
    /// The path, and the prefix of tools there.
    Http(&'static str, &'static str),
}

impl Way {
    const ALL: [Self; 6] = [
        Self::Stdio(Mode::Solo),
        Self::Stdio(Mode::Daemon),
        Self::All(Mode::Solo),
        Self::All(Mode::Daemon),
        Self::Http(FAKE, ""),
        Self::Http("/mcp", "fake__"),
    ];

    fn start(self, client_era: &str) -> Line {
        // `auto`, as in a file that says nothing.
        let file = json!({ "clientEra": client_era });
        match self {
            Self::Stdio(mode) => {
                let start = mode.configured(file, json!({}), &["--era", "dual"]);
                Line::Pipe { client: Box::new(start.start()), _servers: None }
            }
            Self::All(mode) => {
                let servers = Servers::none().with("clientEra", json!(client_era));
                let servers = servers.and("fake", json!({}), &["--era", "dual"]);
                let start = match mode {
                    Mode::Solo => servers.start(),
                    Mode::Daemon => servers.shared(),
                };
                Line::Pipe { client: Box::new(start.start()), _servers: Some(servers) }
            }
            Self::Http(path, _) => {
                let served = Served::with(file, json!({}), &["--era", "dual"]);
                let (sender, told) = sync_channel(1024);
                let web = served.web.clone();
                let (_served, aside) = (Box::new(served), Vec::new());
                Line::Web(Page { web, path, told, aside, sender, _served })
            }
        }
    }

    fn tool(self, name: &str) -> String {
        match self {
            Self::Stdio(_) => name.to_owned(),
            Self::All(_) => format!("fake__{name}"),
            Self::Http(_, prefix) => format!("{prefix}{name}"),
        }
    }
}

/// A connection, and what came on it.
enum Line {
    Pipe {
        client: Box<Client>,
        // Drop order: processes end before the servers check for leftovers.
        _servers: Option<Servers>,
    },
    Web(Page),
}

struct Page {
    /// With the headers of the session, once there is one.
    web: Web,
    path: &'static str,
    /// Messages of all responses and streams, in the order in which they came.
    told: Receiver<Value>,
    aside: Vec<Value>,
    sender: SyncSender<Value>,
    _served: Box<Served>,
}

impl Line {
    #[track_caller]
    fn send(&mut self, text: impl Into<String>) {
        let text = text.into();
        match self {
            Self::Pipe { client, .. } => client.send(text),
            Self::Web(page) => page.send(&text),
        }
    }

    /// Opens the stream of a session.
    fn listen(&self) {
        if let Self::Web(page) = self {
            page.read(page.web.get(page.path));
        }
    }

    #[track_caller]
    fn recv_where(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        match self {
            Self::Pipe { client, .. } => client.recv_where(what, is_it),
            Self::Web(page) => page.recv_where(what, is_it),
        }
    }

    #[track_caller]
    fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        self.recv_where(&format!("the answer to {id}"), is_it)
    }
}

impl Page {
    #[track_caller]
    fn send(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap();
        let ask = match message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion") {
            Some(_) => Modern::at(&self.web, self.path).say_text(text, &message),
            None => self.web.post(self.path, text),
        };
        match (message["method"].as_str(), message.get("id")) {
            (Some("initialize"), _) => {
                let mut reply = ask.send();
                let web = self.web.with("MCP-Protocol-Version", "2025-11-25");
                self.web = web.with("Mcp-Session-Id", reply.header("mcp-session-id").unwrap());
                forward(&mut reply, &self.sender);
            }
            (Some(_), Some(_)) => self.read(ask),
            _ => assert_eq!(ask.send().status, 202, "{text}"),
        }
    }

    /// Reads a response on a thread, which ends with it.
    fn read(&self, ask: Ask) {
        let sender = self.sender.clone();
        thread::spawn(move || forward(&mut ask.send(), &sender));
    }

    #[track_caller]
    fn recv_where(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&is_it) {
            return self.aside.remove(at);
        }
        loop {
            let Ok(message) = self.told.recv_timeout(patience::LIMIT) else {
                panic!("this did not come: {what}, but {:?}", self.aside);
            };
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }
}

/// Passes on all messages of a response.
fn forward(reply: &mut Reply, sender: &SyncSender<Value>) {
    if !reply.is_stream() {
        let _ = sender.send(reply.json());
        return;
    }
    while let Some(message) = reply.message() {
        let _ = sender.send(message);
    }
}

/// The probe, with a string as its id.
fn probe(client: &mut Line) -> Value {
    client.send(format!(
        r#"{{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{{"_meta":{{{}}}}}}}"#,
        meta()
    ));
    client.answer("server-discover-probe-1")
}

fn tools(answer: &Value) -> Value {
    assert!(answer["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{answer}");
    answer["result"]["tools"].clone()
}

/// A call, which is sent again with what the user says.
fn modern_call(client: &mut Line, way: Way, id: u64, (kind, said): (&str, &str)) -> Value {
    let name = way.tool("input");
    let call = |id: u64, more: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"{name}","arguments":{{"kind":"{kind}"}},"_meta":{{{},"claudecode/toolUseId":"toolu_1","progressToken":{id}}}{more}}},"jsonrpc":"2.0","id":{id}}}"#,
            meta()
        )
    };
    client.send(call(id, ""));
    let asked = client.answer(id);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = &asked["result"]["requestState"];
    client.send(call(id + 1, &format!(r#","inputResponses":{{"who":{said}}},"requestState":{state}"#)));
    client.answer(id + 1)["result"]["structuredContent"]["inputResponses"]["who"].take()
}

fn modern(way: Way) -> Seen {
    let mut client = way.start("auto");
    let found = probe(&mut client);
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    // It listens before it asks for anything, and discovers again.
    client.send(format!(
        r#"{{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen","params":{{"_meta":{{{}}},"notifications":{{"toolsListChanged":true}}}}}}"#,
        meta()
    ));
    let told = client
        .recv_where("the subscription", |it| it["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen:0");
    for (id, method) in ["server/discover", "tools/list"].iter().enumerate() {
        let params = format!(r#"{{"_meta":{{{}}}}}"#, meta());
        client.send(format!(r#"{{"method":"{method}","jsonrpc":"2.0","id":{id},"params":{params}}}"#));
    }
    assert_eq!(client.answer(0)["result"], found["result"]);
    let tools = tools(&client.answer(1));
    let form = modern_call(&mut client, way, 2, ("form", FORM));
    let roots = modern_call(&mut client, way, 4, ("roots", ROOTS));
    Seen { tools, form, roots }
}

/// A call during which the server asks its client.
fn legacy_call(client: &mut Line, way: Way, id: u64, (method, said): (&str, &str)) -> Value {
    let name = way.tool("ask");
    let params = match method {
        "elicitation/create" => {
            r#","params":{"message":"Who is it?","requestedSchema":{"type":"object","properties":{}}}"#
        }
        _ => "",
    };
    let request = format!(r#"{{"jsonrpc":"2.0","id":77,"method":"{method}"{params}}}"#);
    let arguments = json!({ "id": "77", "request": request });
    client.send(format!(
        r#"{{"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},"_meta":{{"claudecode/toolUseId":"toolu_1","progressToken":{id}}}}},"jsonrpc":"2.0","id":{id}}}"#
    ));
    let asked = client.recv_where(method, |it| it["method"] == method);
    client.send(format!(r#"{{"result":{said},"jsonrpc":"2.0","id":{}}}"#, asked["id"]));
    let answer: Value = serde_json::from_str(text(&client.answer(id))).unwrap();
    answer["result"].clone()
}

fn legacy(way: Way) -> Seen {
    let mut client = way.start("legacy");
    let declined = probe(&mut client);
    let code = match way {
        Way::Stdio(_) | Way::All(_) => -32601,
        Way::Http(..) => -32600,
    };
    assert_eq!(declined["error"]["code"], code, "{declined}");
    client.send(format!(
        r#"{{"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{CAPABILITIES},"clientInfo":{INFO}}},"jsonrpc":"2.0","id":0}}"#
    ));
    client.answer(0);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.listen();
    client.send(r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#);
    let tools = tools(&client.answer(1));
    let form = legacy_call(&mut client, way, 2, ("elicitation/create", FORM));
    let roots = legacy_call(&mut client, way, 3, ("roots/list", ROOTS));
    Seen { tools, form, roots }
}

#[test]
fn both_eras_look_the_same_to_claude_code() {
    for way in Way::ALL {
        let after = modern(way);
        assert_eq!(legacy(way), after, "{way:?}");
        assert_eq!((after.form, after.roots), (json_of(FORM), json_of(ROOTS)));
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
