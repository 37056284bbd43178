//! Roots: clients share a process that requests `roots/list` only if their roots are equal.

use super::routes::{Guest, on_shared_routes, servers};
use serde_json::{Value, json};
use switchboard_testkit::patience;

const OFFER: &str =
    r#"{ "tools": [{ "name": "say" }, { "name": "ask" }], "resources": [{ "uri": "x://a", "name": "a" }] }"#;
const ROOTS: &str = r#"{"jsonrpc":"2.0","id":"r1","method":"roots/list"}"#;

fn roots(uri: &str) -> Value {
    json!({ "result": { "roots": [{ "uri": uri, "name": "n" }], "extra": 0.5 } })
}

fn ask_for_roots(client: &mut Guest, id: &str) {
    client.have_said(&[&ROOTS.replace("r1", id)]);
}

#[test]
fn different_roots_split_processes() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            // Stored lists belong to clients without this capability.
            site.open_gate();
            let mut a = site.open_with(json!({ "roots": {} }));
            let mut b = site.open_with(json!({ "roots": {} }));
            ask_for_roots(&mut a, "r1");
            a.answers("roots/list", roots("file:///tmp"));
            patience::until_true("the server hears it", || site.told(r#""extra":0.5"#) == 1);
            // B's request waits until its roots are known, and then goes to another process.
            b.begin("resources/read", json!({ "uri": b.route.uri("x://a") }));
            b.answers("roots/list", roots("file:///var"));
            patience::until_true("the request is there", || site.told("resources/read") == 1);
            let of_b = b.process("x://a");
            assert_ne!(a.process("x://a"), of_b);
            ask_for_roots(&mut b, "r2");
            patience::until_true("the server hears B's", || site.told("file:///var") == 1);
        },
    );
}

#[test]
fn equal_roots_share_a_process() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            // Stored lists belong to clients without this capability.
            site.open_gate();
            let mut a = site.open_with(json!({ "roots": {} }));
            ask_for_roots(&mut a, "r1");
            a.answers("roots/list", roots("file:///tmp"));
            patience::until_true("the server hears it", || site.told(r#""extra":0.5"#) == 1);
            let mut b = site.open_with(json!({ "roots": {} }));
            b.begin("resources/read", json!({ "uri": b.route.uri("x://a") }));
            b.answers("roots/list", roots("file:///tmp"));
            patience::until_true("the request is there", || site.told("resources/read") == 1);
            assert_eq!(a.process("x://a"), b.process("x://a"));
        },
    );
}

/// The process of a client that has left lingers, with that client's roots.
#[test]
fn departed_clients_roots_are_not_reused() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            // Stored lists belong to clients without this capability.
            site.open_gate();
            site.linger("60s");
            let mut a = site.open_with(json!({ "roots": {} }));
            ask_for_roots(&mut a, "r1");
            a.answers("roots/list", roots("file:///tmp"));
            patience::until_true("the server hears it", || site.told(r#""extra":0.5"#) == 1);
            let of_a = a.process("x://a");
            drop(a);
            let mut b = site.open_with(json!({ "roots": {} }));
            b.begin("resources/read", json!({ "uri": b.route.uri("x://a") }));
            b.answers("roots/list", roots("file:///var"));
            patience::until_true("the request is there", || site.told("resources/read") == 2);
            assert_ne!(b.process("x://a"), of_a);
            // Or the end of the test would wait for it.
            site.linger("100ms");
        },
    );
}

#[test]
fn roots_error_of_a_client_passes_through() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            // Stored lists belong to clients without this capability.
            site.open_gate();
            let mut a = site.open_with(json!({ "roots": {} }));
            ask_for_roots(&mut a, "r1");
            a.answers("roots/list", json!({ "error": { "code": -7, "message": "no folder is open" } }));
            patience::until_true("the server hears it", || site.told("no folder is open") == 1);
            assert_eq!(site.told(r#""code":-7"#), 1);
        },
    );
}
