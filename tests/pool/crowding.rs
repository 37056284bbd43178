//! Crowding: instances that stop each other for lack of room. The log and `status` say so, with the setting
//! that helps.

use crate::daemon::house::{House, server_of};
use serde_json::{Value, json};
use switchboard_testkit::patience;

/// Two windows in two folders take turns, with room for one instance.
#[track_caller]
fn check(file: Value, server: Value, setting: &str, hint: &str) {
    let house = House::with(file, server, &[]);
    let (mut a, mut b) = (house.open("a"), house.open("b"));
    let before = &house.status()["daemons"][0]["servers"][0]["crowding"];
    assert!(before.is_null(), "one that made room once is no trouble: {before}");
    server_of(&mut a);
    server_of(&mut b);

    let status = house.status();
    let crowding = &status["daemons"][0]["servers"][0]["crowding"];
    let message = "stopped to make room and started again soon after, 2 times in the last 10 minutes";
    assert_eq!(crowding["message"], message, "{status:#}");
    assert_eq!(crowding["setting"], setting);
    assert_eq!(crowding["hint"], hint);
    let shown = house.say(&["status"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!("warning: {message} hint: {hint}")), "{shown}");
    let log = patience::until("a warning in the log", || {
        // The file is created with the first line, a moment later.
        let log = String::from_utf8(house.run(&["logs"]).stdout).unwrap();
        log.contains("started again soon after").then_some(log)
    });
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("started again soon after")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains(hint), "{log}");
}

#[test]
fn status_and_log_name_max_backends() {
    let hint = "raise `maxBackends` of the server `fake`, now 1";
    check(json!({}), json!({ "maxBackends": 1 }), "maxBackends", hint);
}

#[test]
fn status_and_log_name_the_pool() {
    let pool = json!({ "pool": { "maxBackends": 1 } });
    check(pool, json!({}), "pool.maxBackends", "raise `pool.maxBackends`, now 1");
}
