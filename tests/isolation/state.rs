//! Servers that keep a client's state: one process per client, from the first sign of state on and at every
//! later start.

use super::routes::{on_shared_routes, servers};
use serde_json::json;

const OFFER: &str = r#"{ "tools": [{ "name": "browser_navigate" }, { "name": "say" }],
    "resources": [{ "uri": "x://a", "name": "a" }] }"#;

#[test]
fn stateful_server_is_never_shared() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            let mut a = site.open();
            site.open_gate();
            a.names("tools");
            let mut b = site.open();
            let (of_a, of_b) = (a.process("x://a"), b.process("x://a"));
            assert_ne!(of_a, of_b);
            assert_eq!((a.process("x://a"), b.process("x://a")), (of_a, of_b));
        },
    );
}

/// Both clients have used the process when it becomes stateful: A, its first user, keeps it.
#[test]
fn first_user_keeps_the_process() {
    let plain = OFFER.replace("browser_navigate", "echo");
    on_shared_routes(
        || servers(json!({}), &plain),
        |site| {
            let mut a = site.open();
            site.open_gate();
            let mut b = site.open();
            let shared = a.process("x://a");
            assert_eq!(b.process("x://a"), shared);
            site.servers.offers("s", OFFER);
            b.have_said(&[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
            // The change shows when a client, or the gateway itself, requests the list.
            switchboard_testkit::patience::until_true("B has a process of its own", || {
                b.names("tools");
                b.process("x://a") != shared
            });
            assert_eq!(a.process("x://a"), shared);
        },
    );
}
