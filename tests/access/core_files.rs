//! Core files: our own processes write none, since their memory contains tokens; servers keep the limit that the user has.

use super::token::{create, with_variable};
use crate::daemon::house::House;
use serde_json::json;
use std::fs;
use std::path::Path;
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::tree;

/// Starts the program under the highest limit that this machine allows.
fn with_cores(start: Start) -> Start {
    let script = "ulimit -c \"$(ulimit -H -c)\"; exec \"$@\"";
    start.behind(Path::new("/bin/sh"), |_| ["-c", script, "sh"].map(Into::into).into())
}

/// The current limit on core files of a process: a number of bytes, or `unlimited`.
fn limit_of(pid: u32) -> String {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

/// The limit that a program gets which the user starts.
fn user_limit() -> String {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn only_servers_have_the_users_limit() {
    for guard in ["auto", "strict", "off"] {
        for solo in [false, true] {
            let house = House::with(json!({}), json!({ "guard": guard }), &[]);
            let window = house.window("home").args(solo.then_some("--solo"));
            let mut client = with_cores(window).start();
            client.initialize();
            let (mut seen, mut servers) = (0, 0);
            for process in house.processes().iter().flat_map(|process| tree::family(&[process.pid])) {
                let is_ours = process.name.starts_with("switchboard") || process.name.starts_with("sb-");
                if is_ours {
                    let limit = limit_of(process.pid);
                    assert!(
                        ["0", "1"].contains(&limit.as_str()),
                        "{guard}, solo {solo}: {limit} of {process:?}"
                    );
                    seen += 1;
                } else if process.name == "fake-backend" {
                    assert_eq!(limit_of(process.pid), user_limit(), "{guard}, solo {solo}: {process:?}");
                    servers += 1;
                }
            }
            assert!(seen >= 1 && servers >= 1, "{guard}, solo {solo}");
        }
    }
}

/// Names of core files in a folder.
fn cores(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("core")).collect()
}

/// Under the same limit, a server that aborts leaves a core file, and we leave none.
#[test]
fn abort_leaves_no_core_file() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if cfg!(not(debug_assertions)) || pattern.contains(['/', '|']) || user_limit() == "0" {
        // The system writes no core files here, or gives them to another program.
        return;
    }
    let house = House::new();
    let token = create(&house, &["canary"]);
    let (folder, file) = (house.path("w"), house.path("panic"));
    let window = house.window("w").arg("--solo");
    let window = window.env("SWITCHBOARD_PANIC_IN", format!("serving@{}", file.display()));
    let mut client = with_variable(with_cores(window), &token);
    client.initialize();
    client.call("crash", json!({ "abort": true }));
    patience::until_true("the server's core file", || !cores(&folder).is_empty());
    for name in cores(&folder) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::write(&file, "").unwrap();
    let end = client.wait_for_end();
    assert!(end.code.is_none() && end.stderr.contains("panicked"), "{}", end.stderr);
    house.check_empty(patience::LIMIT);
    assert_eq!(cores(&folder), Vec::<String>::new());
}
