//! Rights of profiles and tokens on every route of a modern client: the kinds of rights of `access::rights`, in lists, requests and
//! subscriptions, at the first start and from the stored catalogue.

use super::guest::{Guest, beside, gated, on_routes};
use crate::access::rights::{
    KINDS, OFFER, QUARRY, QUARRY_OFFER, expected, impersonal, json_replaced, probes, tokens, with_rights,
    with_tokens,
};
use crate::access::token_limits::{check_on_route, two_an_hour};
use crate::aggregate::servers::Servers;
use crate::isolation::routes::{self, Route, ShownBy, Site};
use crate::support::error;
use serde_json::{Value, json};

/// How a client gets its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Profile,
    /// A token in a header or a variable.
    Token,
    /// A token in each message.
    Meta,
    /// A token whose profile has the rights.
    ProfileOfToken,
}

const PROFILES: &[(Route, By)] = &[
    (Route::WindowOne, By::Profile),
    (Route::WindowAll, By::Profile),
    (Route::SoloOne, By::Profile),
    (Route::SoloAll, By::Profile),
    (Route::HttpProfile, By::Profile),
];
const TOKENS: &[(Route, By)] = &[
    (Route::HttpOne, By::Token),
    (Route::HttpAll, By::Token),
    (Route::HttpProfile, By::Token),
    (Route::WindowOne, By::Token),
    (Route::WindowAll, By::Token),
    (Route::SoloOne, By::Token),
    (Route::SoloAll, By::Token),
];
const OTHERS: &[(Route, By)] = &[
    (Route::WindowOne, By::Meta),
    (Route::WindowAll, By::Meta),
    (Route::SoloOne, By::Meta),
    (Route::SoloAll, By::Meta),
    (Route::HttpAll, By::ProfileOfToken),
    (Route::WindowAll, By::ProfileOfToken),
    (Route::SoloOne, By::ProfileOfToken),
];

/// Requests that this era does not have.
const REMOVED: [&str; 4] = ["resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"];

