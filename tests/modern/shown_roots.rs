//! Roots of modern clients at legacy servers: clients are asked during a call, on every route, and their roots reach only a
//! process that no other client uses.

use super::guest::{Guest, on_every_route};
use super::paused::{answered, continued, is_paused};
use crate::access::token::web_of;
use crate::aggregate::servers::Servers;
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use crate::isolation::routes::{Route, Site, servers};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::client::Modern;
use switchboard_testkit::http;
use switchboard_testkit::patience;

const OFFER: &str = r#"{ "tools": [{ "name": "ask" }, { "name": "facts" }] }"#;

/// Servers with one process for each set of capabilities, so that a client can be alone with its process.
fn asked(mut keys: Value) -> Servers {
    keys["capabilities"] = json!("exact");
    servers(keys, OFFER)
}

/// Parameters of a call in which the server asks for roots.
fn call(tool: &str, id: u32) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" });
    json!({ "name": tool, "arguments": { "id": id.to_string(), "request": request.to_string() } })
}

fn shown() -> Value {
    json!({ "roots": [{ "uri": "file:///somewhere", "name": "n" }, { "uri": "file:///else" }] })
}

/// The server's answer to a client that cannot be asked: the roots that the server got instead.
fn folder(site: &Site) -> Value {
    let mut client = Guest::open(site);
    let answer = client.request("tools/call", call(&site.route.tool("ask"), 7));
    assert!(!is_paused(&answer), "{answer}");
    answered(&answer)
}

fn has_session(route: Route) -> bool {
    match route {
        Route::WindowOne | Route::WindowAll | Route::SoloOne | Route::SoloAll => true,
        Route::HttpOne | Route::HttpAll | Route::HttpProfile => false,
    }
}

#[test]
fn shown_roots_reach_the_server() {
    on_every_route(
        || asked(json!({})),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, json!({ "roots": {} }));
            let params = call(&site.route.tool("ask"), 77);
            let paused = client.request("tools/call", params.clone());
            let request = paused["result"]["inputRequests"].as_object().unwrap().values().next().unwrap();
            assert_eq!(request["method"], "roots/list");
            let answer = client.request("tools/call", continued(&params, &paused, &shown()));
            assert_eq!(answered(&answer), shown(), "{answer}");
            let again = client.request("tools/call", call(&site.route.tool("ask"), 78));
            match has_session(site.route) {
                true => assert_eq!(answered(&again), shown(), "{again}"),
                // The next call may come from another program.
                false => assert!(is_paused(&again), "{again}"),
            }
        },
    );
}

#[test]
fn malformed_roots_mean_the_folder() {
    on_every_route(
        || asked(json!({})),
        |site| {
            site.open_gate();
            let folder = folder(site);
            let mut client = Guest::declaring(site, json!({ "roots": {} }));
            for (id, useless) in [
                (77, json!({})),
                (78, json!({ "roots": [{ "name": "n" }] })),
                (79, json!({ "error": { "code": -32601, "message": "no" } })),
            ] {
                let params = call(&site.route.tool("ask"), id);
                let paused = client.request("tools/call", params.clone());
                let answer = client.request("tools/call", continued(&params, &paused, &useless));
                assert_eq!(answered(&answer), folder, "{useless}");
            }
        },
    );
}

#[test]
fn unanswered_question_gets_an_error() {
    on_every_route(
        || asked(json!({ "inputTimeout": "300ms" })),
        |site| {
            site.open_gate();
            let mut client = Guest::declaring(site, json!({ "roots": {} }));
            let params = call(&site.route.tool("ask"), 77);
            let paused = client.request("tools/call", params.clone());
            assert!(is_paused(&paused), "{paused}");
            patience::until_true("the call is cancelled", || site.told("notifications/cancelled") == 1);
            assert_eq!(site.told("client_timeout"), 1);
            let late = client.request("tools/call", continued(&params, &paused, &shown()));
            error(&late, -32602, "input_expired");
            assert_eq!(site.told("somewhere"), 0);
        },
    );
}

fn window(house: &House) -> Modern {
    Modern::start(house.window("w")).declaring(json!({ "roots": {} }))
}

