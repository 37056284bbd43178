//! Servers that are not ready in time: their cost, and who gets their tools when. No test measures time: an
//! unwanted wait would last ten minutes.

use super::servers::{Servers, pid, tools, with_tools};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::patience;

const FOREVER: &str = "10m";

/// Servers, one of which answers nothing while its gate is closed. Dropping the value opens the gate, so that
/// everything can end.
struct Gated(Servers);

impl Gated {
    fn open(&self) {
        fs::write(self.0.path("gate"), "").unwrap();
    }

    /// Closes the gate once all processes that passed it have ended.
    fn close(&self) {
        patience::until_true("the end of all processes", || self.0.processes().is_empty());
        fs::remove_file(self.0.path("gate")).unwrap();
    }

    fn put(&mut self, name: &str, start_timeout: &str, options: &[&str]) {
        let gate = self.0.path("gate").display().to_string();
        self.0.put(name, json!({ "startTimeout": start_timeout }), &[&["--gate", &gate], options].concat());
    }

    fn set_grace(&mut self, grace: &str) {
        self.0.set("listGrace", json!(grace));
    }
}

impl std::ops::Deref for Gated {
    type Target = Servers;

    fn deref(&self) -> &Servers {
        &self.0
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.open();
    }
}

/// The servers `good` and `bad`; `bad` waits behind the gate.
fn gated(grace: &str) -> Gated {
    let mut servers = Gated(Servers::none().and_offer("good", json!({}), &with_tools(&["facts"])));
    servers.put("bad", FOREVER, &[]);
    servers.set_grace(grace);
    servers
}

/// A solo window, or one of the daemon.
fn window(servers: &Servers, solo: bool) -> Start {
    if solo { servers.start() } else { servers.shared() }
}

fn open(start: Start) -> Client {
    let mut client = start.start();
    client.initialize();
    client
}

/// Number of files in a folder, without those that are still being written.
pub(crate) fn stored_in(folder: &Path) -> usize {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter(|file| !file.file_name().to_string_lossy().ends_with(".draft")).count()
}

/// Number of files in `folder` of the state folder.
fn stored(servers: &Servers, folder: &str) -> usize {
    stored_in(&servers.state(folder))
}

#[track_caller]
pub(crate) fn wait_until_stored(servers: &Servers, folder: &str, count: usize) {
    patience::until_true(format_args!("{count} files in {folder}"), || stored(servers, folder) == count);
}

#[test]
fn hanging_server_hides_no_other_server() {
    for solo in [false, true] {
        let servers = gated("500ms");
        let mut client = window(&servers, solo).start();
        let welcome = client.initialize();
        assert_eq!(welcome["instructions"], "`bad` is unavailable; run `switchboard status`");
        let listed = |name| welcome["capabilities"][name]["listChanged"].clone();
        assert_eq!(
            [listed("tools"), listed("prompts"), listed("resources")],
            [true, true, true].map(Value::from)
        );
        for capability in ["logging", "completions"] {
            assert!(welcome["capabilities"][capability].is_object(), "{welcome}");
        }
        assert_eq!(tools(&mut client), ["good__facts"]);
        assert_eq!(pid(&mut client, "good__facts"), servers.record("good").pid(1));
        assert_eq!(client.finish().code, Some(0));
    }
}

/// The result is stored: the next start does not wait for the server, however long the budget.
#[test]
fn slow_server_is_waited_for_once() {
    for solo in [false, true] {
        let mut servers = gated("500ms");
        assert_eq!(tools(&mut open(window(&servers, solo))), ["good__facts"]);
        wait_until_stored(&servers, "launches", 2);
        servers.set_grace(FOREVER);
        assert_eq!(tools(&mut open(window(&servers, solo))), ["good__facts"]);
    }
}

