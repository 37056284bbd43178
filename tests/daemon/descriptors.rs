//! A daemon with few file descriptors: admitted windows are served, the others serve themselves.

use super::house::House;
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use switchboard_testkit::client::Client;

const WINDOWS: usize = 30;
/// Limit of every process, which none can raise.
const LIMIT: &str = "--nofile=64:64";

#[test]
fn thirty_windows_share_64_descriptors() {
    let house = House::with(json!({ "linger": "5s" }), json!({ "scope": "global" }), &[]);
    let start = |_| {
        let window = house.window("a").behind(Path::new("prlimit"), |_| vec![OsString::from(LIMIT)]);
        window.start()
    };
    // All at once: newcomers must not take descriptors that admitted windows still need.
    let mut windows: Vec<Client> = (0..WINDOWS).map(start).collect();
    for window in &mut windows {
        window.initialize();
    }
    for (number, window) in windows.iter_mut().enumerate() {
        let answer = window.call("echo", json!({ "number": number }));
        assert!(answer.get("result").is_some(), "window {number}: {answer}\n{}", window.stderr_so_far());
    }
    let status = house.status();
    let served = status["daemons"][0]["clients"].as_array().map_or(0, Vec::len);
    assert!((1..WINDOWS).contains(&served), "{status}");
    let alone: Vec<String> =
        windows.iter().map(Client::stderr_so_far).filter(|said| !said.is_empty()).collect();
    assert_eq!(alone.len() + served, WINDOWS, "each is served in one way: {alone:?}");
    for said in &alone {
        assert!(said.contains("no file descriptors of 64 to spare") && said.contains("ulimit -n"), "{said}");
    }
    // Stopped processes make room, and the daemon still starts servers.
    let stopped = house.say(&["restart", "fake"]);
    assert!(stopped.contains("fake"), "{stopped}");
    for (number, window) in windows.iter_mut().enumerate() {
        let answer = window.call("echo", json!({ "again": number }));
        assert!(answer.get("result").is_some(), "window {number}: {answer}");
    }
    for window in &mut windows {
        assert_eq!(window.finish().code, Some(0));
    }
}
