//! The tools: each is a fault, or shows the input that arrived.

use super::options::{Era, Options};
use super::server::{Asking, Heard, Held, Server};
use super::template::Blanks;
use super::{modern, stdio};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NAMES: &[&str] = &[
    "echo", "say", "hold", "release", "hang", "work", "crash", "flood", "facts", "ask", "spawn", "deaf",
    "mute", "close", "complain", "grow", "burn", "later",
];

/// Lists the tools. Also lists names without an implementation.
pub(super) fn list(options: &Options) -> Vec<Value> {
    let modern: &[&str] = if options.era == Era::Legacy { &[] } else { &modern::TOOLS };
    let names = NAMES.iter().chain(modern).copied().chain(options.tools.iter().map(String::as_str));
    names.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect()
}

pub(super) fn call(server: &mut Server, id: &str, heard: &Heard<'_>) {
    let arguments = &heard.params["arguments"];
    let blanks = Blanks { id, token: &heard.token };
    match heard.params["name"].as_str().unwrap_or_default() {
        // `steps` of `ms` each, with a progress notification after each, and then an answer.
        "work" => work(server, &blanks, arguments),
        // The arguments, as text.
        "echo" => server.answer_text(id, &arguments.to_string()),
        // `text`, then `fill` times `x`, then `after`, to the byte, as the only answer.
        "say" => say(&blanks, arguments),
        // Answered by `release`: in the order of `labels`, or in that of the calls.
        "hold" => server.held.push(Held { id: id.to_owned(), label: arguments["label"].clone() }),
        "release" => release(server, id, arguments),
        "hang" => server.modern.hang(id, &arguments["label"]),
        "crash" => crash(&blanks, arguments),
        // `count` notifications of `bytes` each, and then an answer.
        "flood" => {
            flood(
                arguments["count"].as_u64().unwrap_or(0),
                arguments["bytes"].as_u64().unwrap_or(0) as usize,
            );
            server.answer(id, &json!({ "done": true }));
        }
        "facts" => server.answer(id, &facts()),
        // A request to the client after `ms`, and a second one if there is `then`; answers with the client's last answer
        // unchanged.
        "ask" => ask(server, &blanks, arguments),
        // Wants the `urls` to be opened before the second call for the same `account`. Not listed.
        "login" => login(server, id, arguments),
        // Starts a process that does not end by itself; answers with its pid.
        "spawn" => server.answer(id, &json!({ "pid": spawn(arguments) })),
        // Says that the `list` has changed, or the resource at `uri`, whoever wants to know. Not listed.
        "change" => {
            announce(arguments);
            server.answer_text(id, "changed");
        }
        // Answers, and stops reading.
        "deaf" => {
            server.answer(id, &json!({}));
            server.stop_reading();
        }
        // Closes its stdout or stdin, and lives on without an answer.
        "mute" => close(Stream::Output),
        "close" => close(Stream::Input),
        // Writes `text` to stderr, and answers.
        "complain" => {
            let _ = writeln!(std::io::stderr(), "{}", text(arguments, "text"));
            server.answer(id, &json!({}));
        }
        // Holds `bytes` from now on, and has written to each of them.
        "grow" => {
            server.hoard.resize(arguments["bytes"].as_u64().unwrap_or(0) as usize, 1);
            server.answer(id, &json!({ "pid": std::process::id() }));
        }
        // Keeps a processor busy for `ms`, and answers.
        "burn" => {
            let began = Instant::now();
            while began.elapsed() < time(arguments) {}
            server.answer(id, &json!({}));
        }
        // Answers after `ms` with its `tag`, and `fill` times `x`; the tag goes to a file at once. Other calls proceed.
        "later" => later(server, id, heard),
        other => server.answer_text(id, &format!("no such tool: {other}")),
    }
}

fn text<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments[key].as_str().unwrap_or_default()
}

fn say(blanks: &Blanks<'_>, arguments: &Value) {
    stdio::write(&blanks.fill(text(arguments, "text")));
    let mut left = arguments["fill"].as_u64().unwrap_or(0) as usize;
    let block = vec![b'x'; left.min(1 << 20)];
    while left > 0 {
        let now = left.min(block.len());
        stdio::write(&block[..now]);
        left -= now;
    }
    stdio::write(&blanks.fill(text(arguments, "after")));
}

fn release(server: &mut Server, id: &str, arguments: &Value) {
    let mut held = std::mem::take(&mut server.held);
    if let Some(labels) = arguments["labels"].as_array() {
        held.sort_by_key(|held| labels.iter().position(|label| *label == held.label));
    }
    for held in &held {
        server.answer(&held.id, &json!({ "label": held.label }));
    }
    server.answer(id, &json!({ "released": held.len() }));
}

/// Ends this process by `signal`, by `abort`, or by exit `code`; prints `stderr` and `stdout` before.
fn crash(blanks: &Blanks<'_>, arguments: &Value) {
    stdio::write(&blanks.fill(text(arguments, "stdout")));
    if arguments.get("stderr").is_some() {
        let _ = writeln!(std::io::stderr(), "{}", text(arguments, "stderr"));
    }
    if arguments["abort"] == true {
        std::process::abort();
    }
    #[cfg(unix)]
    if let Some(signal) = arguments["signal"].as_i64() {
        use rustix::process::{Signal, getpid, kill_process};
        if let Some(signal) = Signal::from_named_raw(signal as i32) {
            // Rust's own handler of SIGSEGV ignores the first one.
            let _ = kill_process(getpid(), signal);
            let _ = kill_process(getpid(), signal);
        }
        stdio::rest_for_ever();
    }
    std::process::exit(arguments["code"].as_i64().unwrap_or(1) as i32);
}

enum Stream {
    Input,
    Output,
}