#[test]
fn late_server_is_announced_and_stored() {
    let mut servers = gated("500ms");
    let mut client = open(servers.shared());
    assert_eq!(tools(&mut client), ["good__facts"]);
    servers.open();
    client.told("notifications/tools/list_changed");
    assert!(tools(&mut client).contains(&"bad__echo".to_owned()));
    assert_eq!(client.finish().code, Some(0));
    // The server has answered, so it no longer counts as slow, and its lists come from the store.
    servers.set_grace(FOREVER);
    let mut client = open(servers.shared());
    assert!(tools(&mut client).contains(&"bad__echo".to_owned()));
    assert_eq!(servers.launches(["good", "bad"]), [1, 1]);
}

/// A changed entry gets another chance.
#[test]
fn changed_entry_is_waited_for_again() {
    let mut servers = gated("500ms");
    assert_eq!(tools(&mut open(servers.shared())), ["good__facts"]);
    wait_until_stored(&servers, "launches", 2);
    servers.put("bad", "9m", &[]);
    // The daemon still runs: a start without waiting clients keeps it alive.
    servers.say(&["reload"]);
    check_waited_for(&mut servers);
}

#[test]
fn forgotten_server_is_waited_for_again() {
    let mut servers = gated("500ms");
    assert_eq!(tools(&mut open(servers.shared())), ["good__facts"]);
    wait_until_stored(&servers, "launches", 2);
    let config = servers.config().display().to_string();
    assert_eq!(
        servers.say(&["forget", "bad", "--config", &config]),
        "bad: forgotten; its next start learns it again\n"
    );
    wait_until_stored(&servers, "launches", 1);
    check_waited_for(&mut servers);
}

/// Checks that the first list includes the server, although it was requested before the gate was opened.
#[track_caller]
fn check_waited_for(servers: &mut Gated) {
    servers.set_grace(FOREVER);
    let mut client = servers.shared().start();
    client.ask("initialize", initialize_params());
    let list = client.ask("tools/list", json!({}));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    servers.open();
    let listed = client.answer(list).to_string();
    assert!(listed.contains("bad__echo"), "{listed}");
}

#[test]
fn added_server_delays_no_list() {
    let mut servers = Gated(Servers::none().and_offer("good", json!({}), &with_tools(&["facts"])));
    servers.set_grace("100ms");
    let mut client = open(servers.shared());
    assert_eq!(tools(&mut client), ["good__facts"]);
    servers.put("bad", FOREVER, &[]);
    servers.record("bad").wait_for(1, "initialize");
    assert_eq!(tools(&mut client), ["good__facts"]);
    servers.open();
    client.told("notifications/tools/list_changed");
    assert!(tools(&mut client).contains(&"bad__echo".to_owned()));
}

/// Codex does not wait for slow servers. The start that it caused continues, and its next run has the tools.
#[test]
fn start_outlives_the_client_that_caused_it() {
    for single in [false, true] {
        let mut servers = Gated(Servers::none());
        servers.set_grace("100ms");
        servers.put("slow", FOREVER, &[]);
        let start = || match single {
            true => servers.shared().args(["--server", "slow"]),
            false => servers.shared(),
        };
        let mut client = start().start();
        client.ask("initialize", initialize_params());
        servers.record("slow").wait_for(1, "initialize");
        drop(client);
        servers.open();
        wait_until_stored(&servers, "catalogue", 1);
        servers.close();
        let mut client = start().start();
        client.initialize();
        let name = if single { "echo" } else { "slow__echo" };
        assert!(tools(&mut client).contains(&name.to_owned()), "single: {single}");
    }
}

/// A single server is answered for from the store and started at once; changes are announced.
#[test]
fn single_server_is_answered_from_the_store() {
    for solo in [false, true] {
        let mut servers = Gated(Servers::none());
        let offer = servers.offers("one", &with_tools(&["old"])).display().to_string();
        servers.open();
        servers.put("one", FOREVER, &["--offer", &offer]);
        let start = |servers: &Servers| window(servers, solo).args(["--server", "one"]);
        // Lists are stored when the last client of the server leaves the daemon.
        let mut client = open(servers.shared().args(["--server", "one"]));
        assert_eq!(tools(&mut client), ["old"]);
        assert_eq!(client.finish().code, Some(0));
        wait_until_stored(&servers, "catalogue", 1);

        servers.close();
        servers.offers("one", &with_tools(&["new"]));
        let mut client = start(&servers).start();
        client.initialize();
        assert_eq!(tools(&mut client), ["old"], "solo: {solo}");
        servers.record("one").pid(2);
        servers.open();
        client.told("notifications/tools/list_changed");
        assert_eq!(tools(&mut client), ["new"]);
        assert_eq!(client.finish().code, Some(0));
    }
}

