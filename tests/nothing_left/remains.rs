//! Processes left behind by a server that ended: they are terminated, and nothing waits for them.

use super::scene::Scene;
use super::setting::Setting;
use crate::support::{error, log_with};
use serde_json::json;
use std::time::Instant;
use switchboard_testkit::pids::Word;

/// The leftovers have their server's grace period, which is long here: a wait would still go on.
#[test]
fn leftovers_of_a_crash_delay_nobody() {
    for setting in Setting::all() {
        let options = ["--with", "stubborn", "--with", "daemon"];
        let mut scene =
            Scene::greet(setting.start_with(json!({}), json!({ "shutdownGrace": "1h" }), &options));
        error(&scene.client.call("crash", json!({ "code": 1 })), -32002, "backend_unavailable");
        assert!(
            scene.zoo(1).living().contains(&"stubborn".to_owned()),
            "it ignores SIGTERM, and has its time"
        );
        assert!(scene.client.request("ping", json!({}))["result"].is_object(), "the next one serves");
        let since = Instant::now();
        scene.us.tell(Word::Kill);
        scene.check_gone(since);
    }
}

#[test]
fn leftovers_are_named_in_the_log() {
    for setting in Setting::all() {
        let mut scene = Scene::greet(setting.start(&["--with", "stubborn", "--with", "session"]));
        scene.client.call("crash", json!({ "code": 1 }));
        let log = log_with(&scene.client, "leftover processes ended");
        let line = log.lines().find(|line| line.contains("leftover processes ended")).unwrap();
        assert!(line.contains("fake-backend") && !line.contains("sb-"), "{line}");
    }
}
