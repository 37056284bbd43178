//! An MCP server that answers each call when its time has come, so in any order, with the tag that it was given; and
//! writes every tag into a file that all its processes share.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Whatever happens to the soak, this process does not outlive it for long.
const LIFETIME: Duration = Duration::from_secs(2 * 60 * 60);

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let path = arguments.first().ok_or("soak-backend FILE")?;
    let done = OpenOptions::new().append(true).create(true).open(path).map_err(|error| error.to_string())?;
    let (lines, next) = mpsc::sync_channel(1024);
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    let mut due: BTreeMap<(Instant, u64), Value> = BTreeMap::new();
    let mut number = 0;
    while began.elapsed() < LIFETIME {
        let now = Instant::now();
        while let Some(first) = due.first_entry().filter(|first| first.key().0 <= now) {
            say(&first.remove());
        }
        let wait = due.first_key_value().map_or(LIFETIME, |((at, _), _)| at.saturating_duration_since(now));
        match next.recv_timeout(wait) {
            Ok(line) => {
                if let Some((after, answer)) = hear(&line, &done) {
                    number += 1;
                    due.insert((now + after, number), answer);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        }
    }
    Ok(ExitCode::FAILURE)
}

fn say(value: &Value) {
    let mut out = stdout().lock();
    let _ = out.write_all(format!("{value}\n").as_bytes()).and_then(|()| out.flush());
}

/// An answer, and when it is due.
fn hear(line: &str, mut done: &File) -> Option<(Duration, Value)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "soak", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
        "tools/call" => {
            let (tag, after) = (&params["arguments"]["tag"], params["arguments"]["ms"].as_u64().unwrap_or(0));
            // One write: the others' lines do not get into it.
            let _ = done.write_all(format!("{}\n", tag.as_str().unwrap_or_default()).as_bytes());
            if let Some(token) = params["_meta"].get("progressToken") {
                let params = json!({ "progressToken": token, "progress": 1, "message": tag });
                say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
            }
            let fill = "x".repeat(params["arguments"]["fill"].as_u64().unwrap_or(0) as usize);
            let content = json!([{ "type": "text", "text": tag }, { "type": "text", "text": fill }]);
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } });
            return Some((Duration::from_millis(after), answer));
        }
        _ => json!({}),
    };
    Some((Duration::ZERO, json!({ "jsonrpc": "2.0", "id": id, "result": result })))
}
