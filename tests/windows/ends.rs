//! Ends that exist only on Windows: TerminateProcess, console events, and the end of a server without a job.

use super::trees::{Way, attached, call, family_config, family_members, solo, wait_for_members};
use super::{
    alive, check_gone, check_logged, check_nothing_left, check_soon_gone, given, processes, program, shims,
};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::{daemons, patience, pids, wine};

/// Runs the probe and returns its output.
fn probe(words: &[&str]) -> String {
    let run = || Start::new(given("WINDOWS_EXECUTABLES").join("probe.exe")).args(words).start().finish();
    // Wine sometimes cannot start a program, and then ends with code 1. The probe itself has no such code.
    let end = (0..3).map(|_| run()).find(|end| end.code != Some(1)).unwrap_or_else(run);
    assert_eq!(end.code, Some(0), "{words:?}: {}", end.stderr);
    String::from_utf8(end.stdout).unwrap().trim().to_owned()
}

/// Calls TerminateProcess on a Windows process id.
fn terminate(pid: u64) {
    probe(&["terminate", &pid.to_string()]);
}

/// The number of open handles of a process, by its Windows id.
pub(super) fn handles(pid: u64) -> usize {
    probe(&["handles", &pid.to_string()]).parse().unwrap()
}

/// The Windows id of the daemon.
pub(super) fn daemon_pid(scratch: &Scratch) -> u64 {
    let exe = given("WINDOWS_EXECUTABLES").join("switchboard.exe");
    let end = Start::inside(scratch, exe).args(["status", "--json"]).start().finish();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    let status: Value = serde_json::from_slice(&end.stdout).unwrap();
    status["daemons"][0]["pid"].as_u64().unwrap()
}

/// The report of a server about its own process tree.
fn told(client: &mut Client, tool: &str) -> Value {
    let answer = call(client, tool);
    serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn terminated_program_leaves_no_node() {
    let mut client = solo(Way::Node);
    // The server's parent is the program.
    terminate(told(&mut client, "ping")["ppid"].as_u64().unwrap());
    check_nothing_left(&client);
}

#[test]
fn terminated_daemon_leaves_no_node() {
    let scratch = Scratch::new();
    let mut client = attached(&scratch, Way::Node, json!({}));
    let (daemon, before) = (daemons::of(scratch.path())[0], family_members(&scratch));
    let number = daemon_pid(&scratch);
    assert_eq!(told(&mut client, "f__ping")["ppid"], number);
    terminate(number);
    check_gone(daemon, "the daemon's processes", || alive(&before));
    // The window starts another daemon.
    call(&mut client, "f__ping");
}

/// The IDE, and the program that it started.
#[test]
fn terminated_client_leaves_no_node() {
    for victim in [0, 1] {
        let scratch = Scratch::new();
        let config = family_config(&scratch, Way::Node, json!({}));
        let (file, exe) = (scratch.join("pids"), given("WINDOWS_EXECUTABLES").join("switchboard.exe"));
        let start = Start::inside(&scratch, given("WINDOWS_NODE")).env("NODE_SKIP_PLATFORM_CHECK", "1");
        let start = start.env("PIDS", wine::path(&file)).arg(wine::path(&shims::ours("parent.js")));
        let start = start.args(["detached", &wine::path(&exe), "stdio", "--config", &wine::path(&config)]);
        let mut client = start.start();
        client.initialize();
        call(&mut client, "f__ping");
        wait_for_members(&scratch, 3);
        let windows = || {
            let all = pids::with_text(&scratch.path().display().to_string());
            all.into_iter().filter(|pid| pids::mentions(*pid, "stdio")).collect::<Vec<_>>()
        };
        let before = windows();
        assert_eq!(before.len(), 2, "the IDE and the program");
        let numbers = fs::read_to_string(&file).unwrap();
        terminate(numbers.split_whitespace().nth(victim).unwrap().parse().unwrap());
        patience::until_true("it has ended", || alive(&before).len() < 2);
        check_soon_gone(Instant::now(), "the server", || family_members(&scratch));
        if victim == 0 {
            check_soon_gone(Instant::now(), "the window", || alive(&before));
        }
    }
}

/// Where the system refuses a job, Switchboard finds the processes in the process table.
#[test]
fn refused_job_is_logged_and_leaves_no_node() {
    for way in Way::ALL {
        let scratch = Scratch::new();
        let config = family_config(&scratch, way, json!({ "idleTtl": "1s", "state": "none" }));
        let exe = given("WINDOWS_EXECUTABLES").join("switchboard.exe");
        let start = Start::inside(&scratch, exe).env("SWITCHBOARD_PRETEND_NO_JOBS", "1");
        let log = scratch.join("log");
        let start = start.args(["stdio", "--solo", "--log-level", "info", "--log-file"]).arg(&log);
        let mut client = start.arg("--config").arg(config).start();
        client.initialize();
        call(&mut client, "f__ping");
        wait_for_members(&scratch, way.processes());
        check_logged(&client, "ended one by one");
        call(&mut client, "f__ping");
        let idle = Instant::now() + Duration::from_secs(1);
        check_soon_gone(idle, "the idle server", || family_members(&scratch));
        assert!(!client.has_ended());
    }
}

/// Wine's consoles send neither Ctrl-Break nor an event for their own end.
#[test]
fn ctrl_c_ends_the_program() {
    let start = program();
    let (now, log, record) = (start.scratch().join("now"), start.scratch().join("log"), start.record());
    let exe = |name: &str| wine::path(&given("WINDOWS_EXECUTABLES").join(name));
    let start = Start::inside(start.scratch(), given("WINDOWS_EXECUTABLES").join("probe.exe"));
    let words = ["ctrl-c", &wine::path(&now), &exe("switchboard.exe"), "stdio", "--log-level", "info"];
    let start = start.args(words).arg("--log-file").arg(wine::path(&log));
    let start = start.args(["--", &exe("fake-backend.exe"), "--record"]).arg(record.folder());
    let mut client = start.start();
    client.initialize();
    call(&mut client, "echo");
    fs::write(&now, "").unwrap();
    check_logged(&client, "draining why=\"Ctrl-C\"");
    assert_eq!(client.wait_for_end().code, Some(0));
    check_nothing_left(&client);
    assert!(processes(&client).is_empty());
}
