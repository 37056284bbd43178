//! A real browser with a foreign page open: the page must not reach a server in any way. A local page with
//! the token may.

use crate::http::served::{FAKE, Served, token};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;

/// Common script of the pages: tries requests and records their results; `null` means a network error.
const TRY: &str = r#"
const seen = {};
const hello = (name) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {
  protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name, version: "1" } } });
const json = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
async function attempt(name, url, init) {
  try {
    const reply = await fetch(url, init);
    seen[name] = { status: reply.status, session: reply.headers.get("mcp-session-id") };
    if (reply.type !== "opaque") seen[name].text = (await reply.text()).slice(0, 300);
    return reply;
  } catch (error) {
    seen[name] = null;
  }
}
async function report() { await fetch("/report", { method: "POST", body: JSON.stringify(seen) }); }
"#;

/// A web site with this page, a path for its report, and a proxy to `behind` for every other path, as after
/// DNS rebinding.
struct Site {
    port: u16,
    reports: Receiver<Value>,
}

impl Site {
    fn new(behind: u16, script: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let page = format!("<!doctype html><meta charset=utf-8><script type=module>{TRY}{script}</script>");
        let (tell, reports) = sync_channel(8);
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (page, tell) = (page.clone(), tell.clone());
                std::thread::spawn(move || answer(stream, &page, behind, &tell));
            }
        });
        Self { port, reports }
    }
}

/// Serves one request per connection.
fn answer(stream: TcpStream, page: &str, behind: u16, tell: &SyncSender<Value>) -> Option<()> {
    stream.set_read_timeout(Some(patience::LIMIT)).ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|count| *count > 0)?;
    }
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let mut stream = reader.into_inner();
    let path = head.split(' ').nth(1)?;
    let whole = |kind: &str, text: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    };
    match path {
        "/" => stream.write_all(whole("text/html", page).as_bytes()).ok(),
        "/favicon.ico" => {
            stream.write_all(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok()
        }
        "/report" => {
            let _ = tell.send(serde_json::from_slice(&body).unwrap_or_default());
            stream.write_all(whole("text/plain", "").as_bytes()).ok()
        }
        _ => {
            let mut other = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], behind))).ok()?;
            let head = head.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
            let head = head.replace("Connection: keep-alive\r\n", "");
            other.write_all(&[head.as_bytes(), &body].concat()).ok()?;
            std::io::copy(&mut other, &mut stream).ok().map(drop)
        }
    }
}

/// The browser with this address open. Only `evil.test` resolves, to this machine.
fn browse(url: &str) -> Client {
    let browser = Path::new("/usr/bin/chromium");
    assert!(browser.exists(), "{} is missing: run scripts/setup first", browser.display());
    let start = Start::new(browser);
    let profile = start.scratch().folder("profile");
    start
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
        .arg("--host-resolver-rules=MAP evil.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--remote-debugging-port=0")
        .arg(url)
        .start()
}

/// The report of the page at this host.
#[track_caller]
fn open(host: &str, site: &Site) -> Value {
    let mut browser = browse(&format!("http://{host}:{}/", site.port));
    let report = patience::until("the page's report", || {
        assert!(!browser.has_ended(), "{}", browser.stderr_so_far());
        site.reports.try_recv().ok()
    });
    let profile = browser.scratch().path().display().to_string();
    drop(browser);
    patience::until_true("the browser is gone", || switchboard_testkit::pids::with_text(&profile).is_empty());
    report
}

/// The page even has the token: its foreign origin is enough.
#[test]
fn foreign_page_is_refused() {
    let served = Served::new();
    let (port, token) = (served.web.port(), token(&served.house));
    let script = format!(
        r#"
const there = "http://127.0.0.1:{port}{FAKE}", here = "{FAKE}";
const bearer = {{ Authorization: "Bearer {token}" }};
const body = hello("forbidden");
await attempt("plain", there, {{ method: "POST", mode: "no-cors", body, headers: {{ "Content-Type": "text/plain" }} }});
await attempt("form", there, {{ method: "POST", mode: "no-cors", body: new URLSearchParams({{ body }}) }});
await attempt("beacon", there, {{ method: "POST", mode: "no-cors", body: new Blob([body]) }});
await attempt("json", there, {{ method: "POST", body, headers: {{ ...json, ...bearer }} }});
await attempt("stream", "http://127.0.0.1:{port}/sse", {{ headers: bearer }});
await attempt("name", "http://evil.test:{port}{FAKE}", {{ method: "POST", body, headers: {{ ...json, ...bearer }} }});
await attempt("rebound", here, {{ method: "POST", body, headers: {{ ...json, ...bearer }} }});
await attempt("rebound plain", here, {{ method: "POST", body, headers: {{ "Content-Type": "text/plain" }} }});
await attempt("rebound stream", "/sse", {{ headers: bearer }});
await attempt("rebound health", "/healthz");
await report();"#
    );
    let report = open("evil.test", &Site::new(port, &script));
    // Requests without a preflight are sent but not accepted; the page sees nothing of the answer.
    for blind in ["plain", "form", "beacon"] {
        assert_eq!(report[blind], json!({ "status": 0, "session": null }), "{blind}: {report:#}");
    }
    for refused in ["json", "stream", "name"] {
        assert_eq!(report[refused], json!(null), "{refused}: {report:#}");
    }
    for refused in ["rebound", "rebound plain", "rebound stream", "rebound health"] {
        assert_eq!(report[refused]["status"], 403, "{refused}: {report:#}");
        assert!(
            report[refused]["text"].as_str().is_some_and(|text| text.contains("evil.test")),
            "{report:#}"
        );
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn local_page_needs_only_the_token() {
    let served = Served::new();
    let (port, token) = (served.web.port(), token(&served.house));
    let script = format!(
        r#"
const there = "http://127.0.0.1:{port}{FAKE}";
await attempt("without", there, {{ method: "POST", body: hello("forbidden"), headers: json }});
const headers = {{ ...json, Authorization: "Bearer {token}" }};
const reply = await attempt("hello", there, {{ method: "POST", body: hello("page"), headers }});
const session = {{ ...headers, "Mcp-Session-Id": reply.headers.get("mcp-session-id"), "MCP-Protocol-Version": "2025-11-25" }};
const call = JSON.stringify({{ jsonrpc: "2.0", id: 2, method: "tools/call", params: {{ name: "echo", arguments: {{ by: "a page" }} }} }});
await attempt("call", there, {{ method: "POST", body: call, headers: session }});
await attempt("end", there, {{ method: "DELETE", headers: session }});
await report();"#
    );
    let report = open("localhost", &Site::new(port, &script));
    assert_eq!(report["without"]["status"], 401, "{report:#}");
    assert_eq!(report["hello"]["status"], 200, "{report:#}");
    assert!(report["hello"]["session"].is_string(), "{report:#}");
    assert!(report["call"]["text"].as_str().is_some_and(|text| text.contains("a page")), "{report:#}");
    assert_eq!(report["end"]["status"], 200, "{report:#}");
    served.check_not_forwarded("forbidden");
}
