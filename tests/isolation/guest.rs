//! A legacy client on a route to a server: over pipes, or over HTTP with a session.

use super::routes::Route;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use switchboard_testkit::client::Client;
use switchboard_testkit::http::{Talk, Wire};
use switchboard_testkit::patience;

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

pub(super) enum Line {
    Pipe(Box<Client>),
    /// Includes the messages of the session's own stream.
    Web {
        talk: Talk,
        told: Receiver<Value>,
    },
}

impl Guest {
    /// A client after its handshake, with the answer to it.
    pub(super) fn new(route: Route, line: Line, greeting: Value) -> Self {
        Self { route, line, next: 1, heard: VecDeque::new(), open: Vec::new(), received: vec![greeting] }
    }

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

    /// Calls a tool, answers the server's question about it, and returns the answer to the call.
    #[track_caller]
    pub(crate) fn request_with(&mut self, params: Value, question: &str, answer: Value) -> Value {
        self.asked_about("tools/call", params, question, answer).1
    }

    /// Sends a request and answers the server's only question about it. Returns the question, and the answer to the request.
    #[track_caller]
    pub(crate) fn asked_about(
        &mut self,
        method: &str,
        params: Value,
        question: &str,
        answer: Value,
    ) -> (Value, Value) {
        let id = 1_000_000 + self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let (mut asked, mut answers) = self.converse(&message, question, answer);
        assert_eq!((asked.len(), answers.len()), (1, 1), "{asked:?} {answers:?}");
        (asked.remove(0), answers.remove(0))
    }

    /// Sends a request, or a batch, and answers each question of the server about it. Returns the questions, and the
    /// answers in the order in which they came. Cancelled members of a batch have none.
    #[track_caller]
    pub(crate) fn converse(
        &mut self,
        message: &Value,
        question: &str,
        mut answer: Value,
    ) -> (Vec<Value>, Vec<Value>) {
        let members = message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
        let ids: Vec<&Value> = members.iter().filter_map(|member| member.get("id")).collect();
        let is_answer = |it: &Value| ids.contains(&&it["id"]) && it.get("method").is_none();
        let is_wanted = |it: &Value| it["method"] == question || it.is_array() || is_answer(it);
        answer["jsonrpc"] = json!("2.0");
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        let mut reply = match &mut self.line {
            Line::Pipe(client) => {
                client.send(message.to_string());
                None
            }
            Line::Web { talk, .. } => Some(talk.say(message).send()),
        };
        while answers.len() < ids.len() {
            let next = match (&mut self.line, &mut reply) {
                (Line::Pipe(client), _) => client.recv_where("a question or the answer", is_wanted),
                (_, Some(reply)) if reply.is_stream() => match reply.message() {
                    Some(message) => message,
                    None if message.is_array() => break,
                    None => panic!("no answer to {message}"),
                },
                (_, Some(reply)) => reply.json(),
                (Line::Web { .. }, None) => panic!("nothing was sent"),
            };
            if next["method"] == question {
                answer["id"] = next["id"].clone();
                match &mut self.line {
                    Line::Pipe(client) => client.send(answer.to_string()),
                    Line::Web { talk, .. } => assert_eq!(talk.say(&answer).send().status, 202),
                }
                asked.push(next);
            } else if let Value::Array(all) = next {
                answers.extend(all);
                break;
            } else if is_answer(&next) {
                answers.push(next);
            }
        }
        self.received.extend(answers.iter().cloned());
        (asked, answers)
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

    /// Makes the server announce a change of its `list`, or of the resource at `uri`, with its tool `change`. A modern
    /// server announces it to those that listen for it.
    #[track_caller]
    pub(crate) fn announce(&mut self, change: Value) {
        let answer = self.call("change", change);
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

/// Reads a session's own stream on a thread that ends with it. Keep-alive comments would defeat a read
/// timeout.
pub(super) fn listen(talk: &Talk) -> Receiver<Value> {
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
