//! Trees of real node processes: no process is left after any kind of end.

use super::ends::{daemon_pid, handles};
use super::{alive, check_gone, check_nothing_left, check_soon_gone, given, processes, program, shims};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::{daemons, patience, wine};

/// The server's command in the config.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Node,
    /// A batch file that runs under `cmd.exe`.
    Batch,
    /// `npx.cmd`, which is replaced by node; npx itself starts the server under a `cmd.exe`.
    Npx,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Node, Self::Batch, Self::Npx];

    /// The number of processes: the server, its child and grandchild, and any wrappers.
    pub(super) fn processes(self) -> usize {
        match self {
            Self::Node => 3,
            Self::Batch => 4,
            Self::Npx => 5,
        }
    }

    /// Command and first arguments, which need files in this folder.
    fn command(self, folder: &Path) -> (String, Vec<String>) {
        match self {
            Self::Node => (wine::path(&folder.join("node.exe")), vec![wine::path(&folder.join("family.js"))]),
            Self::Batch => {
                let text = "@echo off\r\nver >nul\r\n\"%~dp0node.exe\" \"%~dp0family.js\" %*\r\n";
                fs::write(folder.join("family.cmd"), text).unwrap();
                ("family".into(), Vec::new())
            }
            Self::Npx => {
                shims::write_npx(folder);
                fs::write(folder.join("family.cmd"), shims::old_shim("family.js")).unwrap();
                ("npx".into(), vec!["-y".into(), "family".into()])
            }
        }
    }
}

/// A server with a child and a grandchild, all of them node processes.
fn family(scratch: &Scratch, way: Way, keys: Value) -> Value {
    let folder = scratch.folder(&format!("{way:?}"));
    shims::write_node(&folder);
    fs::copy(shims::ours("family.js"), folder.join("family.js")).unwrap();
    let (command, mut args) = way.command(&folder);
    args.extend(["server".into(), scratch.path().display().to_string()]);
    let mut entry = json!({
        "command": command,
        "args": args,
        "env": { "PATH": wine::path(&folder) + r";C:\windows\system32", "NODE_SKIP_PLATFORM_CHECK": "1" },
        "packages": "workspace",
        "shutdownGrace": "500ms",
    });
    entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    entry
}

/// The processes of the servers.
pub(super) fn family_members(scratch: &Scratch) -> Vec<u32> {
    let all = pids::with_text(&scratch.path().display().to_string());
    let is_one =
        |pid: &u32| ["family.js", "npx-cli.js", "cmd.exe"].iter().any(|name| pids::mentions(*pid, name));
    all.into_iter().filter(is_one).collect()
}

#[track_caller]
pub(super) fn wait_for_members(scratch: &Scratch, count: usize) {
    patience::until_true(format_args!("{count} processes of servers: {:?}", family_members(scratch)), || {
        family_members(scratch).len() == count
    });
}

/// A window on all servers of the config file.
fn window(scratch: &Scratch, config: &Path) -> Client {
    let exe = given("WINDOWS_EXECUTABLES").join("switchboard.exe");
    let mut client = Start::inside(scratch, exe).args(["stdio", "--config"]).arg(config).start();
    client.initialize();
    client
}

pub(super) fn call(client: &mut Client, tool: &str) -> Value {
    let answer = client.call(tool, json!({}));
    assert!(answer.get("result").is_some(), "{answer}");
    answer
}

/// A client of a program without a daemon, whose server has a child and a grandchild.
pub(super) fn solo(way: Way) -> Client {
    let start = program();
    let entry = family(start.scratch(), way, json!({}));
    let config = start.scratch().file("config.json", json!({ "mcpServers": { "f": entry } }).to_string());
    let mut client = start.args(["stdio", "--solo", "--server", "f", "--config"]).arg(config).start();
    client.initialize();
    wait_for_members(client.scratch(), way.processes());
    client
}

/// The config file of a server with a child and a grandchild. The daemon ends with its last client.
pub(super) fn family_config(scratch: &Scratch, way: Way, keys: Value) -> std::path::PathBuf {
    let entry = family(scratch, way, keys);
    scratch.file("config.json", json!({ "mcpServers": { "f": entry }, "linger": 0 }).to_string())
}

/// A window whose server has a child and a grandchild, with these settings.
pub(super) fn attached(scratch: &Scratch, way: Way, keys: Value) -> Client {
    let config = family_config(scratch, way, keys);
    let mut client = window(scratch, &config);
    call(&mut client, "f__ping");
    wait_for_members(scratch, way.processes());
    client
}