/// The launch depends on the folder, and so does the server's offer.
#[test]
fn lists_are_stored_per_root() {
    let mut servers = Servers::none();
    for project in ["a", "b"] {
        let folder = servers.path(&format!("work/{project}"));
        fs::create_dir_all(folder.join(".git")).unwrap();
        fs::write(folder.join("offer"), with_tools(&[project])).unwrap();
    }
    servers.put("s", json!({}), &["--offer", "${workspaceFolder}/offer"]);
    for run in 1..=2 {
        for project in ["a", "b"] {
            let mut client = open(servers.shared().cwd(servers.path(&format!("work/{project}"))));
            assert_eq!(tools(&mut client), [format!("s__{project}")], "run {run}");
            assert_eq!(client.finish().code, Some(0));
        }
    }
    assert_eq!(servers.launches(["s"]), [2], "the second time nothing was started");
}

/// A client with other capabilities waits for its budget, and then gets the lists stored for the first
/// client.
#[test]
fn stored_lists_serve_other_capabilities() {
    let servers = gated("500ms");
    servers.open();
    assert!(tools(&mut open(servers.shared())).contains(&"bad__echo".to_owned()));
    wait_until_stored(&servers, "catalogue", 2);
    servers.close();
    let mut client = super::servers::greet_with(servers.shared(), json!({ "sampling": {} }));
    assert!(tools(&mut client).contains(&"bad__echo".to_owned()));
}

#[test]
fn log_messages_name_unavailable_server() {
    let servers = gated("100ms");
    let mut client = open(servers.shared());
    let answer = client.request("logging/setLevel", json!({ "level": "warning" }));
    assert_eq!(answer["result"], json!({}));
    let log = client.told("notifications/message");
    let expect = json!({
        "level": "warning", "logger": "switchboard", "data": "`bad` is unavailable; run `switchboard status`"
    });
    assert_eq!(log["params"], expect);
}

#[test]
fn requests_before_handshake_are_served() {
    for solo in [false, true] {
        let servers = Servers::of(&["a"]);
        let mut client = window(&servers, solo).start();
        assert!(tools(&mut client).contains(&"a__echo".to_owned()));
        let answer = client.request("tools/call", json!({ "name": "a__echo", "arguments": {} }));
        assert!(answer["result"]["content"].is_array(), "{answer}");
        client.initialize();
        assert!(tools(&mut client).contains(&"a__echo".to_owned()));
    }
}

#[test]
fn status_shows_learnt_facts() {
    let servers = gated("100ms");
    let mut client = open(servers.shared());
    assert_eq!(tools(&mut client), ["good__facts"]);
    let status: Value = serde_json::from_str(&servers.say(&["status", "--json"])).unwrap();
    let learnt = |name: &str| {
        let all = status["daemons"][0]["servers"].as_array().unwrap();
        all.iter().find(|server| server["name"] == name).unwrap()["learnt"].clone()
    };
    assert_eq!(learnt("good"), json!(["uses newline framing"]));
    assert_eq!(learnt("bad"), json!(["not ready in time; clients do not wait for it"]));
    let config = servers.config().display().to_string();
    let end = servers.program().args(["tools", "--config", &config]).start().finish();
    assert_eq!(String::from_utf8(end.stdout).unwrap().lines().count(), 1, "good__facts");
    assert!(end.stderr.contains("the server `bad` was not ready in time"), "{}", end.stderr);
    let shown = servers.say(&["status"]);
    assert!(shown.contains("learnt: not ready in time; clients do not wait for it"), "{shown}");
}
