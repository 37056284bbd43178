//! Notifications of servers in each pairing of the eras, on every route, at the first start and with stored lists: log
//! messages of one request, and updates of resources that the server accepted.

use super::guest::{self, Guest, Listening, on_every_route, on_routes};
use crate::aggregate::servers::Servers;
use crate::isolation::routes::{self, Route, Site};
use serde_json::{Value, json};
use switchboard_testkit::patience;

/// Routes on which clients share the process of a server.
const SHARED: [Route; 5] =
    [Route::WindowOne, Route::WindowAll, Route::HttpOne, Route::HttpAll, Route::HttpProfile];

const LOGGING: &str = r#"{
    "capabilities": { "tools": {}, "logging": {} }, "tools": [{ "name": "hold" }, { "name": "release" }, { "name": "say" }]
}"#;

/// Arguments of `say`: a log message, and the answer.
fn logging(data: &str) -> Value {
    let params = json!({ "level": "info", "data": data });
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
    json!({ "text": format!("{notice}\n{}\n", r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#) })
}

/// The data of all log messages among these.
fn logs(messages: &[Value]) -> Vec<&Value> {
    let logs = messages.iter().filter(|it| it["method"] == "notifications/message");
    logs.map(|it| &it["params"]["data"]).collect()
}

/// Two clients share a process of a legacy server. Its log messages name no request.
#[test]
fn log_reaches_only_its_own_call() {
    // Over HTTP, programs with the same token and the same declaration are one client.
    let kinds = [json!({}), json!({ "experimental": {} })];
    let ways: Vec<(Route, bool)> =
        SHARED.iter().flat_map(|route| [(*route, true), (*route, false)]).collect();
    let keys = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
    on_routes(
        &ways,
        || routes::servers(keys.clone(), LOGGING),
        |site, is_same| {
            site.open_gate();
            let [mut one, mut other] =
                [&kinds[0], &kinds[usize::from(!is_same)]].map(|it| Guest::declaring(site, it.clone()));
            one.want_logs("info");
            other.want_logs("info");
            let held = one.begin_call("hold", json!({ "label": "it" }));
            patience::until_true("the call is there", || site.told(r#""label":"it""#) == 1);
            let said = other.begin_call("say", logging("of the other"));
            assert_eq!(logs(&other.messages_of(said)), Vec::<&Value>::new());
            let released = other.begin_call("release", json!({}));
            other.messages_of(released);
            assert_eq!(one.messages_of(held).len(), 1, "the answer alone");
            for client in [&mut one, &mut other] {
                let said = client.begin_call("say", logging("its own"));
                assert_eq!(logs(&client.messages_of(said)), [&json!("its own")]);
            }
        },
    );
}

/// The server accepts no subscription to `x://untold`.
const RESOURCES: &str = r#"{
    "capabilities": { "tools": {}, "resources": { "subscribe": true } }, "untold": ["x://untold"],
    "tools": [{ "name": "say" }, { "name": "change" }],
    "resources": [{ "name": "a", "uri": "x://told" }, { "name": "b", "uri": "x://untold" }]
}"#;

/// Checks that a modern client's subscription is acknowledged with the accepted resources, and that only their updates
/// arrive. `announce` makes the server announce an update.
fn check_agreed(servers: impl Fn() -> Servers + Sync, announce: impl Fn(&mut Guest, &str) + Sync) {
    on_every_route(servers, |site| {
        site.open_gate();
        let mut client = Guest::open(site);
        let uris = ["x://untold", "x://told"].map(|uri| site.route.uri(uri));
        let (mut listening, agreed) = client.listen(json!({ "resourceSubscriptions": uris })).unwrap();
        assert_eq!(agreed["resourceSubscriptions"], json!([uris[1]]), "{agreed}");
        announce(&mut client, "x://untold");
        announce(&mut client, "x://told");
        assert_eq!(heard_uri(&mut client, &mut listening), uris[1]);
    });
}

#[track_caller]
fn heard_uri(client: &mut Guest, listening: &mut Listening) -> Value {
    let told = client.hear(listening);
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    told["params"]["uri"].clone()
}

fn updated(uri: &str) -> Value {
    let method = "notifications/resources/updated";
    json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } })
}

#[test]
fn legacy_server_accepts_its_resources() {
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    check_agreed(
        || routes::servers(json!({}), RESOURCES),
        |client, uri| {
            let text = format!("{}\n{answer}\n", updated(uri));
            assert!(client.call("say", json!({ "text": text })).get("result").is_some());
        },
    );
}

#[test]
fn modern_server_accepts_its_resources() {
    check_agreed(
        || guest::servers(json!({}), RESOURCES),
        |client, uri| {
            assert!(client.call("change", json!({ "uri": uri })).get("result").is_some());
        },
    );
}

#[test]
fn subscriptionless_server_accepts_nothing() {
    let offer = RESOURCES.replace(r#"{ "subscribe": true }"#, "{}");
    on_every_route(
        || routes::servers(json!({}), &offer),
        |site| {
            site.open_gate();
            let mut client = Guest::open(site);
            let uris = [site.route.uri("x://told")];
            let (_, agreed) = client.listen(json!({ "resourceSubscriptions": uris })).unwrap();
            assert_eq!(agreed.get("resourceSubscriptions"), None, "{agreed}");
            assert_eq!(site.told("resources/subscribe"), 0);
        },
    );
}

/// A legacy client of a modern server.
#[test]
fn declined_subscription_is_an_error() {
    let subscribe = |site: &Site, client: &mut routes::Guest, uri: &str| {
        client.request("resources/subscribe", json!({ "uri": site.route.uri(uri) }))
    };
    routes::on_every_route(
        || guest::servers(json!({}), RESOURCES),
        |site| {
            site.open_gate();
            let mut client = site.open();
            let declined = subscribe(site, &mut client, "x://untold");
            assert_eq!(declined["error"]["code"], -32602, "{declined}");
            assert!(subscribe(site, &mut client, "x://told").get("result").is_some());
            for uri in ["x://untold", "x://told"] {
                client.call("change", json!({ "uri": uri }));
            }
            let told = client.told("notifications/resources/updated");
            assert_eq!(told["params"]["uri"], site.route.uri("x://told"));
        },
    );
}