#[test]
fn killed_program_leaves_no_node() {
    for (way, word) in Way::ALL.map(|way| (way, Word::Kill)).into_iter().chain([(Way::Node, Word::Abort)]) {
        let client = solo(way);
        client.signal(word);
        check_nothing_left(&client);
    }
}

#[test]
fn orderly_end_leaves_no_node() {
    for way in Way::ALL {
        let mut client = solo(way);
        assert_eq!(client.finish().code, Some(0), "{way:?}");
        check_nothing_left(&client);
    }
}

#[test]
fn killed_daemon_leaves_no_node() {
    for way in Way::ALL {
        let scratch = Scratch::new();
        let _client = attached(&scratch, way, json!({}));
        let daemon = daemons::of(scratch.path());
        assert_eq!(daemon.len(), 1, "one daemon");
        let before = family_members(&scratch);
        pids::tell(daemon[0], Word::Kill);
        check_gone(daemon[0], "the daemon's processes", || alive(&before));
    }
}

#[test]
fn killed_client_leaves_no_node() {
    for way in Way::ALL {
        let scratch = Scratch::new();
        let client = attached(&scratch, way, json!({}));
        client.signal(Word::Kill);
        check_gone(client.pid(), "the server", || family_members(&scratch));
        // Slow: the daemon lingers after its last client.
        if let Way::Node = way {
            patience::until_true("the daemon ends too", || daemons::of(scratch.path()).is_empty());
        }
    }
}

#[test]
fn idle_server_leaves_no_node() {
    for way in Way::ALL {
        let scratch = Scratch::new();
        let mut client = attached(&scratch, way, json!({ "idleTtl": "1s", "state": "none" }));
        call(&mut client, "f__ping");
        check_soon_gone(Instant::now() + Duration::from_secs(1), "the idle server", || {
            family_members(&scratch)
        });
        assert!(!client.has_ended());
    }
}

#[test]
fn evicted_server_leaves_no_node() {
    for way in Way::ALL {
        let scratch = Scratch::new();
        let entry = family(&scratch, way, json!({ "state": "none" }));
        let servers = json!({ "one": entry, "two": entry });
        let config = json!({ "mcpServers": servers, "pool": { "maxBackends": 1 } });
        let config = scratch.file("small.json", config.to_string());
        let mut client = window(&scratch, &config);
        call(&mut client, "one__ping");
        wait_for_members(&scratch, way.processes());
        let before = family_members(&scratch);
        call(&mut client, "two__ping");
        check_soon_gone(Instant::now(), "the server that has made room", || alive(&before));
        wait_for_members(&scratch, way.processes());
    }
}

/// Two windows with a server each, opened, used and closed in different ways. A third window keeps the daemon running. The
/// daemon's Windows handles, and the descriptors and threads of its Unix process, must not grow.
#[test]
fn thirty_cycles_leave_no_node() {
    const CYCLES: usize = 30;
    let scratch = Scratch::new();
    let mut entry = family(&scratch, Way::Node, json!({ "scope": "client" }));
    entry["args"][1] = json!("alone");
    let fake = json!({ "command": given("WINDOWS_EXECUTABLES").join("fake-backend.exe") });
    let config = json!({ "mcpServers": { "f": entry, "fake": fake }, "linger": 0 }).to_string();
    let config = scratch.file("config.json", config);
    let mut holds = window(&scratch, &config);
    call(&mut holds, "fake__echo");
    wait_for_members(&scratch, 0);
    let daemon = daemons::of(scratch.path())[0];
    let told = daemon_pid(&scratch);
    let mut sizes = Vec::new();
    for cycle in 0..CYCLES {
        let mut windows = [window(&scratch, &config), window(&scratch, &config)];
        for client in &mut windows {
            call(client, "f__ping");
        }
        wait_for_members(&scratch, 2);
        for client in &mut windows {
            match cycle % 3 {
                0 => drop(client.finish()),
                1 => client.signal(Word::Kill),
                // Like a closed console: the window has no time to clean up.
                _ => client.signal(Word::HangUp),
            }
        }
        let both: Vec<u32> = windows.iter().map(Client::pid).collect();
        patience::until_true("both windows have ended", || alive(&both).is_empty());
        check_soon_gone(Instant::now(), "both servers", || family_members(&scratch));
        sizes.push((entries(daemon, "fd"), entries(daemon, "task"), handles(told)));
        assert_eq!(daemons::of(scratch.path()), [daemon]);
    }
    let (early, late) = (sizes[CYCLES / 3], sizes[CYCLES - 1]);
    assert!(late.0 <= early.0 + 4, "descriptors grow: {sizes:?}");
    assert!(late.1 <= early.1 + 2, "threads grow: {sizes:?}");
    assert!(late.2 <= early.2 + 4 && early.2 > 20, "handles grow: {sizes:?}");
}

