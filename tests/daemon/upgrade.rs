//! Upgrade: a newer program's attachment asks an older daemon to retire, which keeps its clients until they
//! leave. A newer daemon never retires for an older attachment.

use super::house::{House, server_of};
use serde_json::json;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;

fn of_version(house: &House, version: &str) -> Client {
    let mut client = house.window("a").env("SWITCHBOARD_PRETEND_VERSION", version).start();
    client.initialize();
    client
}

#[test]
fn older_daemon_retires_for_a_newer_one() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::new();
    let mut old = of_version(&house, "0.0.9");
    let (old_daemon, old_server) = (house.daemon(), server_of(&mut old));
    let held = old.start_call("hold", json!({ "label": "x" }));
    house.record().wait_for(1, "hold");
    let mut new = of_version(&house, "0.1.0");
    assert_eq!(new.stderr_so_far(), "");
    let new_server = server_of(&mut new);
    assert_ne!(new_server, old_server);
    assert_eq!(house.daemons().len(), 2);
    assert_eq!(house.record().launches(), 2, "nothing was started for it by the old one");
    // The old daemon's client notices nothing.
    assert_eq!(old.call("release", json!({}))["result"]["released"], 1);
    assert_eq!(old.answer(held)["result"]["label"], "x");
    assert_eq!(server_of(&mut old), old_server);
    // Newcomers reach the new daemon, even with the old version.
    let mut late = of_version(&house, "0.0.9");
    assert_eq!(server_of(&mut late), new_server);
    let mut next = of_version(&house, "0.1.0");
    assert_eq!(server_of(&mut next), new_server);
    old.finish();
    patience::until_true("the old daemon ends with its last client", || !old_daemon.is_alive());
    assert_eq!(server_of(&mut new), new_server);
    assert_eq!(server_of(&mut late), new_server);
}

#[test]
fn older_attachment_uses_the_newer_daemon() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::new();
    let mut new = of_version(&house, "0.2.0");
    let server = server_of(&mut new);
    for version in ["0.1.9", "0.0.1", "0.2.0-beta"] {
        let mut old = of_version(&house, version);
        assert_eq!(server_of(&mut old), server, "{version}");
    }
    house.daemon();
    // The daemon still takes new clients.
    assert_eq!(server_of(&mut of_version(&house, "0.2.0")), server);
}

/// Many windows of the new version at once, while old ones work.
#[test]
fn many_newer_windows_start_one_daemon() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::new();
    let mut old = of_version(&house, "0.0.9");
    let server = server_of(&mut old);
    let mut clients: Vec<Client> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(|| of_version(&house, "0.1.0"))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let servers: std::collections::BTreeSet<u32> = clients.iter_mut().map(server_of).collect();
    assert_eq!(servers.len(), 1);
    assert_eq!(house.daemons().len(), 2);
    assert_eq!(server_of(&mut old), server);
}
