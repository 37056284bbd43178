//! Remote servers shared by windows of one daemon and by clients over HTTP: one session serves all.

use super::SECRET;
use crate::daemon::house::House;
use crate::http::served::Served;
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, VERSION};
use switchboard_testkit::http::Talk;
use switchboard_testkit::patience;
use switchboard_testkit::web::{Web, mcp};

fn web() -> Web {
    Web::start(|seen, wire| mcp(seen, wire, "s-1"))
}

fn house(web: &Web) -> House {
    let entry = json!({ "url": web.url("/mcp"), "headers": { "Authorization": format!("Bearer {SECRET}") } });
    House::with(json!({ "mcpServers": { "far": entry } }), json!({}), &[])
}

/// A window on a folder, attached to the daemon.
#[track_caller]
fn window(house: &House, folder: &str, flags: &[&str]) -> Client {
    let mut client =
        house.program(folder).args(["stdio", "--config"]).arg(house.config()).args(flags).start();
    client.initialize();
    client
}

fn instances(house: &House) -> Vec<Value> {
    house.status()["daemons"][0]["servers"][0]["instances"].as_array().unwrap().clone()
}

#[test]
fn two_windows_share_one_session() {
    let web = web();
    let house = house(&web);
    let mut one = window(&house, "w", &["--server", "far"]);
    let mut two = window(&house, "w", &["--server", "far"]);
    assert_eq!(text(&one.call("one", json!({}))), "one in s-1");
    assert_eq!(text(&two.call("two", json!({}))), "two in s-1");
    assert_eq!(web.count("initialize"), 1);
    let [instance] = &instances(&house)[..] else { panic!("one instance is expected") };
    assert_eq!((&instance["state"], &instance["clients"]), (&json!("ready"), &json!(2)), "{instance}");
    for key in ["pid", "memoryBytes", "cpuSeconds"] {
        assert_eq!(instance[key], Value::Null, "{instance}");
    }
    let shown = house.say(&["status"]);
    assert!(shown.contains("far") && !shown.contains("pid 0"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    // The other window continues; the session ends with the last one.
    drop(one);
    assert_eq!(text(&two.call("two", json!({}))), "two in s-1");
    assert_eq!(web.count("DELETE"), 0);
    assert_eq!(two.finish().code, Some(0));
    patience::until_true("the session is ended", || web.count("DELETE") == 1);
}

#[test]
fn lost_session_is_renewed_for_all_windows() {
    let web = web();
    let port = web.port();
    let house = house(&web);
    let mut windows = ["a", "b"].map(|_| window(&house, "w", &["--server", "far"]));
    drop(web);
    let web = Web::at(port, |seen, wire| mcp(seen, wire, "s-2"));
    for window in &mut windows {
        assert_eq!(text(&window.call("one", json!({}))), "one in s-2");
    }
    assert_eq!(web.count("initialize"), 1);
    drop(windows);
}

#[test]
fn windows_see_it_among_other_servers() {
    let web = web();
    let house = house(&web);
    let mut window = window(&house, "w", &[]);
    assert_eq!(text(&window.call("far__one", json!({}))), "one in s-1");
    drop(window);
}

#[test]
fn http_clients_reach_it_on_both_paths() {
    let web = web();
    let served = Served::start(house(&web), &[]);
    let alone = Talk::open(&served.web, "/servers/far/mcp");
    assert_eq!(text(&alone.call("one", json!({}))), "one in s-1");
    let also = Talk::open(&served.web, "/servers/far/mcp");
    assert_eq!(text(&also.call("two", json!({}))), "two in s-1");
    assert_eq!(web.count("initialize"), 1, "sessions of ours are none of its");
    let all = Talk::open(&served.web, "/mcp");
    assert_eq!(text(&all.call("far__one", json!({}))), "one in s-1");
    let [.., instance] = &instances(&served.house)[..] else { panic!("an instance is expected") };
    assert_eq!(instance["pid"], Value::Null);
    assert_eq!(served.web.get("/readyz").send().status, 200);
}

/// Clients over a pipe and over HTTP are the same to the server.
#[test]
fn windows_and_http_clients_share_it() {
    let web = web();
    let served = Served::start(house(&web), &[]);
    let mut window = window(&served.house, "w", &["--server", "far"]);
    assert_eq!(text(&window.call("one", json!({}))), "one in s-1");
    let there = served.web.with("Switchboard-Root", &served.house.path("w").display().to_string());
    let talk = Talk::open_as(&there, "/servers/far/mcp", VERSION, json!({}));
    assert_eq!(text(&talk.call("two", json!({}))), "two in s-1");
    assert_eq!(web.count("initialize"), 1);
    drop(window);
}

/// Probes notice the missing server without any client.
#[test]
fn readiness_names_an_unreachable_server() {
    let port = web().port();
    let entry = json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "required": true });
    let house = House::with(json!({ "mcpServers": { "far": entry } }), json!({}), &[]);
    let served = Served::start(house, &[]);
    let ready = || {
        let mut reply = served.web.get("/readyz").send();
        (reply.status, reply.json()["failing"].clone())
    };
    patience::until_true("it is named", || ready() == (503, json!(["far"])));
    let web = Web::at(port, |seen, wire| mcp(seen, wire, "s-1"));
    patience::until_true("it is ready", || ready().0 == 200);
    assert_eq!(web.count("tools/call"), 0);
}
