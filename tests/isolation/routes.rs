//! Every route to a server: a window of one server, a window of all servers, and the same over HTTP. A rule that must hold
//! on all of them is tested with [`on_every_route`]:
//!
//! ```ignore
//! on_every_route(|| servers(), |site| {
//!     let mut client = site.open();
//!     client.names("tools");              // answered from the store at the second start
//!     site.open_gate();                   // from here on the server answers
//!     client.call("echo", json!({}));     // by the server's own name
//! });
//! ```
//!
//! The server under test is `s`. On routes to several servers, its tools and prompts have a prefix and its
//! URIs are wrapped: [`Route::tool`], [`Route::uri`] and [`Route::template`] return the name on a route.

use crate::aggregate::servers::Servers;
use crate::http::served::address;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, sync_channel};
use switchboard_testkit::client::{Client, VERSION, initialize_params};
use switchboard_testkit::http::{Talk, Web, Wire};
use switchboard_testkit::patience;

/// The server under test.
pub(crate) const SERVER: &str = "s";
/// The profile with that server only.
const PROFILE: &str = "only";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// `stdio --server s`, through the daemon.
    WindowOne,
    /// `stdio`, through the daemon.
    WindowAll,
    /// `stdio --solo --server s`
    SoloOne,
    /// `stdio --solo`
    SoloAll,
    /// `/servers/s/mcp`
    HttpOne,
    /// `/mcp`
    HttpAll,
    /// `/profiles/only/mcp`
    HttpProfile,
}

impl Route {
    pub(crate) const ALL: [Self; 7] = [
        Self::WindowOne,
        Self::WindowAll,
        Self::SoloOne,
        Self::SoloAll,
        Self::HttpOne,
        Self::HttpAll,
        Self::HttpProfile,
    ];

    /// Whether names are the server's own.
    pub(crate) fn is_to_one(self) -> bool {
        match self {
            Self::WindowOne | Self::SoloOne | Self::HttpOne => true,
            Self::WindowAll | Self::SoloAll | Self::HttpAll | Self::HttpProfile => false,
        }
    }

    fn path(self) -> Option<String> {
        self.path_for(PROFILE)
    }

    fn path_for(self, profile: &str) -> Option<String> {
        match self {
            Self::HttpOne => Some(format!("/servers/{SERVER}/mcp")),
            Self::HttpAll => Some("/mcp".to_owned()),
            Self::HttpProfile => Some(format!("/profiles/{profile}/mcp")),
            Self::WindowOne | Self::WindowAll | Self::SoloOne | Self::SoloAll => None,
        }
    }

    /// The route to all servers over the same kind of connection: its clients store every list.
    fn to_all(self) -> Self {
        match self {
            Self::WindowOne | Self::WindowAll => Self::WindowAll,
            Self::SoloOne | Self::SoloAll => Self::SoloAll,
            Self::HttpOne | Self::HttpAll | Self::HttpProfile => Self::HttpAll,
        }
    }

    /// Name of a tool or prompt on this route.
    pub(crate) fn tool(self, name: &str) -> String {
        if self.is_to_one() { name.to_owned() } else { format!("{SERVER}__{name}") }
    }

    /// URI of a resource on this route.
    pub(crate) fn uri(self, uri: &str) -> String {
        if self.is_to_one() { uri.to_owned() } else { wrapped(SERVER, uri) }
    }

    /// A template, or a URI expanded from one, on this route.
    pub(crate) fn template(self, template: &str) -> String {
        if self.is_to_one() { template.to_owned() } else { format!("proxy://template/{SERVER}/{template}") }
    }
}

/// Whether the server's lists are stored when a client connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    First,
    /// The server does not answer before [`Site::open_gate`]: lists come from the store.
    Second,
}

