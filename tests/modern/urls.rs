//! Calls that a legacy server refuses until the user opens URLs (−32042), on every route.

use super::guest::{Guest, on_every_route};
use super::paused::{continued, is_paused};
use crate::aggregate::servers::Servers;
use crate::isolation::routes::{Route, Site, servers};
use crate::support::{error, saying, text};
use serde_json::{Value, json};

const URLS: [&str; 2] = ["https://one.test/?x=ä", "https://two.test/"];

fn offering() -> Servers {
    servers(json!({}), r#"{ "tools": [{ "name": "login" }, { "name": "say" }] }"#)
}

fn open(site: &Site) -> Guest {
    site.open_gate();
    Guest::declaring(site, json!({ "elicitation": { "form": {}, "url": {} } }))
}

/// Parameters of a call that is refused once for each account.
fn login(route: Route, account: &str, urls: &[&str]) -> Value {
    json!({ "name": route.tool("login"), "arguments": { "account": account, "urls": urls } })
}

#[test]
fn call_is_repeated_after_opening_urls() {
    on_every_route(offering, |site| {
        let mut client = open(site);
        let params = login(site.route, "a", &URLS);
        let paused = client.request("tools/call", params.clone());
        assert!(is_paused(&paused), "{paused}");
        let requests = paused["result"]["inputRequests"].as_object().unwrap();
        let mut shown: Vec<&str> =
            requests.values().map(|it| it["params"]["url"].as_str().unwrap()).collect();
        shown.sort_unstable();
        assert_eq!(shown, URLS);
        for request in requests.values() {
            assert_eq!(
                (&request["method"], &request["params"]["mode"]),
                (&json!("elicitation/create"), &json!("url"))
            );
        }
        let again = continued(&params, &paused, &json!({ "action": "accept" }));
        let answer = client.request("tools/call", again.clone());
        assert_eq!(text(&answer), "logged in");
        assert_eq!(answer["result"]["resultType"], "complete");
        error(&client.request("tools/call", again), -32602, "input_expired");
        // The server got two calls, without members of the modern era.
        assert_eq!((site.told("\"tools/call\""), site.told("requestState")), (2, 0));
    });
}

#[test]
fn declined_url_ends_the_call() {
    on_every_route(offering, |site| {
        let mut client = open(site);
        for (account, action) in [("a", "decline"), ("b", "cancel")] {
            let params = login(site.route, account, &URLS);
            let paused = client.request("tools/call", params.clone());
            let answer =
                client.request("tools/call", continued(&params, &paused, &json!({ "action": action })));
            error(&answer, -32603, "input_declined");
        }
        assert_eq!(site.told("\"tools/call\""), 2);
    });
}

/// The code −32042 belongs to the legacy era.
#[test]
fn missing_url_support_is_reported() {
    on_every_route(offering, |site| {
        site.open_gate();
        let required = json!({ "elicitation": { "url": {} } });
        for (account, capabilities) in [("a", json!({})), ("b", json!({ "elicitation": {} }))] {
            let mut client = Guest::declaring(site, capabilities);
            let answer = client.request("tools/call", login(site.route, account, &URLS));
            let error = &answer["error"];
            assert_eq!(
                (&error["code"], &error["message"], &error["data"]["requiredCapabilities"]),
                (&json!(-32021), &json!("Open it first"), &required),
                "{answer}"
            );
            assert_eq!(error["data"]["elicitations"][1]["url"], URLS[1], "{answer}");
        }
        // No URL to open.
        let answer = open(site).request("tools/call", login(site.route, "c", &[]));
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
    });
}

#[test]
fn legacy_error_codes_are_replaced() {
    on_every_route(offering, |site| {
        let mut client = open(site);
        for (code, expect) in [(-32002, -32602), (-32020, -32603), (-32050, -32603), (-32000, -32000)] {
            let said = json!({ "code": code, "message": "no", "data": { "uri": "x:y" } });
            let line = format!(r#"{{"jsonrpc":"2.0","id":%ID,"error":{said}}}"#);
            let answer = client.call("say", saying(&line));
            let expect = json!({ "code": expect, "message": "no", "data": { "uri": "x:y" } });
            assert_eq!(answer["error"], expect, "{answer}");
        }
    });
}
