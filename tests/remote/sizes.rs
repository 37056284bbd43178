//! Long and slow messages.

use super::{far, finish, greeted};
use crate::support::{error, text};
use serde_json::json;
use std::sync::Mutex;
use std::sync::mpsc;
use switchboard_testkit::patience;
use switchboard_testkit::web::{Web, answer, mcp};

const TEXT_BYTES: usize = 10 << 20;
const FAR_TOO_LONG: usize = 100 << 20;

#[test]
fn ten_mebibytes_pass_both_ways() {
    let web = Web::start(|seen, wire| match (seen.what(), seen.tool()) {
        ("tools/call", "json") => {
            let text = "x".repeat(TEXT_BYTES);
            wire.answer(seen, &json!({ "content": [{ "type": "text", "text": text }] }));
        }
        ("tools/call", "events") => {
            let text = "y".repeat(TEXT_BYTES);
            wire.begin_events(&[]);
            wire.event(None, &answer(seen, &json!({ "content": [{ "type": "text", "text": text }] })));
            wire.end_events();
        }
        ("tools/call", "count") => {
            let length = seen.body["params"]["arguments"]["text"].as_str().map_or(0, str::len);
            wire.answer(seen, &json!({ "content": [{ "type": "text", "text": length.to_string() }] }));
        }
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("json", json!({}))), "x".repeat(TEXT_BYTES));
    assert_eq!(text(&client.call("events", json!({}))), "y".repeat(TEXT_BYTES));
    assert_eq!(
        text(&client.call("count", json!({ "text": "z".repeat(TEXT_BYTES) }))),
        TEXT_BYTES.to_string()
    );
    finish(client);
}

#[test]
fn oversized_answer_is_refused() {
    let web = Web::start(|seen, wire| {
        let is_json = seen.tool() == "json";
        if seen.what() != "tools/call" || !matches!(seen.tool(), "json" | "events") {
            return mcp(seen, wire, "s-1");
        }
        let (before, after) =
            (r#"{"jsonrpc":"2.0","result":{"text":""#, format!(r#""}},"id":{}}}"#, seen.body["id"]));
        if is_json {
            let length = before.len() + FAR_TOO_LONG + after.len();
            wire.write(format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            ));
            wire.write(before);
            let piece = vec![b'x'; 1 << 20];
            (0..FAR_TOO_LONG >> 20).for_each(|_| wire.write(&piece));
            wire.write(after);
        } else {
            wire.begin_events(&[]);
            wire.chunk(format!("data: {before}"));
            let piece = vec![b'x'; 1 << 20];
            (0..FAR_TOO_LONG >> 20).for_each(|_| wire.chunk(&piece));
            wire.chunk(format!("{after}\n\n"));
            wire.end_events();
        }
    });
    let mut client = greeted(&web);
    for tool in ["json", "events"] {
        let heard = client.call(tool, json!({}));
        let told = error(&heard, -32603, "message_too_large");
        assert!(told["message"].as_str().unwrap().contains("over the limit"), "{told}");
    }
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    #[cfg(target_os = "linux")]
    {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", crate::support::gateway_pid(&client)))
                .unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 96 << 10, "{peak} KiB at most");
    }
    finish(client);
}

#[test]
fn config_sets_the_size_limit() {
    let web = Web::start(|seen, wire| match seen.what() {
        "tools/call" => {
            wire.answer(seen, &json!({ "content": [{ "type": "text", "text": "x".repeat(5000) }] }))
        }
        _ => mcp(seen, wire, "s-1"),
    });
    let start = crate::support::program();
    let config = json!({ "mcpServers": { "far": { "url": web.url("/mcp") } }, "maxMessageBytes": 4096 });
    let path = start.scratch().file("config.json", config.to_string());
    let mut client = start.arg("stdio").arg("--config").arg(path).args(["--server", "far"]).start();
    client.initialize();
    error(&client.call("one", json!({})), -32603, "message_too_large");
    finish(client);
}

#[test]
fn slow_call_blocks_nobody() {
    let (release, released) = mpsc::sync_channel::<()>(8);
    let released = Mutex::new(released);
    let web = Web::start(move |seen, wire| match seen.tool() {
        "slow" => {
            let _ = released.lock().unwrap().recv();
            mcp(seen, wire, "s-1");
        }
        // A stream with nothing but keep-alive comments.
        "endless" => {
            wire.begin_events(&[]);
            while !wire.is_cut() {
                wire.chunk(": still here\n\n");
                std::thread::yield_now();
            }
        }
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    let slow = client.start_call("slow", json!({}));
    let endless = client.start_call("endless", json!({}));
    patience::until_true("both calls", || web.count("tools/call") == 2);
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
    release.send(()).unwrap();
    assert_eq!(text(&client.answer(slow)), "slow in s-1");
    client.notify("notifications/cancelled", json!({ "requestId": endless }));
    patience::until_true("the cancellation", || web.count("notifications/cancelled") == 1);
    finish(client);
}

#[test]
fn unanswered_handshake_times_out() {
    let (release, released) = mpsc::sync_channel::<()>(8);
    let released = Mutex::new(released);
    let web = Web::start(move |_, wire| {
        let _ = released.lock().unwrap().recv();
        wire.cut();
    });
    let mut client = far(&web.url("/mcp"), json!({ "startTimeout": "300ms" })).start();
    let heard = client.request("initialize", switchboard_testkit::client::initialize_params());
    error(&heard, -32003, "backend_timeout");
    drop(release);
    finish(client);
}
