//! A modern client of several modern servers.

use crate::aggregate::servers::Servers;
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::client::{Modern, Start};

fn servers() -> Servers {
    let modern = |servers: Servers, name: &str, ttl: &str| {
        servers.and(
            name,
            json!({ "era": "modern" }),
            &["--era", "modern", "--ttl", ttl, "--cache-scope", "public"],
        )
    };
    modern(modern(Servers::none(), "a", "700"), "b", "300")
}

fn starts(servers: &Servers) -> [Start; 2] {
    [servers.shared(), servers.start()]
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn discovery_and_lists_are_merged() {
    for mode in 0..2 {
        // A stored list has no known age, so each mode has its first start.
        let servers = servers();
        let mut client = Modern::start(starts(&servers).into_iter().nth(mode).unwrap());
        let found = client.discover();
        assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
        assert_eq!(found["result"]["capabilities"]["tools"], json!({ "listChanged": true }));
        let listed = client.request("tools/list", json!({}));
        assert_eq!(
            (&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]),
            (&json!(300), &json!("public"))
        );
        let all = names(&listed);
        assert!(all.contains(&"a__echo".to_owned()) && all.contains(&"b__echo".to_owned()), "{all:?}");
        // The second window is answered from the stored lists, in the same order.
        let mut second = Modern::start(servers.start());
        assert_eq!(names(&second.request("tools/list", json!({}))), all);
    }
}

#[test]
fn call_reaches_its_server_to_the_byte() {
    let servers = servers();
    for start in starts(&servers) {
        let mut client = Modern::start(start);
        client.request("tools/list", json!({}));
        let meta = client.profile.dress(json!({}))["_meta"].to_string();
        let params = |name: &str| {
            format!(r#"{{ "name":"{name}","_meta":{meta} , "arguments":{{"z":1.50,"a":"\u0041\/"}}}}"#)
        };
        let id = client.ask_raw("tools/call", &params("b__params"));
        assert_eq!(text(&client.answer(id)), params("params"));
        let responses = json!({ "who": { "action": "accept" } });
        client.profile.capabilities = json!({ "elicitation": {} });
        let asked = json!({ "name": "a__input", "arguments": { "rounds": 2 } });
        let answer = client.request_with_input("tools/call", asked, &responses);
        assert_eq!(answer["result"]["structuredContent"]["inputResponses"], responses);
    }
}

#[test]
fn subscription_covers_all_servers() {
    let servers = servers();
    for start in starts(&servers) {
        let mut client = Modern::start(start);
        client.request("tools/list", json!({}));
        let (listen, agreed) =
            client.listen(json!({ "toolsListChanged": true, "resourceSubscriptions": ["no:such"] }));
        assert_eq!(agreed, json!({ "toolsListChanged": true }), "no server has the resource");
        client.cancel(listen);
        client.call("a__echo", json!({}));
    }
}
