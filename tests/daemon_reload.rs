//! Config reloads and shared command lines through the daemon.

use crate::support::{error, fake_backend, greet, program};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, End, Start};
use switchboard_testkit::pids::Word;
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::{patience, pids};

/// Folders of one user, for all windows of a test. The name is short, since a socket's path has a length
/// limit.
struct Home {
    scratch: Scratch,
    runtime: PathBuf,
}

impl Home {
    fn new() -> Self {
        let scratch = Scratch::new();
        let runtime = scratch.folder("r");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
        Self { scratch, runtime }
    }

    fn program(&self, args: &[&str]) -> Start {
        let work = self.scratch.folder("work");
        self.bare(args).cwd(work)
    }

    fn bare(&self, args: &[&str]) -> Start {
        // One user: servers get HOME, so another HOME would mean other instances.
        let start = program().args(args).env("XDG_RUNTIME_DIR", &self.runtime).home(self.scratch.home());
        start.env("XDG_CONFIG_HOME", self.scratch.folder("config"))
    }

    fn run(&self, args: &[&str]) -> (End, String) {
        let end = self.program(args).start().finish();
        let output = String::from_utf8_lossy(&end.stdout).into_owned();
        (end, output)
    }

    fn write(&self, name: &str, config: &Value) -> String {
        self.scratch.file(name, config.to_string()).to_str().unwrap().to_owned()
    }

    fn window(&self, config: &str, server: &str) -> Client {
        greet(self.program(&["stdio", "--config", config, "--server", server]))
    }

    fn status(&self) -> Value {
        let (_, output) = self.run(&["status", "--json"]);
        serde_json::from_str(&output).unwrap()
    }

    fn log(&self) -> String {
        let files = fs::read_dir(self.scratch.state("logs")).into_iter().flatten().flatten();
        let own = files.filter(|file| file.file_name().to_string_lossy().starts_with("switchboard"));
        own.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect()
    }
}

/// Kills every daemon that is left.
impl Drop for Home {
    fn drop(&mut self) {
        let status = self.status();
        for daemon in status["daemons"].as_array().into_iter().flatten() {
            pids::tell(daemon["pid"].as_u64().unwrap_or_default() as u32, Word::Kill);
        }
    }
}

fn server(args: &[&str]) -> Value {
    json!({ "command": fake_backend(), "args": args })
}

fn pid(client: &mut Client) -> u64 {
    client.call("facts", json!({}))["result"]["pid"].as_u64().unwrap()
}

