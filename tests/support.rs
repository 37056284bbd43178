//! Shared by all test files: the programs, and helpers for expectations.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::{daemons, patience, wine};

/// The program under test, without arguments yet.
pub(crate) fn program() -> Start {
    Start::new(switchboard())
}

/// The path of the program: the one of this system or, under Wine, the one for Windows.
pub(crate) fn switchboard() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_switchboard"));
    BINARY.get_or_init(|| wine::executable("switchboard").unwrap_or_else(own))
}

/// The process that serves a window. The promises in `tests/modes` hold in both modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The window's own process: `stdio -- COMMAND`, or `--solo`.
    Solo,
    /// The daemon that all windows share, the default with a config file.
    Daemon,
}

impl Mode {
    /// The fake backend as the only server, after `--` or in a config file.
    pub(crate) fn fake(self, options: &[&str]) -> Start {
        self.through(&[], options)
    }

    /// The same with flags of ours.
    pub(crate) fn through(self, flags: &[&str], options: &[&str]) -> Start {
        let start = program();
        let record = start.record();
        match self {
            Self::Solo => {
                let start = start.arg("stdio").args(flags).arg("--").arg(fake_backend());
                start.arg("--record").arg(record.folder()).args(options)
            }
            Self::Daemon => {
                // With the name that the server has after `--`.
                let entry = entry(json!({}), record.folder(), options);
                let config = json!({ "mcpServers": { "fake-backend": entry } });
                let path = start.scratch().file("config.json", config.to_string());
                start.arg("stdio").args(flags).args(["--server", "fake-backend", "--config"]).arg(path)
            }
        }
    }

    /// From a config file: `file` has its top-level keys, `server` those of its only server, `fake`.
    pub(crate) fn configured(self, file: Value, server: Value, options: &[&str]) -> Start {
        let start = program();
        let record = start.record();
        let path =
            start.scratch().file("config.json", config(file, server, record.folder(), options).to_string());
        self.window(start, &path)
    }

    /// A window on the server `fake` of this config file.
    pub(crate) fn window(self, start: Start, config: &Path) -> Start {
        let start = start.args(["stdio", "--server", "fake", "--config"]).arg(config);
        match self {
            Self::Solo => start.arg("--solo"),
            Self::Daemon => start,
        }
    }

    /// A server with very high limits, which gets every request at once.
    pub(crate) fn wide(self) -> Start {
        self.configured(json!({}), json!({ "maxInFlight": 10_000, "maxQueue": 10_000 }), &[])
    }

    /// A client of the fake backend, after its handshake.
    #[track_caller]
    pub(crate) fn greeted(self, options: &[&str]) -> Client {
        greet(self.fake(options))
    }
}

/// `switchboard stdio -- fake-backend …`
pub(crate) fn fake(options: &[&str]) -> Start {
    Mode::Solo.fake(options)
}

/// `switchboard stdio FLAGS -- fake-backend …`
pub(crate) fn through(flags: &[&str], options: &[&str]) -> Start {
    Mode::Solo.through(flags, options)
}

/// `switchboard stdio --config FILE --server fake`, served by the daemon as usual.
pub(crate) fn configured(file: Value, server: Value, options: &[&str]) -> Start {
    Mode::Daemon.configured(file, server, options)
}

/// The same with a server that gets every request at once.
pub(crate) fn wide() -> Start {
    Mode::Daemon.wide()
}

/// Config file with the fake backend as its only server.
pub(crate) fn config(file: Value, server: Value, record: &Path, options: &[&str]) -> Value {
    let mut config = json!({ "mcpServers": { "fake": entry(server, record, options) } });
    merge(&mut config, file);
    config
}

