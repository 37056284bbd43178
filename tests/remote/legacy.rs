//! Servers of 2024-11-05 (HTTP+SSE): one stream for all messages, which begins with the endpoint for POSTs.

use super::{far, finish};
use crate::support::{error, text};
use serde_json::{Value, json};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::web::{Seen, Web, Wire, answer};

/// The stream of the current session.
#[derive(Default)]
struct Stream(Mutex<Option<SyncSender<String>>>);

impl Stream {
    fn say(&self, message: &Value) {
        if let Some(sender) = &*self.0.lock().unwrap() {
            let _ = sender.send(format!("event: message\r\ndata: {message}\r\n\r\n"));
        }
    }

    fn cut(&self) {
        self.0.lock().unwrap().take();
    }

    fn serve(&self, wire: &mut Wire<'_>, endpoint: &str) {
        let (sender, said): (SyncSender<String>, Receiver<String>) = mpsc::sync_channel(8);
        *self.0.lock().unwrap() = Some(sender);
        wire.begin_events(&[]);
        wire.chunk(format!("event: endpoint\r\ndata: {endpoint}\r\n\r\n"));
        while let Ok(text) = said.recv() {
            wire.chunk(text);
        }
        wire.cut();
    }
}

fn serve(stream: &Stream, seen: &Seen, wire: &mut Wire<'_>) {
    match seen.what() {
        "GET" => return stream.serve(wire, "/post?session=7"),
        _ if seen.path == "/sse" => return wire.reply(405, &[], ""),
        _ => {}
    }
    assert_eq!(seen.path, "/post?session=7");
    wire.reply(202, &[], "Accepted");
    let result = match (seen.what(), seen.tool()) {
        ("initialize", _) => {
            json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} }, "serverInfo": {} })
        }
        ("tools/call", "cut") => return stream.cut(),
        ("tools/call", name) => json!({ "content": [{ "type": "text", "text": name }] }),
        _ => return,
    };
    stream.say(&answer(seen, &result));
}

fn start() -> (Web, Arc<Stream>) {
    let stream = Arc::new(Stream::default());
    let own = stream.clone();
    (Web::start(move |seen, wire| serve(&own, seen, wire)), stream)
}

#[test]
fn legacy_server_is_detected_or_declared() {
    for kind in [json!({}), json!({ "type": "sse" })] {
        let (web, stream) = start();
        let mut client = far(&web.url("/sse"), kind.clone()).start();
        client.initialize();
        assert_eq!(text(&client.call("one", json!({}))), "one");
        let tried = web.seen().iter().filter(|seen| seen.path == "/sse" && seen.method == "POST").count();
        assert_eq!(tried, usize::from(kind == json!({})));
        stream.say(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": 1 } }));
        client.told("notifications/message");
        finish(client);
        stream.cut();
    }
}

#[test]
fn broken_stream_fails_calls_and_reconnects() {
    let (web, stream) = start();
    let mut client = far(&web.url("/sse"), json!({})).start();
    client.initialize();
    let heard = client.call("cut", json!({}));
    let told = error(&heard, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("could not be resumed"), "{told}");
    assert_eq!(text(&client.call("one", json!({}))), "one");
    let calls = web.seen().iter().filter(|seen| seen.tool() == "cut").count();
    assert_eq!(calls, 1);
    finish(client);
    stream.cut();
}

#[test]
fn foreign_endpoint_is_not_followed() {
    let other = Web::start(|_, wire| wire.reply(202, &[], ""));
    let (to, stream) = (other.url("/post"), Arc::new(Stream::default()));
    let own = stream.clone();
    let web = Web::start(move |_, wire| own.serve(wire, &to));
    let mut client = far(&web.url("/sse"), json!({ "type": "sse" })).start();
    let heard = client.request("initialize", initialize_params());
    let told = error(&heard, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("is not followed"), "{told}");
    assert!(other.seen().is_empty());
    finish(client);
    stream.cut();
}
