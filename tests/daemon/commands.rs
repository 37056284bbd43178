//! Commands for the daemon: `status`, `restart`, `stop`, `start`, `logs`, `daemon stop`.

use super::house::{House, server_of};
use crate::support::error;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::End;
use switchboard_testkit::patience;
use switchboard_testkit::pids;

/// Output with everything masked that differs from run to run.
fn show(house: &House, text: &str) -> String {
    let text = text
        .replace(&house.path("").display().to_string(), "[folder]/")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    let mut masked = String::new();
    for line in text.lines() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for at in 0..words.len() {
            let is_number = |word: &str| word.trim_end_matches([',', ')']).parse::<f64>().is_ok();
            let after = |name: &str| at > 0 && words[at - 1].trim_start_matches('(') == name;
            let before = |names: &[&str]| {
                names.contains(&words.get(at + 1).map_or("", |next| next.trim_end_matches(',')))
            };
            let is_pid = after("pid") || after("\"pid\":");
            let is_measure = before(&["s", "MiB"])
                || after("\"memoryBytes\":")
                || after("\"cpuSeconds\":")
                || after("\"seconds\":")
                || after("\"idleSeconds\":");
            if is_number(&words[at]) && (is_pid || is_measure) {
                let tail = words[at].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
                words[at] = format!("[n]{tail}");
            }
        }
        let line = words.join(" ");
        // Column widths depend on the numbers.
        let blanks = line.len() - line.trim_start().len();
        let squeezed: Vec<&str> = line.split_whitespace().collect();
        masked.push_str(&format!("{}{}\n", &line[..blanks], squeezed.join(" ")));
    }
    let socket = masked.lines().find_map(|line| line.trim().strip_prefix("\"socket\": ")).map(str::to_owned);
    socket.map_or(masked.clone(), |socket| masked.replace(&socket, "[socket]"))
}

#[test]
fn status_with_no_daemon() {
    let house = House::new();
    assert_snapshot!(house.say(&["status"]), @"No daemon is running. `switchboard stdio` starts one when a client connects.");
    assert_eq!(house.status(), json!({ "daemons": [], "configError": null }));
    // A dead daemon's leftovers change nothing.
    house.open("a");
    house.daemon().tell(pids::Word::Kill);
    patience::until_true("its end", || house.daemons().is_empty());
    assert_snapshot!(house.say(&["status"]), @"No daemon is running. `switchboard stdio` starts one when a client connects.");
}

#[test]
fn status_explains_separate_instances() {
    let house = House::new();
    let open = |folder: &str, display: &str| {
        let mut window = house.window(folder).env("DISPLAY", display).start();
        window.initialize();
        window
    };
    let mut windows = [open("a", ":0"), open("a", ":0"), open("b", ":0")];
    let mut other = open("a", ":1");
    windows.iter_mut().for_each(|window| assert!(window.call("echo", json!({})).get("result").is_some()));
    windows[0].start_call("hang", json!({}));
    other.call("crash", json!({ "code": 1 }));
    other.call("echo", json!({}));
    patience::until_true("all has been seen", || {
        let status = house.status();
        let instances = &status["daemons"][0]["servers"][0]["instances"];
        instances.as_array().unwrap().iter().all(|i| i["memoryBytes"].is_u64()) && instances[0]["open"] == 1
    });
    assert_snapshot!("status", show(&house, &house.say(&["status"])));
    assert_snapshot!("status_json", show(&house, &house.say(&["status", "--json"])));
}