/// A token, and how a window shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShownBy<'a> {
    Variable(&'a str),
    Meta(&'a str),
}

/// The servers of one config, and the program that serves them on a route.
pub(crate) struct Site {
    pub(crate) route: Route,
    // Drop order: processes end before the servers check for leftovers.
    served: Option<(Client, Web)>,
    pub(crate) servers: Servers,
}

/// Runs a check on every route, at the first and the second start, each with its own home. Routes run in
/// parallel, since most of the time is spent waiting for daemons to end.
pub(crate) fn on_every_route(servers: impl Fn() -> Servers + Sync, check: impl Fn(&mut Site) + Sync) {
    let visit = |route: Route| {
        for visit in [Visit::First, Visit::Second] {
            // The name of the route, for a failed check.
            let name = format!("{route:?}, {visit:?} visit");
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
                check(&mut Site::new(route, visit, servers()));
            }));
            assert!(result.is_ok(), "failed on route {name}");
        }
    };
    std::thread::scope(|scope| {
        for route in Route::ALL {
            scope.spawn(move || visit(route));
        }
    });
}

/// Runs a check on every route on which clients share a server, at the first and the second start.
pub(crate) fn on_shared_routes(servers: impl Fn() -> Servers + Sync, check: impl Fn(&mut Site) + Sync) {
    on_every_route(servers, |site| {
        if !matches!(site.route, Route::SoloOne | Route::SoloAll) {
            check(site);
        }
    });
}