/// Replaces the stream, which closes our end of the pipe. Answers, if that is still possible,
/// and then does nothing more.
fn close(stream: Stream) -> ! {
    #[cfg(unix)]
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = match stream {
            Stream::Input => rustix::stdio::dup2_stdin(&null),
            Stream::Output => rustix::stdio::dup2_stdout(&null),
        };
    }
    #[cfg(not(unix))]
    let _ = stream;
    stdio::write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/closed\"}\n");
    stdio::rest_for_ever()
}

pub(super) fn flood(count: u64, bytes: usize) {
    let data = "x".repeat(bytes);
    for number in 0..count {
        let params = json!({ "level": "info", "number": number, "data": data });
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        stdio::write(format!("{line}\n").as_bytes());
    }
}

/// A slow call.
fn work(server: &Server, blanks: &Blanks<'_>, arguments: &Value) {
    for step in 0..arguments["steps"].as_u64().unwrap_or(0) {
        std::thread::sleep(time(arguments));
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":"#;
        stdio::write(&[blanks.fill(progress), format!("{step}}}}}\n").into_bytes()].concat());
    }
    server.answer_text(blanks.id, "worked");
}

fn later(server: &Server, id: &str, heard: &Heard<'_>) {
    let (arguments, wait) = (&heard.params["arguments"], time(&heard.params["arguments"]));
    let tag = &arguments["tag"];
    if let Some(file) = &server.options.done {
        // A single write, so that lines of other processes do not get into it.
        let line = format!("{}\n", tag.as_str().unwrap_or_default());
        let file = OpenOptions::new().append(true).create(true).open(file);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    if heard.params["_meta"].get("progressToken").is_some() {
        let params = format!(r#"{{"progressToken":{},"progress":1,"message":{tag}}}"#, heard.token);
        let line = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
        stdio::write(format!("{line}\n").as_bytes());
    }
    let fill = "x".repeat(arguments["fill"].as_u64().unwrap_or(0) as usize);
    let content = json!([{ "type": "text", "text": tag }, { "type": "text", "text": fill }]);
    let result = server.result(json!({ "content": content }));
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
    std::thread::spawn(move || {
        std::thread::sleep(wait);
        stdio::write(answer.as_bytes());
    });
}

/// Arguments, environment, folder and descriptors of this process.
fn facts() -> Value {
    let env: serde_json::Map<String, Value> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), json!(value.to_string_lossy())))
        .collect();
    let fds: serde_json::Map<String, Value> = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().into_string().ok()?, json!(std::fs::read_link(entry.path()).ok()?)))
        })
        // The folder itself is open while it is read.
        .filter(|(_, to)| !to.as_str().is_some_and(|to| to.starts_with("/proc")))
        .collect();
    json!({
        "argv": std::env::args().collect::<Vec<_>>(),
        "env": env,
        "cwd": std::env::current_dir().unwrap_or_default(),
        "fds": fds,
        "pid": std::process::id(),
    })
}

/// `request` is the whole message; `id` is the id that the client's answer must carry.
fn ask(server: &mut Server, blanks: &Blanks<'_>, arguments: &Value) {
    let then = arguments.get("then").map(|then| (text(then, "id"), text(then, "request")));
    let then = then.map(|(id, request)| (id.to_owned(), [&blanks.fill(request)[..], b"\n"].concat()));
    let asking = Asking { id: blanks.id.to_owned(), work: time(arguments), then };
    std::thread::sleep(asking.work);
    server.asked.insert(text(arguments, "id").to_owned(), asking);
    let line = blanks.fill(text(arguments, "request"));
    stdio::write(&[&line[..], b"\n"].concat());
}

pub(super) fn client_answered(server: &mut Server, id: &str, line: &str) {
    let Some(mut asking) = server.asked.remove(id) else { return };
    std::thread::sleep(asking.work);
    match asking.then.take() {
        Some((id, request)) => {
            server.asked.insert(id, asking);
            stdio::write(&request);
        }
        None => server.answer_text(&asking.id, line),
    }
}

fn announce(arguments: &Value) {
    if let Some(list) = arguments["list"].as_str() {
        modern::notify(&format!("notifications/{list}/list_changed"), "{}");
    }
    if arguments["uri"].is_string() {
        let params = json!({ "uri": arguments["uri"] });
        modern::notify("notifications/resources/updated", &params.to_string());
    }
}

fn login(server: &mut Server, id: &str, arguments: &Value) {
    if !server.logins.insert(text(arguments, "account").to_owned()) {
        return server.answer_text(id, "logged in");
    }
    let urls = arguments["urls"].as_array().into_iter().flatten();
    let wanted = urls
        .map(|url| json!({ "mode": "url", "elicitationId": url, "url": url, "message": "Please open it." }));
    let data = json!({ "elicitations": wanted.collect::<Vec<Value>>() });
    server.refuse(id, &json!({ "code": -32042, "message": "Open it first", "data": data }));
}

fn time(arguments: &Value) -> Duration {
    Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))
}

/// Starts a process in the same group, unless `group` is `own`; with our stdout and stderr, or none of ours if `quiet`.
fn spawn(arguments: &Value) -> u32 {
    let mut command = sleeper();
    command.stdin(Stdio::null());
    if arguments["quiet"] == true {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    #[expect(clippy::disallowed_methods, reason = "a process that somebody has to clean up is the point")]
    let started = command.spawn();
    started.map_or(0, |child| child.id())
}

#[cfg(unix)]
fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("300");
    command
}

/// Windows has no `sleep`. The words after `--` have no effect; they let a test find the process.
#[cfg(not(unix))]
fn sleeper() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.args(["--never-read", "--"]).args(std::env::args_os().skip(1));
    command
}
