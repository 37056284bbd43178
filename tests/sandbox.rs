//! Sandboxed servers: the entries of docs/security.md, as written there.

use crate::support::{fake_backend, program};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::{daemons, patience};

/// A variable in the environment of the server and its children.
const MARK: &str = "SANDBOXED_FOR";

/// The documented entry with this command.
fn documented(command: &str) -> Value {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md")).unwrap();
    let blocks = page.split("```json").skip(1).map(|block| block.split("```").next().unwrap());
    let entries =
        blocks.map(|block| serde_json::from_str::<Value>(block).unwrap()["mcpServers"]["thing"].clone());
    let mut fitting = entries.filter(|entry| entry["command"] == command);
    fitting.next().unwrap_or_else(|| panic!("docs/security.md has no entry with {command}"))
}

struct Sandboxed {
    client: Client,
    root: PathBuf,
    mark: String,
}

/// A server that tries to read a secret in the home folder and to reach a port of the host, records the
/// results, and then serves; in the documented sandbox or without it.
fn open(is_sandboxed: bool, port: u16) -> Sandboxed {
    let start = program();
    let root = start.scratch().folder("work");
    let secret = start.scratch().home().join("secret");
    fs::write(&secret, "hidden").unwrap();
    let script = format!(
        "cat {secret} >seen 2>/dev/null; bash -c 'echo >/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo reached >>seen; \
         touch tried; exec {fake} --record {record}",
        secret = secret.display(),
        fake = fake_backend().display(),
        record = start.record().folder().display(),
    );
    fs::create_dir_all(start.record().folder()).unwrap();
    let mark = start.scratch().path().display().to_string();
    let entry = documented("bwrap");
    let mut args: Vec<Value> = entry["args"].as_array().unwrap().clone();
    args.pop();
    // The program under test is in no system folder.
    let (fake, record) = (json!(fake_backend()), json!(start.record().folder()));
    args.extend([json!("--ro-bind"), fake.clone(), fake, json!("--bind"), record.clone(), record]);
    args.extend(["/bin/sh", "-c", &script].map(|word| json!(word)));
    let entry = match is_sandboxed {
        true => json!({ "command": entry["command"], "args": args, "env": { MARK: mark } }),
        false => {
            json!({ "command": "/bin/sh", "args": ["-c", script], "cwd": "${root}", "env": { MARK: mark } })
        }
    };
    let config = json!({ "linger": "100ms", "mcpServers": { "thing": entry } });
    let client = window(start, &config).cwd(&root).start();
    Sandboxed { client, root, mark }
}

fn window(start: Start, config: &Value) -> Start {
    let path = start.scratch().file("config.json", config.to_string());
    start.args(["stdio", "--server", "thing", "--config"]).arg(path)
}

impl Sandboxed {
    /// Processes of the server, seen from outside.
    fn processes(&self) -> Vec<u32> {
        pids::with_trace(&format!("{MARK}={}", self.mark))
    }

    /// Starts the server and a child of it; returns its processes.
    fn greet(&mut self) -> Vec<u32> {
        self.client.initialize();
        assert!(self.client.call("spawn", json!({}))["result"]["pid"].as_u64() > Some(0));
        self.processes()
    }

    #[track_caller]
    fn check_nothing_left(&self) {
        patience::until_true("the end of all processes of the sandbox", || self.processes().is_empty());
    }
}

#[test]
fn bubblewrap_hides_home_and_network() {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    for (is_sandboxed, expect) in [(true, ""), (false, "hiddenreached\n")] {
        let mut sandboxed = open(is_sandboxed, port);
        sandboxed.client.initialize();
        let facts = sandboxed.client.call("facts", json!({}));
        assert_eq!(facts["result"]["cwd"], json!(sandboxed.root), "{facts}");
        assert!(sandboxed.root.join("tried").exists(), "it can write there");
        assert_eq!(fs::read_to_string(sandboxed.root.join("seen")).unwrap(), expect, "{is_sandboxed}");
    }
}

#[test]
fn bubblewrap_ends_with_its_window() {
    let mut sandboxed = open(true, 9);
    assert!(sandboxed.greet().len() >= 3, "bwrap, the server and its child");
    sandboxed.client.finish();
    sandboxed.check_nothing_left();
}

#[test]
fn bubblewrap_ends_with_a_killed_daemon() {
    let mut sandboxed = open(true, 9);
    assert!(sandboxed.greet().len() >= 3, "bwrap, the server and its child");
    let old = sandboxed.processes();
    for daemon in daemons::of(sandboxed.client.scratch().path()) {
        pids::tell(daemon, Word::Kill);
    }
    // The window continues with another daemon, which may start the server again.
    patience::until_true("the end of the sandbox", || old.iter().all(|&pid| !pids::is_alive(pid)));
    sandboxed.client.finish();
    sandboxed.check_nothing_left();
}

/// Without a Docker engine, only the command line can be checked.
#[test]
fn docker_entry_is_accepted() {
    let start = program();
    let config = json!({ "mcpServers": { "thing": documented("docker") } });
    let path = start.scratch().file("config.json", config.to_string());
    let root = start.scratch().folder("work");
    let mut client = start.args(["check", "--config"]).arg(path).cwd(&root).start();
    let end = client.finish();
    let shown = String::from_utf8_lossy(&end.stdout).into_owned();
    let expect = format!(
        "thing: docker run --rm -i --init --network none --cap-drop ALL --security-opt no-new-privileges \
         --volume {0}:{0} --workdir {0} example/mcp-thing",
        root.display()
    );
    assert!(shown.contains(&expect), "{shown}\n{}", end.stderr);
    assert!(!shown.contains("error:"), "{shown}");
}