/// The server `s` with these keys and this offer, behind a gate, beside another server with other names.
pub(crate) fn servers(keys: Value, offer: &str) -> Servers {
    let servers = Servers::none().and_offer("other", json!({}), r#"{ "tools": [{ "name": "else" }] }"#);
    let (path, gate) = (servers.offers(SERVER, offer), servers.path(GATE));
    let options = ["--offer", &path.display().to_string(), "--gate", &gate.display().to_string()];
    servers.and(SERVER, keys, &options).with("profiles", json!({ PROFILE: [SERVER] }))
}

const GATE: &str = "gate";

impl Site {
    pub(crate) fn new(route: Route, visit: Visit, servers: Servers) -> Self {
        let mut site = Self { route, served: None, servers };
        site.open_gate();
        if visit == Visit::Second {
            site.store_lists();
            fs::remove_file(site.servers.path(GATE)).unwrap();
        }
        site.serve();
        site
    }

    /// Lets the server answer. At the first visit the gate is open from the start.
    pub(crate) fn open_gate(&self) {
        fs::write(self.servers.path(GATE), "").unwrap();
    }

    /// Lets processes stay this long after their last client.
    pub(crate) fn linger(&mut self, time: &str) {
        self.servers.set("linger", json!(time));
    }

    /// Connects a client that requests every list, and waits until everything has ended.
    fn store_lists(&mut self) {
        self.serve();
        let mut client = self.open_on(self.route.to_all(), json!({}));
        client.names("tools");
        let folder = self.servers.state("catalogue");
        patience::until_true("the lists of both servers are stored", || files_in(&folder) == 2);
        drop(client);
        self.served = None;
        patience::until_true("everything has ended", || self.servers.processes().is_empty());
    }

    fn serve(&mut self) {
        if self.route.path().is_none() {
            return;
        }
        let listen = ["serve", "--listen", "127.0.0.1:0", "--config"];
        let mut program = self.servers.program().args(listen).arg(self.servers.config()).start();
        let web = Web::at(address(&mut program));
        let token = fs::read_to_string(self.servers.state("token")).unwrap();
        self.served = Some((program, web.with("Authorization", &format!("Bearer {}", token.trim()))));
    }

    /// A client on this route, after its handshake.
    #[track_caller]
    pub(crate) fn open(&self) -> Guest {
        self.open_with(json!({}))
    }

    /// A client with these capabilities.
    #[track_caller]
    pub(crate) fn open_with(&self, capabilities: Value) -> Guest {
        self.open_on(self.route, capabilities)
    }

    /// A client with the rights of a profile. Not for HTTP paths without a profile.
    #[track_caller]
    pub(crate) fn open_profile(&self, profile: &str) -> Guest {
        self.open_by(self.route, json!({}), (Some(profile), None))
    }

    /// A client with a token, over HTTP in a header. `profile` is for HTTP paths with one.
    #[track_caller]
    pub(crate) fn open_token(&self, token: ShownBy<'_>, profile: Option<&str>) -> Guest {
        self.open_by(self.route, json!({}), (profile, Some(token)))
    }

    #[track_caller]
    fn open_on(&self, route: Route, capabilities: Value) -> Guest {
        self.open_by(route, capabilities, (None, None))
    }

    #[track_caller]
    fn open_by(
        &self,
        route: Route,
        capabilities: Value,
        (profile, token): (Option<&str>, Option<ShownBy<'_>>),
    ) -> Guest {
        let mut flags: Vec<&str> = match route {
            Route::WindowOne => vec!["--server", SERVER],
            Route::SoloOne => vec!["--solo", "--server", SERVER],
            Route::SoloAll => vec!["--solo"],
            Route::WindowAll | Route::HttpOne | Route::HttpAll | Route::HttpProfile => Vec::new(),
        };
        let (line, greeting) = match &self.served {
            Some((_, web)) => {
                let path = profile.map_or_else(|| route.path(), |profile| route.path_for(profile)).unwrap();
                let own = token.map(|(ShownBy::Variable(token) | ShownBy::Meta(token))| {
                    web.with("Authorization", &format!("Bearer {token}"))
                });
                let talk = Talk::open_as(own.as_ref().unwrap_or(web), &path, VERSION, capabilities);
                let (told, greeting) = (listen(&talk), talk.greeting.clone());
                (Line::Web { talk, told }, greeting)
            }
            None => {
                flags.extend(profile.iter().flat_map(|profile| ["--profile", profile]));
                self.window(&flags, capabilities, token)
            }
        };
        Guest { route, line, next: 1, heard: VecDeque::new(), open: Vec::new(), received: vec![greeting] }
    }

    #[track_caller]
    fn window(&self, flags: &[&str], capabilities: Value, token: Option<ShownBy<'_>>) -> (Line, Value) {
        let start = self.servers.shared().args(flags);
        let mut client = match token {
            Some(ShownBy::Variable(token)) => start.env("SWITCHBOARD_TOKEN", token).start(),
            Some(ShownBy::Meta(_)) | None => start.start(),
        };
        let params = json!({ "capabilities": capabilities });
        let mut hello = initialize_params();
        hello.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        if let Some(ShownBy::Meta(token)) = token {
            hello["_meta"] = json!({ "switchboard/authToken": token });
        }
        let answer = client.request("initialize", hello);
        assert!(answer.get("result").is_some(), "{answer}");
        client.notify("notifications/initialized", json!({}));
        (Line::Pipe(Box::new(client)), answer)
    }

    /// Number of messages to the server that contain `text`, from any client.
    pub(crate) fn told(&self, text: &str) -> usize {
        self.servers.told(SERVER, text)
    }
}

/// Reads a session's own stream on a thread that ends with it. Keep-alive comments would defeat a read
/// timeout.
fn listen(talk: &Talk) -> Receiver<Value> {
    let (sender, receiver) = sync_channel(1024);
    let mut stream = talk.listen();
    std::thread::spawn(move || {
        while let Some(message) = stream.message() {
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns `proxy://resource/` and, as base64url, the server's name, a line feed and the URI.
pub(crate) fn wrapped(server: &str, uri: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut public = String::from("proxy://resource/");
    for chunk in format!("{server}\n{uri}").as_bytes().chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        let letters = (0..=chunk.len()).map(|at| ALPHABET[(word >> (18 - 6 * at) & 63) as usize]);
        public.extend(letters.map(char::from));
    }
    public
}

fn files_in(folder: &std::path::Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.map(|path| if path.is_dir() { files_in(&path) } else { 1 }).sum()
}

/// A client on a route.
pub(crate) struct Guest {
    pub(crate) route: Route,
    line: Line,
    next: u64,
    /// Messages that came with answers over HTTP and were not read yet.
    heard: VecDeque<Value>,
    /// HTTP requests whose answers are not awaited.
    open: Vec<Wire>,
    /// Answers so far, that to the handshake first.
    received: Vec<Value>,
}

enum Line {
    Pipe(Box<Client>),
    /// Includes the messages of the session's own stream.
    Web {
        talk: Talk,
        told: Receiver<Value>,
    },
}

impl Guest {
    /// Sends a request; returns the whole answer, `result` or `error`.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.request_text(method, &params.to_string())
    }

    /// Sends a request with params in this spelling.
    #[track_caller]
    pub(crate) fn request_text(&mut self, method: &str, params: &str) -> Value {
        let answer = self.answer_to(method, params);
        self.received.push(answer.clone());
        answer
    }

    #[track_caller]
    fn answer_to(&mut self, method: &str, params: &str) -> Value {
        // Above the ids that the clients use themselves.
        let id = 1_000_000 + self.next;
        self.next += 1;
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        match &mut self.line {
            Line::Pipe(client) => {
                client.send(text);
                client.answer(id)
            }
            Line::Web { talk, .. } => {
                let mut reply = talk.say_text(&text).send();
                if !reply.is_stream() {
                    return reply.json();
                }
                loop {
                    let Some(message) = reply.message() else { panic!("no answer to {text}") };
                    if message["id"] == id && message.get("method").is_none() {
                        return message;
                    }
                    // Messages about this request come with its answer.
                    self.heard.push_back(message);
                }
            }
        }
    }

    /// Everything that it has received so far: answers, and messages that were not awaited.
    #[track_caller]
    pub(crate) fn everything(&mut self) -> Vec<Value> {
        let mut all = self.received.clone();
        match &mut self.line {
            Line::Pipe(client) => {
                // Messages that were set aside come first, then the answer.
                client.send(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
                loop {
                    let message = client.recv_json();
                    if message["id"] == "last" {
                        return all;
                    }
                    all.push(message);
                }
            }
            Line::Web { told, .. } => all.extend(self.heard.drain(..).chain(told.try_iter())),
        }
        all
    }

    /// Sends a request without waiting; returns its id.
    #[track_caller]
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = 1_000_000 + self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        match &mut self.line {
            Line::Pipe(client) => client.send(message.to_string()),
            Line::Web { talk, .. } => {
                let wire = talk.say(&message).begin();
                self.open.push(wire);
            }
        }
        id
    }

    /// Sends a request, answers the server's question about it, and returns the answer to the request.
    #[track_caller]
    pub(crate) fn request_with(&mut self, params: Value, question: &str, mut answer: Value) -> Value {
        let id = 1_000_000 + self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        answer["jsonrpc"] = json!("2.0");
        match &mut self.line {
            Line::Pipe(client) => {
                client.send(message.to_string());
                let asked = client.recv_where(question, |message| message["method"] == question);
                answer["id"] = asked["id"].clone();
                client.send(answer.to_string());
                client.answer(id)
            }
            Line::Web { talk, .. } => {
                let mut reply = talk.say(&message).send();
                loop {
                    let Some(message) = reply.message() else { panic!("no answer to {message}") };
                    if message["method"] == question {
                        answer["id"] = message["id"].clone();
                        assert_eq!(talk.say(&answer).send().status, 202);
                    } else if message["id"] == id && message.get("method").is_none() {
                        return message;
                    }
                }
            }
        }
    }

    #[track_caller]
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        match &mut self.line {
            Line::Pipe(client) => client.notify(method, params),
            Line::Web { talk, .. } => talk.notify(method, params),
        }
    }

    /// Waits for a request of the server and answers it.
    #[track_caller]
    pub(crate) fn answers(&mut self, method: &str, mut answer: Value) {
        let question = match &mut self.line {
            Line::Pipe(client) => client.recv_where(method, |message| message["method"] == method),
            Line::Web { told, .. } => next_of(method, &mut self.heard, told),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = question["id"].clone();
        match &mut self.line {
            Line::Pipe(client) => client.send(answer.to_string()),
            Line::Web { talk, .. } => assert_eq!(talk.say(&answer).send().status, 202),
        }
    }

    /// The launch number of the process that serves this client now.
    #[track_caller]
    pub(crate) fn process(&mut self, uri: &str) -> u64 {
        let answer = self.read(uri);
        answer["result"]["launch"].as_u64().unwrap_or_else(|| panic!("no process answered: {answer}"))
    }

    /// Calls a tool by the server's own name.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": self.route.tool(tool), "arguments": arguments }))
    }

    /// Makes the server print these lines, with its tool `say`.
    #[track_caller]
    pub(crate) fn have_said(&mut self, lines: &[&str]) {
        let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
        let text: String = lines.iter().chain([&answer]).map(|line| format!("{line}\n")).collect();
        let answer = self.call("say", json!({ "text": text }));
        assert!(answer.get("result").is_some(), "{answer}");
    }

    /// Reads a resource by the server's own URI.
    #[track_caller]
    pub(crate) fn read(&mut self, uri: &str) -> Value {
        self.request("resources/read", json!({ "uri": self.route.uri(uri) }))
    }

    /// Items of all pages of a list: `tools`, `prompts`, `resources` or `resourceTemplates`.
    #[track_caller]
    pub(crate) fn items(&mut self, list: &str) -> Vec<Value> {
        let method = match list {
            "resourceTemplates" => "resources/templates/list".to_owned(),
            other => format!("{other}/list"),
        };
        let (mut items, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.request(&method, params);
            let Some(page) = answer["result"][list].as_array() else { panic!("no list: {answer}") };
            items.extend(page.iter().cloned());
            match &answer["result"]["nextCursor"] {
                Value::Null => return items,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// Names, URIs or templates of the server in a list, as listed.
    #[track_caller]
    pub(crate) fn names(&mut self, list: &str) -> Vec<String> {
        let (member, prefix) = match list {
            "resources" => ("uri", String::new()),
            "resourceTemplates" => ("uriTemplate", String::new()),
            _ => ("name", self.route.tool("")),
        };
        let names = self.items(list).into_iter().map(|item| item[member].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with(&prefix)).collect()
    }

    /// The next notification of this method.
    #[track_caller]
    pub(crate) fn told(&mut self, method: &str) -> Value {
        match &mut self.line {
            Line::Pipe(client) => client.told(method),
            Line::Web { told, .. } => next_of(method, &mut self.heard, told),
        }
    }
}

/// The next message of this method, with an answer or on the client's own stream.
#[track_caller]
fn next_of(method: &str, heard: &mut VecDeque<Value>, told: &Receiver<Value>) -> Value {
    loop {
        let next = heard.pop_front().or_else(|| told.recv_timeout(patience::LIMIT).ok());
        let Some(message) = next else { panic!("{method} did not come") };
        if message["method"] == method {
            return message;
        }
    }
}

/// Test of the harness: names are as a client sees them, and the second start is answered from the store.
#[test]
fn every_route_reaches_the_server() {
    let offer = r#"{ "tools": [{ "name": "echo" }, { "name": "say" }], "resources": [{ "uri": "x://a", "name": "a" }],
        "resourceTemplates": [{ "uriTemplate": "y://{id}", "name": "y" }] }"#;
    on_every_route(
        || servers(json!({}), offer),
        |site| {
            let mut client = site.open();
            assert_eq!(client.names("tools"), ["echo", "say"].map(|name| site.route.tool(name)));
            assert_eq!(client.names("resources"), [site.route.uri("x://a")]);
            assert_eq!(client.names("resourceTemplates"), [site.route.template("y://{id}")]);
            site.open_gate();
            assert!(client.call("echo", json!({ "x": 1 })).get("result").is_some());
            assert!(client.read("x://a").get("result").is_some());
            assert_eq!((site.told("tools/call"), site.told("resources/read")), (1, 1));
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            client.have_said(&[changed]);
            // On routes to several servers, only a real change of a listed list is announced.
            if site.route.is_to_one() {
                client.told("notifications/tools/list_changed");
            }
        },
    );
}