/// Of the instance that works, and not of another.
#[test]
fn status_shows_growing_cpu_time() {
    let house = House::new();
    let (mut busy, mut idle) = (house.open("a"), house.open("b"));
    let (busy_server, idle_server) = (server_of(&mut busy), server_of(&mut idle));
    let cpu_of = |pid: u32| {
        let status = house.status();
        let instances = status["daemons"][0]["servers"][0]["instances"].as_array().cloned().unwrap();
        let instance = instances.into_iter().find(|instance| instance["pid"] == pid);
        instance.unwrap()["cpuSeconds"].as_f64().unwrap()
    };
    let before = (cpu_of(busy_server), cpu_of(idle_server));
    patience::until_true("the time it works", || {
        busy.call("burn", json!({ "ms": 100 }));
        cpu_of(busy_server) >= before.0 + 0.2
    });
    assert!(cpu_of(idle_server) < before.1 + 0.1);
    // A new process begins at zero.
    house.say(&["restart", "fake"]);
    assert!(cpu_of(server_of(&mut busy)) < before.0 + 0.2);
    house.say(&["stop", "fake"]);
    patience::until_true("its end", || {
        let instance = &house.status()["daemons"][0]["servers"][0]["instances"][0];
        ["pid", "memoryBytes", "cpuSeconds"].iter().all(|key| instance[key].is_null())
    });
}

#[test]
fn other_config_or_flags_get_own_daemon() {
    let house = House::new();
    let mut first = house.open("a");
    let second = fs::read_to_string(house.config()).unwrap();
    fs::write(house.path("second.json"), second).unwrap();
    let mut other = house
        .program("a")
        .args(["stdio", "--server", "fake", "--config"])
        .arg(house.path("second.json"))
        .start();
    other.initialize();
    let mut flags = house.window("a").args(["--max-backends", "7"]).start();
    flags.initialize();
    let mut same = house.window("a").args(["--max-backends", "7"]).start();
    same.initialize();
    let servers = [&mut first, &mut other, &mut flags, &mut same].map(server_of);
    assert!(servers[0] != servers[1] && servers[0] != servers[2] && servers[1] != servers[2]);
    assert_eq!(servers[2], servers[3]);
    assert_eq!(house.daemons().len(), 3);
    let status = house.status();
    let daemons = status["daemons"].as_array().unwrap();
    assert_eq!(daemons.len(), 3);
    let most: Vec<u64> =
        daemons.iter().filter_map(|daemon| daemon["servers"][0]["maxBackends"].as_u64()).collect();
    assert_eq!(most.iter().filter(|most| **most == 7).count(), 1, "{status:#}");
    let configs: Vec<&str> = daemons.iter().filter_map(|daemon| daemon["config"].as_str()).collect();
    assert_eq!(configs.iter().filter(|config| config.ends_with("second.json")).count(), 1);
    let text = house.say(&["status"]);
    assert_eq!(text.matches("Daemon ").count(), 3, "{text}");
}

/// Open requests get an error, and the next request reaches a new process.
#[test]
fn restart_fails_open_requests() {
    let house = House::new();
    let (mut a, mut b) = (house.open("a"), house.open("b"));
    let (of_a, of_b) = (server_of(&mut a), server_of(&mut b));
    let open = a.start_call("hang", json!({}));
    house.record().wait_for(1, "hang");
    let root = format!("fake@{}", house.path("a").display());
    assert_eq!(house.say(&["restart", &root]), "fake: 1 instance restarted\n");
    let answer = a.answer(open);
    let told = error(&answer, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains("its owner restarts it"), "{answer}");
    assert_eq!(told["data"]["retryable"], true);
    assert_ne!(server_of(&mut a), of_a);
    assert_eq!(server_of(&mut b), of_b, "the other root was not meant");
    assert_eq!(house.say(&["restart", "fake"]), "fake: 2 instances restarted\n");
    assert_ne!(server_of(&mut b), of_b);
}

/// Until `start`, the error names the remedy, for later clients too.
#[test]
fn stop_holds_until_start() {
    let house = House::new();
    let mut window = house.open("a");
    let server = server_of(&mut window);
    assert_eq!(house.say(&["stop", "fake"]), "fake: 1 instance stopped\n");
    patience::until_true("its end", || !pids::is_alive(server));
    let answer = window.call("echo", json!({}));
    let told = error(&answer, -32002, "backend_unavailable");
    assert!(told["data"]["hint"].as_str().unwrap().contains("switchboard start fake"), "{answer}");
    assert!(house.say(&["status"]).contains("stopped by `switchboard stop`"));
    let mut later = house.window("a").start();
    let refused = later.request("initialize", switchboard_testkit::client::initialize_params());
    assert!(
        refused.get("error").is_some() || later.call("echo", json!({})).get("error").is_some(),
        "{refused}"
    );
    assert_eq!(house.record().launches(), 1, "nothing is started");
    house.say(&["start", "fake"]);
    assert_ne!(server_of(&mut window), server);
    assert!(
        later.request("initialize", switchboard_testkit::client::initialize_params()).get("result").is_some()
    );
}

