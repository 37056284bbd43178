//! Orders are for the owner at the command line: nothing that a client sends over MCP stops, restarts or reloads
//! anything, or tells about other clients.

use crate::aggregate::servers::Servers;
use crate::http::served::{Served, refused};
use crate::support::error;
use serde_json::{Value, json};
use switchboard_testkit::patience;

/// Methods that could mean an order, and the words of the daemon's own socket.
const ORDERS: [&str; 12] = [
    "switchboard/stop",
    "switchboard/restart",
    "switchboard/start",
    "switchboard/reload",
    "switchboard/status",
    "switchboard/forget",
    "daemon/stop",
    "daemon/status",
    "stop",
    "reload",
    "status",
    "retire",
];

#[test]
fn no_message_is_an_order() {
    let servers = Servers::of(&["a", "b"]);
    let (mut other, mut client) = (servers.open_shared(), servers.open_shared());
    assert!(other.call("a__facts", json!({})).get("result").is_some());
    let pid = |client: &mut switchboard_testkit::client::Client| {
        client.call("a__facts", json!({}))["result"]["pid"].as_u64().unwrap()
    };
    let before = pid(&mut other);
    for method in ORDERS {
        for params in [json!({}), json!({ "server": "a" }), json!({ "order": "stop", "server": "a" })] {
            error(&client.request(method, params), -32601, "method_not_found");
        }
    }
    for wants in [r#""stop""#, r#""status""#, r#""reload""#, r#"{"order":{"order":"stop","server":"a"}}"#] {
        client.send(format!(r#"{{"protocol":1,"version":"9.9.9","wants":{wants}}}"#));
        let answer = client.recv_where("an error", |message| message.get("error").is_some());
        error(&answer, -32600, "bad_message");
    }
    // What the commands ask tells about the client's own servers only.
    let answer = client.request("switchboard/servers", json!({}));
    let servers_told = answer["result"]["servers"].as_array().unwrap();
    let keys = |server: &Value| server.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for server in servers_told {
        assert_eq!(keys(server), ["isStarting", "lastError", "name"], "{answer}");
    }
    // A farewell ends the client's own connection.
    client.request("shutdown", json!({}));
    client.notify("exit", json!({}));
    client.wait_for_end();
    assert_eq!(pid(&mut other), before);
    assert_eq!(servers.launches(["a"]), [1]);
}

#[test]
fn http_has_no_orders() {
    let served = Served::with(json!({}), json!({}), &[]);
    for path in
        ["/status", "/stop", "/reload", "/admin", "/daemon/stop", "/servers", "/servers/fake", "/profiles"]
    {
        refused(served.web.get(path), 404);
        refused(served.web.post(path, "{}"), 404);
    }
    patience::until_true("it serves on", || served.web.get("/healthz").send().status == 200);
}
