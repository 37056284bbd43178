//! Duplicate calls: a call is posted once, for every combination of status, body, method, transport and mode.
//! Only a refusal which says that nothing was executed may have it posted again.

use super::far;
use crate::support::Mode;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex};
use switchboard_testkit::client::Client;
use switchboard_testkit::web::{Seen, Web, Wire, answer};

const STATUSES: [u16; 14] = [300, 301, 302, 303, 304, 307, 308, 400, 404, 405, 409, 410, 500, 502];

/// `$id` stands for the request's id.
const BODIES: [&str; 8] = [
    "",
    "<html><body>Not Found</body></html>",
    "gone",
    "the session has ended",
    "Session not found",
    r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
    r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no such tool"}}"#,
];

#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Streamable,
    Legacy,
}

/// Whether a refusal says that nothing was executed: by its status, or in the exact form of a known
/// transport.
fn is_untouched(transport: Transport, status: u16, body: &str) -> bool {
    let is_empty = body.is_empty() && transport == Transport::Streamable;
    let is_known = body == "Session not found" || body.contains(r#""id":null"#);
    matches!(status, 307 | 308) || (status == 404 && (is_empty || is_known))
}

/// A server that refuses the first request of each case; with `forgets`, it also loses its session.
struct Server {
    transport: Transport,
    forgets: bool,
    sessions: AtomicUsize,
    /// Number of the current session.
    known: AtomicUsize,
    /// Requests of a case within the current session.
    posts: Mutex<Vec<usize>>,
    stream: Mutex<Option<SyncSender<String>>>,
}

/// The case that a request names: the name of a tool, or a URI.
fn case_of(seen: &Seen) -> Option<usize> {
    let named = seen.body["params"]["uri"].as_str().unwrap_or_else(|| seen.tool());
    named.strip_prefix("case:")?.parse().ok()
}

impl Server {
    fn new(transport: Transport, forgets: bool) -> Arc<Self> {
        Arc::new(Self {
            transport,
            forgets,
            sessions: AtomicUsize::new(0),
            known: AtomicUsize::new(0),
            posts: Mutex::default(),
            stream: Mutex::default(),
        })
    }

    fn serve(&self, seen: &Seen, wire: &mut Wire<'_>) {
        if seen.method == "GET" {
            return self.listen(seen, wire);
        }
        if let Some(case) = case_of(seen).filter(|_| self.knows(seen)) {
            self.posts.lock().unwrap().push(case);
            if self.posts_of(case) == 1 {
                let (status, body) = cases()[case];
                if self.forgets && !matches!(status, 307 | 308) {
                    self.known.store(0, Ordering::SeqCst);
                }
                let to = format!("{}?moved", seen.path.split('?').next().unwrap_or_default());
                let body = body.replace("$id", &seen.body["id"].to_string());
                let headers = [("location", to.as_str()), ("content-type", "application/json")];
                // A response of this status has no body.
                let body = if status == 304 { String::new() } else { body };
                return wire.reply(status, &headers, body);
            }
        }
        self.answer(seen, wire);
    }

    fn listen(&self, seen: &Seen, wire: &mut Wire<'_>) {
        if self.transport == Transport::Streamable {
            return wire.reply(405, &[], "");
        }
        assert_eq!(seen.path, "/mcp");
        let (sender, said) = mpsc::sync_channel::<String>(8);
        *self.stream.lock().unwrap() = Some(sender);
        wire.begin_events(&[]);
        wire.chunk("event: endpoint\ndata: /post\n\n");
        while let Ok(text) = said.recv() {
            wire.chunk(text);
        }
        wire.cut();
    }

    fn session(&self) -> String {
        format!("s-{}", self.known.load(Ordering::SeqCst))
    }

    fn knows(&self, seen: &Seen) -> bool {
        match self.transport {
            Transport::Streamable => seen.header("mcp-session-id") == Some(&self.session()),
            Transport::Legacy => self.known.load(Ordering::SeqCst) > 0,
        }
    }

    fn answer(&self, seen: &Seen, wire: &mut Wire<'_>) {
        if seen.what() == "initialize" {
            let number = self.sessions.fetch_add(1, Ordering::SeqCst) + 1;
            self.known.store(number, Ordering::SeqCst);
        }
        let result = match seen.what() {
            "initialize" => {
                let capabilities = json!({ "tools": {}, "resources": {} });
                let version = &seen.body["params"]["protocolVersion"];
                json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": {} })
            }
            "DELETE" => return wire.reply(200, &[], ""),
            _ if !self.knows(seen) => return wire.reply(404, &[], "Session not found"),
            _ if seen.body.get("id").is_none() => return wire.reply(202, &[], ""),
            _ => json!({ "done": true }),
        };
        let answer = answer(seen, &result);
        match self.transport {
            Transport::Streamable => wire.json(200, &[("mcp-session-id", &self.session())], &answer),
            Transport::Legacy => {
                wire.reply(202, &[], "");
                if let Some(stream) = &*self.stream.lock().unwrap() {
                    let _ = stream.send(format!("data: {answer}\n\n"));
                }
            }
        }
    }

    fn posts_of(&self, case: usize) -> usize {
        self.posts.lock().unwrap().iter().filter(|&&other| other == case).count()
    }
}

fn cases() -> Vec<(u16, &'static str)> {
    STATUSES.iter().flat_map(|&status| BODIES.map(|body| (status, body))).collect()
}

fn window(mode: Mode, transport: Transport, web: &Web) -> Client {
    let kind = if transport == Transport::Legacy { "sse" } else { "http" };
    let start = far(&web.url("/mcp"), json!({ "type": kind }));
    let mut client = match mode {
        Mode::Solo => start.arg("--solo").start(),
        Mode::Daemon => start.start(),
    };
    client.initialize();
    client
}

#[track_caller]
fn check(mode: Mode, transport: Transport) {
    for forgets in [true, false] {
        for method in ["tools/call", "resources/read"] {
            let server = Server::new(transport, forgets);
            let own = server.clone();
            let web = Web::start(move |seen, wire| own.serve(seen, wire));
            let mut client = window(mode, transport, &web);
            for (case, (status, body)) in cases().into_iter().enumerate() {
                let name = format!("case:{case}");
                let params = match method {
                    "tools/call" => json!({ "name": name, "arguments": {} }),
                    _ => json!({ "uri": name }),
                };
                let heard = client.request(method, params);
                let posts = server.posts_of(case);
                let what = format!("{method} forgets: {forgets} {status} {body}: {posts} posts\n{heard}");
                let may_repeat = method == "resources/read" || is_untouched(transport, status, body);
                assert!((1..=1 + usize::from(may_repeat)).contains(&posts), "{what}");
                if heard.get("result").is_some() {
                    assert_eq!(posts, 2, "{what}");
                } else if !may_repeat && is_doubtful(&heard, status) {
                    let hint = heard["error"]["data"]["hint"].as_str().unwrap_or_default();
                    assert!(hint.contains("whether this request took effect is unknown"), "{what}");
                }
            }
            server.stream.lock().unwrap().take();
            assert_eq!(client.finish().code, Some(0));
        }
    }
}

/// Whether an error of ours does not say that nothing was executed.
fn is_doubtful(heard: &Value, status: u16) -> bool {
    let told = heard["error"]["message"].as_str().unwrap_or_default();
    let is_ours = heard["error"]["data"]["kind"] == "backend_unavailable";
    is_ours && (matches!(status, 300..=304 | 404 | 410 | 500..) || told.contains("had lost the session"))
}

#[test]
fn daemon_posts_streamable_calls_once() {
    check(Mode::Daemon, Transport::Streamable);
}

#[test]
fn solo_posts_streamable_calls_once() {
    check(Mode::Solo, Transport::Streamable);
}

#[test]
fn daemon_posts_legacy_calls_once() {
    check(Mode::Daemon, Transport::Legacy);
}

#[test]
fn solo_posts_legacy_calls_once() {
    check(Mode::Solo, Transport::Legacy);
}
