//! Descriptors: pipes end where they should, since no process in between holds an end of another's.

use super::scene::Scene;
use super::setting::Setting;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;

/// Open files of a process, as the kernel names them: `pipe:[1234]`.
fn open(pid: u32) -> BTreeSet<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.map(|link| link.display().to_string()).filter(|link| link != "/dev/null").collect()
}

fn is_pipe(name: &str) -> bool {
    name.starts_with("pipe:") || name.starts_with("socket:")
}

#[test]
fn server_inherits_three_pipes_only() {
    for setting in Setting::all() {
        let mut scene = Scene::greet(setting.start(&[]));
        // For the first process, and for one that was started when there was much to inherit.
        for _ in 0..2 {
            let answer = scene.client.call("facts", json!({}));
            let fds = answer["result"]["fds"].as_object().unwrap();
            // The fake backend opens its record itself.
            let inherited = fds.iter().filter(|(_, to)| !to.as_str().unwrap().ends_with(".heard"));
            let (numbers, to): (Vec<&str>, Vec<String>) =
                inherited.map(|(number, to)| (number.as_str(), to.as_str().unwrap().to_owned())).unzip();
            assert_eq!(numbers, ["0", "1", "2"], "{setting:?}: {to:?}");
            assert!(to.iter().all(|to| is_pipe(to)), "{setting:?}: {to:?}");
            scene.client.call("crash", json!({}));
        }
    }
}

/// Neither the server's pipes nor the client's.
#[test]
fn guard_and_warden_hold_no_pipe_ends() {
    for setting in Setting::all() {
        let mut scene = Scene::greet(setting.start(&[]));
        let answer = scene.client.call("facts", json!({}));
        let fds = answer["result"]["fds"].as_object().unwrap().values();
        let servers: BTreeSet<String> = fds.map(|to| to.as_str().unwrap().to_owned()).collect();
        let clients: BTreeSet<String> =
            open(std::process::id()).into_iter().filter(|name| is_pipe(name)).collect();
        assert!(!clients.is_disjoint(&open(scene.us.pid)), "we hold the client's pipes");
        let between: Vec<&Process> =
            scene.family.iter().filter(|process| process.name.starts_with("sb-")).collect();
        assert!(between.len() >= 2, "{:#?}", scene.family);
        for process in between {
            let held = open(process.pid);
            let foreign: Vec<&String> =
                held.intersection(&servers).chain(held.intersection(&clients)).collect();
            assert!(foreign.is_empty(), "{setting:?}: {} holds {foreign:?}", process.name);
        }
    }
}

/// No signal helps here: the server ends because its input ends, or not at all.
#[test]
fn end_of_input_reaches_the_server() {
    for setting in Setting::all() {
        let file = json!({ "shutdownGrace": "1h" });
        let mut scene = Scene::greet(setting.start_with(file, json!({}), &["--stubborn"]));
        let since = Instant::now();
        scene.client.close_input();
        assert_eq!(scene.client.wait_for_end().code, Some(0));
        scene.check_gone(since);
    }
}

/// The client sees the end of both streams, although a process below still runs.
#[test]
fn end_of_output_reaches_the_client() {
    for setting in Setting::all() {
        let mut scene = Scene::open(setting);
        scene.guard().tell(Word::Suspend);
        scene.warden().tell(Word::Suspend);
        scene.us.tell(Word::Kill);
        // Reads both streams to their ends.
        assert_eq!(scene.client.wait_for_end().code, None);
        let since = Instant::now();
        scene.guard().tell(Word::Continue);
        scene.warden().tell(Word::Continue);
        scene.check_gone(since);
    }
}
