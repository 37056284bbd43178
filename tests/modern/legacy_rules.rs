//! Rules of the config and of tokens for legacy clients of modern-only servers, without a setting in the config. The checks
//! are those for legacy servers: on every route, at the first start and with stored lists. The stored lists of such a server
//! are the owner's, since the translation removes `cacheScope`. Questions are in `legacy_input`.

use super::guest::servers;
use super::rights;
use crate::access::rights::{MESSAGES, PROFILES, TOKENS, VARIABLES};
use crate::access::{self, audit, audit_routes, limits, pins, token_limits};
use crate::isolation::filters;
use crate::isolation::routes::{SERVER, ShownBy, on_every_route};
use serde_json::json;
use switchboard_testkit::patience;

/// Options of the fake server.
const ERA: [&str; 4] = ["--era", "modern", "--cache-scope", "public"];

#[test]
fn lists_are_filtered() {
    filters::check_filtered_lists(servers);
}

#[test]
fn renamed_items_work() {
    filters::check_renamed_items(servers);
}

#[test]
fn hidden_names_are_unknown() {
    filters::check_hidden_names(servers);
}

#[test]
fn hidden_resources_are_not_found() {
    filters::check_hidden_resources(servers);
}

#[test]
fn hidden_resources_are_not_announced() {
    filters::check_hidden_announcements(servers);
}

#[test]
fn allowed_templates_are_expanded() {
    filters::check_allowed_templates(servers);
}

#[test]
fn reload_applies_filters_and_announces() {
    filters::check_reload(servers);
}

#[test]
fn server_limit_holds() {
    limits::check_server_limit(servers);
}

#[test]
fn tool_limit_holds() {
    limits::check_tool_limit(servers);
}

#[test]
fn calls_in_progress_are_limited() {
    limits::check_concurrency(&ERA);
}

#[test]
fn reload_changes_limits() {
    limits::check_reload(&ERA);
}

#[test]
fn limit_of_a_token_holds() {
    token_limits::check_rate(servers);
}

#[test]
fn limit_of_a_token_spans_all_routes() {
    token_limits::check_all_routes_together(&ERA);
}

#[test]
fn changed_tools_are_held_back() {
    pins::check_held(servers);
}

#[test]
fn rights_of_profiles_hold() {
    access::rights::check_rights(PROFILES, rights::servers, true);
}

#[test]
fn rights_of_tokens_hold() {
    access::rights::check_rights(TOKENS, rights::servers, false);
}

#[test]
fn rights_by_variable_hold() {
    access::rights::check_rights(VARIABLES, rights::servers, false);
}

#[test]
fn rights_by_message_hold() {
    access::rights::check_rights(MESSAGES, rights::servers, false);
}

/// Only the owner sees the stored lists. A token sees its own, once the server has answered.
#[test]
fn stored_lists_are_the_owners() {
    let (token, file) = token_limits::two_an_hour();
    let servers = || access::rights::with_tokens(servers(json!({}), filters::OFFER), &file);
    on_every_route(servers, |site| {
        // Through one server, a token waits for the handshake.
        if site.route.is_to_one() {
            return;
        }
        let is_second = site.servers.launches([SERVER]) != [0];
        let mut client = site.open_token(ShownBy::Variable(&token), None);
        if is_second {
            assert_eq!(client.names("tools"), [""; 0], "before the server answers");
            assert!(!site.open().names("tools").is_empty(), "the owner");
        }
        site.open_gate();
        let is_there = || client.names("tools").contains(&site.route.tool("echo"));
        patience::until_true("its own lists", is_there);
    });
}

#[test]
fn resources_without_rights_are_not_announced() {
    access::rights::check_hidden_announcements(rights::servers);
}

#[test]
fn reload_changes_rights() {
    access::rights::check_reload(rights::servers);
}

#[test]
fn calls_are_recorded() {
    audit_routes::check_routes(servers);
}

#[test]
fn every_front_is_recorded() {
    audit::check_fronts(&ERA);
}

#[test]
fn failed_calls_are_told_apart() {
    audit::check_failures(&ERA);
}

#[test]
fn reload_changes_the_audit() {
    audit::check_reload(&ERA);
}
