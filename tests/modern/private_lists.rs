//! Private lists stay with their identity on every route, at the first start and from the stored catalogue.

use super::guest::{Guest, beside, gated, on_every_route};
use crate::access::rights::{tokens, with_rights};
use crate::aggregate::servers::Servers;
use crate::aggregate::slow::wait_until_stored;
use crate::isolation::routes::{Route, SERVER, ShownBy, Site};
use serde_json::json;
use switchboard_testkit::patience;

/// A server that identities share if its lists are public.
fn servers(scope: &str) -> Servers {
    let servers = beside(Servers::none(), "other", r#"{ "tools": [{ "name": "else" }] }"#);
    let keys = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
    with_rights(gated(servers, keys, &offer("first", scope)))
}

fn offer(tool: &str, scope: &str) -> String {
    json!({ "tools": [{ "name": tool }], "cacheScope": scope }).to_string()
}

/// A client with a token whose rights include every tool of the server.
#[track_caller]
fn open_token(site: &Site, kind: &str) -> Guest {
    let path = (site.route == Route::HttpProfile).then_some("open");
    Guest::with(site, path, Some(ShownBy::Variable(&tokens().of(kind))))
}

#[track_caller]
fn shows(site: &Site, client: &mut Guest, tool: &str) {
    assert_eq!(client.names("tools"), [site.route.tool(tool)]);
}

#[test]
fn private_lists_stay_with_their_identity() {
    on_every_route(
        || servers("private"),
        |site| {
            let mut owner = Guest::open_owner(site);
            if site.route.is_to_one() {
                site.open_gate();
            }
            // At the second start, the list comes from the store before the server answers.
            shows(site, &mut owner, "first");
            site.servers.offers(SERVER, &offer("second", "private"));
            site.open_gate();
            let mut token = open_token(site, "servers");
            shows(site, &mut token, "second");
            site.servers.offers(SERVER, &offer("third", "private"));
            let mut another = open_token(site, "profile-servers");
            shows(site, &mut another, "third");
            let before = site.servers.launches([SERVER]);
            if !site.route.is_to_one() {
                shows(site, &mut token, "second");
                shows(site, &mut owner, "first");
                // A new client does not get lists fetched for another identity. A solo window has only stored lists.
                let is_solo = site.route == Route::SoloAll;
                shows(site, &mut open_token(site, "servers"), if is_solo { "third" } else { "second" });
            }
            let before = if site.route == Route::SoloAll { [before[0] + 1] } else { before };
            assert_eq!(site.servers.launches([SERVER]), before);
        },
    );
}

/// The same with public lists: lists fetched for the owner are for all.
#[test]
fn public_lists_are_shared() {
    on_every_route(
        || servers("public"),
        |site| {
            if site.route.is_to_one() {
                return;
            }
            let mut owner = Guest::open_owner(site);
            shows(site, &mut owner, "first");
            // A solo window gets only stored lists from another one.
            wait_until_stored(&site.servers, "catalogue", 2);
            site.servers.offers(SERVER, &offer("second", "public"));
            shows(site, &mut open_token(site, "servers"), "first");
            site.open_gate();
        },
    );
}

/// Public lists are stored; the same list is private at the next start.
#[test]
fn lists_turned_private_are_not_shared() {
    on_every_route(
        || servers("public"),
        |site| {
            site.servers.offers(SERVER, &offer("second", "private"));
            site.open_gate();
            let mut token = open_token(site, "servers");
            // A call starts the server, whose lists were stored.
            token.call("first", json!({}));
            let own = [site.route.tool("second")];
            patience::until_true("its own list", || token.names("tools") == own);
            site.servers.offers(SERVER, &offer("third", "private"));
            let mut another = open_token(site, "profile-servers");
            another.call("first", json!({}));
            let own = [site.route.tool("third")];
            patience::until_true("its own list", || another.names("tools") == own);
            if !site.route.is_to_one() {
                shows(site, &mut token, "second");
            }
        },
    );
}