#[test]
fn reload_changes_only_changed_servers() {
    let home = Home::new();
    let config = |servers: Value| home.write("c.json", &json!({ "mcpServers": servers }));
    let file = config(json!({ "a": server(&[]), "b": server(&[]), "c": server(&[]) }));
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| home.window(&file, name));
    let before = [pid(&mut a), pid(&mut b), pid(&mut c)];
    let slow = b.start_call("work", json!({ "ms": 2000, "steps": 1 }));
    patience::until_true("the call is there", || home.status().to_string().contains(r#""open":1"#));

    config(json!({ "a": server(&[]), "b": server(&["--tool", "other"]), "d": server(&[]) }));
    let (end, output) = home.run(&["reload"]);
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    let is_told = output.contains("c.json: changed: b; added: d; removed: c")
        || output.contains("no server has changed");
    assert!(is_told, "{output}");

    assert_eq!(pid(&mut a), before[0], "it is as it was");
    assert_ne!(pid(&mut b), before[1], "it is another");
    let answer = b.answer(slow);
    assert!(answer["error"].is_null(), "the old one finishes what it is at: {answer}");
    patience::until_true("the old one is gone", || !pids::is_alive(before[1] as u32));
    let answer = c.request("tools/list", json!({}));
    let told = error(&answer, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("no longer in the config"), "{told}");
    let mut d = home.window(&file, "d");
    assert_ne!(pid(&mut d), before[0]);
}

#[test]
fn watched_file_with_errors_is_rejected() {
    let home = Home::new();
    let file = home.write("c.json", &json!({ "mcpServers": { "a": server(&[]) } }));
    let mut a = home.window(&file, "a");
    let before = pid(&mut a);

    fs::write(&file, r#"{ "mcpServers": { "a": { "command": 7 } } }"#).unwrap();
    patience::until_true("it is refused", || home.log().contains("config file rejected"));
    assert_eq!(pid(&mut a), before);
    let (end, _) = home.run(&["reload"]);
    assert_eq!(end.code, Some(1));
    assert!(
        end.stderr.contains("keeps its previous config") && end.stderr.contains("command"),
        "{}",
        end.stderr
    );
    assert_eq!(pid(&mut a), before);

    home.write("c.json", &json!({ "mcpServers": { "a": server(&["--tool", "other"]) } }));
    patience::until_true("it is taken over", || home.log().contains("config reloaded"));
    assert_ne!(pid(&mut a), before);
}

/// A changed project file must be trusted again.
#[test]
fn changed_project_file_needs_new_trust() {
    let home = Home::new();
    let work = home.scratch.folder("work");
    let write =
        |args: &[&str]| home.write("work/switchboard.json", &json!({ "mcpServers": { "a": server(args) } }));
    write(&[]);
    let trust = || assert_eq!(home.run(&["trust", work.to_str().unwrap()]).0.code, Some(0));
    trust();
    let mut a = greet(home.program(&["stdio", "--server", "a"]));
    let before = pid(&mut a);

    write(&["--tool", "evil"]);
    let (end, _) = home.run(&["reload"]);
    assert_eq!(end.code, Some(1));
    assert!(end.stderr.contains("has changed since you trusted it"), "{}", end.stderr);
    patience::until_true("it is refused", || home.log().contains("config file rejected"));
    assert_eq!(pid(&mut a), before);

    trust();
    patience::until_true("it is taken over", || home.log().contains("config reloaded"));
    assert_ne!(pid(&mut a), before);
}

#[test]
fn settings_that_need_a_restart_are_named() {
    let home = Home::new();
    let config = |more: Value| {
        let mut config = json!({ "mcpServers": { "a": server(&[]) } });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        home.write("c.json", &config)
    };
    let file = config(json!({}));
    let mut a = home.window(&file, "a");
    let before = pid(&mut a);
    config(json!({ "maxMessageBytes": "1MiB", "linger": "0s" }));
    // Either the reload or the watcher logs it first.
    home.run(&["reload"]);
    patience::until_true("it is said", || home.log().contains("maxMessageBytes"));
    assert_eq!(pid(&mut a), before);
    a.finish();
    patience::until_true("it does not linger", || !pids::is_alive(before as u32));
}

#[test]
fn share_ad_hoc_shares_command_lines() {
    let home = Home::new();
    home.write("config/switchboard/config.json", &json!({ "mcpServers": {}, "shareAdHoc": true }));
    let fake = fake_backend();
    let window = |args: &[&str]| {
        let start = home.program(&["stdio", "--", fake.to_str().unwrap()]).args(args);
        greet(start)
    };
    let [mut one, mut two, mut other] = [window(&[]), window(&[]), window(&["--tool", "other"])];
    assert_eq!(pid(&mut one), pid(&mut two));
    assert_ne!(pid(&mut one), pid(&mut other));
    let status = home.status();
    let servers = status["daemons"][0]["servers"].as_array().unwrap();
    let names: Vec<&str> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    let name = fake.file_stem().unwrap().to_str().unwrap();
    assert_eq!(names, [name.to_owned(), format!("{name}-2")]);
}

/// The daemon checks its own config, whatever the attachment says.
#[test]
fn daemon_refuses_unshared_command_line() {
    let home = Home::new();
    let write = |shares: bool| {
        let config = json!({ "mcpServers": { "a": server(&[]) }, "shareAdHoc": shares, "linger": "1m" });
        home.write("config/switchboard/config.json", &config)
    };
    write(false);
    let mut a = greet(home.program(&["stdio", "--server", "a"]));
    pid(&mut a);
    let socket = home.status()["daemons"][0]["socket"].as_str().unwrap().to_owned();
    let launch = json!({ "command": fake_backend(), "args": [], "max_backends": 3, "idle_ttl": null, "root_arguments": [],
        "inherit_env": "safe", "pass_env": [], "guard": "auto", "keep": [] });
    let newcomer = json!({ "server": "x", "ad_hoc": launch, "given": [], "env": [] });
    let hello = json!({ "protocol": 1, "version": "0.1.0", "wants": { "client": newcomer } });
    let ask = || {
        let mut connection = UnixStream::connect(&socket).unwrap();
        writeln!(connection, "{hello}").unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let refused = ask();
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("shareAdHoc")), "{refused}");
    let servers = home.status()["daemons"][0]["servers"].clone();
    assert_eq!(servers.as_array().unwrap().len(), 1, "{servers}");

    write(true);
    home.run(&["reload"]);
    let taken = ask();
    assert!(taken["error"].is_null(), "{taken}");
}

/// Servers get the user's limit of open files; the daemon raises its own.
#[cfg(target_os = "linux")]
#[test]
fn servers_keep_the_users_file_limit() {
    let home = Home::new();
    let said = home.scratch.join("limit");
    let script = format!("ulimit -S -n > '{}'; exec \"$0\"", said.display());
    let guarded = json!({ "command": "sh", "args": ["-c", script, fake_backend()] });
    for guard in ["auto", "off"] {
        let mut entry = guarded.clone();
        entry["guard"] = json!(guard);
        let file = home.write(&format!("{guard}.json"), &json!({ "mcpServers": { "a": entry } }));
        let words = |_: &Path| ["-c", "ulimit -S -n 123; exec \"$0\" \"$@\""].map(Into::into).to_vec();
        let start =
            home.program(&["stdio", "--server", "a", "--config", &file]).behind(Path::new("/bin/sh"), words);
        let mut client = greet(start);
        pid(&mut client);
        assert_eq!(fs::read_to_string(&said).unwrap().trim(), "123", "guard: {guard}");
        let status = home.status();
        let daemons = status["daemons"].as_array().unwrap();
        let daemon = daemons.iter().find(|daemon| daemon["config"] == json!(file)).unwrap();
        let limits = fs::read_to_string(format!("/proc/{}/limits", daemon["pid"])).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
        assert_eq!(numbers[0], numbers[1], "{line}");
    }
}
