//! Names of tools, prompts and completions, and the server that each name reaches.

use super::servers::{Servers, heard, listed, pid, say, tools, with_tools};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::patience;

#[test]
fn tool_names_carry_their_servers_prefix() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    let names = tools(&mut client);
    let (of_a, of_b) = names.split_at(names.len() / 2);
    assert!(of_a.iter().all(|name| name.starts_with("a__")), "{names:?}");
    let own = |names: &[String]| names.iter().map(|name| name[3..].to_owned()).collect::<Vec<_>>();
    assert_eq!(own(of_a), own(of_b), "the order is that of the file, and of each server");
    assert!(of_b.iter().all(|name| name.starts_with("b__")), "{names:?}");
}

#[test]
fn call_reaches_the_named_server() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    assert_eq!(pid(&mut client, "a__facts"), servers.record("a").pid(1));
    assert_eq!(pid(&mut client, "b__facts"), servers.record("b").pid(1));
    assert_eq!(text(&client.call("b__echo", json!({ "x": 1 }))), r#"{"x":1}"#);
    assert_eq!((servers.told("a", "\"x\":1"), servers.told("b", "\"x\":1")), (0, 1));
    assert_eq!(servers.launches(["a", "b"]), [1, 1]);
}

/// Only the id and the name differ.
#[test]
fn call_keeps_its_bytes() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    let line = |id: &str, name: &str| {
        format!(
            r#"{{ "x" : [ 1 ,2], "params": {{"arguments":{{"z":0.70,"a":1E2,"n":12345678901234567890123,"s":"\u00e9\/"}},"_meta":{{"own/k":-0.0}}, "name" : {name},"later":null}},"method":"tools/call","id":{id},"jsonrpc":"2.0"}}"#
        )
    };
    client.send(line("\"mine\"", "\"b__echo\""));
    let answer = client.answer("mine");
    assert!(answer.get("result").is_some(), "{answer}");
    let heard = servers.record("b").wait_for(1, "12345678901234567890123");
    let id = serde_json::from_str::<Value>(&heard).unwrap()["id"].to_string();
    assert_eq!(heard, line(&id, "\"echo\""));
}

#[test]
fn answer_keeps_its_bytes() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    let answer = |id: &str| {
        format!(
            r#"{{ "result": {{"z":0.70, "content":[ ] ,"_meta":{{"b":1E2,"a":"\u00e9\/"}},"uri":"file:///x"}} ,"jsonrpc":"2.0","id":{id},"also":-0.0}}"#
        )
    };
    client.start_call("a__say", json!({ "text": format!("{}\n", answer("%ID")) }));
    // The handshake used the first id.
    assert_eq!(client.recv_text(), answer("2"));
}

