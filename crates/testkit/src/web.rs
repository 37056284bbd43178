//! A small HTTP server for tests: stores every request, and lets a script write the answers, to the byte and to the time at
//! which a connection is cut. HTTP/1.1, on loopback, a thread for each connection.

use crate::message;
use crate::monitor::Monitor;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// Header fields; names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// Number of earlier requests with the same HTTP method and the same `method` in their bodies, or none.
    pub before: usize,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The method of the message, or of the request if it has none.
    pub fn what(&self) -> &str {
        match self.body["method"].as_str() {
            Some(method) => method,
            None if self.method == "POST" => "an answer",
            None => &self.method,
        }
    }

    pub fn tool(&self) -> &str {
        self.body["params"]["name"].as_str().unwrap_or_default()
    }
}

type Script = dyn Fn(&Seen, &mut Wire<'_>) + Send + Sync;

struct Shared {
    seen: Monitor<Vec<Seen>>,
    open: Monitor<Vec<TcpStream>>,
    is_over: AtomicBool,
    script: Box<Script>,
}

/// A running server, until dropped.
pub struct Web {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

/// Connection to the client, for the answer.
pub struct Wire<'a> {
    stream: &'a TcpStream,
    is_cut: bool,
}

impl Web {
    pub fn start(script: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Self {
        Self::at(0, script)
    }

    /// Starts at a given port, such as that of an earlier server.
    pub fn at(port: u16, script: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Self {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => listener,
            Err(error) => panic!("port {port}: {error}"),
        };
        let address = match listener.local_addr() {
            Ok(address) => address,
            Err(error) => panic!("no address: {error}"),
        };
        let shared = Arc::new(Shared {
            seen: Monitor::default(),
            open: Monitor::default(),
            is_over: AtomicBool::new(false),
            script: Box::new(script),
        });
        let all = shared.clone();
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if all.is_over.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(copy) = stream.try_clone() {
                    all.open.lock().push(copy);
                }
                let all = all.clone();
                thread::spawn(move || all.serve(&stream));
            }
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// The number of requests of this kind.
    pub fn count(&self, what: &str) -> usize {
        self.shared.seen.lock().iter().filter(|seen| seen.what() == what).count()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it ends.
        let _ = TcpStream::connect(self.address);
        for stream in self.shared.open.lock().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while let Some(mut seen) = read(&mut reader) {
            {
                let mut all = self.seen.lock();
                let is_alike = |other: &&Seen| other.what() == seen.what();
                seen.before = all.iter().filter(is_alike).count();
                all.push(seen.clone());
            }
            let mut wire = Wire { stream, is_cut: false };
            (self.script)(&seen, &mut wire);
            if wire.is_cut || self.is_over.load(Ordering::SeqCst) {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Seen { method, path, headers, body, before: 0 })
}

impl Wire<'_> {
    /// Writes raw bytes.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let mut stream = self.stream;
        if stream.write_all(bytes.as_ref()).is_err() {
            self.is_cut = true;
        }
    }

    /// Whether the client has gone.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub fn reply(&mut self, status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        self.head(status, headers, &format!("content-length: {}", body.len()));
        self.write(body);
    }

    pub fn json(&mut self, status: u16, headers: &[(&str, &str)], body: &Value) {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        self.reply(status, &headers, body.to_string());
    }

    fn head(&mut self, status: u16, headers: &[(&str, &str)], last: &str) {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.write(format!("HTTP/1.1 {status} x\r\n{headers}{last}\r\n\r\n"));
    }

    /// Begins a stream of events, in chunks.
    pub fn begin_events(&mut self, headers: &[(&str, &str)]) {
        let headers = [headers, &[("content-type", "text/event-stream")]].concat();
        self.head(200, &headers, "transfer-encoding: chunked");
    }

    pub fn chunk(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.write([format!("{:x}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat());
    }

    pub fn event(&mut self, id: Option<&str>, message: &Value) {
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        self.chunk(format!("{id}data: {message}\n\n"));
    }

    pub fn end_events(&mut self) {
        self.write("0\r\n\r\n");
    }

    /// Cuts the connection, in the middle of the last write.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Waits until the client closes the connection.
    pub fn until_closed(&mut self) {
        let mut rest = [0; 256];
        let mut stream = self.stream;
        while stream.read(&mut rest).is_ok_and(|read| read > 0) {}
        self.is_cut = true;
    }

    /// Answers a request with one JSON body.
    pub fn answer(&mut self, seen: &Seen, result: &Value) {
        self.json(200, &[], &answer(seen, result));
    }
}

pub fn answer(seen: &Seen, result: &Value) -> Value {
    message::result(&seen.body["id"], result.clone())
}

/// Answers like a plain MCP server, with a session of this name. The fallback of a script.
pub fn mcp(seen: &Seen, wire: &mut Wire<'_>, session: &str) {
    let is_known = seen.header("mcp-session-id") == Some(session);
    match seen.what() {
        "GET" => wire.reply(405, &[], ""),
        "DELETE" => wire.reply(200, &[], ""),
        "initialize" => {
            let result = json!({
                "protocolVersion": seen.body["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true }, "logging": {}, "resources": { "subscribe": true } },
                "serverInfo": { "name": "web", "version": "1" },
            });
            wire.json(200, &[("mcp-session-id", session)], &answer(seen, &result));
        }
        _ if !is_known => {
            let error = json!({ "code": -32001, "message": "Session not found" });
            wire.json(404, &[], &json!({ "jsonrpc": "2.0", "id": null, "error": error }));
        }
        "tools/list" => {
            let tools: Vec<Value> = ["one", "two"]
                .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
                .into();
            wire.answer(seen, &json!({ "tools": tools }));
        }
        "tools/call" => {
            let text = format!("{} in {session}", seen.tool());
            wire.answer(seen, &json!({ "content": [{ "type": "text", "text": text }] }));
        }
        _ if seen.body.get("id").is_some() && seen.body.get("method").is_some() => {
            wire.answer(seen, &json!({}))
        }
        _ => wire.reply(202, &[], ""),
    }
}

/// Answers like a plain server of the modern era. The fallback of a script. Wants the headers that repeat the body, except
/// those of parameters; a call whose arguments have `steps` is answered by a stream with that many progress notifications.
pub fn modern(seen: &Seen, wire: &mut Wire<'_>) {
    if seen.method != "POST" {
        return wire.reply(405, &[], "");
    }
    if let Some((status, error)) = modern_fault(seen) {
        return wire.json(status, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
    }
    let hints = json!({ "resultType": "complete", "ttlMs": 60_000, "cacheScope": "private" });
    let complete = |mut result: Value, hints: &Value| {
        let members = hints.as_object().cloned().unwrap_or_default();
        result.as_object_mut().into_iter().for_each(|result| result.extend(members.clone()));
        result
    };
    match seen.what() {
        "server/discover" => {
            let capabilities = json!({ "tools": { "listChanged": true } });
            let found = json!({
                "supportedVersions": [message::MODERN],
                "capabilities": capabilities,
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "web", "version": "1" } },
            });
            wire.answer(seen, &complete(found, &hints));
        }
        "tools/list" => {
            let tools: Vec<Value> = ["one", "two"]
                .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
                .into();
            wire.answer(seen, &complete(json!({ "tools": tools }), &hints));
        }
        "subscriptions/listen" => {
            wire.begin_events(&[]);
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
            let params = json!({ "_meta": meta, "notifications": seen.body["params"]["notifications"] });
            wire.event(None, &message::notification("notifications/subscriptions/acknowledged", params));
        }
        "tools/call" => {
            let content = json!([{ "type": "text", "text": seen.tool() }]);
            let result = complete(json!({ "content": content }), &json!({ "resultType": "complete" }));
            let Some(steps) = seen.body["params"]["arguments"]["steps"].as_u64() else {
                return wire.answer(seen, &result);
            };
            wire.begin_events(&[]);
            let token = &seen.body["params"]["_meta"]["progressToken"];
            for step in 1..=steps {
                let params = json!({ "progressToken": token, "progress": step });
                wire.event(None, &message::notification("notifications/progress", params));
            }
            wire.event(None, &answer(seen, &result));
            wire.end_events();
        }
        _ => wire.answer(seen, &complete(json!({}), &json!({ "resultType": "complete" }))),
    }
}

/// Status and error of a request that a modern server refuses.
fn modern_fault(seen: &Seen) -> Option<(u16, Value)> {
    let (method, params) = (&seen.body["method"], &seen.body["params"]);
    if matches!(method.as_str(), Some("initialize" | "ping" | "logging/setLevel")) {
        return Some((404, json!({ "code": -32601, "message": "Method not found" })));
    }
    let meta = |key: &str| &params["_meta"][format!("io.modelcontextprotocol/{key}")];
    let (version, capabilities) = (meta("protocolVersion"), meta("clientCapabilities"));
    if !version.is_string() || !capabilities.is_object() {
        return Some((400, json!({ "code": -32602, "message": "missing _meta" })));
    }
    let name = match method.as_str() {
        Some("tools/call" | "prompts/get") => params["name"].as_str(),
        Some("resources/read") => params["uri"].as_str(),
        _ => None,
    };
    let name = name.map(crate::http::header_value);
    let wanted = [
        ("mcp-protocol-version", version.as_str()),
        ("mcp-method", method.as_str()),
        ("mcp-name", name.as_deref()),
    ];
    for (header, value) in wanted {
        if value.is_some() && seen.header(header) != value {
            let message = format!("{header} is {:?}, not {value:?}", seen.header(header));
            return Some((400, json!({ "code": -32020, "message": message })));
        }
    }
    (*version != message::MODERN).then(|| {
        let data = json!({ "supported": [message::MODERN], "requested": version });
        (400, json!({ "code": -32022, "message": "Unsupported protocol version", "data": data }))
    })
}