fn process(window: &mut Modern) -> Value {
    window.call("facts", json!({}))["result"]["pid"].clone()
}

#[test]
fn roots_stay_in_their_window() {
    let house = House::new();
    let folder = json!({ "roots": [{ "uri": format!("file://{}", house.path("w").display()) }] });
    let (mut a, mut b) = (window(&house), window(&house));
    assert_eq!(process(&mut a), process(&mut b), "they share a process");
    for window in [&mut a, &mut b] {
        let answer = window.request("tools/call", call("ask", 7));
        assert_eq!(answered(&answer), folder, "neither is asked");
    }
    for window in [a, b] {
        assert_eq!(window.into_client().finish().code, Some(0));
    }
    house.wait_for_servers(0);
    // From now on the server is known to ask for roots.
    let (mut a, mut b) = (window(&house), window(&house));
    let params = call("ask", 8);
    let paused = a.request("tools/call", params.clone());
    let of_b = process(&mut b);
    let answer = a.request("tools/call", continued(&params, &paused, &shown()));
    assert_eq!(answered(&answer), folder, "the other window has come meanwhile");
    let answer = a.request("tools/call", call("ask", 9));
    assert_eq!(answered(&answer), shown(), "its next call");
    assert_ne!(process(&mut a), of_b);
    let answer = b.request("tools/call", call("ask", 10));
    assert_eq!((answered(&answer), process(&mut b)), (folder, of_b));
}

#[test]
fn roots_stay_with_their_token() {
    let shared = json!({ "scope": "global", "state": "none" });
    let served = Served::with(json!({}), shared, &[]);
    let stranger = web_of(&served, &["ci"]);
    let at = |web| http::Modern::at(web, FAKE).declaring(json!({ "roots": {} }));
    let (owner, stranger) = (at(&served.web), at(&stranger));
    // From now on the server is known to ask for roots.
    let params = call("ask", 77);
    let paused = owner.request("tools/call", params.clone());
    let answer = owner.request("tools/call", continued(&params, &paused, &json!({ "roots": [] })));
    assert_eq!(answered(&answer), json!({ "roots": [] }));
    let params = call("ask", 78);
    let paused = owner.request("tools/call", params.clone());
    assert!(is_paused(&paused), "{paused}");
    let good = continued(&params, &paused, &shown());
    let (_, mut reply) = stranger.begin("tools/call", good.clone());
    error(&reply.json(), -32602, "input_expired");
    // Only the owner may name folders.
    let answer = stranger.request("tools/call", call("ask", 79));
    assert_eq!(answered(&answer), json!({ "roots": [] }), "{answer}");
    let pid = |client: &http::Modern| client.call("facts", json!({}))["result"]["pid"].clone();
    let is_shared = pid(&owner) == pid(&stranger);
    let answer = owner.request("tools/call", good);
    let expected = if is_shared { json!({ "roots": [] }) } else { shown() };
    assert_eq!(answered(&answer), expected);
    let answer = stranger.request("tools/call", call("ask", 80));
    assert_eq!(answered(&answer), json!({ "roots": [] }), "{answer}");
    assert!(text(&answer).contains("roots"));
}

/// Folders of another machine do not exist here, so its roots are hidden.
#[test]
fn roots_of_another_machine_are_hidden() {
    let none = json!({ "roots": [] });
    for (path, tool) in [(FAKE, "ask"), ("/mcp", "fake__ask")] {
        let served = Served::new();
        let remote = served.web.with("X-Forwarded-For", "192.0.2.1");
        let at = |web| http::Modern::at(web, path).declaring(json!({ "roots": {} }));
        let (here, elsewhere) = (at(&served.web), at(&remote));
        let params = call(tool, 77);
        let paused = here.request("tools/call", params.clone());
        let answer = elsewhere.request("tools/call", continued(&params, &paused, &shown()));
        assert_eq!(answered(&answer), none, "{path}: {answer}");
        let answer = elsewhere.request("tools/call", call(tool, 78));
        assert_eq!(answered(&answer), none, "{path}: {answer}");
    }
}
