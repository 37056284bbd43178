//! Servers that run without a client: `lazy: false`, and `switchboard start`.

use super::served::{FAKE, Served};
use crate::daemon::house::House;
use serde_json::{Value, json};
use switchboard_testkit::http::Talk;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// A server that ignores the folder, and so has one instance for all.
fn global(more: Value) -> Value {
    let mut server = json!({ "scope": "global", "capabilities": "shared" });
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server
}

fn house(server: Value) -> House {
    House::with(json!({}), server, &[])
}

/// Waits for the handshake of this launch; returns its `initialize`.
#[track_caller]
fn wait_for_handshake(house: &House, launch: u32) -> String {
    house.record().wait_for(launch, "notifications/initialized");
    house.record().wait_for(launch, "\"initialize\"")
}

#[track_caller]
fn end(served: &mut Served) {
    served.program.signal(Word::Terminate);
    assert_eq!(served.program.wait_for_end().code, Some(0));
}

#[test]
fn eager_server_runs_without_a_client() {
    let mut served = Served::start(house(global(json!({ "lazy": false }))), &[]);
    let greeting = wait_for_handshake(&served.house, 1);
    assert!(greeting.contains("switchboard"), "{greeting}");
    // Clients on both routes join that process.
    for (path, tool) in [(FAKE, "facts"), ("/mcp", "fake__facts")] {
        let talk = Talk::open_as(&served.web, path, "2025-11-25", json!({ "sampling": {} }));
        let facts = talk.call(tool, json!({}));
        assert_eq!(facts["result"]["pid"], json!(served.record().pid(1)), "{path}: {facts}");
    }
    assert_eq!(served.record().launches(), 1);
    end(&mut served);
}

#[test]
fn window_joins_the_kept_process() {
    let house = house(global(json!({ "lazy": false })));
    let mut daemon = house.program("home").args(["daemon", "--config"]).arg(house.config()).start();
    wait_for_handshake(&house, 1);
    let mut window = house.window("w").start();
    let mut params = switchboard_testkit::client::initialize_params();
    params["protocolVersion"] = json!("2025-11-25");
    assert!(window.request("initialize", params).get("result").is_some());
    window.notify("notifications/initialized", json!({}));
    assert_eq!(crate::daemon::house::server_of(&mut window), house.record().pid(1));
    window.finish();
    assert_eq!(house.say(&["stop", "fake"]), "fake: 1 instance stopped\n");
    house.wait_for_servers(0);
    // No server keeps the daemon running any more.
    assert_eq!(daemon.wait_for_end().code, Some(0));
}

#[test]
fn started_server_is_kept_until_stopped() {
    let mut served = Served::start(house(global(json!({ "idleTtl": "100ms" }))), &[]);
    assert_eq!(served.record().launches(), 0);
    assert_eq!(served.house.say(&["start", "fake"]), "fake: 1 instance started\n");
    wait_for_handshake(&served.house, 1);
    end(&mut served);
    // The next run starts the server again, without a client.
    let Served { house, .. } = served;
    let mut again = Served::start(house, &[]);
    wait_for_handshake(&again.house, 2);
    assert_eq!(again.house.say(&["stop", "fake"]), "fake: 1 instance stopped\n");
    again.house.wait_for_servers(0);
    end(&mut again);
    // Both `stop` and `start` are forgotten after that run.
    let Served { house, .. } = again;
    let mut third = Served::start(house, &[]);
    Talk::open(&third.web, FAKE).call("facts", json!({}));
    assert_eq!(third.record().launches(), 3);
    end(&mut third);
}

#[test]
fn start_reports_missing_folder() {
    let mut served = Served::start(house(json!({ "scope": "root" })), &[]);
    let run = |args: &[&str]| served.house.run(args);
    let refused = run(&["start", "fake"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("NAME@FOLDER"), "{}", refused.stderr);
    let place = served.house.path("home").display().to_string();
    assert_eq!(run(&["start", &format!("fake@{place}")]).code, Some(0));
    wait_for_handshake(&served.house, 1);
    end(&mut served);

    let mut served = Served::start(house(json!({ "scope": "client", "lazy": false })), &[]);
    patience::until_true("it says why", || served.program.stderr_so_far().contains("its own instance"));
    assert_eq!(served.record().launches(), 0);
    end(&mut served);
}

#[test]
fn failed_start_is_reported() {
    let mut served = Served::start(House::with(json!({}), global(json!({})), &["--exit-at-start", "3"]), &[]);
    let end_of = served.house.run(&["start", "fake"]);
    assert_eq!(end_of.code, Some(1));
    assert!(end_of.stderr.contains("could not be started"), "{}", end_of.stderr);
    end(&mut served);
}

/// A daemon started by a window ends with its last window, even with an eager server.
#[test]
fn eager_server_does_not_keep_daemon() {
    let house = house(global(json!({ "lazy": false })));
    let mut window = house.open("w");
    window.finish();
    house.check_empty(patience::LIMIT);
}

/// The kept server must not keep the windows' daemon alive when `serve` replaces it.
#[test]
fn kept_server_makes_room_for_serve() {
    let house = house(global(json!({})));
    let mut window = house.open("w");
    assert_eq!(house.say(&["start", "fake"]), "fake: 1 instance started\n");
    let old = house.daemon().pid;
    let mut served = Served::start(house, &[]);
    window.finish();
    patience::until_true("the old daemon has gone", || !pids::is_alive(old));
    end(&mut served);
}

#[test]
fn new_config_starts_eager_servers_anew() {
    let mut served = Served::start(house(global(json!({ "lazy": false }))), &[]);
    wait_for_handshake(&served.house, 1);
    let text = std::fs::read_to_string(served.house.config()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["mcpServers"]["fake"]["timeout"] = json!("5m");
    std::fs::write(served.house.config(), config.to_string()).unwrap();
    served.house.say(&["reload"]);
    wait_for_handshake(&served.house, 2);
    end(&mut served);
}