/// How the servers are made, and the scope of their lists for clients that see all of them.
type Make = (fn() -> Servers, &'static str);

const MODERN: Make = (servers, "public");
const LEGACY: Make = (legacy_servers, "private");

pub(super) fn servers() -> Servers {
    with_rights(gated(beside(Servers::none(), QUARRY, QUARRY_OFFER), json!({}), OFFER))
}

/// The same with servers that speak only the legacy era.
fn legacy_servers() -> Servers {
    with_rights(routes::gated(Servers::none().and_offer(QUARRY, json!({}), QUARRY_OFFER), json!({}), OFFER))
}

#[track_caller]
fn open(site: &Site, by: By, kind: &str) -> Guest {
    // A path of a profile that excludes nothing.
    let path = (site.route == Route::HttpProfile).then_some("open");
    match by {
        By::Profile => Guest::with(site, Some(kind), None),
        By::Token => Guest::with(site, path, Some(ShownBy::Variable(&tokens().of(kind)))),
        By::Meta => Guest::with(site, path, Some(ShownBy::Meta(&tokens().of(kind)))),
        By::ProfileOfToken => {
            let token = tokens().of(&format!("profile-{kind}"));
            Guest::with(site, path, Some(ShownBy::Variable(&token)))
        }
    }
}

#[track_caller]
fn check_lists(client: &mut Guest, kind: &str) {
    for list in ["tools", "prompts", "resources", "resourceTemplates"] {
        assert_eq!(client.listed(list), expected(client.route, kind, list), "{kind}, {list}");
    }
}

/// What is left of a list is for its client only. Nothing of a server is left out if only another one is hidden.
#[track_caller]
fn check_scopes(client: &Guest, kind: &str, whole: &str) {
    let scope = if kind == "servers" { whole } else { "private" };
    let members = ["tools", "prompts", "resources", "resourceTemplates"];
    for member in members {
        let pages = client.received.iter().filter(|answer| answer["result"][member].is_array());
        let scopes: Vec<&Value> = pages.map(|answer| &answer["result"]["cacheScope"]).collect();
        // A list of which nothing is known yet is private in any case.
        assert_eq!(scopes.last(), Some(&&json!(scope)), "{kind}, {member}");
        let is_right = |found: &&Value| **found == scope || **found == "private";
        assert!(scopes.iter().all(is_right), "{kind}, {member}: {scopes:?}");
    }
}

/// Hidden items are refused, in the same words as items that do not exist.
#[track_caller]
fn check_requests(client: &mut Guest, kind: &str) {
    let route = client.route;
    let existing = probes(route, kind, "canary").into_iter();
    for ((method, real), (_, made_up)) in existing.zip(probes(route, kind, "absent")) {
        if REMOVED.contains(&method) {
            continue;
        }
        let made_up =
            if kind == "tools" { json_replaced(&made_up, "absent", "canary_absent") } else { made_up };
        let (hidden, absent) = (client.request(method, real), client.request(method, made_up));
        if method.chars().all(|c| !c.is_ascii_uppercase()) {
            error(&hidden, -32603, "forbidden");
        }
        assert!(hidden.get("error").is_some(), "{kind}, {method}: {hidden}");
        let absent = impersonal(&absent, "absent").replace("WORD_WORD", "WORD");
        assert_eq!(impersonal(&hidden, "canary"), absent, "{kind}, {method}: existence shows");
    }
}

/// What is not excluded works as usual.
#[track_caller]
fn check_allowed(client: &mut Guest, kind: &str) {
    let route = client.route;
    let reference = json!({ "type": "ref/prompt", "name": route.tool("welcome") });
    let complete = json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    let requests = [
        ("tools/call", json!({ "name": route.tool("echo"), "arguments": {} })),
        ("prompts/get", json!({ "name": route.tool("welcome") })),
        ("resources/read", json!({ "uri": route.uri("doc://open/1") })),
        ("resources/read", json!({ "uri": route.template("doc://open/7") })),
        ("completion/complete", complete),
    ];
    for (method, params) in requests.into_iter().filter(|_| kind != "methods") {
        let answer = client.request(method, params);
        assert!(answer.get("result").is_some(), "{kind}, {method}: {answer}");
    }
}

/// A hidden resource, or one that may not be subscribed to, is left out of a subscription or refuses it.
#[track_caller]
fn check_listens(client: &mut Guest, kind: &str) {
    let uri = match kind {
        "resources" => client.route.uri("doc://canary/1"),
        "methods" => client.route.uri("doc://open/1"),
        _ => return,
    };
    match client.listen(json!({ "resourceSubscriptions": [uri] })) {
        Err(refusal) => {
            error(&refusal, -32603, "forbidden");
        }
        Ok((_, agreed)) => {
            let honoured = agreed["resourceSubscriptions"].as_array().map_or(0, Vec::len);
            assert_eq!(honoured, 0, "{kind}: {agreed}");
        }
    }
}

/// Hidden words are in nothing that the client has received, except for what it said itself.
#[track_caller]
fn check_received(client: &Guest, kind: &str) {
    let words: &[&str] = match kind {
        "servers" => &[QUARRY],
        "tools" => &["canary_tool"],
        "prompts" => &["canary_prompt"],
        "resources" => &["doc://canary", "Y2FuYXJ5"],
        _ => &["canary_", "doc://", "welcome", "echo", "dig"],
    };
    for message in &client.received {
        // The message of an error names what the client asked for.
        let text = match message.get("error") {
            Some(error) => error["data"].to_string(),
            None => message.to_string(),
        };
        for word in words {
            assert!(!text.contains(word), "{kind}: {word} in {text}");
        }
    }
}

/// The table: every kind of right, every method, every route.
fn check_rights(ways: &[(Route, By)], (servers, whole): Make) {
    on_routes(ways, servers, |site, by| {
        // A client of one server gets the lists of the server itself; for others they come from the store.
        if site.route.is_to_one() {
            site.open_gate();
        }
        let mut clients: Vec<(&str, Guest)> =
            KINDS.iter().map(|kind| (*kind, open(site, by, kind))).collect();
        for (kind, client) in &mut clients {
            client.request("server/discover", json!({}));
            check_lists(client, kind);
        }
        site.open_gate();
        for (kind, client) in &mut clients {
            check_requests(client, kind);
            check_allowed(client, kind);
            check_listens(client, kind);
            // Again, from the server itself.
            check_lists(client, kind);
            check_scopes(client, kind, whole);
            check_received(client, kind);
        }
        for word in ["canary", "absent", "odd/method", "tasks/"] {
            assert_eq!(site.told(word), 0, "{word}");
        }
        let lines = site.servers.record(crate::isolation::routes::SERVER).all_lines();
        let listens = lines.iter().find(|line| {
            line.contains("resourceSubscriptions\":[\"") || line.contains("resources/subscribe")
        });
        assert_eq!(listens, None, "nobody may subscribe");
        assert_eq!(lines.iter().find(|line| line.contains("authToken")), None);
    });
}

#[test]
fn rights_of_profiles_hold() {
    check_rights(PROFILES, MODERN);
}

#[test]
fn rights_of_profiles_hold_at_legacy_servers() {
    check_rights(PROFILES, LEGACY);
}

#[test]
fn rights_of_tokens_hold() {
    check_rights(TOKENS, MODERN);
}

#[test]
fn rights_of_tokens_hold_at_legacy_servers() {
    check_rights(TOKENS, LEGACY);
}

#[test]
fn rights_shown_otherwise_hold() {
    check_rights(OTHERS, MODERN);
}

#[test]
fn rights_shown_otherwise_hold_at_legacy_servers() {
    check_rights(OTHERS, LEGACY);
}

/// The limit of a token on every route, alone and in all clients together.
#[test]
fn limits_of_tokens_hold() {
    check_limits(MODERN);
}

#[test]
fn limits_of_tokens_hold_at_legacy_servers() {
    check_limits(LEGACY);
}

fn check_limits((servers, _): Make) {
    let (token, file) = two_an_hour();
    on_routes(
        TOKENS,
        || with_tokens(servers(), &file),
        |site, _| {
            site.open_gate();
            let path = (site.route == Route::HttpProfile).then_some("open");
            let open = |by: Option<ShownBy<'_>>| Guest::with(site, path, by);
            check_on_route(site, &token, open, |client| client.call("echo", json!({})));
        },
    );
}