#[test]
fn overlong_names_end_in_a_hash() {
    let long = "x".repeat(60);
    let (one, other) = (format!("{long}_one"), format!("{long}_other"));
    let offer = with_tools(&[&one, &other, "echo"]);
    let servers = Servers::none().and_offer("a", json!({}), &offer).and_offer("b", json!({}), &offer);
    let mut client = servers.open();
    let names = tools(&mut client);
    assert_eq!(names.len(), 6);
    for name in &names {
        assert!(name.len() <= 46, "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
    }
    let mut each = names.clone();
    each.sort();
    each.dedup();
    assert_eq!(each.len(), 6, "no two are the same: {names:?}");
    assert_eq!(text(&client.call(&names[1], json!({}))), format!("no such tool: {other}"));
    assert_eq!(text(&client.call(&names[3], json!({}))), format!("no such tool: {one}"));
    assert_eq!((servers.told("a", &other), servers.told("b", &one)), (1, 1));

    // Names are stable across runs, since clients store them.
    drop(client);
    assert_eq!(tools(&mut servers.open()), names);
}

/// A tool's own name stays readable, solo and through the daemon.
#[test]
fn long_server_name_keeps_tool_names() {
    let server = "my-company-internal-knowledge-base-server";
    let own: Vec<String> = (0..14).map(|number| format!("search_pages_{number}")).collect();
    let offer = with_tools(&own.iter().map(String::as_str).collect::<Vec<_>>());
    let servers = Servers::none().and_offer(server, json!({}), &offer);
    let names = tools(&mut servers.open());
    for (name, own) in names.iter().zip(&own) {
        assert!(name.contains(&format!("__{own}_")) && name.starts_with("my-company-"), "{names:?}");
        assert!(name.len() <= 46, "{name}");
    }
    let mut shared = servers.open_shared();
    assert_eq!(tools(&mut shared), names);
    assert_eq!(text(&shared.call(&names[3], json!({}))), "no such tool: search_pages_3");
    let said = servers.say(&["check", "--config", servers.config().to_str().unwrap()]);
    assert!(said.contains("name is long (41 characters)"), "{said}");
}

/// No tool is shadowed: one server keeps the name, the other gets a unique one.
#[test]
fn colliding_names_are_made_unique() {
    let servers = Servers::of(&["a b", "a_b"]);
    let mut client = servers.open();
    let names = tools(&mut client);
    let facts: Vec<&String> = names.iter().filter(|name| name.starts_with("a_b__facts")).collect();
    assert_eq!(facts.len(), 2, "{names:?}");
    assert_eq!(pid(&mut client, "a_b__facts"), servers.record("a_b").pid(1), "its name says what it is");
    let other = facts.into_iter().find(|name| *name != "a_b__facts").unwrap();
    assert_eq!(pid(&mut client, other), servers.record("a b").pid(1));
}

/// The log or `switchboard status` explains the changed name.
#[test]
fn name_collision_is_recorded() {
    let servers = Servers::of(&["a b", "a_b"]);
    let mut client = servers.open_shared();
    let names = tools(&mut client);
    let other = names.iter().find(|name| name.starts_with("a_b__facts_")).unwrap();
    patience::until_true("it is told what becomes of the other", || {
        (servers.log() + &servers.say(&["status", "--json"])).contains(other.as_str())
    });
}

#[test]
fn unknown_name_gets_nearest_names() {
    let servers = Servers::of(&["a", "b"]);
    let mut client = servers.open();
    // Until the lists are known, only the server can refuse a name.
    tools(&mut client);
    for (name, nearest) in [("a__ecco", "a__echo"), ("echo", "a__echo"), ("c__echo", "a__echo")] {
        let answer = client.call(name, json!({}));
        let told = error(&answer, -32602, "unknown_name");
        assert_eq!(told["data"]["nearest"][0], nearest, "{answer}");
        assert!(told["message"].as_str().unwrap().contains(name), "{answer}");
    }
    let answer = client.call("a__nothing_of_the_kind", json!({}));
    assert_eq!(error(&answer, -32602, "unknown_name")["data"]["nearest"], json!([]), "{answer}");
    assert_eq!((servers.told("a", "tools/call"), servers.told("b", "tools/call")), (0, 0));
}

#[test]
fn prompt_names_carry_their_servers_prefix() {
    let offer = r#"{ "prompts": [{ "name": "review", "x": 0.70 }] }"#;
    let servers = Servers::none().and_offer("a", json!({}), offer).and_offer("b", json!({}), offer);
    let mut client = servers.open();
    client.send(r#"{"jsonrpc":"2.0","id":"l","method":"prompts/list"}"#);
    let list = r#"{ "name": "a__review", "x": 0.70 },{ "name": "b__review", "x": 0.70 }"#;
    assert_eq!(
        client.recv_text(),
        format!(r#"{{"jsonrpc":"2.0","id":"l","result":{{"prompts":[{list}]}}}}"#)
    );
    let answer = client.request("prompts/get", json!({ "name": "b__review", "arguments": { "k": "v" } }));
    assert_eq!(heard(&answer)["params"], json!({ "name": "review", "arguments": { "k": "v" } }));
    assert_eq!((servers.told("a", "prompts/get"), servers.told("b", "prompts/get")), (0, 1));
    let answer = client.request("prompts/get", json!({ "name": "b__revue" }));
    assert_eq!(error(&answer, -32602, "unknown_name")["data"]["nearest"][0], "b__review");
}

#[test]
fn completion_goes_to_the_owning_server() {
    let offer = r#"{
        "capabilities": { "completions": {}, "prompts": {}, "resources": {} },
        "prompts": [{ "name": "review" }],
        "resources": [],
        "resourceTemplates": [{ "name": "t", "uriTemplate": "x://{id}" }]
    }"#;
    let servers = Servers::none().and_offer("a", json!({}), offer).and_offer("b", json!({}), offer);
    let mut client = servers.open();
    let argument = json!({ "name": "k", "value": "v" });
    let ask = |reference: Value| json!({ "ref": reference, "argument": argument });
    let by_name = ask(json!({ "type": "ref/prompt", "name": "b__review" }));
    let answer = client.request("completion/complete", by_name);
    assert_eq!(heard(&answer)["params"], ask(json!({ "type": "ref/prompt", "name": "review" })));

    let templates = listed(&mut client, "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["proxy://template/a/x://{id}", "proxy://template/b/x://{id}"]);
    let by_uri = ask(json!({ "type": "ref/resource", "uri": templates[0] }));
    let answer = client.request("completion/complete", by_uri);
    assert_eq!(heard(&answer)["params"], ask(json!({ "type": "ref/resource", "uri": "x://{id}" })));
    let told = |name| servers.told(name, "completion/complete");
    assert_eq!((told("a"), told("b")), (1, 1));
}

#[test]
fn filters_allow_deny_and_rename() {
    let offer = with_tools(&["read_file", "read_secret", "write_file", "echo"]);
    let filter = json!({ "allow": ["read_*", "echo"], "deny": ["*secret*"], "rename": { "echo": "parrot" } });
    let servers = Servers::none()
        .and_offer("a", json!({ "tools": filter }), &offer)
        .and_offer("b", json!({ "tools": ["write_*"] }), &offer)
        .and_offer("c", json!({ "tools": [] }), &offer);
    let mut client = servers.open();
    assert_eq!(tools(&mut client), ["a__read_file", "a__parrot", "b__write_file"]);
    assert_eq!(text(&client.call("a__parrot", json!({ "x": 1 }))), r#"{"x":1}"#);
    assert_eq!(text(&client.call("b__write_file", json!({}))), "no such tool: write_file");
    // A hidden tool cannot be called.
    for name in ["a__echo", "a__read_secret", "a__write_file", "b__echo", "c__echo"] {
        error(&client.call(name, json!({})), -32602, "unknown_name");
    }
    assert_eq!(servers.told("a", "tools/call"), 1);
    assert_eq!(servers.told("c", "tools/call"), 0);
}

#[test]
fn resource_filters_apply_to_reads() {
    let offer = r#"{ "resources": [
        { "name": "1", "uri": "file:///work/a" }, { "name": "2", "uri": "file:///work/.env" },
        { "name": "3", "uri": "file:///home/b" }
    ] }"#;
    let filter = json!({ "resources": { "allow": ["file:///work/*"], "deny": ["*.env"] } });
    let servers = Servers::of(&["b"]).and_offer("a", filter, offer);
    let mut client = servers.open();
    assert_eq!(listed(&mut client, "resources", "name"), ["1"]);
    assert!(client.request("resources/read", json!({ "uri": "file:///work/a" })).get("result").is_some());
    for uri in ["file:///work/.env", "file:///home/b"] {
        let answer = client.request("resources/read", json!({ "uri": uri }));
        assert!(answer.get("error").is_some(), "{answer}");
    }
    assert_eq!(servers.told("a", "resources/read"), 1);
}

#[test]
fn plain_names_are_prefixed_on_collision() {
    let servers = Servers::none()
        .and_offer("a", json!({}), &with_tools(&["echo", "only_a"]))
        .and_offer("b", json!({}), &with_tools(&["echo", "only_b"]))
        .with("names", json!("plain"));
    let mut client = servers.open();
    assert_eq!(tools(&mut client), ["echo", "only_a", "b__echo", "only_b"], "nothing is shadowed");
    assert_eq!(text(&client.call("only_b", json!({}))), "no such tool: only_b");
    assert_eq!(text(&client.call("echo", json!({ "to": "a" }))), r#"{"to":"a"}"#);
    assert_eq!(text(&client.call("b__echo", json!({ "to": "b" }))), r#"{"to":"b"}"#);
    assert_eq!((servers.told("a", r#""to":"a""#), servers.told("b", r#""to":"b""#)), (1, 1));
}

/// Not even the name is changed.
#[test]
fn single_server_with_plain_names_is_as_is() {
    let offer = r#"{
        "capabilities": { "tools": {}, "resources": {} }, "instructions": "be kind",
        "serverInfo": { "name": "theirs", "version": "0.70" },
        "tools": [{"name":"say","inputSchema":{},"q":0.70}], "resources": [{"uri":"x://y","name":"y"}]
    }"#;
    let servers = Servers::none().and_offer("a", json!({}), offer).with("names", json!("plain"));
    let mut client = servers.start().start();
    let greeting = client.initialize();
    assert_eq!(
        (&greeting["serverInfo"]["name"], &greeting["instructions"]),
        (&json!("theirs"), &json!("be kind"))
    );
    client.send(r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#);
    let list = r#"{"jsonrpc":"2.0","id":9,"result":{"tools":[{"name":"say","inputSchema":{},"q":0.70}]}}"#;
    assert_eq!(client.recv_text(), list);
    assert_eq!(listed(&mut client, "resources", "uri"), ["x://y"]);
    say(&mut client, "say", &[]);
}

#[test]
fn disabled_server_is_absent() {
    let servers = Servers::of(&["a"]).and("b", json!({ "disabled": true }), &[]).and(
        "c",
        json!({ "enabled": false }),
        &[],
    );
    let mut client = servers.open();
    assert!(tools(&mut client).iter().all(|name| name.starts_with("a__")));
    error(&client.call("b__echo", json!({})), -32602, "unknown_name");
    assert_eq!(servers.launches(["a", "b", "c"]), [1, 0, 0]);
}

/// Capabilities and instructions of all servers, merged.
#[test]
fn initialize_answer_merges_all_servers() {
    let one = r#"{ "capabilities": { "tools": {}, "logging": {} }, "instructions": "one", "tools": [] }"#;
    let other = r#"{
        "capabilities": { "prompts": {}, "resources": { "subscribe": true }, "experimental": { "x": { "y": 1 } } },
        "instructions": "other", "prompts": [], "resources": [], "resourceTemplates": []
    }"#;
    let servers = Servers::none().and_offer("a", json!({}), one).and_offer("b", json!({}), other);
    let greeting = servers.open_greeting();
    assert_eq!(greeting["serverInfo"]["name"], "switchboard");
    assert_eq!(
        greeting["capabilities"],
        json!({
            "tools": { "listChanged": true }, "logging": {}, "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true }, "experimental": { "x": { "y": 1 } },
        })
    );
    let words = greeting["instructions"].as_str().unwrap();
    assert!(words.contains("## a\n\none") && words.contains("## b\n\nother"), "{words}");
}

impl Servers {
    #[track_caller]
    fn open_greeting(&self) -> Value {
        self.start().start().initialize()
    }
}
