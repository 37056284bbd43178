//! Tools of the example server.

use super::rpc::{INVALID_PARAMS, Refusal};
use serde_json::{Value, json};
use std::io::Write;

/// Exit code of `crash`.
const CRASH_CODE: i32 = 3;
/// Longest wait of an example.
const MAX_WAIT_SECONDS: u32 = 600;

pub(super) enum Outcome {
    Done(Value),
    /// An answer after this many seconds.
    Wait {
        seconds: f64,
    },
}

pub(super) fn list() -> Value {
    let reads = json!({ "readOnlyHint": true });
    json!({ "tools": [
        {
            "name": "echo",
            "title": "Echo",
            "description": "Returns the text.",
            "inputSchema": object(json!({ "text": { "type": "string" } }), &["text"]),
            "annotations": reads,
        },
        {
            "name": "add",
            "title": "Add",
            "description": "The sum of two numbers, also as structured content.",
            "inputSchema": object(json!({ "a": { "type": "number" }, "b": { "type": "number" } }), &["a", "b"]),
            "outputSchema": object(json!({ "sum": { "type": "number" } }), &["sum"]),
            "annotations": reads,
        },
        {
            "name": "wait",
            "title": "Wait",
            "description": "Answers after some seconds. Reports progress if the request has a progress token, \
                            and can be cancelled.",
            "inputSchema": object(
                json!({ "seconds": { "type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS } }),
                &["seconds"],
            ),
            "annotations": reads,
        },
        {
            "name": "noise",
            "title": "Noise",
            "description": "Breaks the protocol: prints a log line before it answers.",
            "inputSchema": object(
                json!({ "glued": { "type": "boolean", "description": "Without a line break before the answer." } }),
                &[],
            ),
            "annotations": reads,
        },
        {
            "name": "crash",
            "title": "Crash",
            "description": "Ends the process without an answer.",
            "inputSchema": object(json!({}), &[]),
            "annotations": { "destructiveHint": true },
        },
    ]})
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Calls a tool. An unknown tool is a protocol error; wrong arguments are a result with `isError`, which a
/// model can read and correct (MCP 2025-11-25).
pub(super) fn call(params: &Value) -> Result<Outcome, Refusal> {
    let name =
        params["name"].as_str().ok_or_else(|| Refusal::new(INVALID_PARAMS, "`name` must be a string"))?;
    let arguments = &params["arguments"];
    let outcome = match name {
        "echo" => echo(arguments).map(Outcome::Done),
        "add" => add(arguments).map(Outcome::Done),
        "wait" => seconds(arguments).map(|seconds| Outcome::Wait { seconds }),
        "noise" => Ok(Outcome::Done(noise(arguments))),
        "crash" => crash(),
        _ => return Err(Refusal::new(INVALID_PARAMS, format!("Unknown tool: {name}"))),
    };
    Ok(outcome.unwrap_or_else(|wrong| {
        let mut result = text(&wrong);
        result["isError"] = true.into();
        Outcome::Done(result)
    }))
}

pub(super) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn echo(arguments: &Value) -> Result<Value, String> {
    arguments["text"].as_str().map(text).ok_or_else(|| "`text` must be a string".into())
}

fn add(arguments: &Value) -> Result<Value, String> {
    let number = |name: &str| {
        let value = &arguments[name];
        value.is_number().then_some(value).ok_or_else(|| format!("`{name}` must be a number"))
    };
    let sum = sum(number("a")?, number("b")?);
    let mut result = text(&sum.to_string());
    result["structuredContent"] = json!({ "sum": sum });
    Ok(result)
}

/// Whole numbers stay whole.
fn sum(a: &Value, b: &Value) -> Value {
    match a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_add(b)) {
        Some(sum) => sum.into(),
        None => (a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
    }
}

fn seconds(arguments: &Value) -> Result<f64, String> {
    let seconds =
        arguments["seconds"].as_f64().filter(|seconds| (0.0..=f64::from(MAX_WAIT_SECONDS)).contains(seconds));
    seconds.ok_or_else(|| format!("`seconds` must be a number from 0 to {MAX_WAIT_SECONDS}"))
}

/// A common mistake of servers: a `print` for debugging, or a library's banner.
fn noise(arguments: &Value) -> Value {
    let line = if arguments["glued"] == true { "[info] cache warmed " } else { "[info] cache warmed\n" };
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
    text("I printed a line that does not belong on stdout.")
}

fn crash() -> ! {
    let _ = writeln!(std::io::stderr(), "fatal: the example's database is on fire");
    std::process::exit(CRASH_CODE)
}