/// The fake backend's entry in a config file.
fn entry(server: Value, record: &Path, options: &[&str]) -> Value {
    let mut args = vec![json!("--record"), json!(record)];
    args.extend(options.iter().map(|option| json!(option)));
    let mut entry = json!({ "command": fake_backend(), "args": args });
    merge(&mut entry, server);
    entry
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// A client of the fake backend, after its handshake.
#[track_caller]
pub(crate) fn greeted(options: &[&str]) -> Client {
    greet(fake(options))
}

#[track_caller]
pub(crate) fn greet(start: Start) -> Client {
    let mut client = start.start();
    client.initialize();
    client
}

/// The process that serves a client: its daemon, or the program itself.
pub(crate) fn gateway_pid(client: &Client) -> u32 {
    daemons::of(client.scratch().path()).first().copied().unwrap_or(client.pid())
}

/// The fake backend's binary, as the program sees it.
pub(crate) fn fake_backend() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let own = || testkit_binary("fake-backend");
    BINARY.get_or_init(|| wine::executable("fake-backend").map_or_else(own, |path| wine::path(&path).into()))
}

/// The binary of a client in its own process.
#[cfg(target_os = "linux")]
pub(crate) fn fake_ide() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| testkit_binary("fake-ide"))
}

/// A binary of another package, which `cargo test` does not build for us; built here unless it is newer than
/// its sources.
fn testkit_binary(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    let binary = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    if !is_fresh(&binary) {
        build(folder, &["--package", "switchboard-testkit", "--bin", name]);
        // Cargo leaves a binary alone that no change concerns. Without a new date, every later run would build again, in
        // the middle of its first tests.
        let _ = fs::File::open(&binary).and_then(|file| file.set_modified(SystemTime::now()));
    }
    binary
}

/// The binary of an example, which `cargo test --test e2e` does not build either.
pub(crate) fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    build(folder, &["--example", name]);
    folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// The binary of an example of the testkit; all of them are built with the first.
#[cfg(target_os = "linux")]
pub(crate) fn testkit_example(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let folder = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    BUILT.get_or_init(|| build(folder, &["--package", "switchboard-testkit", "--examples"]));
    folder.join("examples").join(name)
}

fn is_fresh(binary: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "client", "fake", "ide"].map(|name| workspace.join("crates/testkit/src").join(name));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let sources = entries.map(|entry| entry.unwrap().path());
    let newest = sources.chain([workspace.join("Cargo.lock")]).filter_map(|path| changed(&path)).max();
    changed(binary) > newest
}

fn build(folder: &Path, target: &[&str]) {
    let profile = match folder.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet"]).args(target);
    build.args(["--profile", profile, "--target-dir"]).arg(folder.parent().unwrap());
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "a build, which is waited for")]
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// The error of an answer; checks its code and `data.kind`.
#[track_caller]
pub(crate) fn error<'a>(answer: &'a Value, code: i64, kind: &str) -> &'a Value {
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(code), &json!(kind)), "{answer}");
    error
}

/// The text of a call's result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    match answer["result"]["content"][0]["text"].as_str() {
        Some(text) => text,
        None => panic!("no text: {answer}"),
    }
}

/// Arguments that make the fake backend print exactly this and a newline.
pub(crate) fn saying(template: &str) -> Value {
    json!({ "text": format!("{template}\n") })
}

/// Calls the tool `say` with an id in this spelling.
pub(crate) fn say_with_id(client: &Client, id: &str, template: &str) {
    let arguments = saying(template);
    let params = format!(r#"{{"name":"say","arguments":{arguments}}}"#);
    client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#));
}

/// Escapes percent signs for the fake backend's templates.
pub(crate) fn escape_percent(text: &str) -> String {
    text.replace('%', "%%")
}

/// Our daily log, once it contains this text. Log lines are written with a short delay.
#[track_caller]
pub(crate) fn log_with(client: &Client, text: &str) -> String {
    log_in(&client.scratch().state("logs"), text)
}

/// The same for a folder of logs.
#[track_caller]
pub(crate) fn log_in(folder: &Path, text: &str) -> String {
    patience::until(format_args!("`{text}` in the log, which is {:?}", read_log(folder)), || {
        Some(read_log(folder)).filter(|log| log.contains(text))
    })
}

fn read_log(folder: &Path) -> String {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    names.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("switchboard-"))
    });
    names.sort();
    names.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}
