//! MCP Apps of modern servers for modern clients, on every route: two servers with the same `ui://` address stay apart.
//! `isolation::apps` is the counterpart with legacy ones.

use super::guest::{Guest, beside, gated, on_every_route};
use crate::aggregate::servers::Servers;
use crate::isolation::apps::{OFFER, ui};
use crate::isolation::routes::{SERVER, Site};
use serde_json::{Value, json};
use switchboard_testkit::patience;

/// The server under test beside another one with the same apps.
fn alike() -> Servers {
    let servers = gated(beside(Servers::none(), "other", OFFER), json!({}), OFFER);
    servers.with("profiles", json!({ "only": [SERVER] }))
}

/// The name of a tool of the server under test.
#[track_caller]
fn tool(client: &mut Guest, name: &str) -> Value {
    let name = client.route.tool(name);
    let mut tools = client.items("tools").into_iter();
    tools.find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed"))
}

#[test]
fn app_is_found_by_its_tool() {
    on_every_route(alike, |site| {
        let mut client = Guest::declaring(site, ui());
        let (main, unlisted) = (site.route.app("app/main"), site.route.app("app/unlisted"));
        if site.route.is_to_one() {
            site.open_gate();
        }
        let say = tool(&mut client, "say");
        assert_eq!(say["_meta"]["ui"], json!({ "resourceUri": main, "n": 0.70 }));
        assert_eq!(say["_meta"]["ui/resourceUri"], json!(main));
        let more = tool(&mut client, "more");
        assert_eq!(more["_meta"]["ui"], json!({ "resourceUri": unlisted, "visibility": ["app"] }));
        assert!(client.names("resources").contains(&main));
        let page = site.route.app("page/{n}");
        assert!(client.names("resourceTemplates").contains(&page));
        site.open_gate();
        let other = |site: &Site| site.servers.told("other", "resources/read");
        for (said, own) in [
            (main, "ui://app/main"),
            (unlisted, "ui://app/unlisted"),
            (page.replace("{n}", "7"), "ui://page/7"),
        ] {
            let answer = client.request("resources/read", json!({ "uri": said }));
            assert_eq!(answer["result"]["contents"][0]["uri"], json!(said), "{answer}");
            assert_eq!((site.told(&format!(r#""uri":"{own}""#)), other(site)), (1, 0), "{said}");
        }
    });
}

#[test]
fn result_refers_to_its_own_app() {
    on_every_route(alike, |site| {
        let mut client = Guest::declaring(site, ui());
        if site.route.is_to_one() {
            site.open_gate();
        }
        // Like a host that shows apps, the client has listed the tools.
        tool(&mut client, "say");
        site.open_gate();
        let result = |[main, new]: [&str; 2]| {
            format!(
                r#"{{"resultType":"complete","content":[{{"type":"resource","resource":{{"uri":"{new}","text":"\"uri\":\"ui://x\""}}}}],"_meta":{{"ui":{{"resourceUri":"{main}"}},"ui/resourceUri":"{main}","n":0.70}},"structuredContent":{{"resourceUri":"ui://x"}}}}"#
            )
        };
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{}}}\n",
            result(["ui://app/main", "ui://app/new"])
        );
        let answer = client.call("say", json!({ "text": text }));
        let expect = result([&site.route.app("app/main"), &site.route.app("app/new")]);
        assert_eq!(answer["result"], serde_json::from_str::<Value>(&expect).unwrap());
    });
}

/// The offer, with a tool that announces changes.
fn changing() -> Servers {
    let offer = OFFER.replacen("\"tools\": [", "\"tools\": [ { \"name\": \"change\" },", 1);
    let servers = gated(beside(Servers::none(), "other", &offer), json!({}), &offer);
    servers.with("profiles", json!({ "only": [SERVER] }))
}

/// Two servers have the same app. A subscription covers only the named one.
#[test]
fn update_of_an_app_reaches_its_listener() {
    on_every_route(changing, |site| {
        let mut client = Guest::declaring(site, ui());
        if site.route.is_to_one() {
            site.open_gate();
        }
        assert!(client.names("resources").contains(&site.route.app("app/main")));
        site.open_gate();
        let apps = [site.route.app("app/main"), site.route.app("page/7")];
        let (mut listening, agreed) = client.listen(json!({ "resourceSubscriptions": apps })).unwrap();
        assert_eq!(agreed["resourceSubscriptions"], json!(apps));
        patience::until_true("the server is listened to", || site.told("ui://page/7") > 0);
        assert_eq!(site.servers.told("other", "ui://"), 0);
        // The server handles requests in order, so the last subscription is open now.
        for (own, shown) in
            ["ui://app/secret", "ui://page/7", "ui://app/main"].iter().zip(["", &apps[1], &apps[0]])
        {
            client.call("change", json!({ "uri": own }));
            if shown.is_empty() {
                continue;
            }
            let told = client.hear(&mut listening);
            let found = (&told["method"], &told["params"]["uri"]);
            assert_eq!(found, (&json!("notifications/resources/updated"), &json!(shown)), "{told}");
        }
    });
}
