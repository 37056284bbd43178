//! A modern client of several modern servers.

use crate::aggregate::servers::{Servers, with_tools};
use crate::aggregate::slow::wait_until_stored;
use crate::isolation::routes::wrapped;
use crate::support::text;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use switchboard_testkit::client::{Modern, Start, initialize_params};
use switchboard_testkit::{message, patience};

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

/// One private member makes the whole private; the least time counts, whoever says it.
#[test]
fn private_member_makes_lists_private() {
    for mode in 0..2 {
        let private = ["--era", "modern", "--ttl", "500", "--cache-scope", "private"];
        let servers = servers().and("c", json!({ "era": "modern" }), &private);
        let mut client = Modern::start(starts(&servers).into_iter().nth(mode).unwrap());
        for method in ["server/discover", "tools/list"] {
            let answer = client.request(method, json!({}));
            let hints = [&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]];
            assert_eq!(hints, [&json!(300), &json!("private")], "{method}: {answer}");
        }
        let all = names(&client.request("tools/list", json!({})));
        assert!(["a", "b", "c"].iter().all(|name| all.contains(&format!("{name}__echo"))), "{all:?}");
    }
}

/// Bytes of the listed tools.
fn tools_text(client: &mut Modern) -> String {
    let id = client.ask("tools/list", json!({}));
    let (text, answer) = client.raw_answer(id);
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(message::raw_result(&text)).unwrap();
    members.get("tools").unwrap_or_else(|| panic!("{answer}")).get().to_owned()
}

/// Models' prompt caches hit only if the list has the same bytes every time.
#[test]
fn order_of_tools_is_stable() {
    const ORDERS: [[&str; 3]; 3] = [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]];
    let offers = [("a", ["m", "crash"]), ("b", ["crash", "z"]), ("c", ["z", "a"])];
    for mode in 0..2 {
        let mut servers = Servers::none();
        for (name, tools) in offers {
            let offer = servers.offers(name, &with_tools(&tools)).display().to_string();
            let gate = servers.path(&format!("{name}.gate")).display().to_string();
            let options = ["--era", "modern", "--cache-scope", "public", "--offer", &offer, "--gate", &gate];
            servers = servers.and(name, json!({ "era": "modern" }), &options);
        }
        let open = || Modern::start(starts(&servers).into_iter().nth(mode).unwrap());
        let lists = |name: &str| servers.told(name, "tools/list");
        let mut seen = Vec::new();
        for order in ORDERS {
            // As on the first start: nothing is stored.
            let _ = fs::remove_dir_all(servers.state("catalogue"));
            let mut client = open();
            let first = client.ask("tools/list", json!({}));
            for name in order {
                let before = lists(name);
                fs::write(servers.path(&format!("{name}.gate")), "").unwrap();
                patience::until_true("its list was requested", || lists(name) > before);
            }
            assert!(client.answer(first).get("result").is_some());
            seen.push(tools_text(&mut client));
            // A server that was started again is the last to be asked.
            let before = lists("a");
            assert!(client.call("a__crash", json!({})).get("error").is_some());
            assert!(client.call("a__m", json!({})).get("result").is_some());
            patience::until_true("its list was requested again", || lists("a") > before);
            seen.push(tools_text(&mut client));
            wait_until_stored(&servers, "catalogue", 3);
            for name in order {
                fs::remove_file(servers.path(&format!("{name}.gate"))).unwrap();
            }
            assert_eq!(client.finish().code, Some(0));
            patience::until_true("everything has ended", || servers.processes().is_empty());
            // From the store; no server answers.
            let mut client = open();
            seen.push(tools_text(&mut client));
            assert_eq!(client.finish().code, Some(0));
            patience::until_true("everything has ended", || servers.processes().is_empty());
        }
        let first: Vec<Value> = serde_json::from_str(&seen[0]).unwrap();
        let first: Vec<&str> = first.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(first, ["a__m", "a__crash", "b__crash", "b__z", "c__z", "c__a"], "as configured");
        assert!(seen.iter().all(|list| *list == seen[0]), "{seen:#?}");
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

/// An offer with these tools, and a resource that can be subscribed to.
pub(super) fn changing(tools: &[&str]) -> String {
    let mut offer: Value = serde_json::from_str(&with_tools(tools)).unwrap();
    offer["capabilities"] = json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true } });
    offer["resources"] = json!([{ "uri": "x://a", "name": "a" }]);
    offer.to_string()
}

#[test]
fn subscription_covers_all_servers() {
    for mode in 0..2 {
        let servers = ["a", "b"].into_iter().fold(Servers::none(), |servers, name| {
            let offer = servers.offers(name, &changing(&["change", "echo"])).display().to_string();
            servers.and(name, json!({ "era": "modern" }), &["--era", "modern", "--offer", &offer])
        });
        let mut client = Modern::start(starts(&servers).into_iter().nth(mode).unwrap());
        client.request("tools/list", json!({}));
        // Both servers have a resource of this name.
        let uris = ["a", "b"].map(|name| wrapped(name, "x://a"));
        let wishes =
            json!({ "toolsListChanged": true, "resourceSubscriptions": [uris[0], uris[1], "no:such"] });
        let (listen, agreed) = client.listen(wishes);
        let honoured = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
        assert_eq!(agreed, honoured, "no server has the third resource");
        for (name, uri) in ["a", "b"].into_iter().zip(&uris) {
            servers.offers(name, &changing(&["change", "echo", "new"]));
            client.call(&format!("{name}__change"), json!({ "list": "tools" }));
            client.heard(listen, "notifications/tools/list_changed");
            let all = names(&client.request("tools/list", json!({})));
            assert!(all.contains(&format!("{name}__new")), "{all:?}");
            client.call(&format!("{name}__change"), json!({ "uri": "x://a" }));
            let updated = client.heard(listen, "notifications/resources/updated");
            assert_eq!(updated["params"]["uri"], **uri, "{updated}");
        }
        client.cancel(listen);
        client.call("a__echo", json!({}));
    }
}

/// Two servers with an extension each, of which a client knows one.
#[test]
fn undeclared_extensions_are_not_offered() {
    let declared = json!({ "extensions": { "com.example/b": {}, "com.example/c": {} } });
    let known = json!({ "com.example/b": { "of": "b" } });
    for era in ["modern", "legacy"] {
        let offering = |servers: Servers, name: &str| {
            let capabilities =
                json!({ "tools": {}, "extensions": { format!("com.example/{name}"): { "of": name } } });
            let offer = json!({ "tools": [{ "name": "x" }], "capabilities": capabilities });
            let path = servers.offers(name, &offer.to_string()).display().to_string();
            servers.and(name, json!({ "era": era }), &["--era", era, "--offer", &path])
        };
        let servers = offering(offering(Servers::none(), "a"), "b");
        for start in starts(&servers) {
            let mut client = Modern::start(start).declaring(declared.clone());
            // The answer comes when both servers have told what they are.
            assert_eq!(names(&client.request("tools/list", json!({}))), ["a__x", "b__x"]);
            let found = client.discover();
            assert_eq!(found["result"]["capabilities"]["extensions"], known, "{era}: {found}");
        }
        for start in starts(&servers) {
            let mut params = initialize_params();
            params["capabilities"] = declared.clone();
            let welcome = start.start().request("initialize", params);
            assert_eq!(welcome["result"]["capabilities"]["extensions"], known, "{era}: {welcome}");
        }
    }
}