#[track_caller]
fn check_refused(end: &End, text: &str) {
    assert_eq!((end.code, &end.stdout[..]), (Some(1), &b""[..]), "{}", end.stderr);
    assert!(end.stderr.contains(text), "{}", end.stderr);
}

#[test]
fn failed_orders_name_the_cause() {
    let house = House::new();
    check_refused(&house.run(&["restart", "fake"]), "no daemon is running");
    let _window = house.open("a");
    check_refused(&house.run(&["restart", "nobody"]), "there is no server `nobody`; there are: fake");
    check_refused(&house.run(&["logs", "nobody"]), "no such server: `nobody`");
}

#[test]
fn logs_are_printed_and_followed() {
    let house = House::with(json!({}), json!({}), &["--stderr", "hello from the server"]);
    let mut window = house.open("a");
    window.call("complain", json!({ "text": "it hurts" }));
    patience::until_true("the server's own words", || {
        let end = house.run(&["logs", "fake"]);
        let text = String::from_utf8_lossy(&end.stdout).into_owned();
        text.contains("hello from the server") && text.contains("it hurts")
    });
    patience::until_true("the log", || {
        let end = house.run(&["logs"]);
        String::from_utf8_lossy(&end.stdout).contains("ready")
    });
    let mut follow = house.program("home").args(["logs", "fake", "-f"]).start();
    window.call("complain", json!({ "text": "and again" }));
    let line = loop {
        let line = follow.recv_text();
        if line.contains("and again") {
            break line;
        }
    };
    assert!(!line.is_empty());
}

/// Clients are told; the next one gets a new daemon.
#[test]
fn daemon_stop_ends_the_daemon() {
    let house = House::new();
    let config = house.config().to_str().unwrap().to_owned();
    let stop = ["daemon", "stop", "--config", &config];
    assert_eq!(house.say(&stop), "no daemon is running for this config\n");
    let mut window = house.open("a");
    let server = server_of(&mut window);
    let daemon = house.daemon();
    let open = window.start_call("hang", json!({}));
    house.record().wait_for(1, "hang");
    assert_eq!(house.say(&stop), format!("the daemon (pid {}) is stopping\n", daemon.pid));
    let answer: Value = window.answer(open);
    assert!(answer.get("error").is_some(), "{answer}");
    patience::until_true("its end", || !daemon.is_alive() && !pids::is_alive(server));
    assert!(window.call("echo", json!({})).get("result").is_some(), "the window goes on");
    assert_ne!(house.daemon().pid, daemon.pid);
}

#[test]
fn daemon_stop_needs_no_valid_config() {
    for (name, content) in [("broken", Some(&b"{"[..])), ("not text", Some(b"\xff")), ("gone", None)] {
        let house = House::new();
        let _window = house.open("a");
        let daemon = house.daemon();
        match content {
            Some(content) => fs::write(house.config(), content).unwrap(),
            None => fs::remove_file(house.config()).unwrap(),
        }
        let stop = ["daemon", "stop", "--config", house.config().to_str().unwrap()];
        assert_eq!(house.say(&stop), format!("the daemon (pid {}) is stopping\n", daemon.pid), "{name}");
        patience::until_true("its end", || !daemon.is_alive());
    }
}

/// In the foreground, the command says that a daemon runs already.
#[test]
fn second_daemon_is_refused() {
    let house = House::new();
    let _window = house.open("a");
    let end = house.run(&["daemon", "--config", house.config().to_str().unwrap()]);
    assert_eq!(end.code, Some(1));
    assert!(end.stderr.contains("is already running"), "{}", end.stderr);
}
