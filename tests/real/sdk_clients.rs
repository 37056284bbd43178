//! Programs built on the official SDKs: the same conversation directly and through us, with the same results.

use super::peers::{Link, Server, driver, node_package, python};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

/// Runs a program to its end in the server's folder; returns its output and checks for leftovers.
#[track_caller]
fn run(server: &Server, words: Vec<OsString>) -> String {
    run_in(server.folder(), "", words, &|| server.processes())
}

/// The same in any folder, with a prefix for the names of tools and prompts.
#[track_caller]
pub(super) fn run_in(
    folder: &Scratch,
    prefix: &str,
    words: Vec<OsString>,
    processes: &dyn Fn() -> Vec<u32>,
) -> String {
    let printed = printed_in(folder, prefix, words);
    let left = processes();
    assert!(left.is_empty(), "still there: {left:?}");
    printed
}

/// The same for a program whose server stays.
#[track_caller]
pub(super) fn printed(server: &Server, words: Vec<OsString>) -> String {
    printed_in(server.folder(), "", words)
}

#[track_caller]
fn printed_in(folder: &Scratch, prefix: &str, words: Vec<OsString>) -> String {
    let start = Start::new(&words[0]).args(&words[1..]).env("HOME", folder.folder("home"));
    let mut program = start.env("PREFIX", prefix).cwd(folder.path()).start();
    let deadline = Instant::now() + patience::LIMIT;
    while !program.has_ended() {
        let seen = || (String::from_utf8_lossy(&program.unread_bytes()).into_owned(), logs(folder));
        assert!(Instant::now() < deadline, "it does not end; it printed, and we logged: {:#?}", seen());
        std::thread::sleep(Duration::from_millis(10));
    }
    let end = program.wait_for_end();
    let printed = String::from_utf8_lossy(&end.stdout).into_owned();
    assert_eq!(end.code, Some(0), "{printed}\n{}", end.stderr);
    printed
}

/// The last lines of our log for this server.
fn logs(folder: &Scratch) -> Vec<String> {
    let folder = folder.join("home/.local/state/switchboard/logs");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let text: String = files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(30)..].to_vec()
}

/// Runs both ways; returns the steps.
#[track_caller]
fn same_both_ways(server: &Server, program: &[OsString]) -> Vec<Value> {
    same_through(server, program, server.command(Link::Through))
}

/// The same for a client that knows both eras, where modern requests are turned off.
#[track_caller]
fn same_falling_back(server: &Server, program: &[OsString]) -> Vec<Value> {
    let config = json!({ "clientEra": "legacy", "mcpServers": { "far": server.entry() } });
    let path = server.folder().file("config.json", config.to_string());
    let words = [env!("CARGO_BIN_EXE_switchboard"), "stdio", "--solo", "--server", "far", "--config"];
    same_through(server, program, words.map(OsString::from).into_iter().chain([path.into()]).collect())
}

#[track_caller]
fn same_through(server: &Server, program: &[OsString], through: Vec<OsString>) -> Vec<Value> {
    let [direct, through] =
        [server.command(Link::Direct), through].map(|words| run(server, [program.to_vec(), words].concat()));
    for (direct, through) in direct.lines().zip(through.lines()) {
        assert_eq!(through, direct, "through us (left), directly (right)");
    }
    assert_eq!(through.lines().count(), direct.lines().count(), "through us: {through}\ndirectly: {direct}");
    through.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The value of a step.
#[track_caller]
pub(super) fn step<'a>(steps: &'a [Value], name: &str) -> &'a Value {
    match steps.iter().find(|step| step["step"] == name) {
        Some(step) => &step["value"],
        None => panic!("there was no step `{name}`: {steps:#?}"),
    }
}