fn entries(pid: u32, folder: &str) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, Iterator::count)
}

/// A server needs no thread.
#[test]
fn hundred_servers_need_few_threads() {
    const SERVERS: usize = 100;
    /// Our own threads, those of the runtime, and the system's pool, in which one thread waits for 63 processes.
    const MAX_THREADS: usize = 16;
    let start = program();
    let record = start.record();
    let fake = given("WINDOWS_EXECUTABLES").join("fake-backend.exe");
    let entry =
        json!({ "command": fake, "args": ["--record", record.folder()], "state": "none", "idleTtl": 0 });
    let servers: serde_json::Map<String, Value> =
        (0..SERVERS).map(|number| (format!("s{number}"), entry.clone())).collect();
    let config = json!({ "mcpServers": servers, "pool": { "maxBackends": SERVERS } });
    let config = start.scratch().file("config.json", config.to_string());
    let mut client = start.args(["stdio", "--solo", "--config"]).arg(config).start();
    client.initialize();
    client.request("tools/list", json!({}));
    for number in 0..SERVERS {
        call(&mut client, &format!("s{number}__echo"));
    }
    assert!(processes(&client).len() > SERVERS, "{}", processes(&client).len());
    let threads = entries(client.pid(), "task");
    assert!(threads <= MAX_THREADS, "{threads} threads");
    client.signal(Word::Kill);
    check_nothing_left(&client);
}

/// Under Wine the amount is wrong: each process reports the CPU time of the one that asks.
#[test]
fn status_shows_memory_and_cpu_time() {
    let scratch = Scratch::new();
    let record = scratch.folder("record");
    let fake = given("WINDOWS_EXECUTABLES").join("fake-backend.exe");
    let entry = json!({ "command": fake, "args": ["--record", record] });
    let config = scratch.file("config.json", json!({ "mcpServers": { "fake": entry } }).to_string());
    let mut client = window(&scratch, &config);
    call(&mut client, "fake__echo");
    patience::until_true("both in `status`", || {
        let exe = given("WINDOWS_EXECUTABLES").join("switchboard.exe");
        let end = Start::inside(&scratch, exe).args(["status", "--json"]).start().finish();
        assert_eq!(end.code, Some(0), "{}", end.stderr);
        let status: Value = serde_json::from_slice(&end.stdout).unwrap();
        let instance = &status["daemons"][0]["servers"][0]["instances"][0];
        assert_eq!(instance["state"], "ready", "{status:#}");
        instance["memoryBytes"].as_u64() > Some(1 << 20) && instance["cpuSeconds"].as_f64() > Some(0.0)
    });
}

/// Stdin stays open, so only the watch on the parent can notice its end.
#[test]
fn end_of_the_parent_ends_us() {
    let client = behind_a_parent(&[]);
    client.signal(Word::Kill);
    check_nothing_left(&client);

    let mut client = behind_a_parent(&["--ignore-parent"]);
    client.signal(Word::Kill);
    client.wait().unwrap();
    call(&mut client, "echo");
    client.close_input();
    check_nothing_left(&client);
}

/// A client that starts the program through another process.
fn behind_a_parent(flags: &[&str]) -> Client {
    let start = Start::new(given("WINDOWS_NODE")).env("NODE_SKIP_PLATFORM_CHECK", "1");
    let folder = given("WINDOWS_EXECUTABLES");
    let exe = |name: &str| wine::path(&folder.join(name));
    let script = shims::ours("parent.js");
    let record = start.record();
    let start = start
        .arg(wine::path(&script))
        .arg("detached")
        .arg(exe("switchboard.exe"))
        .arg("stdio")
        .args(flags)
        .arg("--");
    let start = start.args([exe("fake-backend.exe"), "--record".into()]);
    let mut client = start.arg(record.folder()).start();
    client.initialize();
    assert_eq!(processes(&client).len(), 3, "the parent, we and the server");
    client
}
