//! Changed lists: the server is asked again, and the client is notified about the lists that it has seen.

use super::servers::{Servers, listed, say, tools, with_tools};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const PROMPTS: &str = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;
const RESOURCES: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;

/// Methods of all messages that arrive before the answer to `id`.
#[track_caller]
fn methods_until(client: &mut Client, id: u64) -> Vec<String> {
    let mut methods = Vec::new();
    loop {
        let message = client.recv_json();
        match message["method"].as_str() {
            Some(method) => methods.push(method.to_owned()),
            None if message["id"] == id => return methods,
            None => {}
        }
    }
}

/// Methods of all messages up to and including `method`.
#[track_caller]
fn methods_until_told(client: &mut Client, method: &str) -> Vec<String> {
    let mut methods = Vec::new();
    loop {
        let message: Value = client.recv_json();
        if let Some(told) = message["method"].as_str() {
            methods.push(told.to_owned());
            if told == method {
                return methods;
            }
        }
    }
}

#[test]
fn burst_of_list_changes_notifies_once() {
    let servers = Servers::of(&["b"]).and_offer("a", json!({}), &with_tools(&["say"]));
    let mut client = servers.open();
    let before = tools(&mut client);
    for round in 1..=3 {
        let new = format!("new{round}");
        servers.offers("a", &with_tools(&["say", &new]));
        client.start_call("a__say", json!({ "text": format!("{TOOLS}\n").repeat(20) }));
        let told = methods_until_told(&mut client, "notifications/tools/list_changed");
        assert_eq!(told.len(), 1, "{told:?}");
        let now = tools(&mut client);
        assert!(now.contains(&format!("a__{new}")), "{now:?}");
        assert_eq!(now.len(), before.len() + 1);
    }
    // No notification is left over.
    let ping = client.ask("ping", json!({}));
    assert_eq!(methods_until(&mut client, ping), Vec::<String>::new());
    let asked = servers.told("a", "tools/list");
    assert!(asked <= 1 + 3 * 2, "20 times it said so, and it was asked {asked} times in 3 rounds");
}

/// The server sends `list_changed`, but its list is the same.
#[test]
fn unchanged_list_is_not_announced() {
    let servers = Servers::none().and_offer("a", json!({}), &with_tools(&["say"])).and_offer(
        "b",
        json!({}),
        &with_tools(&["say"]),
    );
    let mut client = servers.open();
    tools(&mut client);
    say(&mut client, "a__say", &[TOOLS, TOOLS]);
    servers.record("a").wait_for(1, "tools/call");
    // The list is requested a second time.
    switchboard_testkit::patience::until_true("it was asked again", || servers.told("a", "tools/list") >= 2);
    servers.offers("b", &with_tools(&["say", "new"]));
    say(&mut client, "b__say", &[TOOLS]);
    let told = methods_until_told(&mut client, "notifications/tools/list_changed");
    assert_eq!(told.len(), 1);
    assert_eq!(tools(&mut client), ["a__say", "b__say", "b__new"], "it was this that was told");
}

/// A client that never requested a list needs no notification about it.
#[test]
fn only_lists_the_client_saw_are_announced() {
    let offer = |n: u32| {
        json!({
            "tools": [{ "name": "say" }, { "name": format!("t{n}") }], "prompts": [{ "name": format!("p{n}") }],
            "resources": [{ "name": "r", "uri": format!("x://{n}") }],
            "resourceTemplates": [{ "name": "t", "uriTemplate": format!("x://{n}/{{i}}") }],
        })
        .to_string()
    };
    let servers = Servers::of(&["b"]).and_offer("a", json!({}), &offer(1));
    let mut client = servers.open();
    listed(&mut client, "resources", "uri");
    servers.offers("a", &offer(2));
    say(&mut client, "a__say", &[TOOLS, PROMPTS, RESOURCES]);
    let told = methods_until_told(&mut client, "notifications/resources/list_changed");
    assert_eq!(told, ["notifications/resources/list_changed"]);
    let names = tools(&mut client);
    assert!(names.contains(&"a__t2".to_owned()) && !names.contains(&"a__t1".to_owned()), "{names:?}");
    assert_eq!(listed(&mut client, "prompts", "name"), ["a__p2"]);

    // Now the client has seen every list. A changed template alone also counts as a change of the resources.
    listed(&mut client, "resourceTemplates", "uriTemplate");
    listed(&mut client, "resources", "uri");
    servers.offers("a", &offer(3));
    say(&mut client, "a__say", &[PROMPTS, RESOURCES, TOOLS]);
    let mut told: Vec<String> =
        (0..3).map(|_| client.recv_json()["method"].as_str().unwrap().to_owned()).collect();
    told.sort();
    let all = ["prompts", "resources", "tools"].map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(told, all, "each of them once");
}

/// A new process may offer other tools.
#[test]
fn restart_refreshes_lists() {
    let servers = Servers::of(&["b"]).and_offer("a", json!({}), &with_tools(&["crash", "echo"]));
    let mut client = servers.open();
    tools(&mut client);
    servers.offers("a", &with_tools(&["echo", "new"]));
    client.call("a__crash", json!({ "code": 1 }));
    client.call("a__echo", json!({}));
    client.told("notifications/tools/list_changed");
    let names = tools(&mut client);
    assert!(names.contains(&"a__new".to_owned()) && !names.contains(&"a__crash".to_owned()), "{names:?}");
    assert_eq!(servers.launches(["a", "b"]), [2, 1]);
}

/// An announced tool can be called before anybody lists it.
#[test]
fn new_tool_is_callable_once_announced() {
    let servers = Servers::of(&["b"]).and_offer("a", json!({}), &with_tools(&["say"]));
    let mut client = servers.open();
    tools(&mut client);
    servers.offers("a", &with_tools(&["say", "echo"]));
    say(&mut client, "a__say", &[TOOLS]);
    client.told("notifications/tools/list_changed");
    assert!(client.call("a__echo", json!({})).get("result").is_some());
    servers.offers("a", &with_tools(&["say"]));
    say(&mut client, "a__say", &[TOOLS]);
    client.told("notifications/tools/list_changed");
    crate::support::error(&client.call("a__echo", json!({})), -32602, "unknown_name");
}