/// Checks the steps that each client must have seen of server-everything.
#[track_caller]
pub(super) fn check_everything(steps: &[Value]) {
    let text = |name: &str| step(steps, name)["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("echo"), "Echo: „hi“ 😀");
    assert_eq!(text("long"), "Long running operation completed. Duration: 1 seconds, Steps: 4.");
    assert!(text("sampling").contains("sampled – äöü"));
    assert!(text("elicitation").contains("User provided the requested information"));
    assert!(text("roots").contains("file:///home/someone/project"));
    assert_eq!(step(steps, "structured")["structuredContent"]["temperature"], 36);
    assert_eq!(step(steps, "progress").as_array().map(Vec::len), Some(3));
    assert_eq!(step(steps, "updated")[0]["uri"], "demo://resource/dynamic/text/1");
    assert_eq!(step(steps, "closed"), true);
}

#[track_caller]
fn check_typescript(flavour: &str) {
    let program = ["node".into(), driver("typescript.mjs").into(), flavour.into()];
    let steps = match flavour {
        "2-auto" => same_falling_back(&Server::everything(), &program),
        _ => same_both_ways(&Server::everything(), &program),
    };
    check_everything(&steps);
    assert_eq!(step(&steps, "tools")["tools"].as_array().map(Vec::len), Some(16));
    assert!(step(&steps, "cancelled")["message"].as_str().is_some_and(|why| why.contains("enough")));
}

#[test]
fn typescript_1_sees_the_same() {
    check_typescript("1");
}

#[test]
fn typescript_2_sees_the_same() {
    check_typescript("2-legacy");
}

#[test]
fn typescript_2_falls_back() {
    check_typescript("2-auto");
}

pub(super) fn python_program(environment: &str, mode: &str, server: &str) -> [OsString; 4] {
    [python(environment).into(), driver("python.py").into(), mode.into(), server.into()]
}

#[test]
fn python_1_sees_the_same() {
    check_everything(&same_both_ways(
        &Server::everything(),
        &python_program(".venv-1", "session", "everything"),
    ));
}

#[test]
fn python_2_sees_the_same() {
    check_everything(&same_both_ways(
        &Server::everything(),
        &python_program(".venv", "legacy", "everything"),
    ));
    same_both_ways(&Server::time(), &python_program(".venv", "legacy", "time"));
}

/// The time server speaks both eras, so the two conversations are of different eras, and only their results are the same.
#[test]
fn python_2_falls_back() {
    let program = python_program(".venv", "auto", "everything");
    check_everything(&same_falling_back(&Server::everything(), &program));
    let server = Server::time();
    let program = python_program(".venv", "auto", "time");
    let [direct, through] = [Link::Direct, Link::Through].map(|link| {
        let printed = run(&server, [program.to_vec(), server.command(link)].concat());
        let steps: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        ["Asia/Tokyo", "Nowhere/None", "closed"].map(|name| step(&steps, name).clone())
    });
    assert_eq!(through, direct);
}

/// The Inspector's command line, with a config file in the common form.
#[test]
fn inspector_cli_sees_the_same() {
    let server = Server::everything();
    let entry = |link| {
        let words: Vec<String> =
            server.command(link).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        json!({ "command": words[0], "args": words[1..] })
    };
    let config = json!({ "mcpServers": { "direct": entry(Link::Direct), "through": entry(Link::Through) } });
    let config = server.folder().file("inspector.json", config.to_string());
    let ask = |name: &str, question: &[&str]| {
        let mut words: Vec<OsString> = vec!["node".into()];
        words.push(node_package("@modelcontextprotocol/inspector/clients/launcher/build/index.js").into());
        words.extend(["--cli", "--config"].map(OsString::from));
        words.push(config.clone().into());
        words.extend(["--server", name].into_iter().chain(question.iter().copied()).map(OsString::from));
        run(&server, words)
    };
    for question in [
        &["--method", "tools/list"][..],
        &["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
        &["--method", "resources/list"],
        &["--method", "prompts/get", "--prompt-name", "simple-prompt"],
    ] {
        let through = ask("through", question);
        assert_eq!(through, ask("direct", question));
        assert!(serde_json::from_str::<Value>(&through).is_ok_and(|answer| answer.is_object()), "{through}");
    }
}
